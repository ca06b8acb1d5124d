"""`sparkiac turn`: switch the hosts to another turn."""

from __future__ import annotations

from pathlib import Path

import click

from sparkiac.commands.apply import AnsibleCommand, require_answer
from sparkiac.commands.inputs import AS_JSON, INVENTORY, known


@click.command(cls=AnsibleCommand)
@INVENTORY
@click.argument("turn", metavar="TURN")
@click.argument("ansible", nargs=-1, type=click.UNPROCESSED, metavar="[-- ANSIBLE OPTIONS]")
@click.option("--output", type=click.Path(path_type=Path), help="Generated directory; default: generated/<name>.")
@click.option("--yes", is_flag=True, help="Switch without a question.")
@AS_JSON
def turn(  # noqa: PLR0913  one parameter for each option
    inventory: Path, turn: str, ansible: tuple[str, ...], output_format: str, *, output: Path | None, yes: bool
) -> int:
    """Switch the hosts of INVENTORY to TURN: stop the units of the current turn, start and check those of TURN.

    It does what `ansible-playbook playbooks/turn.yml -e turn=TURN` does in generated/<name>, and nothing else. Running
    requests have time to end. A host on which TURN does not answer well returns to the former turn, and so do the hosts
    that were switched before it.

    Options after -- go to ansible-playbook unchanged, such as -- --limit spark-01 or -- --check.

    Exit codes: 0 done, 1 errors found or a host failed, 2 bad input or options, 3 files out of date or edited by hand,
    4 lock missing, incomplete or an example, 5 an apply changes a host, 6 a host is unreachable, 130 interrupted or
    answered with no.
    """
    from sparkiac.commands.apply import options, tree

    given = options.parse(ansible)
    asks = not (yes or given.check)
    require_answer(output_format, asks=asks, check="-- --check")
    fleet = tree.checked(inventory, output, output_format)
    known("turn", turn, dict.fromkeys(each.name for host in fleet.plan.hosts for each in host.turns))
    from sparkiac.commands.apply.session import in_session

    return in_session(fleet, given, output_format, lambda session: session.turn(turn, asks=asks))
