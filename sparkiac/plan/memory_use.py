"""Memory use of each host and deployment, as rows for the terminal, PLAN.md, the HTML page and JSON. Sizes are bytes.

The figures come from sparkiac.memory and are only arranged here. An unknown figure stays unknown and names the facts
that are missing. The names of the fields are keys of `sparkiac plan --format json`: a new name would break its readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sparkiac.memory import speed
from sparkiac.memory.budget import LoadingPeak, ServerMemory, loading
from sparkiac.memory.fit import Advice, Fit, UtilizationStep
from sparkiac.memory.options import ServerOptions
from sparkiac.memory.values import Term, Unknown, known_bytes, least_bytes
from sparkiac.model.inventory import Workload
from sparkiac.plan import speeds
from sparkiac.plan.container import Container
from sparkiac.plan.parts import Proof
from sparkiac.plan.values import HostPlan

PROMPTS: Final = (1_000, 8_000, 64_000)
"""Prompt lengths in tokens for the estimates of time to first token; those longer than the context are skipped."""
_KINDS: Final = {"weights": "weights", "drafter": "weights", "KV cache": "cache"}
"""Name of a term → kind of its segment, if it is not `runtime`."""


class MemorySegment(NamedTuple):
    """One segment of a host's memory."""

    owner: str | None
    """Deployment that uses it; None for a service and for the reserve."""
    name: str
    kind: str
    """`weights`, `runtime`, `cache`, `share` (memory of a deployment whose use is unknown), `service` or `reserve`."""
    size_bytes: int | None
    source: str
    assumed: bool = False
    low_bytes: int | None = None
    """Smallest size as recorded starts differ from the formula; None if unknown."""
    high_bytes: int | None = None


class Decode(NamedTuple):
    """Estimated decode rate of one request, in tokens per second."""

    context: int
    """Tokens in the context of the request."""
    low: float
    high: float
    source: str


class FirstToken(NamedTuple):
    """Estimated time to first token of a prompt, in seconds."""

    prompt_tokens: int
    low_s: float
    high_s: float
    source: str


class Stall(NamedTuple):
    """Estimated seconds between two tokens of the other requests while a long prompt is read."""

    chunk_tokens: int
    """Tokens of the prompt that one step reads."""
    low_s: float
    high_s: float
    source: str
    half_tokens: int | None
    """Value of max_num_batched_tokens that halves it; None if vLLM might not start with it."""
    loss_percent: int | None
    """How much slower prompts are then read, at most."""


class DeploymentMemory(NamedTuple):
    """Memory use and speed of one deployment on one host."""

    name: str
    leads: bool
    """Whether clients send requests to it: true for a single host and for the leader of a group."""
    requested: Term
    """Memory that it requests from the host at start."""
    inside: tuple[Term, ...]
    """Terms of the requested memory other than the KV cache."""
    pool: Term
    """KV cache."""
    outside: tuple[Term, ...]
    """Memory that it uses in addition to the requested memory."""
    shortage_bytes: int | None
    """Bytes by which the terms other than the KV cache exceed the requested memory; the server then fails to start."""
    context: int | Unknown
    """Tokens of the longest request (max_model_len)."""
    request_bytes: int | Unknown
    """KV cache that one request of this length needs."""
    max_num_seqs: int | Unknown
    """Maximum number of concurrent requests."""
    fit: Fit | Unknown
    workload: Workload | None
    advice: Advice | Unknown
    """Smallest KV cache for the workload, or without a workload for one request of the longest length."""
    utilization: float | None
    """gpu_memory_utilization; None if the KV cache has a fixed size or the engine has no such option."""
    steps: tuple[UtilizationStep, ...]
    """KV cache at other utilizations."""
    decode: tuple[Decode, ...] | Unknown
    first_token: tuple[FirstToken, ...] | Unknown
    stall: Stall | Unknown | None
    """None for a server that answers one request at a time."""
    assumes: str | None
    """Assumption behind all figures, such as a vLLM version; with one, they are only an estimate."""
    record: str | None
    """Recorded start that the figures are based on."""
    unused_records: tuple[str, ...]
    """Why the recorded starts of the inventory are not used."""
    compared: bool
    """Whether predictions for this model family were compared with a real server, or the family is unknown."""
    busy: float | None
    """Lowest expected decode speed of one short request while all servers decode, in tokens per second."""


class HostMemoryUse(NamedTuple):
    """Memory use of one host."""

    total_bytes: int | None
    parts: tuple[MemorySegment, ...]
    """Everything that uses its memory, in the order of the bar chart, without the free memory."""
    headroom_bytes: int | Unknown
    """Free memory; negative if the segments exceed the memory of the host."""
    most_bytes: int | None
    """Upper bound of the free memory, without the segments of unknown size."""
    accounts: tuple[DeploymentMemory, ...]
    loading: LoadingPeak | None

    @property
    def width_bytes(self) -> int:
        """Return the bytes that the full width of a bar chart represents: the larger of memory and segments."""
        return max(self.total_bytes or 0, sum(part.size_bytes or 0 for part in self.parts))


class TurnMemory(NamedTuple):
    """Memory use of a host in one of its turns."""

    title: str
    """Name, time and units of the turn; empty for a host without turns."""
    use: HostMemoryUse


def by_turn(host: HostPlan) -> tuple[TurnMemory, ...]:
    """Return the memory use of a host in each of its turns; one without a title if it has no turns."""
    titles = [
        f"turn {turn.name}{f' from {turn.at}' if turn.at else ''}: {', '.join(sorted(turn.units)) or 'nothing'}"
        for turn in host.turns
    ]
    uses = map(of, host.views)
    return tuple(TurnMemory(title, use) for title, use in zip(titles or [""], uses, strict=True))


def of(host: HostPlan) -> HostMemoryUse:
    """Return the memory use of a host, with everything that it runs."""
    deployed = tuple(each for each in host.containers if each.kind == "deployment")
    deployments = tuple(_deployment(each, host.proofs[each.name]) for each in deployed)
    segments = (part for each in deployed for part in _segments(host.proofs[each.name].server))
    return HostMemoryUse(
        total_bytes=host.memory_bytes,
        parts=(*segments, *_services_and_reserve(host)),
        headroom_bytes=host.budget.headroom_bytes,
        most_bytes=host.budget.most_bytes,
        accounts=deployments,
        loading=loading((host.proofs[each.name].server, host.proofs[each.name].options) for each in host.starting),
    )


def _segments(server: ServerMemory) -> Iterator[MemorySegment]:
    yield from _share(server)
    for term in server.outside:
        yield _part(server.name, term)


def _share(server: ServerMemory) -> Iterator[MemorySegment]:
    """Divide the share of a server into segments, as far as their sizes are known; the segments add up to the share."""
    whole, pieces = server.requested, (*server.inside, server.pool)
    if known_bytes(server.shortage.size_bytes) or not server.inside:
        yield MemorySegment(server.name, "share", "share", known_bytes(whole.size_bytes), whole.source, whole.assumed)
        return
    unknown = [term for term in pieces if isinstance(term.size_bytes, Unknown)]
    for term in pieces:
        if isinstance(whole.size_bytes, Unknown) or not isinstance(term.size_bytes, Unknown):
            yield _part(server.name, term)
    if unknown and not isinstance(whole.size_bytes, Unknown):
        rest = max(0, whole.size_bytes - least_bytes(pieces))
        name = " and ".join(term.name for term in unknown)
        yield MemorySegment(server.name, name, "share", rest, "rest of its share")


def _part(owner: str | None, term: Term, kind: str | None = None) -> MemorySegment:
    return MemorySegment(
        owner, term.name, kind or _KINDS.get(term.name, "runtime"), known_bytes(term.size_bytes), *term[2:]
    )


def _services_and_reserve(host: HostPlan) -> Iterator[MemorySegment]:
    services = {each.name for each in host.units if each.path[0] != "deployments"}
    taken = sum(len(host.proofs[each.name].server.taken) for each in host.containers if each.kind == "deployment")
    for term in host.budget.terms[taken:]:
        yield _part(None, term, "service" if term.name in services else "reserve")


def _deployment(container: Container, proof: Proof) -> DeploymentMemory:
    server, cache, options = proof.server, proof.cache, proof.options
    return DeploymentMemory(
        name=container.name,
        leads=container.server.leads,
        requested=server.requested,
        inside=server.inside,
        pool=server.pool,
        outside=server.outside,
        shortage_bytes=known_bytes(server.shortage.size_bytes),
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
        stall=stall(proof),
        assumes=proof.assumption,
        record=proof.record,
        unused_records=proof.unused,
        compared=proof.compared,
        busy=proof.busy,
    )


def _utilization(options: ServerOptions | Unknown) -> float | None:
    if isinstance(options, Unknown) or options.kv_cache_memory_bytes is not None:
        return None
    return options.gpu_memory_utilization


def _decode(proof: Proof) -> tuple[Decode, ...] | Unknown:
    if isinstance(proof.decode, Unknown):
        return _with_missing_facts(proof.decode, proof)
    return tuple(Decode(context, *expected) for context, expected in proof.decode)


def _first_token(proof: Proof) -> tuple[FirstToken, ...] | Unknown:
    if isinstance(proof.prefill, Unknown):
        return _with_missing_facts(proof.prefill, proof)
    longest = _longest(proof)
    expected = ((each, speed.prefill_seconds(each, rates=proof.prefill)) for each in PROMPTS if each <= longest)
    return tuple(FirstToken(each, *seconds) for each, seconds in expected)


def stall(proof: Proof) -> Stall | Unknown | None:
    """Return how long other requests wait for their next token while a prompt of the longest length is read.

    A step has one token for each of them, and a chunk of the prompt.
    """
    options, rates, longest = proof.options, proof.prefill, _longest(proof)
    if isinstance(rates, Unknown):
        return _with_missing_facts(rates, proof)
    if isinstance(options, Unknown):
        return options
    if options.max_num_seqs == 1:
        return None
    chunk = min(options.chunk_tokens or longest, longest)
    low_s, high_s, source = speed.prefill_seconds(chunk, rates=rates)
    return Stall(chunk, round(low_s, 2), round(high_s, 2), source, *_half(proof, options, chunk, low_s))


def _half(proof: Proof, options: ServerOptions, chunk: int, low_s: float) -> tuple[int, int] | tuple[None, None]:
    """Return half a chunk and its loss in percent: twice as many chunks read the weights twice as often, at most."""
    cache, shape, weights = proof.cache, proof.shape, speeds.inside(proof.server, "weights")
    if isinstance(cache, Unknown) or isinstance(shape, Unknown) or options.chunk_tokens is None or weights is None:
        return None, None
    half, more_s = chunk // 2, speed.step_s(weights, shape)
    # A batch holds at least a token of each request and, for states that are cached, a block.
    starts = half >= max(options.max_num_seqs, cache.block_tokens)
    return (half, round(100 * more_s / (low_s + more_s))) if starts else (None, None)


def _longest(proof: Proof) -> int:
    if not isinstance(proof.cache, Unknown):
        return proof.cache.context
    limit = None if isinstance(proof.options, Unknown) else proof.options.max_model_len
    return limit or max(PROMPTS)


def _with_missing_facts(found: Unknown, proof: Proof) -> Unknown:
    """Return the missing facts of the memory figures, if the result itself lists none."""
    if not found.missing and isinstance(proof.fit, Unknown):
        return proof.fit
    return found
