"""Recipes whose memory fits the hosts of a new fleet, as a numbered list with size, speed and source."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Final, NamedTuple

from rich.text import Text

from sparkiac import pipeline
from sparkiac.catalog.library import RecipeText
from sparkiac.commands.init import repository
from sparkiac.commands.init.repository import FleetHost
from sparkiac.commands.recipes import choice, data, filling
from sparkiac.commands.recipes.filling import Filled
from sparkiac.commands.recipes.own import OwnRecipes
from sparkiac.commands.recipes.tables import weights
from sparkiac.fleet.fabric.discovery import FoundLink
from sparkiac.formats import terminal
from sparkiac.memory.values import Unknown, known_bytes
from sparkiac.model.catalog import Measurement
from sparkiac.plan import Plan, memory_use, verdict
from sparkiac.plan.memory_use import DeploymentMemory, HostMemoryUse
from sparkiac.plan.numbers import gib, span
from sparkiac.resolve import catalogued
from sparkiac.resolve.catalogued import Catalogued

_HEAD: Final = "Recipes for {hosts}, without those that are known to exceed the memory:"
_FOOT: Final = (
    "`sparkiac lock` reads missing sizes from the model hub; `check` and `plan` then calculate the memory again."
)
_FITS, _PARTLY, _OPEN = range(3)
"""Order of the list: what is proved comes first."""

_ADDRESS: Final = "192.0.2.{}/24"
"""Address of a link that stands in for the unknown links of a host."""


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
    rows = [(str(number), terminal.stacked(*_lines(each))) for number, each in enumerate(candidates, 1)]
    head = _HEAD.format(hosts=", ".join(host.name for host in hosts))
    return terminal.drawn([Text(head), terminal.grid(rows), Text(_FOOT)])


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
    if any(map(_exceeds, used)):
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
    left = choice.left_open(found)
    return filling.filled(found.name, left, [(each.key, "") for each in left])


def _exceeds(use: HostMemoryUse) -> bool:
    """Return whether it is known that a host has too little memory."""
    return verdict.of(use).word == "does not fit"


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
    yield f"{each.found.name}{hosts}"
    yield "; ".join(filter(None, (_size(each.found), each.memory, each.speed)))
    if left := choice.left_open(each.found):
        yield f"requires {', '.join(value.key for value in left)}"
    source, _, _ = str(each.found.entry.sources[0]).partition(": ")
    yield f"source: {source}"


def _size(found: Catalogued) -> str:
    return weights(data.summary(found)) if found.facts.weights else ""
