"""`sparkiac audit`: show who can reach what, and what is doubtful about it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from sparkiac.commands.inputs import AS_JSON, Exit, answer, mention, planned
from sparkiac.commands.inventories import INVENTORY


@click.command()
@INVENTORY
@AS_JSON
def audit(inventory: Path, output_format: str) -> int:
    """Show who can reach what of INVENTORY: open ports and keys, what containers may do, and who reads which secret.

    It reads the inventory, the lock and the certificates in secrets/, and connects to no host. The findings are those
    of `sparkiac check --profile strict` about security; that command has their places and hints. Pins of a host are
    overdue if the day of their review has passed.

    Exit codes: 0 shown, 1 shown, and `sparkiac check` finds errors, 2 bad input.
    """
    _, plan, report = planned(inventory, output_format, hidden=frozenset())
    from sparkiac.commands.secrets import store
    from sparkiac.words import audit as words

    today = date.today()  # noqa: DTZ011  reviews are due on a day here
    found = (plan, report.findings, store.certificates(Path("secrets") / f"{plan.name}.json"), today)
    answer(output_format, words.data(*found), lambda _: words.page(*found))
    mention(report, inventory)
    return Exit.FINDINGS if report.failed else Exit.OK
