"""Check the turns of an inventory: every name exists, and no unit is in every turn.

Names are read from the document, so that an invalid file gets these findings as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sparkiac.report import Finding, Path
from sparkiac.report.hints import nearest
from sparkiac.resolve.faults import TWICE, UNKNOWN, Fault, error, mapping
from sparkiac.source.document import Document


def check(document: Document) -> Iterator[Finding]:
    """Return a finding for every name in a turn that is unknown, listed twice, or in every turn."""
    turns = mapping(document.data, "turns")
    known = {*mapping(document.data, "deployments"), *mapping(document.data, "services")}
    members = {name: dict(_members(turn, ("turns", name))) for name, turn in turns.items()}
    for name, listed in members.items():
        seen = set[str]()
        for path, member in listed.items():
            fault = _fault(name, member, known=known, again=member in seen)
            if fault is None and member not in seen and all(member in each.values() for each in members.values()):
                hint = f"remove it from `turns`, or add a turn without {member}"
                fault = TWICE, f"{member} is in every turn, so that it always runs", hint
            seen.add(member)
            if fault is not None:
                code, message, hint = fault
                yield error(code, message, document.at_value(path), hint)
    yield from _times(document, turns)


def _fault(name: str, member: str, *, known: set[str], again: bool) -> Fault | None:
    if member not in known:
        hint = nearest(member, known) or "list deployments and services of this inventory"
        return UNKNOWN, f"unknown deployment or service {member!r}", hint
    return (TWICE, f"turn {name} lists {member} twice", "remove one of them") if again else None


def _members(turn: object, path: Path) -> Iterator[tuple[Path, str]]:
    """Return path and name of each member of a turn, in the short and the long form."""
    listed, path = (turn.get("run"), (*path, "run")) if isinstance(turn, dict) else (turn, path)
    for index, name in enumerate(listed if isinstance(listed, tuple) else ()):
        if isinstance(name, str):
            yield (*path, index), name


def _times(document: Document, turns: dict[str, Any]) -> Iterator[Finding]:
    """Find two turns that begin at the same time of the day."""
    first: dict[str, str] = {}
    for name, turn in turns.items():
        at = turn.get("at") if isinstance(turn, dict) else None
        other = first.setdefault(at, name) if isinstance(at, str) else name
        if other != name:
            message = f"turns {other} and {name} both begin at {at}"
            hint = "give each turn a different time"
            yield error(TWICE, message, document.at_value(("turns", name, "at")), hint)
