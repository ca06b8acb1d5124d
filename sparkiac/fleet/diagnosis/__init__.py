"""The diagnosis of one server from its logs: known symptoms, healthy markers, unknown errors.

All of this package is pure but `journal`, which reads the logs of a deployment over SSH.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from sparkiac.fleet.diagnosis import lines, markers, matching
from sparkiac.fleet.diagnosis.lines import EngineError, Log, LogLine
from sparkiac.fleet.diagnosis.markers import Marker
from sparkiac.fleet.diagnosis.matching import DiagnosedServer, Occurrence

_PROBLEMS: Final = ("error", "warning")


class LogState(NamedTuple):
    """The last start of the server in one log."""

    log: Log
    is_server: bool
    """Whether it has lines of vLLM; a kernel log and an answer do not."""
    ready: bool
    ended: bool
    """Whether the server shut down after it was ready."""
    markers: tuple[Marker, ...]
    last: LogLine | None
    """Last line of the engine."""


class Diagnosis(NamedTuple):
    """Findings in the logs of one server."""

    server: DiagnosedServer
    states: tuple[LogState, ...]
    seen: tuple[Occurrence, ...]
    """Known symptoms, the cause first."""
    unknown: EngineError | None = None
    """The first error that no symptom describes, if no error of a known symptom explains it."""

    @property
    def problems(self) -> tuple[Occurrence, ...]:
        """Return errors and warnings."""
        return tuple(each for each in self.seen if each.severity in _PROBLEMS)

    @property
    def failed(self) -> bool:
        """Return whether the logs show a problem."""
        return bool(self.problems) or self.unknown is not None


def diagnose(logs: Sequence[Log], planned: DiagnosedServer | None) -> Diagnosis:
    """Read the logs of one server; `planned` is its part of the inventory."""
    server = DiagnosedServer.of_log(line for log in logs for line in log.last).with_plan(planned)
    seen = matching.diagnosed(logs, server)
    found = Diagnosis(server, tuple(map(_state, logs)), seen, _unknown(logs, seen))
    unknown = found.unknown
    return found._replace(unknown=None) if unknown and unknown.is_consequence and found.problems else found


def _unknown(logs: Sequence[Log], seen: Sequence[Occurrence]) -> EngineError | None:
    """Return the first error that no symptom explains. A consequence explains only what follows it in its own log."""
    known = [each for each in seen if each.severity == "error"]
    if not all(each.symptom.consequence for each in known):
        return None
    after = {line.log: line.number for each in known for line in reversed(each.lines)}
    found = [error for log in logs if (error := lines.first_error(log.last))]
    unexplained = [each for each in found if each.line.number < after.get(each.line.log, sys.maxsize)]
    return min(unexplained, key=lambda each: (each.is_consequence, each.line.at), default=None)


def _state(log: Log) -> LogState:
    ready, ended = markers.progress(log.last)
    facts = markers.markers(log.last)
    is_server = bool(facts) or ready or DiagnosedServer.of_log(log.last).release is not None
    return LogState(log, is_server, ready, ended, facts, lines.last_of_engine(log.last))
