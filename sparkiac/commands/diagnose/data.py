"""A diagnosis as plain data, for `--format json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac.formats.findings import titles

if TYPE_CHECKING:
    from sparkiac.commands.diagnose.proposal import Proposal
    from sparkiac.fleet.diagnosis import Diagnosis, LogState
    from sparkiac.fleet.diagnosis.lines import LogLine
    from sparkiac.fleet.diagnosis.matching import Occurrence
    from sparkiac.plan.startup_log import StartupComparison

    Data = dict[str, Any]


def plain(found: Diagnosis) -> Data:
    """Return {"server": …, "logs": […], "symptoms": […], "unknown": …}."""
    unknown = found.unknown
    return {
        "server": {"models": list(found.server.models), "image": found.server.image, "vllm": found.server.release},
        "logs": [_log(each) for each in found.states],
        "symptoms": [_symptom(each) for each in found.seen],
        "unknown": unknown and {"line": _line(unknown.line), "raised_at": unknown.frame and _line(unknown.frame)},
    }


def change(proposal: Proposal | None, *, written: bool) -> Data:
    """Return the change of the inventory."""
    if proposal is None:
        return {"change": None}
    refused = [{"code": code, "reason": reason} for code, reason in proposal.refused]
    codes = {"codes": list(proposal.codes), "already": list(proposal.done), "refused": refused}
    return {"change": {"diff": proposal.diff, "written": written, **codes}}


def compared(found: StartupComparison | None) -> Data:
    """Return the figures of the plan and of the log."""
    rows = found.compared if found else ()
    return {"plan": [{"name": row.name, "computed": row.predicted, "measured": row.measured} for row in rows]}


def _log(state: LogState) -> Data:
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


def _symptom(seen: Occurrence) -> Data:
    symptom = seen.symptom
    return {
        "code": symptom.code,
        "slug": symptom.slug,
        "severity": seen.severity,
        "title": symptom.title,
        "lines": [_line(each) for each in seen.lines],
        "count": seen.times,
        "cause": symptom.cause,
        "remedy": list(symptom.remedy),
        "rule": symptom.rule,
        "sources": [titles(each) for each in symptom.sources],
        "differences": [each.text for each in seen.differences],
        "consequences": [each.symptom.code for each in seen.consequences],
    }


def _line(line: LogLine) -> Data:
    return {"log": line.log, "line": line.number, "start": line.start, "text": line.shown}
