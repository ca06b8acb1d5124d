"""Proofs as accounts: the rows that the terminal, PLAN.md, the HTML page and JSON all show. Sizes are bytes.

Nothing is worked out here that sparkiac.memory knows better; what is unknown stays so, with the names of what lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory import speed
from sparkiac.memory.values import Unknown, known_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.memory.budget import Server
    from sparkiac.memory.fit import Advice, Fit, Step
    from sparkiac.memory.options import ServerOptions
    from sparkiac.memory.values import Term
    from sparkiac.model.inventory import Workload
    from sparkiac.plan.parts import Proof
    from sparkiac.plan.values import Container, HostPlan

PROMPTS: Final = (1_000, 8_000, 64_000)
"""Tokens of the prompts whose first answer is expected, as far as a server takes them."""
_KINDS: Final = {
    "weights": "weights",
    "drafter": "weights",
    "KV cache": "cache",
    "CUDA graphs": "runtime",
    "runtime": "runtime",
    "activations": "runtime",
    "encoder cache": "runtime",
}


class MemorySegment(NamedTuple):
    """A piece of a host's memory."""

    owner: str | None
    """The deployment that takes it; None of a service and of what is kept."""
    name: str
    kind: str
    """`weights`, `runtime`, `cache`, `share` (of a deployment, not told apart), `service`, `reserve` or `free`."""
    size_bytes: int | None
    source: str
    assumed: bool = False


class Decode(NamedTuple):
    """Tokens a second that are expected of one request."""

    context: int
    """Tokens behind it."""
    low: float
    high: float
    source: str


class FirstToken(NamedTuple):
    """Seconds that are expected to pass before a prompt's first token."""

    prompt_tokens: int
    low_s: float
    high_s: float
    source: str


class DeploymentMemory(NamedTuple):
    """One deployment on one host."""

    name: str
    leads: bool
    """Whether it answers: of a group one node does."""
    requested: Term
    """What it asks of the host."""
    inside: tuple[Term, ...]
    """What of that is no KV cache."""
    pool: Term
    outside: tuple[Term, ...]
    """What the host loses besides."""
    shortage_bytes: int | None
    """What lacks for all that is no KV cache; it does not start then."""
    context: int | Unknown
    """Tokens of the longest request."""
    request_bytes: int | Unknown
    """The smallest pool that one such request needs."""
    max_num_seqs: int | Unknown
    """Requests that it lets in at once."""
    fit: Fit | Unknown
    workload: Workload | None
    advice: Advice | Unknown
    """The smallest pool for that, or for one request of the whole context."""
    utilization: float | None
    """Share of the memory that it asks for; None where a size is told instead, or the engine has no such option."""
    steps: tuple[Step, ...]
    decode: tuple[Decode, ...] | Unknown
    first_token: tuple[FirstToken, ...] | Unknown
    assumption: str | None
    """What all of it rests on that nobody knows: it is an estimate then, and no proof."""


class HostMemoryUse(NamedTuple):
    """One host."""

    total_bytes: int | None
    segments: tuple[MemorySegment, ...]
    """All that shares its memory, in the order of the bar; what is free is not among them."""
    headroom_bytes: int | Unknown
    """What is left; less than nothing if the parts do not fit."""
    most_bytes: int | None
    """What is left at most: before what nobody knows."""
    deployments: tuple[DeploymentMemory, ...]

    @property
    def width_bytes(self) -> int:
        """What a picture must show: the memory, or what is asked for where that is more."""
        return max(self.total_bytes or 0, sum(part.size_bytes or 0 for part in self.segments))


def of(host: HostPlan) -> HostMemoryUse:
    """Give the account of a host."""
    deployed = tuple(each for each in host.containers if each.kind == "deployment")
    accounts = tuple(_account(each, host.proofs[each.name]) for each in deployed)
    budget = host.budget
    return HostMemoryUse(
        total_bytes=host.memory_bytes,
        segments=(*(part for each in deployed for part in _taken(host.proofs[each.name].server)), *_others(host)),
        headroom_bytes=budget.headroom_bytes if budget else Unknown(("total memory",)),
        most_bytes=budget.most_bytes if budget else None,
        deployments=accounts,
    )


def _taken(server: Server) -> Iterator[MemorySegment]:
    yield from _share(server)
    for term in server.outside:
        yield _part(server.name, term)


def _share(server: Server) -> Iterator[MemorySegment]:
    """Tell a server's share apart as far as it is known; the pieces add up to the share."""
    whole, pieces = server.requested, (*server.inside, server.pool)
    if server.shortage.size_bytes or not server.inside:
        yield MemorySegment(server.name, "share", "share", whole.size_bytes, whole.source, whole.assumed)
        return
    lacking = [term for term in pieces if term.size_bytes is None]
    for term in pieces:
        if term.size_bytes is not None or whole.size_bytes is None:
            yield _part(server.name, term)
    if lacking and whole.size_bytes is not None:
        rest = max(0, whole.size_bytes - known_bytes(pieces))
        yield MemorySegment(
            server.name, " and ".join(term.name for term in lacking), "share", rest, "what is left of its share"
        )


def _part(owner: str, term: Term) -> MemorySegment:
    return MemorySegment(owner, term.name, _KINDS.get(term.name, "runtime"), *term[1:])


def _others(host: HostPlan) -> Iterator[MemorySegment]:
    services = {each.name for each in host.units if each.path[0] == "services"}
    taken = sum(len(host.proofs[each.name].server.taken) for each in host.containers if each.kind == "deployment")
    for term in host.budget.terms[taken:] if host.budget else ():
        yield MemorySegment(None, term.name, "service" if term.name in services else "reserve", *term[1:])


def _account(container: Container, proof: Proof) -> DeploymentMemory:
    server, cache, options = proof.server, proof.cache, proof.options
    return DeploymentMemory(
        name=container.name,
        leads=container.server.node is None or container.server.node[0] == 0,
        requested=server.requested,
        inside=server.inside,
        pool=server.pool,
        outside=server.outside,
        shortage_bytes=server.shortage.size_bytes,
        context=cache if isinstance(cache, Unknown) else cache.context,
        request_bytes=cache if isinstance(cache, Unknown) else cache.pool_bytes(1),
        max_num_seqs=options if isinstance(options, Unknown) else options.max_num_seqs,
        fit=proof.fit,
        workload=proof.workload,
        advice=proof.advice,
        utilization=_utilization(options),
        steps=proof.steps,
        decode=_decode(proof),
        first_token=_first_token(proof),
        assumption=proof.assumption,
    )


def _utilization(options: ServerOptions | Unknown) -> float | None:
    if isinstance(options, Unknown) or options.kv_cache_memory_bytes is not None:
        return None
    return options.gpu_memory_utilization


def _decode(proof: Proof) -> tuple[Decode, ...] | Unknown:
    if isinstance(proof.decode, Unknown):
        return _because(proof.decode, proof)
    return tuple(Decode(context, *expected) for context, expected in proof.decode)


def _first_token(proof: Proof) -> tuple[FirstToken, ...] | Unknown:
    if isinstance(proof.prefill, Unknown):
        return _because(proof.prefill, proof)
    longest = _longest(proof)
    expected = ((each, speed.prefill_seconds(each, rates=proof.prefill)) for each in PROMPTS if each <= longest)
    return tuple(FirstToken(each, *seconds) for each, seconds in expected)


def _longest(proof: Proof) -> int:
    if not isinstance(proof.cache, Unknown):
        return proof.cache.context
    told = None if isinstance(proof.options, Unknown) else proof.options.max_model_len
    return told or max(PROMPTS)


def _because(found: Unknown, proof: Proof) -> Unknown:
    """Name what lacks for the memory where the result itself names nothing."""
    if not found.missing and isinstance(proof.fit, Unknown):
        return proof.fit
    return found
