"""Known symptoms in logs, with the cause first and its consequences behind it."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import catalog
from sparkiac.fleet.diagnosis import server as servers
from sparkiac.fleet.diagnosis.errors import is_access, last_of_engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sparkiac.fleet.diagnosis.lines import Log, LogLine
    from sparkiac.fleet.diagnosis.server import DiagnosedServer, ReleaseDifference
    from sparkiac.model.symptoms import Symptom

_SEVERITIES: Final = ("error", "warning", "info")
_SHOWN: Final = 3


class Occurrence(NamedTuple):
    """One symptom and the lines that show it."""

    symptom: Symptom
    lines: tuple[LogLine, ...]
    """The first line of each log, at most three."""
    times: int
    """Number of lines in all logs."""
    groups: Mapping[str, str]
    """Values that the pattern of the symptom captured in the first line, by name."""
    differences: tuple[ReleaseDifference, ...]
    """Conditions that the server does not meet."""
    consequences: tuple[Occurrence, ...] = ()
    """Symptoms that it causes."""

    @property
    def known(self) -> bool:
        """Return whether cause and remedy apply, as far as the server is known."""
        return not any(each.excludes for each in self.differences)

    @property
    def severity(self) -> str:
        """Return its severity; a symptom of other servers is a note."""
        return self.symptom.severity if self.known else "info"


def diagnosed(logs: Sequence[Log], server: DiagnosedServer) -> tuple[Occurrence, ...]:
    """Return the symptoms in the logs of one server: errors first, the earliest of them first, then the others."""
    found: dict[str, list[LogLine]] = defaultdict(list)
    for log in logs:
        for code, lines in _in(log).items():
            found[code] += lines
    known = {symptom.code: symptom for symptom in catalog.symptoms()}
    return _ordered([_occurrence(known[code], lines, server) for code, lines in found.items()])


def _in(log: Log) -> Mapping[str, list[LogLine]]:
    """Return code → matching lines of one log. An access log shows nothing that a symptom describes."""
    found: dict[str, list[LogLine]] = defaultdict(list)
    for line in log.lines:
        if not is_access(line.text):
            for code, pattern in _patterns():
                if pattern.search(line.text):
                    found[code].append(line)
    for symptom in catalog.symptoms():
        if symptom.at_end and symptom.code in found:
            found[symptom.code] = [line for line in found[symptom.code] if line is last_of_engine(log.lines)]
    return {code: lines for code, lines in found.items() if lines}


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((each.code, re.compile(each.pattern)) for each in catalog.symptoms() if each.pattern is not None)


def _occurrence(symptom: Symptom, lines: Sequence[LogLine], server: DiagnosedServer) -> Occurrence:
    first = {(line.log, line.start): line for line in reversed(lines)}
    shown = sorted(first.values(), key=_time)[:_SHOWN]
    matched = re.search(symptom.pattern or "", shown[0].text)
    groups = {name: value for name, value in (matched.groupdict() if matched else {}).items() if value}
    differences = servers.differences(symptom.conditions, server)
    return Occurrence(symptom, tuple(shown), len(lines), groups, differences)


def _time(line: LogLine) -> tuple[int, str, int]:
    """Sort by time, where journald wrote one, or else by line number."""
    return (0, line.at, line.number) if line.at else (line.start, "", line.number)


def _ordered(found: Iterable[Occurrence]) -> tuple[Occurrence, ...]:
    ranked = sorted(found, key=_rank)
    caused: dict[str, list[Occurrence]] = defaultdict(list)
    for each in ranked:
        cause = _cause(each, ranked)
        caused[cause.symptom.code if cause else ""].append(each)
    return tuple(each._replace(consequences=tuple(caused[each.symptom.code])) for each in caused[""])


def _rank(seen: Occurrence) -> tuple[int, bool, tuple[int, str, int]]:
    return _SEVERITIES.index(seen.severity), seen.symptom.consequence, _time(seen.lines[0])


def _cause(seen: Occurrence, ranked: Sequence[Occurrence]) -> Occurrence | None:
    """Return the symptom that explains another one; it is never a consequence itself."""
    roots = [each for each in ranked if each is not seen and not each.symptom.consequence]
    more_exact = next((each for each in roots if each.symptom.code in seen.symptom.also), None)
    if more_exact is not None or not seen.symptom.consequence:
        return more_exact
    return next((each for each in roots if each.severity == "error"), None)
