"""`sparkiac rules`: list and explain the rules."""

from __future__ import annotations

import click

from sparkiac.commands import completion
from sparkiac.commands.exits import Exit
from sparkiac.commands.inputs import AS_JSON, CommandGroup, known, print_json


@click.group(cls=CommandGroup)
def rules() -> None:
    """List and explain the rules: every code that a finding can have."""


@rules.command("list")
@click.option("--severity", type=click.Choice(["error", "warning", "info"]), help="List only codes of this severity.")
@AS_JSON
def list_(output_format: str, *, severity: str | None) -> int:
    """List all codes, including findings from reading and resolving the inventory.

    Symptoms of running servers have codes and pages as well: `sparkiac diagnose` finds them.
    """
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
@click.argument("code", shell_complete=completion.rules)
@AS_JSON
def explain(code: str, output_format: str) -> int:
    """Explain a code: the reason, a bad and a good example, and how to waive it; for a symptom, cause and remedy.

    CODE is a code such as ENT001 or LOG101, or its name, such as double-vllm-serve.
    """
    from sparkiac.commands.rules import data, symptoms
    from sparkiac.formats import markdown, terminal

    names = (*data.names(), *symptoms.names())
    name = known("rule or symptom", code.upper() if code.upper() in names else code, names)
    if name in data.names():
        page = data.named(name)
        kind, facts, text = "rule", data.explained(page), data.markdown(page)
    else:
        symptom = symptoms.named(name)
        kind, facts, text = "symptom", symptoms.explained(symptom), symptoms.markdown(symptom)
    if output_format == "json":
        print_json({kind: facts})
    elif terminal.is_terminal():
        terminal.show(markdown.page(text))
    else:
        click.echo(text, nl=False)
    return Exit.OK
