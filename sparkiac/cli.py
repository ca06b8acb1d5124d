"""The command line. A command is imported only when it is called."""

from __future__ import annotations

import importlib
import keyword
from typing import Final

import click

from sparkiac import __version__
from sparkiac.commands.inputs import CommandGroup

COMMANDS: Final = {
    "generate": "Render an inventory into reviewed files.",
    "check": "Check an inventory and its lock.",
    "plan": "Show what runs where and how much memory it needs.",
    "diff": "Show what a change of an inventory does to the hosts.",
    "memory": "Compare the plan with a vLLM startup log.",
    "recipes": "List and search recipes, variants and fragments.",
    "images": "List images: vLLM releases, drivers, limits.",
    "rules": "List the rules and explain why they exist.",
    "lock": "Pin image tags, model revisions and files.",
    "schema": "Print the JSON Schema of the inventory.",
    "import": "Draft an inventory from recipes, command lines and containers.",
    "export": "Convert a deployment for another tool.",
    "diagnose": "Find known problems in the logs of a server.",
    "apply": "Show what changes on the hosts, ask, and apply it.",
    "turn": "Switch the hosts to another turn: to other models that share them.",
    "status": "Show the state of hosts and servers, and what differs.",
    "verify": "Check the API of each server step by step, with evidence.",
    "bench": "Measure model servers and compare the results.",
    "fabric": "Find, check and measure the links between hosts.",
    "init": "Create a repository for a fleet.",
    "add": "Add a deployment to an inventory.",
    "remove": "Remove a deployment from an inventory.",
    "docs": "Show the documentation, offline.",
    "secrets": "Generate and store the secrets that hosts need.",
}
"""Command → its line in the help. It is kept here so that `--help` does not import the commands."""


class _Lazy(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command = getattr(importlib.import_module(f"sparkiac.commands.{name}"), name)
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sparkiac")
def cli() -> None:
    """Infrastructure as code for large language models on NVIDIA DGX Spark.

    Renders one inventory into docker-compose files, systemd units, host checks and Ansible playbooks, pinned to image
    digests. Review them in Git, then apply them with `sparkiac apply`, or with `ansible-playbook site.yml` alone.
    """
