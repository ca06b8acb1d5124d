"""`sparkiac schema`: JSON Schema of the inventory, for editors."""

from __future__ import annotations

import json

import click

from sparkiac.commands.exits import Exit


@click.command()
def schema() -> int:
    """Print the JSON Schema of the inventory.

    Save it as schema/inventory.schema.json and put this line at the top of an inventory:
    `# yaml-language-server: $schema=../schema/inventory.schema.json`.
    """
    from sparkiac.model.inventory import Inventory
    from sparkiac.model.schema import json_schema

    click.echo(json.dumps(json_schema(Inventory), indent=1, sort_keys=True))
    return Exit.OK
