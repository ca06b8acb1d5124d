"""The text of an inventory with the changes that remove the causes of symptoms, each checked before it is offered."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from sparkiac import pipeline, write
from sparkiac.commands.diagnose.context import deployments
from sparkiac.fix.edits import edited
from sparkiac.fix.nodes import CannotEdit
from sparkiac.fix.nodes import read as read_nodes
from sparkiac.fleet.diagnosis import changes
from sparkiac.report import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sparkiac.commands.diagnose.context import Context
    from sparkiac.fleet.diagnosis.changes import ChangeTarget
    from sparkiac.fleet.diagnosis.matching import Occurrence
    from sparkiac.pipeline import Outcome
    from sparkiac.report import Edit, Path, Report


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


def propose(found: Sequence[Occurrence], context: Context) -> Proposal:
    """Return the inventory with all certain changes."""
    raw, container = context.files[0].raw, context.container
    codes, done, refused = list[str](), list[str](), list[tuple[str, str]]()
    for seen in (each for each in found if each.symptom.change is not None):
        code, wanted = seen.symptom.code, changes.targets(seen, container)
        if wanted:
            text, reason = _changed(raw, wanted, context)
            raw = text or raw
            codes += [code] if text else []
            refused += [] if text else [(code, reason)]
        elif changes.are_met(seen, container):
            done.append(code)
    name = context.files[0].name
    return Proposal(raw, write.diff_of(name, context.files[0].raw, raw), tuple(codes), tuple(done), tuple(refused))


def tried(raw: bytes, edits: Sequence[Edit], context: Context) -> tuple[bytes, Outcome]:
    """Return the text with edits, and its check. Raises `CannotEdit`."""
    text = edited(raw.decode(), edits).encode()
    inventory, lock = context.files
    return text, pipeline.check(inventory._replace(raw=text), lock, allow_unlocked=True)


def added_errors(before: Report, after: Report) -> list[str]:
    """Return the codes of errors that a change adds."""
    return sorted((_errors(after) - _errors(before)).keys())


def written(raw: bytes, path: Path) -> Mapping[str, object]:
    """Return a deployment as the inventory has it."""
    data: object = read_nodes(raw.decode())[0]
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _changed(raw: bytes, wanted: Sequence[ChangeTarget], context: Context) -> tuple[bytes | None, str]:
    """Return the text with one change, or the reason why it cannot be made: cutting a line can be too little."""
    reason, path = "", context.container.path
    for null in (False, True):
        try:
            text, outcome = tried(raw, changes.edits(wanted, path, written(raw, path), null=null), context)
        except CannotEdit as error:
            reason = str(error)
            continue
        reason = _fault(wanted, outcome, context)
        if not reason:
            return text, ""
    return None, reason


def _fault(wanted: Sequence[ChangeTarget], outcome: Outcome, context: Context) -> str:
    if outcome.plan is None:
        return "the inventory does not load with it"
    container = deployments(outcome.plan)[context.container.name][0][1]
    if not all(changes.is_met(each, container) for each in wanted):
        return "another layer of the inventory sets the value"
    added = added_errors(context.report, outcome.report)
    return f"it adds {', '.join(added)}" if added else ""


def _errors(report: Report) -> Counter[str]:
    return Counter(each.code for each in report.findings if each.severity is Severity.ERROR)
