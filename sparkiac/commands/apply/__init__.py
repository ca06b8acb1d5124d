"""`sparkiac apply`: show what changes on the hosts, ask, and run the generated Ansible playbook."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from sparkiac.commands.inputs import AS_JSON, Exit, reject
from sparkiac.commands.inventories import INVENTORY

_ASK: Final = "a confirmation needs a terminal: add --yes"
_CHECK: Final = "; --check only shows what would change"
_JSON: Final = "--format json cannot ask for confirmation: add --yes or --check"


class AnsibleCommand(click.Command):
    """A command with options of ansible-playbook after --; its parameter `ansible` gets them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words before --. The error about an unknown option says where those of ansible-playbook belong."""
        end = args.index("--") if "--" in args else len(args)
        ctx.params["ansible"] = tuple(args[end + 1 :])
        try:
            return super().parse_args(ctx, args[:end])
        except click.NoSuchOption as error:
            message = f"{error.message} Options of ansible-playbook go after --, for example: `-- --limit spark-01`."
            raise click.NoSuchOption(error.option_name, message, error.possibilities, ctx) from None

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the parts of the line that shows how to call the command."""
        return [*super().collect_usage_pieces(ctx), "[-- ANSIBLE OPTIONS]"]


@click.command(cls=AnsibleCommand)
@INVENTORY
@click.option("--output", type=click.Path(path_type=Path), help="Generated directory; default: generated/<name>.")
@click.option("--yes", is_flag=True, help="Apply without a question.")
@click.option("--check", "only_check", is_flag=True, help="Show what would change; change nothing.")
@click.option("--older", is_flag=True, help="Apply, although a host runs a newer commit of the repository.")
@click.option("--take-over", is_flag=True, help="Take leases from another user's apply that has ended on this machine.")
@AS_JSON
def apply(  # noqa: PLR0913  one parameter for each option
    inventory: Path,
    ansible: tuple[str, ...],
    output_format: str,
    *,
    output: Path | None,
    yes: bool,
    only_check: bool,
    older: bool,
    take_over: bool,
) -> int:
    """Show what would change on the hosts of INVENTORY, ask, and run ansible-playbook with generated/<name>/site.yml.

    It does what `ansible-playbook site.yml` does, and nothing else. First it checks that the generated directory is up
    to date, and runs playbooks/look.yml, which compares each host with it and changes nothing.

    Options after -- go to ansible-playbook unchanged: -- --limit spark-01 --ask-become-pass -e @secrets.vault.yml. The
    look gets them too, except --check, --diff, --tags, --skip-tags, --start-at-task and --force-handlers. With -K, -k,
    -J or --vault-id NAME@prompt Ansible therefore asks twice; --become-password-file and --vault-password-file avoid
    this.

    Exit codes: 0 done or nothing to do, 1 errors found, a host failed or a server does not work, 2 bad input or
    options, 3 files out of date or edited by hand, with --check a host would change, or a host runs a newer commit, 4
    lock missing, incomplete or an example, 5 another apply changes a host, 6 a host is unreachable, 130 interrupted or
    answered with no.
    """
    from sparkiac.commands.apply import options, tree

    given = options.parse((*ansible, *(("-e", "take_over=1") if take_over else ())))
    asks = not (yes or only_check or given.check)
    require_answer(output_format, asks=asks)
    fleet = tree.checked(inventory, output, output_format)
    from sparkiac.commands.apply.session import ApplySession, in_session

    def work(session: ApplySession) -> Exit:
        return session.run(asks=asks, only_check=only_check, older=older)

    return in_session(fleet, given, output_format, work)


def require_answer(output_format: str, *, asks: bool, checks: bool = True) -> None:
    """Raise a usage error if a confirmation is needed but impossible; `checks` is whether the command has --check."""
    if asks and output_format == "json":
        reject(_JSON)
    if asks and not os.isatty(0):
        reject(f"{_ASK}{_CHECK if checks else ''}")
