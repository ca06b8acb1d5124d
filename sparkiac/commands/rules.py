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
    from sparkiac.formats import plain_rules, terminal
    from sparkiac.formats import rules as tables
    from sparkiac.report import Severity

    data = plain_rules.listed(Severity[severity.upper()] if severity else None)
    if output_format == "json":
        print_json({"rules": data, "profiles": plain_rules.levels()})
    else:
        terminal.show(tables.listed(data, plain_rules.levels(), width=terminal.width()))
    return Exit.OK


@rules.command()
@click.argument("code")
@AS_JSON
def explain(code: str, output_format: str) -> int:
    """Explain a code: the reason, a bad and a good example, and how to waive it.

    CODE is a code such as ENT001, or its name, such as double-vllm-serve.
    """
    from sparkiac.formats import plain_rules, terminal
    from sparkiac.formats import rules as tables

    name = code.upper() if code.upper() in plain_rules.names() else code
    page = plain_rules.named(known("rule", name, plain_rules.names()))
    if output_format == "json":
        print_json({"rule": plain_rules.explained(page)})
    elif terminal.is_terminal():
        terminal.show(tables.page(page))
    else:
        click.echo(plain_rules.markdown(page), nl=False)
    return Exit.OK
