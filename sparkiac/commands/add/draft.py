"""The values of a new deployment: checked names, and a port that is free on its hosts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Final, NamedTuple

from sparkiac.catalog.library import Library
from sparkiac.commands import prompts
from sparkiac.commands.inputs import known, reject
from sparkiac.commands.recipes import filling
from sparkiac.importers import naming
from sparkiac.plan import Plan
from sparkiac.resolve.catalogued import Catalogued

_FIRST_PORT: Final = 8000


class DeploymentDraft(NamedTuple):
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


class Entries(NamedTuple):
    """Entries that are added to an inventory."""

    name: str
    deployment: dict[str, Any]
    builds: dict[str, dict[str, Any]]


def entries(wanted: DeploymentDraft, plan: Plan, taken: Sequence[str]) -> Entries:
    """Return the deployment, whose name is not `taken`, and the build of its image. Raises click.UsageError."""
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
    return Entries(_name(wanted.name, model or recipe, taken), values | filled.deployment, filled.builds)


def _check_hosts(wanted: DeploymentDraft, chosen: Catalogued, plan: Plan) -> None:
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


def _port(wanted: DeploymentDraft, usual: int | None, plan: Plan) -> int | None:
    """Return the port to write; None if that of the recipe is free on all hosts."""
    used = {each.port for host in plan.hosts if host.name in wanted.hosts for each in host.preflight.ports}
    if wanted.port is not None:
        return wanted.port
    free = next(port for port in count(usual or _FIRST_PORT) if port not in used)
    return None if free == usual else free


def _name(given: str | None, model: str, taken: Sequence[str]) -> str:
    if given is None:
        return naming.unused(naming.slug(model), taken)
    if given in taken:
        reject(f"--name {given}: the inventory has a deployment or service of this name")
    return prompts.parser("--name", "NAME")(given)
