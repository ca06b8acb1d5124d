"""One file for each engine: every option, and the releases whose server accepts it.

`tables.py ENGINE ARCHIVE...` reads released archives and adds them to `sparkiac/catalog/options/ENGINE.json`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

sys.modules.setdefault("tables", sys.modules[__name__])
DATA: Final = Path(__file__).parent.parent.parent / "sparkiac" / "catalog" / "options"
ENGINES: Final = ("sglang", "llama-cpp")
VERSION: Final = re.compile(r"-(\d+(?:\.\d+)*(?:\.post\d+)?)[-.]")
"""Where an archive's name has the release."""


class UnknownError(Exception):
    """Something that the source does not show."""


class Option(NamedTuple):
    """What one spelling accepts in one release."""

    kind: str
    """What it takes, as sparkiac/engines/tables.py lists it; `removed` where it only stops the server."""
    choices: tuple[str, ...] = ()
    """What a value may be; anything if empty."""
    alias: str | None = None
    """The first spelling, of which this is another one."""


Releases = dict[str, dict[str, Option]]


def order(release: str) -> list[int]:
    """Return a sort key for a release."""
    return [int(part) for part in re.findall(r"\d+", release)]


def folded(found: Releases) -> dict[str, object]:
    """Return the options of all releases: spelling → fact → the releases in which it holds."""
    releases = sorted(found, key=order)
    options = {}
    for name in sorted({name for each in found.values() for name in each}):
        held = {release: found[release][name] for release in releases if name in found[release]}
        kinds = {each.kind: [release for release in held if held[release].kind == each.kind] for each in held.values()}
        words = sorted({word for each in held.values() for word in each.choices})
        facts: dict[str, object] = {"kind": {kind: spans(those, releases) for kind, those in sorted(kinds.items())}}
        if words:
            facts["choices"] = {
                word: spans([each for each in held if word in held[each].choices], releases) for word in words
            }
        alias = [*held.values()][-1].alias
        options[name] = facts | ({"alias": alias} if alias else {})
    return options


def spans(held: list[str], releases: list[str]) -> str:
    """Write releases as ranges: `0.5.1..0.5.4` includes both ends, `0.5.9..` extends to the newest release read."""
    runs: list[list[str]] = []
    for release in held:
        if runs and releases.index(runs[-1][-1]) + 1 == releases.index(release):
            runs[-1].append(release)
        else:
            runs.append([release])
    return ", ".join(
        f"{run[0]}.." if run[-1] == releases[-1] else run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}"
        for run in runs
    )


def unfolded(raw: dict[str, dict[str, Any]], releases: list[str]) -> Releases:
    """Return the options of each release; the inverse of `folded`."""
    found: Releases = {release: {} for release in releases}
    for name, facts in raw.items():
        words = {word: listed(text, releases) for word, text in facts.get("choices", {}).items()}
        for kind, text in facts["kind"].items():
            for release in listed(text, releases):
                choices = tuple(word for word, those in words.items() if release in those)
                found[release][name] = Option(kind, choices, facts.get("alias"))
    return found


def listed(text: str, releases: list[str]) -> list[str]:
    """Return the releases in these ranges."""
    found = []
    for span in text.split(", "):
        first, dots, last = span.partition("..")
        end = releases.index(last) if last else len(releases) - 1 if dots else releases.index(first)
        found += releases[releases.index(first) : end + 1]
    return found


def written(sources: dict[str, str], found: Releases, parser: str) -> str:
    """Write a file with one release or option on a line."""
    habits = {"abbreviated": parser == "argparse", "leading": parser == "std::stoi"}
    parts = [f'{json.dumps(habits)[:-1]}, "releases": {{']
    parts.append(",\n".join(f"{json.dumps(name)}: {json.dumps(sources[name])}" for name in sorted(sources, key=order)))
    parts.append('}, "options": {')
    parts.append(",\n".join(f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in folded(found).items()))
    return "\n".join((*parts, "}}\n"))


def main() -> None:
    """Read the archives and write the file."""
    parser = argparse.ArgumentParser(description="Add releases to the options of an engine.")
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("archives", nargs="+", type=Path, help="NAME-RELEASE.whl or NAME-RELEASE.tar.gz")
    arguments = parser.parse_args()
    path = DATA / f"{arguments.engine}.json"
    known = json.loads(path.read_text()) if path.exists() else {"releases": {}, "options": {}}
    found = unfolded(known["options"], sorted(known["releases"], key=order))
    sources: dict[str, str] = known["releases"]
    reader = importlib.import_module(arguments.engine.replace("-", "_"))
    for archive in arguments.archives:
        version = VERSION.search(archive.name)
        if version is None:
            parser.error(f"{archive.name} names no release")
        release = reader.release(version[1]) if hasattr(reader, "release") else version[1]
        found[release] = reader.read(archive)
        sources[release] = f"{archive.name} sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}"
        print(f"{release}: {len(found[release])} spellings")
    DATA.mkdir(exist_ok=True)
    path.write_text(written(sources, found, reader.PARSER))


if __name__ == "__main__":
    main()
