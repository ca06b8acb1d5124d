"""A diagnosis as a page and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from sparkiac.fleet.diagnosis import Diagnosis, LogState
from sparkiac.fleet.diagnosis.lines import EngineError, LogLine
from sparkiac.fleet.diagnosis.matching import Occurrence
from sparkiac.plan.startup_log import StartupComparison
from sparkiac.report.characters import escaped_line
from sparkiac.words import plan as of_plan
from sparkiac.words.findings import titles
from sparkiac.words.page import (
    SEVERITIES,
    Blocks,
    Data,
    Verbatim,
    bullets,
    grid,
    heading,
    line,
    section,
    styled,
)

_NOT_KNOWN: Final = (
    "Search for it in the issues of the engine, together with the release.",
    "If the server fails while it starts: `sparkiac diagnose --bisect` writes the configurations that find the option.",
)


class Proposal(NamedTuple):
    """An inventory after the changes."""

    raw: bytes
    diff: str
    codes: tuple[str, ...] = ()
    """Symptoms whose causes the changes remove."""
    done: tuple[str, ...] = ()
    """Symptoms whose changes the inventory has already."""
    refused: tuple[tuple[str, str], ...] = ()
    """Symptoms whose changes cannot be made, with the reason."""


def page(
    found: Diagnosis, compared: StartupComparison | None, proposal: Proposal | None, *, file: str, written: bool
) -> Blocks:
    """Return what was found, the comparison of plan and log, and the change of the inventory `file`."""
    yield from _found(found)
    if compared is not None and compared.compared:
        yield heading(f"Plan and log, {compared.name} on {compared.host}")
        yield from of_plan.compared(compared)
    if proposal:
        yield from _change(proposal, file=file, written=written)


def _found(found: Diagnosis) -> Blocks:
    """Return problems with their causes, an unknown error, notes, and what is known about each start."""
    yield from (part for state in found.states for part in _head(state, found))
    starts = {state.log.name: state.log.starts for state in found.states}
    for seen in found.problems:
        yield from _symptom(seen, starts)
    if found.unknown is not None:
        yield from _unknown(found.unknown)
    notes = (each for each in found.seen if each not in found.problems)
    yield from section("Also in the log, often normal", grid((each.symptom.code, _note(each)) for each in notes))
    yield from (part for state in found.states for part in _markers(state, several=len(found.states) > 1))
    if not found.failed:
        yield "\nNo problem found."
        yield from (part for state in found.states for part in _last(state))


def _change(proposal: Proposal, *, file: str, written: bool) -> Blocks:
    """List what is already done, what is refused and why, and the diff last: `git apply` then accepts this output."""
    for code in proposal.done:
        yield f"\n{code}: {file} already has the change; apply it, or read a newer log."
    for code, reason in proposal.refused:
        yield f"\n{code}: {file} is not changed: {reason}."
    if proposal.diff:
        how = "changed" if written else "change it with --write, or pipe this output to `git apply`"
        yield heading(f"Change for {', '.join(proposal.codes)} in {file}: {how}")
        yield Verbatim(proposal.diff.rstrip("\n"))


def _head(state: LogState, found: Diagnosis) -> Blocks:
    log = state.log
    facts = [f"vLLM {found.server.release}" if found.server.release else "", *found.server.models[:1]]
    starts = f"{log.starts} starts" if log.starts > 1 else ""
    cut = "only the end was read" if log.cut else ""
    parts = (*(facts if state.is_server else ()), starts, cut, _progress(state) if state.is_server else "")
    text = ", ".join(filter(None, parts)) or f"{len(log.lines)} lines"
    yield styled(escaped_line(f"{log.name}: {text}"), "bold")


def _progress(state: LogState) -> str:
    if state.ended:
        return "was ready, then ended"
    return "ready" if state.ready else "not ready"


def _symptom(seen: Occurrence, starts: Mapping[str, int]) -> Blocks:
    symptom = seen.symptom
    yield line("\n", (seen.severity, SEVERITIES[seen.severity]), f" {symptom.code} {symptom.slug}: {symptom.title}")
    for each in seen.lines:
        if each.start < starts[each.log]:
            yield f"  in start {each.start} of {starts[each.log]}:"
        yield _line(each)
    if seen.times > len(seen.lines):
        yield f"  {seen.times} such lines in all"
    rows = [("note:", each.text) for each in seen.differences]
    rows += [("cause:", symptom.cause), ("remedy:", symptom.remedy[0]), *(("", step) for step in symptom.remedy[1:])]
    yield grid(rows)
    rule = f"{symptom.rule} finds it in the inventory; " if symptom.rule else ""
    yield f"  see: {rule}sparkiac rules explain {symptom.code}"
    yield styled(f"  source: {'; '.join(dict.fromkeys(titles(each) for each in symptom.sources))}", "dim")
    for found in seen.consequences:
        yield f"  also caused by it: {found.symptom.code} {found.symptom.slug}, {_place(found.lines[0])}"


def _unknown(error: EngineError) -> Blocks:
    yield line("\n", ("error", "red"), ": no known symptom; the first error of the engine is")
    if error.frame is not None:
        yield _line(error.frame)
    yield _line(error.line)
    yield "  what to do:"
    yield bullets(_NOT_KNOWN)


def _note(seen: Occurrence) -> str:
    times = f", {seen.times} lines" if seen.times > 1 else ""
    other = "".join(f"; {each.text}" for each in seen.differences if each.excludes)
    return f"{seen.symptom.title} ({_place(seen.lines[0])}{times}){other}"


def _line(found: LogLine) -> Verbatim:
    return Verbatim(f"  {_place(found)}: {found.shown}")


def _place(line: LogLine) -> str:
    at = f" at {line.at[:19]}" if line.at else ""
    return f"{escaped_line(line.log)}:{line.number}{at}"


def _markers(state: LogState, *, several: bool) -> Blocks:
    title = f"The start in {escaped_line(state.log.name)}" if several else "The start"
    yield from section(title, grid((each.name, escaped_line(each.value)) for each in state.markers))


def _last(state: LogState) -> Blocks:
    if state.is_server and not state.ready and state.last is not None:
        yield "The server is not ready yet. The last line of the engine:"
        yield _line(state.last)


def data(found: Diagnosis) -> Data:
    """Return {"server": …, "logs": […], "symptoms": […], "unknown": …}."""
    unknown = found.unknown
    frame = unknown and unknown.frame
    return {
        "server": {"models": list(found.server.models), "image": found.server.image, "vllm": found.server.release},
        "logs": [_log_data(each) for each in found.states],
        "symptoms": [_symptom_data(each) for each in found.seen],
        "unknown": unknown and {"line": _line_data(unknown.line), "raised_at": frame and _line_data(frame)},
    }


def change_data(proposal: Proposal | None, *, written: bool) -> Data:
    """Return the change of the inventory."""
    if proposal is None:
        return {"change": None}
    refused = [{"code": code, "reason": reason} for code, reason in proposal.refused]
    codes = {"codes": list(proposal.codes), "already": list(proposal.done), "refused": refused}
    return {"change": {"diff": proposal.diff, "written": written, **codes}}


def compared_data(found: StartupComparison | None) -> Data:
    """Return the figures of the plan and of the log."""
    rows = found.compared if found else ()
    return {"plan": [{"name": row.name, "computed": row.predicted, "measured": row.measured} for row in rows]}


def _log_data(state: LogState) -> Data:
    markers = [
        {"name": each.name, "value": each.value, "line": each.line and each.line.number} for each in state.markers
    ]
    return {
        "name": state.log.name,
        "starts": state.log.starts,
        "cut": state.log.cut,
        "ready": state.ready if state.is_server else None,
        "ended": state.ended,
        "markers": markers,
    }


def _symptom_data(seen: Occurrence) -> Data:
    symptom = seen.symptom
    return {
        "code": symptom.code,
        "slug": symptom.slug,
        "severity": seen.severity,
        "title": symptom.title,
        "lines": [_line_data(each) for each in seen.lines],
        "count": seen.times,
        "cause": symptom.cause,
        "remedy": list(symptom.remedy),
        "rule": symptom.rule,
        "sources": [titles(each) for each in symptom.sources],
        "differences": [each.text for each in seen.differences],
        "consequences": [each.symptom.code for each in seen.consequences],
    }


def _line_data(line: LogLine) -> Data:
    return {"log": line.log, "line": line.number, "start": line.start, "text": line.shown}
