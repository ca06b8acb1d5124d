"""What a new fleet serves: the recipes of --recipe, or those chosen on a terminal from a list of what fits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import click

from sparkiac import pipeline
from sparkiac.catalog.library import RecipeText
from sparkiac.commands import prompts
from sparkiac.commands.init import hosts as machines
from sparkiac.commands.init import repository
from sparkiac.commands.init.repository import FleetHost, Placement
from sparkiac.commands.inputs import reject
from sparkiac.commands.recipes import filling
from sparkiac.commands.recipes.filling import Filled
from sparkiac.commands.recipes.writing import OwnRecipes
from sparkiac.fleet.fabric import FoundLink
from sparkiac.memory.values import Unknown, known_bytes
from sparkiac.model.catalog import Measurement
from sparkiac.plan import Plan, memory_use
from sparkiac.plan.memory_use import DeploymentMemory, HostMemoryUse
from sparkiac.plan.numbers import gib, span
from sparkiac.render.labels import verdict
from sparkiac.resolve import catalogued
from sparkiac.resolve.catalogued import Catalogued
from sparkiac.words import entries
from sparkiac.words.page import grid, stacked
from sparkiac.words.recipes import weights

_WHICH: Final = "Recipe for {hosts}: number or name"
_NONE: Final = ", or empty for none"
_OPTION: Final = "--recipe RECIPE"
_WAYS: Final = ("together", "each")
_HOW: Final = "One model over several hosts (together), or one on each (each)?"

Hosts: TypeAlias = tuple[FleetHost, ...]
_HEAD: Final = "Recipes for {hosts}, without those that are known to exceed the memory:"
_FOOT: Final = (
    "`sparkiac lock` reads missing sizes from the model hub; `check` and `plan` then calculate the memory again. "
    "`sparkiac recipes show NAME` has the settings and sources of a recipe."
)
_FITS, _PARTLY, _OPEN = range(3)
"""Order of the list: what is proved comes first."""

_ADDRESS: Final = "192.0.2.{}/24"
"""Address of a link that stands in for the unknown links of a host."""


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
        listed = _fitting((host,), (1,), own)
        if listed != shown:
            _list(listed, (host,))
        shown = listed
        found = _choose(listed, (host,), own, optional=bool(placed))
        if found is not None:
            placed.append((found, (host,)))
    return placed


def _together(hosts: Hosts, own: OwnRecipes) -> tuple[Catalogued, Hosts]:
    """Let the user choose a recipe for several hosts, and enter links that are unknown."""
    listed = _fitting(hosts, range(2, len(hosts) + 1), own)
    _list(listed, hosts)
    found = _choose(listed, hosts, own)
    assert found is not None, "it is not optional"  # noqa: S101
    return found, machines.grouped(hosts, found.nodes, found.name)[: found.nodes]


def _fitting(hosts: Hosts, nodes: Sequence[int], own: OwnRecipes) -> tuple[Candidate, ...]:
    return fitting(hosts, nodes, own) if sys.stdin.isatty() else ()


def _list(listed: Sequence[Candidate], hosts: Hosts) -> None:
    if listed:
        click.echo(text(listed, hosts), err=True, nl=False)


def _choose(listed: Sequence[Candidate], hosts: Hosts, own: OwnRecipes, *, optional: bool = False) -> Catalogued | None:
    label = _WHICH.format(hosts=", ".join(host.name for host in hosts))
    parse = _choice(listed, len(hosts), own)
    if optional:
        return prompts.value(None, label + _NONE, lambda text: parse(text) if text else None, default="")
    return prompts.value(None, label, parse, _OPTION)


def _choice(listed: Sequence[Candidate], hosts: int, own: OwnRecipes) -> Callable[[str], Catalogued]:
    """Return a function that returns the recipe of a number of the list, or of a name."""

    def parse(text: str) -> Catalogued:
        if text.isdecimal() and not 1 <= int(text) <= len(listed):
            reject(f"{text} is not in the list; enter a number from 1 to {len(listed)}, or a name")
        found = listed[int(text) - 1].found if text.isdecimal() else filling.deployable(text, library=own.library)
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


class Candidate(NamedTuple):
    """A recipe that is not known to exceed the memory of the hosts."""

    order: int
    found: Catalogued
    memory: str
    speed: str


def fitting(hosts: tuple[FleetHost, ...], nodes: Container[int], own: OwnRecipes) -> tuple[Candidate, ...]:
    """Return the recipes for one of these numbers of hosts that fit, those with exact memory figures first."""
    found = (
        _candidate(each, hosts, own.files) for each in catalogued.everything(own.library) if _is_listed(each, nodes)
    )
    return tuple(sorted(filter(None, found), key=lambda each: (each.order, each.found.name)))


def text(candidates: Sequence[Candidate], hosts: Sequence[FleetHost]) -> str:
    """Return the numbered list."""
    from sparkiac.commands import terminal

    rows = [(str(number), stacked(*_lines(each))) for number, each in enumerate(candidates, 1)]
    head = _HEAD.format(hosts=", ".join(host.name for host in hosts))
    return terminal.drawn([head, grid(rows), _FOOT])


def _is_listed(found: Catalogued, nodes: Container[int]) -> bool:
    """Return whether init can serve an entry; a variant is listed only if it is for another number of hosts."""
    differs = found.variant is None or found.nodes != found.recipe.nodes
    return found.usable and differs and found.nodes in nodes


def _candidate(found: Catalogued, hosts: Sequence[FleetHost], own: tuple[RecipeText, ...]) -> Candidate | None:
    """Return an entry with its memory and speed; None if it does not fit, or if `check` refuses it."""
    if "model" not in found.values:
        return Candidate(_OPEN, found, "memory and speed depend on the model", "")
    plan = _plan(found, hosts, own)
    if plan is None:
        return None
    used = [memory_use.of(host) for host in plan.hosts]
    if any(verdict(use).word == "does not fit" for use in used):
        return None
    order, memory = _memory(used)
    leader = next(each for use in used for each in use.accounts if each.leads)
    return Candidate(order, found, memory, _speed(found.entry.measured, leader))


def _plan(found: Catalogued, hosts: Sequence[FleetHost], own: tuple[RecipeText, ...]) -> Plan | None:
    """Return the plan of a fleet that serves this entry alone; its memory does not depend on addresses or links."""
    chosen = tuple(
        host if host.links else host._replace(links=(FoundLink("eth0", "mlx5_0", _ADDRESS.format(number)),))
        for number, host in enumerate(hosts[: found.nodes], 1)
    )
    fleet = repository.FleetDraft("fleet", chosen, None, "/srv/models")
    raw = repository.from_recipes(fleet, [repository.Placement(found, chosen, None, _open(found))]).encode()
    return pipeline.check(pipeline.InputFile(found.name, raw, recipes=own), None, allow_unlocked=True).plan


def _open(found: Catalogued) -> Filled:
    """Return placeholders for the values that an entry leaves open."""
    left = filling.left_open(found)
    return filling.filled(found.name, left, [(each.key, "") for each in left])


def _memory(used: Sequence[HostMemoryUse]) -> tuple[int, str]:
    accounts = [each for use in used for each in use.accounts]
    if not all(map(_weights_fit, accounts)) or any(use.most_bytes is None for use in used):
        return _OPEN, "memory unknown"
    if any(isinstance(each.fit, Unknown) for each in accounts):
        return _PARTLY, "weights fit, KV cache unknown"
    left = min(use.most_bytes or 0 for use in used)
    return _FITS, f"fits, {gib(left)} left free"


def _weights_fit(account: DeploymentMemory) -> bool:
    """Return whether the weights are known and fit into the memory that the server requests."""
    sizes = [known_bytes(term.size_bytes) for term in account.inside if term.name == "weights"]
    return account.shortage_bytes is not None and bool(sizes) and None not in sizes


def _speed(measured: Sequence[Measurement], leader: DeploymentMemory) -> str:
    """Return the first decode rate that a source measured, else the estimate."""
    stated = next((each for each in measured if each.what.startswith("decode")), None)
    if stated is not None:
        return f"decode {stated.value} ({stated.source})"
    if isinstance(leader.decode, Unknown):
        return "decode unknown"
    first = leader.decode[0]
    return f"decode {span(first.low, first.high, 'tokens/s')} (estimate)"


def _lines(each: Candidate) -> Iterator[str]:
    hosts = f", {each.found.nodes} hosts" if each.found.nodes > 1 else ""
    uses = f": {', '.join(each.found.use_cases)}" if each.found.use_cases else ""
    yield f"{each.found.name}{hosts}{uses}"
    size = weights(entries.summary(each.found)) if each.found.facts.weights else ""
    yield "; ".join(filter(None, (size, each.memory, each.speed)))
    if left := filling.left_open(each.found):
        yield f"requires {', '.join(value.key for value in left)}"
