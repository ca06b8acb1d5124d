"""`sparkiac schema`: JSON Schema of the inventory, for editors."""

from __future__ import annotations

from pathlib import Path

import click

from sparkiac.commands.inputs import Exit, planned


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
    from sparkiac.words import inventory_schema

    made = inventory_schema.schema_of(planned(inventory).plan) if inventory else inventory_schema.schema()
    click.echo(inventory_schema.text(made), nl=False)
    return Exit.OK
