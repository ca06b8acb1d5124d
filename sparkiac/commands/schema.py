"""`sparkiac schema`: JSON Schema of the inventory, for editors."""

from __future__ import annotations

from pathlib import Path

import click

from sparkiac.commands.exits import Exit


@click.command()
@click.argument("inventory", type=click.Path(path_type=Path, dir_okay=False), required=False)
def schema(inventory: Path | None) -> int:
    """Print the JSON Schema of the inventory.

    Save it as schema/inventory.schema.json and put this line at the top of an inventory:
    `# yaml-language-server: $schema=../schema/inventory.schema.json`.

    Editors complete recipes, fragments, platforms and vLLM options, with the releases that accept an option. With
    INVENTORY, they also complete its hosts, and mark options that the vLLM release of a deployment does not accept.

    Exit codes: 0, 2 the inventory has errors.
    """
    from sparkiac.formats import inventory_schema

    if inventory is None:
        click.echo(inventory_schema.text(inventory_schema.schema()), nl=False)
        return Exit.OK
    from sparkiac import pipeline
    from sparkiac.commands.inputs import read, show

    outcome = pipeline.check(*read(inventory), allow_unlocked=True)
    if outcome.plan is None:
        show(outcome.report, "text")
        return Exit.BAD_INPUT
    click.echo(inventory_schema.text(inventory_schema.schema_of(outcome.plan)), nl=False)
    return Exit.OK
