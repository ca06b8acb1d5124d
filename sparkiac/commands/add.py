"""`sparkiac add`: add a deployment of a recipe to an inventory."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from sparkiac.commands import completion, prompts
from sparkiac.commands.inputs import FORMAT, known, planned, reject
from sparkiac.commands.inventories import inventory_option
from sparkiac.commands.prompts import FILL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.catalog.library import Library
    from sparkiac.plan import Plan
    from sparkiac.resolve.catalogued import Catalogued

_FIRST_PORT: Final = 8000


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
@inventory_option("--to")
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
    from sparkiac.fix.edits import entry_names

    files, plan, report = planned(inventory, output_format)
    former = files[0].raw.decode()
    builds = tuple(entry_names(former, "builds"))
    shelf, _ = library.read(pipeline.recipe_files(files[0], pipeline.read_inventory(files[0]).document))
    hosts = tuple(each.strip() for each in on.split(","))
    wanted = _DeploymentDraft(recipe, hosts, name, model, port, fills, builds, shelf)
    new = _entries(wanted, plan, entry_names(former, "deployments", "services"))
    return editing.save(inventory, files, report, _edited(inventory, former, new), output_format)


def _edited(inventory: Path, text: str, new: _Entries) -> str:
    from sparkiac.fix.edits import with_entry
    from sparkiac.fix.nodes import CannotEdit

    try:
        text = with_entry(text, "deployments", new.name, new.deployment)
        for build, values in new.builds.items():
            text = with_entry(text, "builds", build, values)
    except CannotEdit as reason:
        reject(f"{inventory}: {new.name} must be added by hand: {reason}")
    return text


class _DeploymentDraft(NamedTuple):
    """Options of the command line about the deployment."""

    recipe: str
    hosts: tuple[str, ...]
    name: str | None
    model: str | None
    port: int | None
    fills: tuple[str, ...]
    builds: tuple[str, ...]
    """Images that the inventory builds."""
    library: Library
    """The recipes that the inventory can use."""


class _Entries(NamedTuple):
    """Entries that are added to an inventory."""

    name: str
    deployment: dict[str, Any]
    builds: dict[str, dict[str, Any]]


def _entries(wanted: _DeploymentDraft, plan: Plan, taken: Sequence[str]) -> _Entries:
    """Return the deployment, whose name is not `taken`, and the build of its image. Raises click.UsageError."""
    from sparkiac.commands.recipes import filling

    chosen = filling.deployable(wanted.recipe, library=wanted.library)
    _check_hosts(wanted, chosen, plan)
    model = _model(wanted.model, chosen)
    recipe, _, variant = chosen.name.partition("#")
    values: dict[str, Any] = {"recipe": recipe}
    values |= {"variant": variant} if variant else {}
    values |= {"model": model} if model else {}
    values["hosts"] = list(wanted.hosts) if len(wanted.hosts) > 1 else wanted.hosts[0]
    port = _port(wanted, chosen.values.get("port"), plan)
    values |= {"port": port} if port else {}
    fills = [filling.option(text) for text in wanted.fills]
    filled = filling.filled(chosen.name, filling.left_open(chosen, wanted.builds), fills)
    filling.refuse_unused(fills)
    return _Entries(_name(wanted.name, model or recipe, taken), values | filled.deployment, filled.builds)


def _check_hosts(wanted: _DeploymentDraft, chosen: Catalogued, plan: Plan) -> None:
    for name in wanted.hosts:
        known("host", name, [host.name for host in plan.hosts])
    if len(wanted.hosts) != chosen.nodes:
        several = "s" if chosen.nodes > 1 else ""
        reject(f"{chosen.name} needs {chosen.nodes} host{several}, but --on names {len(wanted.hosts)}")


def _model(given: str | None, chosen: Catalogued) -> str | None:
    """Return the model to write; None if it is that of the recipe."""
    if given is not None:
        return prompts.parser("--model", "HANDLE")(given)
    if "model" not in chosen.values:
        reject(f"{chosen.name} has no model of its own: add --model ORGANISATION/NAME")
    return None


def _port(wanted: _DeploymentDraft, usual: int | None, plan: Plan) -> int | None:
    """Return the port to write; None if that of the recipe is free on all hosts."""
    used = {each.port for host in plan.hosts if host.name in wanted.hosts for each in host.preflight.ports}
    if wanted.port is not None:
        return wanted.port
    free = next(port for port in count(usual or _FIRST_PORT) if port not in used)
    return None if free == usual else free


def _name(given: str | None, model: str, taken: Sequence[str]) -> str:
    from sparkiac.foreign.draft import slug, unused

    if given is None:
        return unused(slug(model), taken)
    if given in taken:
        reject(f"--name {given}: the inventory has a deployment or service of this name")
    return prompts.parser("--name", "NAME")(given)
