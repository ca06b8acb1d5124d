"""How `docker run`, Compose and `docker inspect` write options and values.

Options and spellings are data, `catalog/launchers.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from sparkiac import catalog
from sparkiac.foreign import values
from sparkiac.foreign.launch import Note, PublishedPort, Volume, corrected, lost
from sparkiac.memory.values import GIB
from sparkiac.model.tables import ForeignKeys
from sparkiac.plan.confinement import KEYED, SETTINGS, ContainerOption, Tree
from sparkiac.report import Path

GPU: Final = "nvidia.com/gpu="
"""Prefix of GPU device names in the Container Device Interface."""
_DOCKER: Final = catalog.launchers().docker
VALUED: Final = frozenset(_DOCKER.valued)
"""Options that take a value."""
FLAGS: Final = frozenset(_DOCKER.flags)
"""Options that take no value."""
NOTED: Final = _DOCKER.notes | {
    each.docker: ForeignKeys(keys=(each.docker,), why=each.fixed) for each in SETTINGS if not each.key and each.fixed
}
"""Option → why it is not imported as it is."""
READ: Final = {each.docker: each for each in KEYED}
"""Option → setting that the inventory has."""

ROOT: Final = frozenset({"0", "root", "0:0", "root:root"})
"""Users that mean root; server images run as root anyway."""
_Kept = TypeVar("_Kept", Volume, PublishedPort)
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_DURATION: Final = re.compile(r"(\d{1,9})\s*(us|ms|min|sec|s|m|hours?|hr|h|days?|d)?", re.IGNORECASE)
_SECONDS: Final = {"us": 0, "ms": 0, "m": 60, "min": 60, "h": 3600, "hr": 3600, "hour": 3600, "d": 86400, "day": 86400}
_PORT: Final = re.compile(
    r"(?:(\[[0-9a-fA-F:]*\]|\d{1,3}(?:\.\d{1,3}){3}|localhost):)?(?:(\d{0,5}):)?(\d{1,5})(?:/(tcp|udp|sctp))?"
)
_LIMIT: Final = re.compile(r"([a-z]{1,20})=(-?\d{1,18})(?::(-?\d{1,18}))?")
_LAST_PORT: Final = 65535


class DockerOption(NamedTuple):
    """One option as written on the command line."""

    name: str
    value: str
    line: int


class DockerOptions(NamedTuple):
    """All options before the image."""

    options: tuple[DockerOption, ...]
    end: int
    """Index of the image in the command's words."""
    notes: tuple[Note, ...]


def read(words: Sequence[str], lines: Sequence[int], start: int) -> DockerOptions:
    """Read the options that begin at `start`. An unknown option is assumed to take no value and is noted."""
    options: list[DockerOption] = []
    notes: list[Note] = []
    at = start
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word, line = words[at], lines[at]
        at += 1
        if word == "--":
            break
        if word.startswith("--"):
            at += _long(word[2:], words[at : at + 1], line, options, notes)
        else:
            at += _cluster(word[1:], words[at : at + 1], line, options, notes)
    return DockerOptions(tuple(options), at, tuple(notes))


def _long(word: str, following: Sequence[str], line: int, options: list[DockerOption], notes: list[Note]) -> int:
    """Read `--name` and return how many further words belong to it."""
    name, equals, value = word.partition("=")
    name = _DOCKER.spellings.get(name, name) if len(name) > 1 else name  # a letter is no `--option`
    if name in FLAGS:
        is_set = value.lower() not in {"false", "0", "f"}
        if is_set or name in READ:
            options.append(DockerOption(name, "true" if is_set else "false", line))
        return 0
    if name not in VALUED:
        notes.append(lost(line, f"--{name}", "docker run of Docker 28 has no such option"))
        return 0
    if not equals and not following:
        notes.append(lost(line, f"--{name}", "its value is missing"))
        return 0
    options.append(DockerOption(name, value if equals else following[0], line))
    return 0 if equals else 1


def _cluster(letters: str, following: Sequence[str], line: int, options: list[DockerOption], notes: list[Note]) -> int:
    """Read `-itd`, `-p 80:80`, `-p80:80` or `-p=80:80` and return how many further words belong to it."""
    while letters:
        name, letters = _DOCKER.spellings.get(letters[0], letters[0]), letters[1:]
        if name in VALUED:
            value = letters.removeprefix("=")
            return _long(f"{name}={value}" if value else name, following, line, options, notes)
        if name not in FLAGS:
            notes.append(lost(line, f"-{name}", "docker run of Docker 28 has no such option"))
            return 0
        options.append(DockerOption(name, "true", line))
    return 0


def size_bytes(text: str) -> int | None:
    """Read 32g, 32gb, 16GiB or a number of bytes; None if it is not a size."""
    found = _SIZE.fullmatch(text.strip())
    return int(float(found[1]) * _UNITS[found[2].lower()]) if found else None


def seconds(text: str) -> int | None:
    """Read 900, 15min or `1h 30s`; None if it is not a duration, or is infinite."""
    total = 0
    rest = text.strip()
    while rest:
        found = _DURATION.match(rest)
        if found is None:
            return None
        total += int(found[1]) * _SECONDS.get((found[2] or "").lower().removesuffix("s") or "s", 1)
        rest = rest[found.end() :].strip()
    return total or None


def port(text: str, line: int) -> PublishedPort | Note:
    """Read `[address:][host:]container[/tcp]`. Port ranges and other protocols become notes."""
    found = _PORT.fullmatch(text.strip())
    numbers = [int(each) for each in (found[2], found[3]) if each] if found else [0]
    if found is None or found[4] in {"udp", "sctp"} or not all(0 < each <= _LAST_PORT for each in numbers):
        why = "only a single TCP port can be published, not a range or UDP"
        return lost(line, f"port {text[:60]}", values.CALLERS_VALUE if values.is_unknown(text) else why)
    address = "127.0.0.1" if found[1] == "localhost" else found[1]
    return PublishedPort(address, int(found[2]) if found[2] else None, int(found[3]), line)


def volume(text: str, line: int) -> Volume | Note:
    """Read `source:target[:options]`."""
    parts = text.split(":")
    if len(parts) < 2 or not parts[1].startswith("/") or not parts[0]:  # noqa: PLR2004  source and target
        return lost(line, f"volume {text[:120]}", "it does not mount a path of the host")
    options = parts[2].split(",") if len(parts) > 2 else []  # noqa: PLR2004
    return Volume(parts[0], _without_slash(parts[1]), "ro" in options, line)


def mount(text: str, line: int) -> Volume | Note:
    """Read `type=bind,source=…,target=…[,readonly]`."""
    pairs = dict(each.partition("=")[::2] for each in text.split(","))
    source = pairs.get("source") or pairs.get("src")
    target = pairs.get("target") or pairs.get("dst") or pairs.get("destination")
    if pairs.get("type", "volume") not in {"bind", "volume"} or not source or not target:
        return lost(line, f"mount {text[:120]}", "it does not mount a path of the host")
    read_only = any(pairs.get(each, "false") in {"", "true", "1"} for each in ("readonly", "ro"))
    return Volume(source, _without_slash(target), read_only, line)


def limit(text: str) -> tuple[str, int] | None:
    """Read `memlock=-1` or `memlock=-1:-1` and return the soft limit."""
    found = _LIMIT.fullmatch(text.strip())
    return (found[1], int(found[2])) if found else None


def kept(found: Iterable[_Kept | Note], notes: list[Note]) -> Iterator[_Kept]:
    """Yield the volumes or ports that could be read, and add the notes on the others."""
    for each in found:
        if isinstance(each, Note):
            notes.append(each)
        else:
            yield each


def settings(stated: Iterable[tuple[ContainerOption, str, int]]) -> tuple[dict[Path, Tree], list[Note]]:
    """Read settings with their texts and lines: path in the inventory → value, and notes on texts without a value."""
    values: dict[Path, Tree] = {}
    notes: list[Note] = []
    for setting, text, line in stated:
        what, found = f"--{setting.docker} {text}", _READERS[setting.form](text)
        if isinstance(found, tuple):
            values[*setting.path, found[0]] = found[1]
        elif found is not None:
            values[setting.path] = found
        else:
            why = setting.fixed or f"not a {setting.form.removesuffix('s')}"
            notes.append(corrected(line, what, why) if setting.fixed else lost(line, what, why))
    return values, notes


def _gib(text: str) -> float | None:
    size = size_bytes(text)
    return max(round(size / GIB, 6), 0.001) if size else None


def _tmpfs(text: str) -> float | None:
    """Read the size of a mount of /tmp: `/tmp:rw,size=1g`."""
    target, _, options = text.partition(":")
    sizes = [each.removeprefix("size=") for each in options.split(",") if each.startswith("size=")]
    return _gib(sizes[-1]) if sizes and target == "/tmp" else None  # noqa: S108  compared


_READERS: Final[Mapping[str, Callable[[str], str | float | tuple[str, int] | None]]] = {
    "text": str,
    "number": lambda text: int(text) if _NUMBER.fullmatch(text) else None,
    "switch": lambda text: text == "true",
    "size": _gib,
    "limits": limit,
    "tmpfs": _tmpfs,
}


def _without_slash(path: str) -> str:
    return path.rstrip("/") or "/"
