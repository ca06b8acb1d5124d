"""`sparkiac lock --check --online`: the comparison of all pins with their servers, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from sparkiac import lock as locks
from sparkiac.commands.exits import Exit
from sparkiac.report.characters import escaped_line as shown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sparkiac.lock import PinComparison, PinRequest, RequestResults, RequiredPin
    from sparkiac.pipeline import LockState
    from sparkiac.report import Finding


class Checked(NamedTuple):
    """The comparison and its findings."""

    comparison: PinComparison
    differences: tuple[Finding, ...]
    failures: tuple[Finding, ...]
    """Pins that were not compared."""

    def exit_code(self) -> Exit:
        """Return the exit code; of a difference before that of a missing response."""
        if self.differences:
            return Exit.STALE
        if not self.failures:
            return Exit.OK
        return Exit.IO if locks.only_missing_responses(self.failures) else Exit.FINDINGS


def checked(state: LockState) -> Checked:
    """Request every pin of the lock, and compare the responses with it."""
    named = _answers(locks.by_name(state.lock, state.pins))
    pinned = _answers(locks.by_pin(state.lock, state.pins, named))
    comparison = locks.compared(state.lock, state.pins, named, pinned)
    inventory, lock = state.documents or (None, None)
    if inventory is None or lock is None:
        return Checked(comparison, (), ())
    different = locks.different(comparison.differences, inventory=inventory.name, lock=lock)
    failures = (
        locks.refused(pin, why.code, f"{pin.kind} {pin.name} was not compared: {why.message}", why.hint)
        for pin, why in comparison.failed
    )
    return Checked(comparison, tuple(different), tuple(failures))


def text(found: PinComparison, path: Path) -> str:
    """Return how many pins their servers confirm, and the names of those that were not compared."""
    differing = {each.pin.key for each in found.differences}
    total = len(found.confirmed) + len(differing) + len(found.failed)
    line = f"{click.format_filename(path)}: {len(found.confirmed)} of {total} pins confirmed"
    skipped = ", ".join(f"{pin.kind} {shown(pin.name)}" for pin, _ in found.failed)
    return f"{line}; not compared: {skipped}" if skipped else line


def plain(found: PinComparison) -> dict[str, Any]:
    """Return the comparison as plain data."""
    differences = [
        {**_named(each.pin), "path": list(each.path), "lock": each.locked, "upstream": each.upstream}
        for each in found.differences
    ]
    return {
        "confirmed": _all(found.confirmed),
        "differences": differences,
        "not_compared": _all(pin for pin, _ in found.failed),
    }


def _all(pins: Iterable[RequiredPin]) -> list[dict[str, str]]:
    return [_named(pin) for pin in pins]


def _named(pin: RequiredPin) -> dict[str, str]:
    return {"kind": pin.kind, "name": pin.name}


def _answers(requests: tuple[PinRequest, ...]) -> RequestResults:
    if not requests:
        return locks.RequestResults({}, {})
    from sparkiac.commands.lock.requests import send

    responses = send(requests)
    failed = {key: locks.PinFailure(each.code, str(each), each.hint) for key, each in responses.errors.items()}
    return locks.RequestResults(responses.found, failed)
