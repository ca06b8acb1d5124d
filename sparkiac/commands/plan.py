"""`sparkiac plan`: show what runs where; write nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sparkiac.commands.inputs import Exit, exit_code, known, mention, print_json, read, reject, show
from sparkiac.commands.inventories import INVENTORY

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.pipeline import Outcome


@click.command()
@INVENTORY
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "html"]),
    default="text",
    help="Output format; html is one self-contained page.",
)
@click.option("--explain", metavar="PATH", help="Show where a value comes from, such as deployments.chat.set.port.")
def plan(inventory: Path, output_format: str, *, explain: str | None) -> int:
    """Show what INVENTORY runs on each host, whether it fits in memory, and the expected speed.

    Errors are printed in full, and then also warnings; without errors, their number.

    --explain prints the layer and line of every value at PATH and below it, and the values that it overrides.

    Exit codes: 0 no error, 1 errors found, 2 bad input.
    """
    from sparkiac import pipeline

    if explain is not None:
        return _explain(inventory, explain, output_format)
    outcome = pipeline.check(*read(inventory), allow_unlocked=True)
    if output_format == "json":
        from sparkiac.words import plan as words

        show(outcome.report, "json", plan=words.data(outcome.plan) if outcome.plan else None)
    else:
        if outcome.report.failed:
            show(outcome.report, "text")
        else:
            mention(outcome.report, inventory)
        _print(outcome, output_format)
    return exit_code(outcome)


def _print(outcome: Outcome, output_format: str) -> None:
    if outcome.plan is None:
        return
    if output_format == "html":
        from sparkiac.render import page
        from sparkiac.words.findings import alike, data_of, differences, titles

        cleaned = (finding._replace(source=titles(finding.source)) for finding in outcome.report.findings)
        findings = [data_of(found[0]) | {"number": len(found), "alike": differences(found)} for found in alike(cleaned)]
        click.echo(page.render(outcome.plan, findings), nl=False)
    else:
        from sparkiac.commands import terminal
        from sparkiac.words import plan as words

        terminal.show(words.tables(outcome.plan, terminal.width()))


def _explain(inventory: Path, path: str, output_format: str) -> int:
    if output_format == "html":
        reject("--explain prints text or JSON; remove --format html")
    from sparkiac import pipeline, resolve
    from sparkiac.words import plan as words

    report, resolved = pipeline.resolve_inventory(*read(inventory))
    if resolved is None:
        show(report, output_format)
        return Exit.BAD_INPUT
    found = resolve.explain(resolved, path)
    if not found:
        known("path", path, resolve.explained_paths(resolved))
    if output_format == "json":
        print_json({"explained": words.explained(found)})
    else:
        click.echo(words.explained_text(found), nl=False)
    return Exit.OK
