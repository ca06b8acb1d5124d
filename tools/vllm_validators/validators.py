"""Find the places of validators.yaml in released vLLM sources.

`validators.py` reads every release of ../vllm_interface/sources.lock and writes validators.found. `validators.py
0.25.1` prints what is found in this release and writes nothing. `--archives FOLDER` keeps the archives, about 800 MB.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HERE: Final = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "vllm_interface"))
import fetch  # noqa: E402  a program beside this one

PLACES: Final = HERE / "validators.yaml"
FOUND: Final = HERE / "validators.found"
HEAD: Final = "# validator, first and last release that have it, place in the last one"
_BROKEN: Final = re.compile(r"""(["'])\s+f?\1|\s+""")
"""What is left out before texts are compared: white space, and the seam of a string that is written in pieces."""


class Place(NamedTuple):
    """A validator to look for."""

    name: str
    paths: tuple[str, ...]
    """Files that have it in some release."""
    text: str


def places() -> tuple[Place, ...]:
    """Read the list of validators."""
    listed: Mapping[str, Any] = yaml.safe_load(PLACES.read_text("utf-8"))
    return tuple(Place(name, _paths(each["path"]), each["text"]) for name, each in listed.items())


def _paths(written: str | list[str]) -> tuple[str, ...]:
    return tuple(f"vllm/{path}" for path in ([written] if isinstance(written, str) else written))


def line(source: str, text: str) -> int | None:
    """Return the line on which a text begins; white space and split string literals do not matter."""
    wanted, kept, offsets = _BROKEN.sub("", text), "", []
    for part in _kept(source):
        kept += source[part.start : part.stop]
        offsets += part
    at = kept.find(wanted)
    return None if at < 0 else source.count("\n", 0, offsets[at]) + 1


def _kept(source: str) -> Iterator[range]:
    end = 0
    for gap in _BROKEN.finditer(source):
        yield range(end, gap.start())
        end = gap.end()
    yield range(end, len(source))


def look(archive: Path, wanted: tuple[Place, ...]) -> dict[str, str]:
    """Return the position of each validator of a release by name, as `path#Lline`; missing ones are omitted."""
    files = {path for place in wanted for path in place.paths}
    texts = {name: content.read().decode() for name, content in fetch.sources(archive) if name in files}
    found = {}
    for place in wanted:
        for path in place.paths:
            number = line(texts[path], place.text) if path in texts else None
            if number is not None:
                found[place.name] = f"{path}#L{number}"
    return found


def ranges(found: Mapping[str, Mapping[str, str]], name: str) -> Iterator[tuple[str, str, str]]:
    """Return first release, last release and last place of each unbroken range of releases with a validator."""
    first = last = place = ""
    for release, there in found.items():
        if name in there:
            first, last, place = first or release, release, there[name]
        elif first:
            yield first, last, place
            first = ""
    if first:
        yield first, last, place


def main() -> None:
    """Read the archives, and write or print the positions."""
    parser = argparse.ArgumentParser(description="Read vLLM's validators again.")
    parser.add_argument("versions", nargs="*", help="releases to print; without any, all are read and written")
    parser.add_argument("--archives", type=Path, help="keep the archives in this folder")
    arguments = parser.parse_args()
    known, wanted = fetch.locked(), places()
    with tempfile.TemporaryDirectory() as folder:
        archives = arguments.archives or Path(folder)
        archives.mkdir(parents=True, exist_ok=True)
        found = {each: look(fetch.download(known[each], archives), wanted) for each in arguments.versions or known}
    for release in arguments.versions:
        for place in wanted:
            print(f"{release}  {place.name:24} {found[release].get(place.name, 'not there')}")
    if not arguments.versions:
        lines = [" ".join((place.name, *each)) for place in wanted for each in ranges(found, place.name)]
        FOUND.write_text("\n".join((HEAD, *lines, "")))


if __name__ == "__main__":
    main()
