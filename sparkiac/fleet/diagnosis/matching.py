"""The server that logs belong to, and the known symptoms in them: the cause first, its consequences behind it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Final, NamedTuple

from sparkiac import catalog
from sparkiac.catalog import interfaces
from sparkiac.fleet.diagnosis.lines import Log, LogLine, is_access, last_of_engine
from sparkiac.model.symptoms import Conditions, Symptom
from sparkiac.plan.container import Container

_RELEASE: Final = re.compile(
    r"vLLM API server version ([0-9][\w.+-]{0,60})|LLM engine \(v([0-9][\w.+-]{0,60})\)"
    r"|^vLLM Version ([0-9][\w.+-]{0,60})|vLLM \(v([0-9][\w.+-]{0,60})\) headless"
)
_MODEL: Final = re.compile(r"with config: model='([^']{1,300})'|'model(?:_tag)?': '([^']{1,300})'")
_HANDLE: Final = re.compile(r"[\w.-]{1,100}/[\w.-]{1,200}")
_SEVERITIES: Final = ("error", "warning", "info")
_SHOWN: Final = 3


class DiagnosedServer(NamedTuple):
    """Facts about a server; None or empty if unknown."""

    models: tuple[str, ...] = ()
    image: str | None = None
    release: str | None = None

    @classmethod
    def of_log(cls, lines: Iterable[LogLine]) -> DiagnosedServer:
        """Return the facts that the log lines of one start contain."""
        release, models = None, dict[str, None]()
        for line in lines:
            if "vLLM" in line.text or "LLM engine" in line.text:
                found = _RELEASE.search(line.text)
                release = next(filter(None, found.groups())) if found else release
            if "model" in line.text and (named := _MODEL.search(line.text)):
                models[next(filter(None, named.groups()))] = None
        return cls(tuple(models), None, release)

    @classmethod
    def of_plan(cls, container: Container) -> DiagnosedServer:
        """Return the facts that the plan contains."""
        model = container.server.model
        return cls((model,) if model else (), container.image.reference, container.image.vllm)

    def with_plan(self, planned: DiagnosedServer | None) -> DiagnosedServer:
        """Add the facts of the plan; for release and model the log counts, as the plan may be newer than the server."""
        if planned is None:
            return self
        handles = tuple(each for each in self.models if _HANDLE.fullmatch(each))
        return DiagnosedServer(handles or planned.models, planned.image, self.release or planned.release)


class ReleaseDifference(NamedTuple):
    """A condition of a symptom that a server does not meet."""

    text: str
    excludes: bool
    """Whether the difference excludes the symptom; another image does not, because the line has the same cause."""


def differences(conditions: Conditions, server: DiagnosedServer) -> tuple[ReleaseDifference, ...]:
    """Return the conditions that the server does not meet. What is unknown is no difference."""
    image = server.image.partition("@")[0] if server.image else None
    found = [ReleaseDifference(text, excludes=True) for text in _excluding(conditions, server)]
    if conditions.images and image and not _matches(image, conditions.images):
        text = f"it was seen with {_listed(conditions.images)}; this server has {image}"
        found.append(ReleaseDifference(text, excludes=False))
    return tuple(found)


def _excluding(conditions: Conditions, server: DiagnosedServer) -> Iterator[str]:
    models = [each for each in server.models if _HANDLE.fullmatch(each)]
    if conditions.models and models and not any(_matches(each, conditions.models) for each in models):
        yield f"it is known for {_listed(conditions.models)}; this server has {models[0]}"
    if server.release is None:
        return
    release = interfaces.release(server.release)
    if conditions.vllm_at_least and release < interfaces.release(conditions.vllm_at_least):
        yield f"it is known for vLLM {conditions.vllm_at_least} and later; this server has {server.release}"
    if conditions.vllm_below and release >= interfaces.release(conditions.vllm_below):
        yield f"it is known for releases before vLLM {conditions.vllm_below}; this server has {server.release}"


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def _listed(patterns: Iterable[str]) -> str:
    return ", ".join(pattern.strip("*") for pattern in patterns)


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
    return Occurrence(symptom, tuple(shown), len(lines), groups, differences(symptom.conditions, server))


def _time(line: LogLine) -> tuple[int, str, int]:
    """Sort by time, where journald wrote one, or else by line number."""
    return (0, line.at, line.number) if line.at else (line.start, "", line.number)


def _ordered(found: Iterable[Occurrence]) -> tuple[Occurrence, ...]:
    ranked = sorted(
        found, key=lambda each: (_SEVERITIES.index(each.severity), each.symptom.consequence, _time(each.lines[0]))
    )
    caused: dict[str, list[Occurrence]] = defaultdict(list)
    for each in ranked:
        cause = _cause(each, ranked)
        caused[cause.symptom.code if cause else ""].append(each)
    return tuple(each._replace(consequences=tuple(caused[each.symptom.code])) for each in caused[""])


def _cause(seen: Occurrence, ranked: Sequence[Occurrence]) -> Occurrence | None:
    """Return the symptom that explains another one; it is never a consequence itself."""
    roots = [each for each in ranked if each is not seen and not each.symptom.consequence]
    more_exact = next((each for each in roots if each.symptom.code in seen.symptom.also), None)
    if more_exact is not None or not seen.symptom.consequence:
        return more_exact
    return next((each for each in roots if each.severity == "error"), None)
