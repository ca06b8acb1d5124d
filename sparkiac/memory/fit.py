"""What fits into a pool, the smallest utilization for a workload, and the effect of another utilization."""

from __future__ import annotations

from typing import Final, NamedTuple

from sparkiac.memory.blocks import Cache, cache
from sparkiac.memory.budget import ServerMemory, requested_bytes
from sparkiac.memory.layers import Shape
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.values import Unknown, ceil_div, total_bytes, unknown_of
from sparkiac.model.inventory import Measured

_TOLD_POOL: Final = (0, 10, 2)


class Fit(NamedTuple):
    """What fits into a pool."""

    pool_bytes: int
    blocks: int | None
    """Number of blocks in the KV cache; None if the block layout is unknown."""
    tokens: int
    """Tokens as the release's log counts them."""
    concurrency: float
    """Concurrent full-length requests."""
    one: bool
    """Whether one full-length request fits; otherwise vLLM does not start."""
    all: bool
    """Whether max_num_seqs of them fit; otherwise requests queue or are preempted."""


class Advice(NamedTuple):
    """The smallest pool for a workload, as a size and as a utilization."""

    pool_bytes: int
    """Exact value for `--kv-cache-memory-bytes`."""
    told: bool
    """Whether the vLLM release has that option."""
    utilization: float | None
    """Smallest `--gpu-memory-utilization`, in steps of 0.01; None if 1.0 is not enough."""
    freed_bytes: int | None
    """Memory that the host gains compared with the configured utilization; negative if it loses memory."""


class UtilizationStep(NamedTuple):
    """Effect of another utilization."""

    utilization: float
    pool_bytes: int
    tokens: int
    concurrency: float
    host_bytes: int
    """Memory that the host gains; negative if it loses memory."""


def fit(layout: Cache, pool_bytes: int, *, max_num_seqs: int) -> Fit:
    """Return what fits into a pool."""
    return Fit(
        pool_bytes=pool_bytes,
        blocks=layout.blocks(pool_bytes),
        tokens=layout.tokens(pool_bytes),
        concurrency=layout.requests(pool_bytes),
        one=pool_bytes >= layout.pool_bytes(1),
        all=pool_bytes >= layout.pool_bytes(max_num_seqs),
    )


def measured(pool_bytes: int, *, calibration: Measured, options: ServerOptions) -> Fit | None:
    """Return what fits into a pool by the average of an earlier start, for a cache whose layout is unknown.

    None unless that start had the same context: the average includes parts that do not grow with the context.
    """
    before, tokens, context = calibration.pool_bytes, calibration.tokens, calibration.context
    if not before or not tokens or not context or context != options.max_model_len:
        return None
    now = pool_bytes * tokens // before
    requests = options.max_num_seqs
    return Fit(pool_bytes, None, now, now / context, one=now >= context, all=now >= requests * context)


def advise(  # noqa: PLR0913  the facts of one server, each under its name
    users: int,
    context: int,
    *,
    server: ServerMemory,
    total: int | None,
    shape: Shape,
    options: ServerOptions,
    speculation: Speculation | None = None,
) -> Advice | Unknown:
    """Return the smallest pool for a number of requests, each of `context` tokens. Unknown lists the missing facts."""
    wanted = cache(shape, options._replace(max_model_len=context), speculation=speculation)
    inside = total_bytes(server.inside)
    wrong = unknown_of(wanted, inside, Unknown(("total memory",)) if total is None else None)
    if wrong or total is None or isinstance(wanted, Unknown) or isinstance(inside, Unknown):
        return wrong or Unknown(())
    pool = wanted.pool_bytes(users)
    utilization = _smallest(inside + pool, total)
    now = server.requested.size_bytes
    freed = now - requested_bytes(total, utilization) if isinstance(now, int) and utilization else None
    return Advice(pool, options.release >= _TOLD_POOL, utilization, freed)


def step(server: ServerMemory, layout: Cache, *, total: int, utilization: float) -> UtilizationStep | Unknown:
    """Return the effect of another utilization. Unknown lists the unknown terms of the server."""
    inside = total_bytes(server.inside)
    now = server.requested.size_bytes
    if isinstance(inside, Unknown) or isinstance(now, Unknown):
        return unknown_of(inside) or Unknown((server.requested.name,))
    asked = requested_bytes(total, utilization)
    pool = max(0, asked - inside)
    return UtilizationStep(utilization, pool, layout.tokens(pool), layout.requests(pool), now - asked)


def _smallest(needed: int, total: int) -> float | None:
    hundredths = ceil_div(100 * needed, total)
    return hundredths / 100 if hundredths <= 100 else None  # noqa: PLR2004  all of the memory
