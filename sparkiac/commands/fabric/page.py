"""The result of `sparkiac fabric verify` for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from sparkiac.formats import terminal

if TYPE_CHECKING:
    from sparkiac.fleet.fabric.checks import LinkCheck

_STATES: Final = {True: ("ok", "green"), False: ("FAIL", "bold red"), None: ("not checked", "dim")}


def print_page(steps: list[LinkCheck]) -> None:
    """Print one line for each check, and a summary."""
    if not steps:
        terminal.show([Text("no host has links; sparkiac fabric discover INVENTORY finds them", style="bold")])
        return
    table = terminal.table("host or group", "check", "result", "found", "expected", whole=("result",))
    for step in steps:
        word, style = _STATES[step.passed]
        table.add_row(step.host, step.name, Text(word, style=style), Text(step.found), Text(step.expected))
    failed = sum(step.passed is False for step in steps)
    verdict = f"{failed} of {len(steps)} failed" if failed else f"none of {len(steps)} failed"
    terminal.show([table, Text(f"\n{verdict}", style="bold")])
