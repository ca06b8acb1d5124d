"""What a new fleet serves: the recipes of --recipe, or those chosen on a terminal from a list of what fits."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from sparkiac.commands import prompts
from sparkiac.commands.init import hosts as machines
from sparkiac.commands.init.repository import Placement
from sparkiac.commands.inputs import reject
from sparkiac.commands.recipes import filling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sparkiac.commands.init.candidates import Candidate
    from sparkiac.commands.init.repository import FleetHost
    from sparkiac.commands.recipes.writing import OwnRecipes
    from sparkiac.resolve.catalogued import Catalogued

_WHICH: Final = "Recipe for {hosts}: number or name"
_NONE: Final = ", or empty for none"
_OPTION: Final = "--recipe RECIPE"
_WAYS: Final = ("together", "each")
_HOW: Final = "One model over several hosts (together), or one model on each host (each)?"

Hosts = tuple["FleetHost", ...]


class ServingOptions(NamedTuple):
    """Options of the command line about what the hosts serve."""

    recipes: Sequence[str]
    models: Sequence[str]
    fills: Sequence[str]


def chosen(hosts: Hosts, given: ServingOptions, own: OwnRecipes) -> tuple[Hosts, tuple[Placement, ...]]:
    """Return the hosts, with the links that were prompted for, and what each of them serves."""
    fills = [filling.option(text) for text in given.fills]
    placed = _placed(hosts, given.recipes, own) if given.recipes else _prompted(hosts, own)
    left, placements, builds = list(given.models), list[Placement](), set[str]()
    for found, each in placed:
        needed = "model" not in found.values
        model = _model(left.pop(0) if needed and left else None) if needed else None
        values = filling.filled(found.name, filling.left_open(found, builds), fills)
        builds |= values.builds.keys()
        placements.append(Placement(found, each, model, values))
    if left:
        reject(f"--model {left[0]}: no chosen recipe leaves its model open")
    filling.refuse_unused(fills)
    linked = {host.name: host for _, each in placed for host in each}
    return tuple(linked.get(host.name, host) for host in hosts), tuple(placements)


def _placed(hosts: Hosts, recipes: Sequence[str], own: OwnRecipes) -> list[tuple[Catalogued, Hosts]]:
    """Place each recipe on the first hosts that have none."""
    placed: list[tuple[Catalogued, Hosts]] = []
    left = hosts
    for name in recipes:
        if not left:
            reject(f"--recipe {name}: each host has a recipe already; add --host or --from-host")
        found = filling.deployable(name, library=own.library)
        left = machines.grouped(left, found.nodes, name)
        placed.append((found, left[: found.nodes]))
        left = left[found.nodes :]
    return placed


def _prompted(hosts: Hosts, own: OwnRecipes) -> list[tuple[Catalogued, Hosts]]:
    """List the recipes that fit and let the user choose; without a terminal, --recipe is required."""
    placed: list[tuple[Catalogued, Hosts]] = []
    if len(hosts) > 1 and sys.stdin.isatty() and prompts.value(None, _HOW, _way, default="each") == "together":
        placed.append(_together(hosts, own))
        hosts = hosts[placed[0][0].nodes :]
    shown: tuple[Candidate, ...] | None = None
    for host in hosts:
        fitting = _fitting((host,), (1,), own)
        if fitting != shown:
            _list(fitting, (host,))
        shown = fitting
        found = _choose(fitting, (host,), own, optional=bool(placed))
        if found is not None:
            placed.append((found, (host,)))
    return placed


def _together(hosts: Hosts, own: OwnRecipes) -> tuple[Catalogued, Hosts]:
    """Let the user choose a recipe for several hosts, and enter links that are unknown."""
    fitting = _fitting(hosts, range(2, len(hosts) + 1), own)
    _list(fitting, hosts)
    found = _choose(fitting, hosts, own)
    assert found is not None, "it is not optional"  # noqa: S101
    return found, machines.grouped(hosts, found.nodes, found.name)[: found.nodes]


def _fitting(hosts: Hosts, nodes: Sequence[int], own: OwnRecipes) -> tuple[Candidate, ...]:
    from sparkiac.commands.init import candidates

    return candidates.fitting(hosts, nodes, own) if sys.stdin.isatty() else ()


def _list(fitting: Sequence[Candidate], hosts: Hosts) -> None:
    from sparkiac.commands.init import candidates

    if fitting:
        click.echo(candidates.text(fitting, hosts), err=True, nl=False)


def _choose(
    fitting: Sequence[Candidate], hosts: Hosts, own: OwnRecipes, *, optional: bool = False
) -> Catalogued | None:
    label = _WHICH.format(hosts=", ".join(host.name for host in hosts))
    parse = _choice(fitting, len(hosts), own)
    if optional:
        return prompts.value(None, label + _NONE, lambda text: parse(text) if text else None, default="")
    return prompts.value(None, label, parse, _OPTION)


def _choice(fitting: Sequence[Candidate], hosts: int, own: OwnRecipes) -> Callable[[str], Catalogued]:
    """Return a function that returns the recipe of a number of the list, or of a name."""

    def parse(text: str) -> Catalogued:
        if text.isdecimal() and not 1 <= int(text) <= len(fitting):
            reject(f"{text} is not in the list; enter a number from 1 to {len(fitting)}, or a name")
        found = fitting[int(text) - 1].found if text.isdecimal() else filling.deployable(text, library=own.library)
        if found.nodes > hosts or (hosts > 1 and found.nodes == 1):
            reject(f"{found.name} needs {found.nodes} host{'s' if found.nodes > 1 else ''}, not {hosts}")
        return found

    return parse


def _way(text: str) -> str:
    if text not in _WAYS:
        reject(f"{text!r} is neither together nor each")
    return text


def _model(given: str | None) -> str:
    label = "Model, organisation/name as on the model hub"
    return prompts.value(given, label, prompts.parser("--model", "HANDLE"), "--model ORGANISATION/NAME")
