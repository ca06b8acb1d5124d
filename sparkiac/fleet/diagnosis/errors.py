"""The error of an engine that no symptom describes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.fleet.diagnosis.lines import LogLine

_ACCESS: Final = re.compile(r'"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) [^"]{0,2000} HTTP/[0-9.]{1,5}"')
_PROCESS: Final = re.compile(r"\([A-Za-z][\w ]{0,60}=?[0-9]{0,10}\) ")
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
    process = _PROCESS.match(text)
    plain = text[process.end() :] if process else text
    found = _LEVEL.match(plain)
    return (found[1], plain[found.end() :]) if found else (None, plain)
