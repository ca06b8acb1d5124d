"""`sparkiac rules`: list and explain the rules."""

from __future__ import annotations

import click

from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import AS_JSON, CommandGroup, known, print_json


@click.group(cls=CommandGroup)
def rules() -> None:
    """List and explain the rules: every code that a finding can have."""


@rules.command("list")
@click.option("--severity", type=click.Choice(["error", "warning", "info"]), help="List only codes of this severity.")
@AS_JSON
def list_(output_format: str, *, severity: str | None) -> int:
    """List all codes, including findings from reading and resolving the inventory."""
    from sparkiac.commands.rules import data, tables
    from sparkiac.formats import terminal
    from sparkiac.report import Severity

    found = data.listed(Severity[severity.upper()] if severity else None)
    if output_format == "json":
        print_json({"rules": found, "profiles": data.levels()})
    else:
        terminal.show(tables.listed(found, data.levels(), width=terminal.width()))
    return Exit.OK


@rules.command()
@click.argument("code")
@AS_JSON
def explain(code: str, output_format: str) -> int:
    """Explain a code: the reason, a bad and a good example, and how to waive it.

    CODE is a code such as ENT001, or its name, such as double-vllm-serve.
    """
    from sparkiac.commands.rules import data, tables
    from sparkiac.formats import terminal

    name = code.upper() if code.upper() in data.names() else code
    page = data.named(known("rule", name, data.names()))
    if output_format == "json":
        print_json({"rule": data.explained(page)})
    elif terminal.is_terminal():
        terminal.show(tables.page(page))
    else:
        click.echo(data.markdown(page), nl=False)
    return Exit.OK
