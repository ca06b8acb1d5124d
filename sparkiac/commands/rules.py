"""`sparkiac rules`: list and explain the rules."""

from __future__ import annotations

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import AS_JSON, CommandGroup, Exit, answer, known, print_json


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
    from sparkiac.report import Severity
    from sparkiac.words import rules as words

    found = words.summaries(Severity[severity.upper()] if severity else None)
    answer(output_format, {"rules": found, "profiles": words.levels()}, lambda width: words.listed(found, width))
    return Exit.OK


@rules.command()
@click.argument("code", shell_complete=completion.rules)
@AS_JSON
def explain(code: str, output_format: str) -> int:
    """Explain a code: the reason, a bad and a good example, and how to waive it; for a symptom, cause and remedy.

    CODE is a code such as ENT001 or LOG101, or its name, such as double-vllm-serve.
    """
    from sparkiac.commands import terminal
    from sparkiac.words import rules as words

    names = (*words.names(), *words.symptom_names())
    name = known("rule or symptom", code.upper() if code.upper() in names else code, names)
    if name in words.names():
        page = words.named(name)
        kind, facts, text = "rule", words.explained(page), words.markdown(page)
    else:
        symptom = words.symptom(name)
        kind, facts, text = "symptom", words.symptom_data(symptom), words.symptom_markdown(symptom)
    if output_format == "json":
        print_json({kind: facts})
    else:
        click.echo(terminal.markdown(text) if terminal.is_terminal() else text, nl=False)
    return Exit.OK
