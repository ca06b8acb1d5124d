"""The lines of a log, without what journald, Docker Compose and terminals add to them, and the error among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
_ACCESS: Final = re.compile(r'"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) [^"]{0,2000} HTTP/[0-9.]{1,5}"')
_ENGINE_PROCESS: Final = re.compile(r"\([A-Za-z][\w ]{0,60}=?[0-9]{0,10}\) ")
_LEVEL: Final = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL) (?:\d\d-\d\d \d\d:\d\d:\d\d )?\[[^\]]{1,200}\] ?")
_EXCEPTION: Final = re.compile(
    r"(?:[A-Za-z_]\w{0,60}\.){0,9}(?:[A-Z]\w{0,60})?(?:Error|Exception|Interrupt|Exit|Timeout|Refused)(?::|$)"
)
_FRAME: Final = re.compile(r' {1,8}File "[^"]{1,300}", line \d{1,7}, in ')
_PLAIN: Final = re.compile(r"[Ee]rror: |ERROR: |[Ff]atal|FATAL|Killed|panic: ")
_CONSEQUENCES: Final = re.compile(
    r"Engine core initialization failed|EngineDeadError|EngineCore failed to start|WorkerProc initialization failed"
    r"|EngineCore encountered an issue|Engine process failed to start|Failed core proc|SystemExit|KeyboardInterrupt"
    r"|CancelledError|AsyncLLM output_handler failed"
)
_NOT_ENGINE: Final = re.compile(
    r"sparkiac-[a-z0-9-]{1,100}\.service: |(?:Starting|Started|Stopping|Stopped|Failed to start) sparkiac-"
    r"|(?:supervise|group): |(?:ok|info) {2}"  # programs of the unit
    r"| {0,4}(?:Container|Compose|Attaching to) "
    r"|\[W[0-9]{3,4} "  # warnings of PyTorch
)
_STOPPED: Final = ("[shutdown] API server: shutdown triggered", "trigger received signal=")
"""Lines that show a requested stop; the errors after them are consequences."""


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


class EngineError(NamedTuple):
    """An error with the place in the code where it was raised."""

    line: LogLine
    frame: LogLine | None = None
    is_consequence: bool = False
    """Whether it only repeats that an earlier error happened."""


def is_access(text: str) -> bool:
    """Return whether a line is a request in an access log."""
    return " HTTP/" in text and _ACCESS.search(text) is not None


def first_error(lines: Sequence[LogLine]) -> EngineError | None:
    """Return the first error that is not the consequence of another one: an exception, or else another error line.

    A log of several processes ends with errors that only say that an earlier one happened; they count if there is no
    other one.
    """
    frame: LogLine | None = None
    plain: LogLine | None = None
    later: LogLine | None = None
    for line in lines:
        if any(word in line.text for word in _STOPPED):
            break
        level, text = _parts(line.text)
        if level in {"DEBUG", "INFO", "WARNING"}:
            continue
        if _CONSEQUENCES.search(text):
            later = later or (line if _is_message(text) else None)
            continue
        if _FRAME.match(text):
            frame = line
        elif _EXCEPTION.match(text):
            return EngineError(line, frame)
        elif plain is None and _is_message(text) and (level is not None or _PLAIN.search(text)):
            plain = line
    if plain is not None:
        return EngineError(plain)
    return EngineError(later, is_consequence=True) if later else None


def _is_message(text: str) -> bool:
    return not text.startswith((" ", "Traceback ")) and not is_access(text) and not _NOT_ENGINE.match(text)


def last_of_engine(lines: Sequence[LogLine]) -> LogLine | None:
    """Return the last line that the engine printed, without its access log and without the lines of the unit."""
    printed = (line for line in reversed(lines) if not is_access(line.text) and not _NOT_ENGINE.match(line.text))
    return next(printed, None)


def _parts(text: str) -> tuple[str | None, str]:
    """Return level and message of a line of vLLM."""
    process = _ENGINE_PROCESS.match(text)
    plain = text[process.end() :] if process else text
    found = _LEVEL.match(plain)
    return (found[1], plain[found.end() :]) if found else (None, plain)
