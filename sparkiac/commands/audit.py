"""`sparkiac audit`: show who can reach what, and what is doubtful about it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkiac.commands.inputs import AS_JSON, Exit, answer, mention, planned
from sparkiac.commands.inventories import INVENTORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Plan
    from sparkiac.words.audit import IssuedCertificate


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
    from sparkiac.words import audit as words

    today = date.today()  # noqa: DTZ011  reviews are due on a day here
    found = (plan, report.findings, [*certificates(plan)], today)
    answer(output_format, words.data(*found), lambda _: words.page(*found))
    mention(report, inventory)
    return Exit.FINDINGS if report.failed else Exit.OK


def certificates(plan: Plan) -> Iterator[IssuedCertificate]:
    """Return the certificates of the servers that were issued last, and that of their authority."""
    from cryptography import x509

    from sparkiac.commands.secrets import store
    from sparkiac.words.audit import AUTHORITY, IssuedCertificate

    for name in sorted({AUTHORITY, *(unit.certificate for _, unit in plan.containers if unit.certificate)}):
        file = store.certificate_of(Path("secrets") / f"{plan.name}.json", name)
        if file.is_file():
            found = x509.load_pem_x509_certificate(file.read_bytes())
            kinds = [each.value for each in found.extensions if isinstance(each.value, x509.SubjectAlternativeName)]
            names = tuple(str(each.value) for kind in kinds for each in kind)
            yield IssuedCertificate(name, names, found.not_valid_after_utc.date())
