"""`sparkiac plan`: what runs where, before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sparkiac.commands.inputs import FORMAT, INVENTORY, exit_code, read, show

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@INVENTORY
@FORMAT
def plan(inventory: Path, output_format: str) -> int:
    """Show hosts, units, ports, memory and pinned images of INVENTORY.

    Exits 0, or 1 on findings and 2 on bad input.
    """
    from sparkiac import pipeline

    outcome = pipeline.check(*read(inventory), allow_unlocked=True)
    if output_format == "json":
        show(outcome, "json", plan=_plain(outcome.plan))
        return exit_code(outcome)
    show(outcome, "text")
    if outcome.plan is not None:
        from sparkiac.formats.tables import print_plan

        print_plan(outcome.plan)
    return exit_code(outcome)


def _plain(value: Any) -> Any:  # noqa: ANN401  plain JSON data
    """Turn the plan's values into mappings and lists."""
    if hasattr(value, "_asdict"):
        return {key: _plain(inner) for key, inner in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    return value
