"""Settings with which deployments fit beside each other: smaller shares, and shorter contexts if that is not enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from sparkiac.fix.edits import edited
from sparkiac.memory import sharing
from sparkiac.memory.budget import TIGHT_BYTES, group_bytes
from sparkiac.memory.options import ServerOptions
from sparkiac.memory.sharing import Claim, SharedMemory
from sparkiac.memory.values import Unknown, ceil_div, known_bytes, total_bytes, unknown_of
from sparkiac.model.catalog import is_discrete
from sparkiac.plan import Plan
from sparkiac.plan.parts import Proof
from sparkiac.report import Edit
from sparkiac.rules.deployments import in_turn

LEAST_CONTEXT: Final = 8192
"""Shortest context that is proposed for a deployment without a workload, in tokens."""
_MIB: Final = 1 << 20


class Fitted(NamedTuple):
    """An inventory whose deployments fit."""

    text: str
    asked: Plan
    """The plan before its settings were changed."""
    plan: Plan


class Shortage(NamedTuple):
    """Memory that is missing, even with the smallest shares and the shortest contexts."""

    where: str
    missing_bytes: int
    least_bytes: tuple[tuple[str, int], ...]
    """Deployment → memory that it needs at least."""


class Server(NamedTuple):
    """A deployment with its memory calculation."""

    name: str
    total_bytes: int
    """Memory of its smallest host."""
    proof: Proof

    @property
    def options(self) -> ServerOptions | None:
        """Return its options if its share can be changed."""
        return None if isinstance(self.proof.options, Unknown) else self.proof.options

    @property
    def inside_bytes(self) -> int:
        """Return the memory in its share that is not KV cache."""
        return known_bytes(total_bytes(self.proof.server.inside)) or 0

    @property
    def claim(self) -> Claim:
        """Return the share that it asks for."""
        requested = known_bytes(self.proof.server.requested.size_bytes) or 0
        now = math.ceil(round(100 * requested / self.total_bytes, 4))
        least = ceil_div(100 * (self.inside_bytes + _pool_bytes(self.proof)), self.total_bytes) if self.options else now
        outside = known_bytes(total_bytes(self.proof.server.outside)) or 0
        return Claim(self.name, self.total_bytes, least, max(now, least), outside)

    def edits(self, share: int) -> Iterator[Edit]:
        """Yield the settings for a share. vLLM compares it with the free memory also if the KV cache has a size."""
        options = self.options
        if options is None or share == math.ceil(round(100 * options.gpu_memory_utilization, 4)):
            return
        if options.kv_cache_memory_bytes is not None:
            pool = (share * self.total_bytes // 100 - self.inside_bytes) // _MIB * _MIB
            yield self._set("kv_cache_memory_bytes", min(pool, options.kv_cache_memory_bytes))
        yield self._set("gpu_memory_utilization", share / 100)

    def shorter(self) -> Edit | None:
        """Return half the context, but no less than the workload needs; None if that is no change."""
        if isinstance(self.proof.cache, Unknown):
            return None
        context, workload = self.proof.cache.context, self.proof.workload
        half = max(context // 2, workload.context if workload else min(LEAST_CONTEXT, context))
        return self._set("max_model_len", half) if half < context else None

    def _set(self, option: str, value: float) -> Edit:
        return Edit(("deployments", self.name, "set", option), value)


def fitted(text: str, hosts: Collection[str], plan_of: Callable[[str], Plan | None]) -> Fitted | Shortage | Unknown:
    """Return the inventory with settings with which the deployments on these hosts fit.

    Every deployment keeps its context as long as the shares allow it; then the one whose longest request needs most
    gets half of it. Unknown lists the facts without which no share can be calculated. Raises CannotEdit.
    """
    asked = plan = _planned(text, plan_of)
    while True:
        found = servers(plan, hosts)
        if isinstance(found, Unknown):
            return found
        claims = [each.claim for each in found.values()]
        shared = [limit for limit in limits(plan, found) if limit.names]
        if (shares := sharing.divided(claims, shared)) is not None:
            text = edited(text, [edit for each in found.values() for edit in each.edits(shares[each.name])])
            return Fitted(text, asked, _planned(text, plan_of))
        exceeded = max(shared, key=lambda limit: limit.missing_bytes(claims, sharing.least(claims)))
        halves = ((_pool_bytes(found[name].proof), found[name].shorter()) for name in sorted(exceeded.names))
        shorter = max(((size, edit) for size, edit in halves if edit), default=None, key=lambda each: each[0])
        halved = edited(text, [shorter[1]]) if shorter else text
        if halved == text:  # also if another layer of the inventory sets the context
            return _shortage(exceeded, claims)
        text, plan = halved, _planned(halved, plan_of)


def _planned(text: str, plan_of: Callable[[str], Plan | None]) -> Plan:
    plan = plan_of(text)
    assert plan is not None, "only settings of a valid inventory have changed"  # noqa: S101
    return plan


def _shortage(limit: SharedMemory, claims: Collection[Claim]) -> Shortage:
    needed = tuple((each.name, each.size_bytes(each.least)) for each in claims if each.name in limit.names)
    return Shortage(limit.where, limit.missing_bytes(claims, sharing.least(claims)), needed)


def _pool_bytes(proof: Proof) -> int:
    """Return the KV cache without which the server does not start or handle its workload; 0 if that is unknown."""
    one = 0 if isinstance(proof.cache, Unknown) else proof.cache.pool_bytes(1)
    return one if isinstance(proof.advice, Unknown) else max(one, proof.advice.pool_bytes)


def servers(plan: Plan, hosts: Collection[str]) -> dict[str, Server] | Unknown:
    """Return the deployments on these hosts; Unknown if the memory of one of them is."""
    found: dict[str, Server] = {}
    for name in {name for host in plan.hosts if host.name in hosts for name in host.proofs}:
        on = [host for host in plan.hosts if name in host.proofs]
        total = group_bytes({host.name: None if is_discrete(host.gpu) else host.memory_bytes for host in on})
        proof = on[0].proofs[name]
        needed = total_bytes((proof.server.requested, *proof.server.inside, *proof.server.outside))
        if wrong := unknown_of(total, needed):
            return Unknown(tuple(f"{fact} of {name}" for fact in wrong.missing))
        found[name] = Server(name, known_bytes(total) or 0, proof)
    return dict(sorted(found.items()))


def limits(plan: Plan, servers: Collection[str]) -> Iterator[SharedMemory]:
    """Yield what each host leaves for these deployments and for others, in each of its turns."""
    for host in plan.hosts:
        for view in host.views:
            names = frozenset(each.name for each in view.containers if each.name in servers)
            headroom = view.budget.headroom_bytes
            if not isinstance(headroom, Unknown):
                taken = sum(known_bytes(total_bytes(view.proofs[name].server.taken)) or 0 for name in names)
                yield SharedMemory(f"{view.name}{in_turn(view)}", names, headroom + taken - TIGHT_BYTES)
