"""`sparkiac bench`: measure a model server, compare records, and search for better options."""

from __future__ import annotations

import importlib
from typing import Final

import click

from sparkiac.commands.inputs import CommandGroup

_COMMANDS: Final = {
    "run": "Measure a server; the word run may be omitted.",
    "compare": "Compare two records: faster, slower, or cannot tell.",
    "show": "Show a record, or write it as Markdown or as a chart.",
}
"""Subcommand → its line in the help."""
_HELP: Final = frozenset({"-h", "--help"})


class _Bench(CommandGroup):
    """A group whose first word may also be an inventory or an option: then `run` is meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert `run` where it is omitted."""
        if args and args[0] not in _COMMANDS and args[0] not in _HELP:
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(importlib.import_module(f"sparkiac.commands.bench.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Bench)
def bench() -> None:
    """Measure a model server: sparkiac bench INVENTORY DEPLOYMENT [MODE], or sparkiac bench --url URL [MODE].

    Each run writes a record to the directory measurements beside the inventory, with everything that it was measured
    on. `sparkiac bench run --help` explains the modes and options.
    """
