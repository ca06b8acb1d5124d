"""The results of `sparkiac verify` for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from sparkiac.fleet.verify import Verified
from sparkiac.formats import terminal

_STATES: Final = {"ok": ("ok", "green"), "failed": ("FAIL", "bold red"), "skipped": ("skipped", "dim")}


def print_page(found: Iterable[Verified]) -> None:
    """Print a table of steps for each unit, and a line with the sum."""
    listed = list(found)
    terminal.show(part for each in listed for part in _unit(each))
    failed = sum(not each.passed for each in listed)
    verdict = f"{failed} of {len(listed)} failed" if failed else f"all {len(listed)} passed"
    terminal.show([Text(f"\n{verdict}" if listed else "nothing to check", style="bold")])


def _unit(found: Verified) -> Iterator[RenderableType]:
    yield terminal.heading(f"{found.name} on {found.host}")
    if found.failure is not None:
        yield Text(f"not checked: {found.failure.reason}; {found.failure.hint}", style="bold red")
        return
    table = terminal.table("step", "result", "seconds", "evidence", right=("seconds",), whole=("step", "result"))
    for step in found.steps:
        word, style = _STATES.get(step.state, (step.state, ""))
        table.add_row(step.name, Text(word, style=style), f"{step.seconds:.2f}", Text(step.evidence))
    yield table
