"""`sparkiac add`: add a deployment of a recipe to an inventory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkiac.commands import completion
from sparkiac.commands.inputs import FORMAT, planned, reject
from sparkiac.commands.prompts import FILL

if TYPE_CHECKING:
    from sparkiac.commands.add.draft import Entries


@click.command()
@click.argument("recipe", shell_complete=completion.recipes)
@click.option(
    "--on",
    "on",
    required=True,
    shell_complete=completion.hosts,
    metavar="HOST[,HOST]",
    help="Host or hosts that serve it, leader first.",
)
@click.option(
    "--to", "inventory", type=click.Path(path_type=Path), required=True, metavar="INVENTORY", help="The inventory."
)
@click.option("--name", help="Name of the deployment; default: that of the model or recipe.")
@click.option("--model", metavar="MODEL", help="Model, organisation/name, if the recipe has none.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port; default: that of the recipe, or the next free one.")
@FILL
@FORMAT
def add(  # noqa: PLR0913, PLR0917  click hands over one argument for each option
    recipe: str,
    on: str,
    inventory: Path,
    name: str | None,
    model: str | None,
    port: int | None,
    fills: tuple[str, ...],
    output_format: str,
) -> int:
    """Add a deployment of RECIPE to an inventory and print the diff; all other lines stay as they are.

    RECIPE is vendor/name or vendor/name#variant, of the catalog, of the repository's `recipes` or of the inventory's
    `sources`. It is refused if the inventory would have new errors: too little memory, a taken port, missing links.

    Exit codes: 0 done, 1 refused, with the findings, 2 bad input, 5 the inventory changed during the run, 6 it cannot
    be read or written.
    """
    from sparkiac import pipeline
    from sparkiac.catalog import library
    from sparkiac.commands import editing
    from sparkiac.commands.add import draft
    from sparkiac.fix.units import names

    files, plan, report = planned(inventory, output_format)
    former = files[0].raw.decode()
    builds = tuple(names(former, "builds"))
    shelf, _ = library.read(pipeline.recipe_files(files[0], pipeline.read_inventory(files[0]).document))
    hosts = tuple(each.strip() for each in on.split(","))
    wanted = draft.DeploymentDraft(recipe, hosts, name, model, port, fills, builds, shelf)
    new = draft.entries(wanted, plan, names(former, "deployments", "services"))
    return editing.save(inventory, files, report, _edited(inventory, former, new), output_format)


def _edited(inventory: Path, text: str, new: Entries) -> str:
    from sparkiac.fix.nodes import CannotEdit
    from sparkiac.fix.units import with_entry

    try:
        text = with_entry(text, "deployments", new.name, new.deployment)
        for build, values in new.builds.items():
            text = with_entry(text, "builds", build, values)
    except CannotEdit as reason:
        reject(f"{inventory}: {new.name} must be added by hand: {reason}")
    return text
