"""Recipes and variants that can meet a wish on the hosts of an inventory, each tried alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from ipaddress import ip_interface
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeAlias

from sparkiac.fix.edits import edited, entry_names, with_entry
from sparkiac.fix.fitting import Server, limits, servers
from sparkiac.memory.sharing import Claim, SharedMemory, least
from sparkiac.memory.values import Unknown, unknown_of
from sparkiac.plan import HostPlan, Plan
from sparkiac.plan.numbers import gib, remedies
from sparkiac.report import REMOVE, Edit, Report
from sparkiac.resolve.catalogued import Catalogued
from sparkiac.rules.deployments import sparks

MOST_CANDIDATES: Final = 12
"""Recipes and variants for one wish that placements are built from."""
_SERVED: Final = ("deployments", "services", "monitoring", "turns")
"""Keys of an inventory that a candidate is tried without."""
FIRST_PORT: Final = 8000

Check: TypeAlias = Callable[[str], tuple[Report, Plan | None]]
"""Checks the text of an inventory."""
Group: TypeAlias = tuple[HostPlan, ...]
"""Hosts that serve one deployment, the leader first."""


class Wish(NamedTuple):
    """A deployment that the user wants."""

    name: str
    users: int
    context: int
    use_case: str | None
    recipe: str | None


class WishCandidate(NamedTuple):
    """A recipe or variant that can meet a wish."""

    found: Catalogued
    settings: Mapping[str, Any]
    """The deployment without hosts and port."""
    claims: Mapping[int, Claim]
    """Memory of a host → what it claims there."""
    low: float
    """Lowest expected decode speed of a request of full length, alone on its hosts."""

    def claim(self, hosts: Group) -> Claim:
        """Return what it claims on each of these hosts."""
        return self.claims[min(host.memory_bytes or 0 for host in hosts)]

    @property
    def least_bytes(self) -> int:
        """Return the least memory that it needs on one host."""
        return min(each.size_bytes(each.least) for each in self.claims.values())


class FleetRoom(NamedTuple):
    """The hosts, with what is there already."""

    text: str
    check: Check
    report: Report
    """The findings that it has already."""
    hosts: Group
    claims: tuple[Claim, ...]
    """What is there already."""
    shared: Mapping[str, tuple[SharedMemory, ...]]
    """Host → what it leaves, in each of its turns."""
    alike: Mapping[str, int]
    """Host → a number that interchangeable hosts have in common."""

    def holds(self, new: Sequence[tuple[Claim, Group]], on: Group) -> bool:
        """Return whether the smallest shares of new servers fit on the hosts `on`."""
        claims = (*self.claims, *(claim for claim, _ in new))
        needed = least(claims)
        for host in on:
            names = {claim.name for claim, hosts in new if host in hosts}
            for limit in self.shared[host.name]:
                if limit._replace(names=limit.names | names).missing_bytes(claims, needed) > 0:
                    return False
        return True

    def groups(self, nodes: int) -> Iterable[Group]:
        """Return the groups of so many hosts in which each pair has a network for its links."""
        networks = {host.name: _networks(host) for host in self.hosts}
        for group in combinations(self.hosts, nodes):
            if all(networks[one.name] & networks[other.name] for one, other in combinations(group, 2)):
                yield group


def fleet_of(text: str, check: Check) -> FleetRoom:
    """Return the hosts whose memory is known, and that of all servers on them."""
    report, plan = check(text)
    assert plan is not None, "the inventory is valid"  # noqa: S101
    memory = {host.name: servers(plan, (host.name,)) for host in sparks(plan) if host.memory_bytes}
    known = {name: each for found in memory.values() if not isinstance(found, Unknown) for name, each in found.items()}
    hosts = tuple(host for host in plan.hosts if not isinstance(memory.get(host.name, Unknown(())), Unknown))
    shared = {host.name: tuple(limits(plan._replace(hosts=(host,)), known)) for host in hosts}
    kinds = [(host.memory_bytes, host.platform_name, _networks(host), host.start_order, host.budget) for host in hosts]
    alike = {host.name: kinds.index(kind) for host, kind in zip(hosts, kinds, strict=True)}
    return FleetRoom(text, check, report, hosts, tuple(each.claim for each in known.values()), shared, alike)


def candidates(
    fleet: FleetRoom, wish: Wish, entries: Sequence[Catalogued]
) -> tuple[tuple[WishCandidate, ...], Mapping[str, str]]:
    """Return the fastest candidates, and why other entries are left out."""
    bare = fleet.text
    for key in _SERVED:
        bare = edited(bare, [Edit((key,), REMOVE)]) if entry_names(bare, key) else bare
    made = {entry.name: _candidate(fleet, bare, wish, entry) for entry in entries}
    found = [each for each in made.values() if isinstance(each, WishCandidate)]
    found.sort(key=lambda each: (-each.low, each.found.name))
    cut = {name: why for name, why in made.items() if isinstance(why, str)}
    cut |= {each.found.name: f"slower than {MOST_CANDIDATES} others" for each in found[MOST_CANDIDATES:]}
    return tuple(found[:MOST_CANDIDATES]), cut


def _candidate(fleet: FleetRoom, bare: str, wish: Wish, entry: Catalogued) -> WishCandidate | str:
    """Return a candidate, or why the entry is none."""
    on = next(iter(fleet.groups(entry.nodes)), None)
    if on is None:
        return f"needs {entry.nodes} hosts with links between them"
    settings = _settings(wish, entry)
    text = with_entry(bare, "deployments", wish.name, {**settings, "hosts": host_names(on), "port": FIRST_PORT})
    report, plan = fleet.check(text)
    if error := next((each for each in report.new_errors(fleet.report) if not each.code.startswith("MEM")), None):
        return error.message
    assert plan is not None, "there is no error"  # noqa: S101
    proof = next(host.proofs[wish.name] for host in plan.hosts if host.name == on[0].name)
    if isinstance(proof.fit, Unknown) or isinstance(proof.decode, Unknown):
        missing = unknown_of(proof.fit, proof.decode) or Unknown(())
        remedy = "; ".join(remedies(missing))
        then = f"; add the recipe, then {remedy}" if remedy else ""
        return f"its memory or speed is unknown, missing: {', '.join(missing.missing)}{then}"
    sizes = {host.memory_bytes or 0 for host in fleet.hosts}
    claims = {size: Server(wish.name, size, proof).claim for size in sizes}
    made = WishCandidate(entry, settings, claims, proof.decode[-1][1].low)
    if any(fleet.holds([(made.claim(hosts), hosts)], hosts) for hosts in fleet.groups(entry.nodes)):
        return made
    return f"needs {gib(made.least_bytes)} of a host, and none has as much left"


def _settings(wish: Wish, entry: Catalogued) -> dict[str, Any]:
    """Return the deployment that meets a wish, without hosts and port."""
    recipe, _, variant = entry.name.partition("#")
    requests = entry.values.get("set", {}).get("max_num_seqs")
    more = {"max_num_seqs": wish.users} if isinstance(requests, int) and requests < wish.users else {}
    workload = {"users": wish.users, "context": wish.context}
    options = {"max_model_len": wish.context} | more
    return {"recipe": recipe} | ({"variant": variant} if variant else {}) | {"workload": workload, "set": options}


def _networks(host: HostPlan) -> frozenset[str]:
    return frozenset(str(ip_interface(link.address).network) for link in host.links)


def host_names(hosts: Group) -> str | list[str]:
    """Return hosts as an inventory writes them."""
    return hosts[0].name if len(hosts) == 1 else [host.name for host in hosts]
