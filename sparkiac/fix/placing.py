"""Search for placements of wishes on the hosts of an inventory, fastest first.

Arithmetic over what each candidate claims chooses placements; the check and the plan of the whole inventory confirm
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Final, NamedTuple

from sparkiac.fix.candidates import (
    FIRST_PORT,
    Check,
    FleetRoom,
    Group,
    Wish,
    WishCandidate,
    candidates,
    fleet_of,
    host_names,
)
from sparkiac.fix.edits import entry_names, with_entry
from sparkiac.fix.fitting import Fitted, fitted
from sparkiac.plan import HostPlan, memory_use
from sparkiac.plan.numbers import gib
from sparkiac.render.labels import verdict
from sparkiac.resolve.catalogued import Catalogued

_MOST_PROPOSALS: Final = 3
_WIDTH: Final = 40
"""Placements of the first wishes that are continued with the next one, and a quarter as many of the smallest."""
_MOST_PLANNED: Final = 20
"""Placements that are checked and planned."""


class PlacedWish(NamedTuple):
    """One wish of a placement."""

    wish: Wish
    candidate: WishCandidate
    hosts: Group

    @property
    def names(self) -> frozenset[str]:
        """Return the names of its hosts."""
        return frozenset(host.name for host in self.hosts)


class Placing(NamedTuple):
    """Some wishes on hosts."""

    parts: tuple[PlacedWish, ...] = ()
    in_turns: bool = False
    """Whether wishes on one host take turns."""

    def on(self, host: HostPlan) -> tuple[str, ...]:
        """Return the names of the wishes on a host."""
        return tuple(each.wish.name for each in self.parts if host in each.hosts)

    def beside(self, part: PlacedWish) -> int:
        """Return how many servers decode at once on one of its hosts, at most."""
        return max(len(host.proofs) + (1 if self.in_turns else len(self.on(host))) for host in part.hosts)

    @property
    def speeds(self) -> tuple[float, ...]:
        """Return the lowest expected speeds while all of them decode, the slowest first."""
        return tuple(sorted(each.candidate.low / self.beside(each) for each in self.parts))

    @property
    def turns(self) -> tuple[tuple[str, ...], ...]:
        """Return the wishes of each turn: no two of one turn share a host. What shares no host is in none."""
        found = list[list[PlacedWish]]()
        for part in self.parts:
            if any(len(self.on(host)) > 1 for host in part.hosts):
                free = [turn for turn in found if not any(part.names & each.names for each in turn)]
                found += [] if free else [[]]
                (free or found[-1:])[0].append(part)
        return tuple(tuple(each.wish.name for each in turn) for turn in found) if self.in_turns else ()

    @property
    def kind(self) -> tuple[object, ...]:
        """Return what distinguishes two proposals: the models, and which of the wishes share hosts."""
        together = frozenset(self.on(host) for each in self.parts for host in each.hosts)
        return (*(each.candidate.found.values["model"] for each in self.parts), together)


class ProposedInventory(NamedTuple):
    """A placement of all wishes that passes the check and fits."""

    placing: Placing
    fitted: Fitted


class SearchOutcome(NamedTuple):
    """Result of a search."""

    proposals: tuple[ProposedInventory, ...] = ()
    cut: Mapping[str, Mapping[str, str]] = {}
    """Wish → recipe or variant → why it was left out."""
    chosen: Mapping[str, tuple[WishCandidate, ...]] = {}
    """Wish → its candidates, the fastest first."""
    placings: int = 0
    """Placements that were compared."""
    dropped: tuple[str, ...] = ()
    """Why the check or the plan refused a placement."""
    unmet: Mapping[str, str] = {}
    """Wish → why it cannot be met."""


def search(
    text: str, wishes: Sequence[Wish], matching: Callable[[Wish], Sequence[Catalogued]], check: Check
) -> SearchOutcome:
    """Return placements of all wishes; `matching` returns the recipes and variants that a wish accepts."""
    fleet = fleet_of(text, check)
    chosen, cut = dict[str, tuple[WishCandidate, ...]](), dict[str, Mapping[str, str]]()
    for wish in wishes:
        chosen[wish.name], cut[wish.name] = candidates(fleet, wish, matching(wish))
    unmet = {name: "no recipe or variant for it is known to fit" for name, found in chosen.items() if not found}
    examined = SearchOutcome(cut=cut, chosen=chosen, unmet=unmet)
    return examined if unmet else _placed(fleet, wishes, examined)


def _placed(fleet: FleetRoom, wishes: Sequence[Wish], examined: SearchOutcome) -> SearchOutcome:
    """Place all wishes beside each other; only if that is impossible, those on one host take turns."""
    chosen = examined.chosen
    smallest = {name: min(each.least_bytes for each in found) for name, found in chosen.items()}
    ordered, dropped, total = sorted(wishes, key=lambda wish: -smallest[wish.name]), list[str](), 0
    for in_turns in (False,) if entry_names(fleet.text, "turns") or len(wishes) == 1 else (False, True):
        placings, compared = _beam(fleet, ordered, chosen, in_turns=in_turns)
        total += compared
        if found := _confirmed(fleet, placings, dropped):
            return examined._replace(proposals=found, placings=total, dropped=tuple(dropped))
    needs = ", ".join(f"{name} {gib(size)}" for name, size in smallest.items())
    why = f"each wish fits alone, but not this one beside the others; each needs on a host at least: {needs}"
    why = f"each placement is refused, such as: {dropped[0]}" if dropped else why
    return examined._replace(placings=total, dropped=tuple(dropped), unmet={ordered[-1].name: why})


def _beam(
    fleet: FleetRoom, wishes: Sequence[Wish], chosen: Mapping[str, Sequence[WishCandidate]], *, in_turns: bool
) -> tuple[list[Placing], int]:
    """Return the fastest placements, and how many were compared. Hosts that are alike are tried once."""
    kept, compared = [Placing((), in_turns)], 0
    for wish in wishes:
        groups = {nodes: tuple(fleet.groups(nodes)) for nodes in {each.found.nodes for each in chosen[wish.name]}}
        longer = list[Placing]()
        for placing in kept:
            for each in chosen[wish.name]:
                kinds = {
                    tuple(sorted((fleet.alike[host.name], placing.on(host)) for host in hosts)): hosts
                    for hosts in reversed(groups[each.found.nodes])
                }
                placed = (PlacedWish(wish, each, hosts) for hosts in reversed(kinds.values()))
                longer += (placing._replace(parts=(*placing.parts, part)) for part in placed)
        compared += len(longer)
        fitting = [each for each in longer if _holds(fleet, each)]
        fast = sorted(fitting, key=lambda each: each.speeds, reverse=True)
        small = sorted(fast[_WIDTH:], key=lambda each: sum(part.candidate.least_bytes for part in each.parts))
        kept = fast[:_WIDTH] + small[: _WIDTH // 4]
    return kept, compared


def _holds(fleet: FleetRoom, placing: Placing) -> bool:
    """Return whether the last wish fits on its hosts: beside the others, or in a turn of its own."""
    last = placing.parts[-1]
    new = [(each.candidate.claim(each.hosts), each.hosts) for each in placing.parts]
    return fleet.holds(new[-1:] if placing.in_turns else new, last.hosts)


def _confirmed(fleet: FleetRoom, placings: Sequence[Placing], dropped: list[str]) -> tuple[ProposedInventory, ...]:
    """Return the first placements of different kinds that fit; add to `dropped` why others do not."""
    found = dict[tuple[object, ...], ProposedInventory]()
    for placing in placings:
        if placing.kind not in found and len(found) < _MOST_PROPOSALS and len(dropped) < _MOST_PLANNED:
            made = _confirm(fleet, placing)
            if isinstance(made, str):
                dropped.append(made)
            else:
                found[placing.kind] = made
    return tuple(found.values())


def _confirm(fleet: FleetRoom, placing: Placing) -> ProposedInventory | str:
    """Return a placement with its inventory, or why the check or the plan refuses it."""
    names, text = frozenset[str]().union(*(each.names for each in placing.parts)), _text(fleet, placing)
    report, plan = fleet.check(text)
    made = fitted(text, names, lambda text: fleet.check(text)[1]) if plan else None
    if not isinstance(made, Fitted):
        return "the shares do not fit" if plan else report.new_errors(fleet.report)[0].message
    if errors := fleet.check(made.text)[0].new_errors(fleet.report):
        return errors[0].message
    views = (view for host in made.plan.hosts if host.name in names for view in host.views)
    verdicts = (verdict(memory_use.of(view)) for view in views)
    return next((each.reason for each in verdicts if each.word != "fits"), None) or ProposedInventory(placing, made)


def _text(fleet: FleetRoom, placing: Placing) -> str:
    """Return the inventory with the deployments of a placement, and their turns."""
    text, used = fleet.text, {host.name: {each.port for each in host.preflight.ports} for host in fleet.hosts}
    for wish, candidate, hosts in placing.parts:
        port = next(port for port in count(FIRST_PORT) if not any(port in used[host.name] for host in hosts))
        for host in hosts:
            used[host.name].add(port)
        values = {**candidate.settings, "hosts": host_names(hosts), "port": port}
        text = with_entry(text, "deployments", wish.name, values)
    for turn in placing.turns:
        text = with_entry(text, "turns", turn[0], {"run": list(turn)})
    return text
