"""The command line. A command is imported only when it is called."""

from __future__ import annotations

import importlib
import keyword
from typing import Final

import click

from sparkiac import __version__
from sparkiac.commands import verbs
from sparkiac.commands.inputs import CommandGroup
from sparkiac.commands.verbs import VERBS

GROUPS: Final = {
    "Start": {
        "init": "Create a repository for a fleet.",
        "propose": "Propose where deployments fit, fastest first.",
        "add": "Add a deployment to an inventory.",
        "recipes": "List and search recipes, variants and fragments.",
        "lock": "Pin image tags, model revisions and files.",
        "check": "Check an inventory and its lock.",
        "plan": "Show what runs where and how much memory it needs.",
        "generate": "Render an inventory into reviewed files.",
        "diff": "Show what a change of an inventory does to the hosts.",
    },
    "Run it": {
        "secrets": "Generate and store the secrets that hosts need.",
        "apply": "Show what changes on the hosts, ask, and apply it.",
        "status": "Show the state of hosts and servers, and what differs.",
        "clients": "Print addresses, keys and settings for client programs.",
    },
    "Every day": {
        "remove": "Remove a deployment from an inventory.",
        **{name: verb.summary for name, verb in VERBS.items()},
        "backup": "Save what is not in Git, encrypted: secrets, data, records.",
        "restore": "Put a backup back, also onto a host installed again.",
    },
    "Look into it": {
        "logs": "Show the logs of a host or deployment, merged by time.",
        "diagnose": "Find known problems in the logs of a server.",
        "report": "Write a report of a host that can be posted.",
        "verify": "Check the API of each server step by step, with evidence.",
        "bench": "Measure model servers and compare the results.",
        "memory": "Compare the plan with a vLLM startup log.",
        "fabric": "Find, check and measure the links between hosts.",
        "audit": "Show who can reach what, and who has which secret.",
    },
    "Move from and to other tools": {
        "import": "Draft an inventory from recipes, command lines and containers.",
        "export": "Convert a deployment for another tool.",
    },
    "Look up": {
        "docs": "Show the documentation, offline.",
        "rules": "List the rules and explain why they exist.",
        "images": "List images: vLLM releases, drivers, limits.",
        "schema": "Print the JSON Schema of the inventory.",
    },
}
"""Heading of the help → command → its line, in the order of use; here, so that `--help` does not import commands."""
COMMANDS: Final = {name: text for group in GROUPS.values() for name, text in group.items()}
ELSEWHERE: Final = {
    "run": "`sparkiac apply INVENTORY` starts what the inventory lists",
    "stop": (
        "`sparkiac drain INVENTORY NAME` takes no new requests; to stop a server, remove it from the inventory with "
        "`sparkiac remove NAME --from INVENTORY`, generate and apply"
    ),
    "list": "`sparkiac status INVENTORY` lists what runs, `sparkiac recipes list` what can be added",
    "validate": "`sparkiac check INVENTORY` checks an inventory",
    "upgrade": "`sparkiac lock INVENTORY --upgrade` pins newer versions, then generate and apply",
}
"""Names of commands in other tools → which command does it here."""


class _Lazy(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in VERBS:
            return verbs.command(cmd_name)
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command = getattr(importlib.import_module(f"sparkiac.commands.{name}"), name)
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, COMMANDS))
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names; for the name of another tool, say what to call."""
        if args and args[0] in ELSEWHERE:
            raise click.UsageError(f"there is no command {args[0]!r}; {ELSEWHERE[args[0]]}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sparkiac")
def cli() -> None:
    """Infrastructure as code for large language models on NVIDIA DGX Spark.

    Renders one inventory into docker-compose files, systemd units, host checks and Ansible playbooks, pinned to image
    digests. Review them in Git, then apply them with `sparkiac apply`, or with `ansible-playbook site.yml` alone.
    """
