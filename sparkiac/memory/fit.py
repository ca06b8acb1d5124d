"""What a pool holds, the smallest utilization for a workload, and what raising or lowering it buys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory.blocks import cache
from sparkiac.memory.budget import requested_bytes
from sparkiac.memory.values import Unknown, lacking, parts, total_bytes

if TYPE_CHECKING:
    from sparkiac.memory.blocks import Cache
    from sparkiac.memory.budget import Server
    from sparkiac.memory.layers import Shape
    from sparkiac.memory.options import ServerOptions, Speculation
    from sparkiac.model.inventory import Measured

_TOLD_POOL: Final = (0, 10, 2)


class Fit(NamedTuple):
    """What a pool holds."""

    pool_bytes: int
    blocks: int | None
    """None where the layout is not understood."""
    tokens: int
    """Tokens as the release's log counts them."""
    concurrency: float
    """Requests of the whole context at once."""
    one: bool
    """Whether one request of the whole context fits; vLLM does not start otherwise."""
    all: bool
    """Whether as many of them fit as it lets in; otherwise the last ones wait or are computed again."""


class Advice(NamedTuple):
    """The smallest pool for a workload, in the two ways to ask for it."""

    pool_bytes: int
    """For `--kv-cache-memory-bytes`, exactly."""
    told: bool
    """Whether the release has that option."""
    utilization: float | None
    """Smallest `--gpu-memory-utilization`, in steps of 0.01; None if all memory is not enough."""
    freed_bytes: int | None
    """What that gives back to the host against the utilization that is set; less than nothing if it takes more."""


class Step(NamedTuple):
    """What another utilization buys."""

    utilization: float
    pool_bytes: int
    tokens: int
    concurrency: float
    host_bytes: int
    """What the host gains; less than nothing if it loses."""


def fit(layout: Cache, pool_bytes: int, *, max_num_seqs: int) -> Fit:
    """Give what a pool holds."""
    return Fit(
        pool_bytes=pool_bytes,
        blocks=layout.blocks(pool_bytes),
        tokens=layout.tokens(pool_bytes),
        concurrency=layout.requests(pool_bytes),
        one=pool_bytes >= layout.pool_bytes(1),
        all=pool_bytes >= layout.pool_bytes(max_num_seqs),
    )


def measured(pool_bytes: int, *, calibration: Measured, options: ServerOptions) -> Fit | None:
    """Give what a pool holds by the average of an earlier start, for a cache whose layout is not understood.

    None unless that start had the same context: the average hides what does not grow with it.
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
    server: Server,
    total: int | None,
    shape: Shape,
    options: ServerOptions,
    speculation: Speculation | None = None,
) -> Advice | Unknown:
    """Return the smallest pool for a number of requests, each of `context` tokens. Unknown lists the missing facts."""
    wanted = cache(shape, options._replace(max_model_len=context), speculation=speculation)
    inside = total_bytes(server.inside)
    wrong = lacking(wanted, inside, Unknown(("total memory",)) if total is None else None)
    if wrong or total is None or isinstance(wanted, Unknown) or isinstance(inside, Unknown):
        return wrong or Unknown(())
    pool = wanted.pool_bytes(users)
    utilization = _smallest(inside + pool, total)
    now = server.requested.size_bytes
    freed = now - requested_bytes(total, utilization) if now is not None and utilization else None
    return Advice(pool, options.release >= _TOLD_POOL, utilization, freed)


def step(server: Server, layout: Cache, *, total: int, utilization: float) -> Step | Unknown:
    """Give what another utilization buys. Unknown names the terms of the server that nobody knows."""
    inside = total_bytes(server.inside)
    now = server.requested.size_bytes
    if isinstance(inside, Unknown) or now is None:
        return lacking(inside) or Unknown((server.requested.name,))
    asked = requested_bytes(total, utilization)
    pool = max(0, asked - inside)
    return Step(utilization, pool, layout.tokens(pool), layout.requests(pool), now - asked)


def _smallest(needed: int, total: int) -> float | None:
    hundredths = parts(100 * needed, total)
    return hundredths / 100 if hundredths <= 100 else None  # noqa: PLR2004  the whole of it
