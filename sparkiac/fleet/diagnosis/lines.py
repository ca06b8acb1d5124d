"""The lines of a log, without what journald, Docker Compose and terminals add to them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from sparkiac.foreign.redaction import redacted_line
from sparkiac.report.characters import escaped_line

MOST_BYTES: Final = 16 << 20
"""Of a longer log, the end is read."""
LONGEST: Final = 100_000
"""Characters of a line that are read."""
_SHOWN: Final = 300
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]{0,20}[mK]")
_PROCESS: Final = r"\S{1,255} [^\s:\[]{1,255}(?:\[[0-9]{1,10}\])?: "
_PREFIX: Final = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)(?:Z|[+-]\d\d:?\d\d)? "  # journald, docker
    rf"(?:{_PROCESS})?"
    rf"|[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d {_PROCESS}"  # journald's short form, syslog
    r"|\[[ ]{0,9}\d{1,9}\.\d{1,9}\] (?=NVRM|.{0,40}[Kk]illed|Out of memory|oom-kill)"  # dmesg
)
_COMPOSE: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,100} {1,60}\| ")
_UNIT_STARTS: Final = re.compile(r"Starting sparkiac-[a-z0-9-]{1,100}\.service")
_ENGINE_STARTS: Final = re.compile(r"vLLM API server version |Launching vLLM \(v[^)]{1,60}\) headless")


class LogLine(NamedTuple):
    """One line."""

    log: str
    """Name of the file, or of the host."""
    number: int
    """Line number in that log, from 1."""
    start: int
    """Number of the start of the server that it belongs to, from 1."""
    text: str
    at: str = ""
    """Time in UTC, if journald wrote it."""

    @property
    def shown(self) -> str:
        """Return the line for a message: secrets redacted, control characters escaped, shortened."""
        text = escaped_line(redacted_line(self.text.strip()))
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


class Log(NamedTuple):
    """A log, which can contain several starts of the server."""

    name: str
    lines: tuple[LogLine, ...]
    starts: int
    cut: bool = False
    """Whether the log was longer than what was read."""

    @property
    def last(self) -> tuple[LogLine, ...]:
        """Return the lines of the last start."""
        return tuple(line for line in self.lines if line.start == self.starts)


def read(name: str, blocks: Iterable[bytes]) -> Log:
    """Split a log into lines; bytes that are not UTF-8 are replaced."""
    raw, skipped = _end(blocks)
    lines: list[LogLine] = []
    start, engine_began = 1, False
    for number, line in enumerate(raw.decode(errors="replace").split("\n"), skipped + 1):
        plain, at = _without_prefix(line.rstrip("\r")[:LONGEST])
        if _UNIT_STARTS.match(plain):
            start, engine_began = start + bool(lines), False
        elif _ENGINE_STARTS.search(plain):
            start, engine_began = start + engine_began, True
        if plain.strip():
            lines.append(LogLine(name, number, start, plain, at))
    return Log(name, tuple(lines), start, cut=skipped > 0)


def _end(blocks: Iterable[bytes]) -> tuple[bytes, int]:
    """Return the last bytes of a log, and the number of lines before them."""
    kept, skipped = b"", 0
    for block in blocks:
        kept += block
        rest = len(kept) - MOST_BYTES
        if rest > 0:
            skipped += kept.count(b"\n", 0, rest)
            kept = kept[rest:]
    return kept, skipped


def _without_prefix(line: str) -> tuple[str, str]:
    """Return the line without colours and prefixes, and the time that journald wrote."""
    plain = _COLOUR.sub("", line) if "\x1b" in line else line
    found = _PREFIX.match(plain)
    at = (found["at"] or "") if found else ""
    plain = plain[found.end() :] if found else plain
    composed = _COMPOSE.match(plain)
    return (plain[composed.end() :] if composed else plain), at
