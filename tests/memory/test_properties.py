"""What holds for every network and every server: more needs more, sums are whole, and nothing negative passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkiac.memory import blocks, fit
from sparkiac.memory.blocks import Cache
from sparkiac.memory.budget import host, requested_bytes, server
from sparkiac.memory.layers import Attention, Latent, Layer, Linear, Mamba2, Shape, Sparse
from sparkiac.memory.shape import read
from sparkiac.memory.values import GIB, Term, Unknown, quantity, total_bytes
from tests.memory.known import told

if TYPE_CHECKING:
    from sparkiac.memory.options import ServerOptions

SMALL = st.integers(1, 8)
SIZES = st.sampled_from([64, 128, 256])
ATTENTIONS = st.builds(
    lambda heads, size, window: Attention(heads, size, size, window),
    SMALL,
    SIZES,
    st.sampled_from([None, None, 128, 1024]),
)
STATES = st.one_of(
    st.builds(Linear, SMALL, SMALL, SIZES, SIZES, st.just(4)), st.builds(Mamba2, SMALL, SIZES, SMALL, SIZES, st.just(4))
)
LAYERS: st.SearchStrategy[Layer | None] = st.one_of(st.none(), ATTENTIONS, STATES, st.builds(Latent, SIZES))
RATIOS = st.lists(st.sampled_from([0, 4, 128]), min_size=1, max_size=12)
COMPRESSED = st.builds(
    lambda ratios: read(
        {
            "model_type": "deepseek_v4",
            "num_hidden_layers": len(ratios),
            "compress_ratios": ratios,
            "head_dim": 512,
            "index_head_dim": 128,
            "sliding_window": 128,
        }
    ),
    RATIOS,
).filter(lambda found: isinstance(found, Shape))
SHAPES = st.one_of(
    st.builds(lambda layers: Shape(tuple(layers)), st.lists(LAYERS, min_size=1, max_size=12)), COMPRESSED
)
CONTEXTS = st.integers(1, 300_000)
RELEASES = st.sampled_from([(0, 15, 1), (0, 19, 0), (0, 23, 0), (0, 26, 0), (0, 28, 0), (0, 32, 0)])
MEMORY = st.integers(0, 130 * GIB)
SHARES = st.floats(0.01, 1.0)
MAYBE = st.one_of(st.none(), MEMORY)


def laid(shape: Shape, options: ServerOptions, context: int) -> Cache | Unknown:
    return blocks.cache(shape, options._replace(max_model_len=context))


@given(SHAPES, RELEASES, CONTEXTS, CONTEXTS)
def test_a_longer_context_never_needs_less(shape: Shape, release: tuple[int, ...], one: int, other: int) -> None:
    options = told(release=release)
    short, long = (laid(shape, options, context) for context in sorted((one, other)))
    if isinstance(short, Unknown) or isinstance(long, Unknown):
        assert short == long
        return
    assert short.request_bytes <= long.request_bytes
    assert short.block_bytes == long.block_bytes


@given(SHAPES, RELEASES, CONTEXTS, SMALL)
def test_more_requests_need_more(shape: Shape, release: tuple[int, ...], context: int, requests: int) -> None:
    found = laid(shape, told(release=release), context)
    if isinstance(found, Cache):
        assert found.pool_bytes(requests) < found.pool_bytes(requests + 1)
        assert fit.fit(found, found.pool_bytes(requests), max_num_seqs=requests).all
        assert not fit.fit(found, found.pool_bytes(requests) - 1, max_num_seqs=requests).all


@given(SHAPES, RELEASES, CONTEXTS, MEMORY, MEMORY)
def test_a_larger_pool_never_holds_less(
    shape: Shape, release: tuple[int, ...], context: int, one: int, other: int
) -> None:
    found = laid(shape, told(release=release), context)
    if isinstance(found, Cache):
        small, large = (fit.fit(found, size, max_num_seqs=4) for size in sorted((one, other)))
        assert small.blocks <= large.blocks
        assert small.tokens <= large.tokens
        assert small.concurrency <= large.concurrency
        assert small.one <= large.one
        assert small.all <= large.all
        assert large.all <= large.one


@given(SHAPES, RELEASES, CONTEXTS)
def test_no_size_of_a_layout_is_negative(shape: Shape, release: tuple[int, ...], context: int) -> None:
    found = laid(shape, told(release=release), context)
    if isinstance(found, Unknown):
        assert found.missing
        assert all(found.missing)
        return
    assert found.block_bytes > 0
    assert all(group.request_blocks > 0 for group in found.groups)
    assert min(found.token_bytes, found.state_bytes) >= 0
    kept = [len(layer.caches) if isinstance(layer, Sparse) else 1 for layer in shape.layers if layer]
    assert sum(group.layers for group in found.groups) == sum(kept)


@given(SHAPES, MEMORY, SHARES, SHARES, MEMORY)
def test_a_higher_utilization_never_gives_a_smaller_pool(
    shape: Shape, total: int, one: float, other: float, weights: int
) -> None:
    pools = [
        server(
            "x",
            total_bytes=total,
            options=told({"gpu_memory_utilization": share}),
            weights=Term("weights", quantity(weights, "weights"), ""),
            shape=shape,
        ).pool.size_bytes
        or 0
        for share in sorted((one, other))
    ]
    assert pools == sorted(pools)


@given(MAYBE, SHARES, MAYBE, st.lists(MAYBE, max_size=4))
def test_sums_are_whole_and_an_unknown_term_is_never_a_pass(
    total: int | None, share: float, weights: int | None, services: list[int | None]
) -> None:
    placed = server(
        "x",
        total_bytes=total,
        options=told({"gpu_memory_utilization": share}),
        weights=Term("weights", quantity(weights, "weights"), ""),
    )
    listed = tuple(Term(f"service {place}", quantity(size, "service"), "") for place, size in enumerate(services))
    found = host(total, servers=(placed,), services=listed)
    if None in (total, weights):
        assert isinstance(placed.pool.size_bytes, Unknown)
        assert isinstance(placed.shortage.size_bytes, Unknown)
    else:
        left = total_bytes((*placed.inside, placed.pool))
        assert isinstance(left, int)
        assert left - (placed.shortage.size_bytes or 0) == placed.requested.size_bytes
        assert 0 in (placed.pool.size_bytes, placed.shortage.size_bytes)
    if total is None or None in services:
        assert isinstance(found.headroom_bytes, Unknown)
    else:
        taken = total_bytes(found.terms)
        assert isinstance(taken, int)
        assert isinstance(found.headroom_bytes, int)
        assert found.headroom_bytes + taken == total


@settings(max_examples=50)
@given(SHAPES, RELEASES, CONTEXTS, st.integers(1, 20), st.integers(1, 60 * GIB))
def test_the_advised_utilization_is_the_smallest(
    shape: Shape, release: tuple[int, ...], context: int, users: int, weights: int
) -> None:
    total = 119 * GIB
    options = told({"max_model_len": context}, release=release)
    placed = server(
        "x", total_bytes=total, options=options, weights=Term("weights", quantity(weights, "weights"), ""), shape=shape
    )
    found = fit.advise(users, context, server=placed, total=total, shape=shape, options=options)
    layout = laid(shape, options, context)
    if isinstance(found, Unknown) or isinstance(layout, Unknown):
        assert found == layout
        return
    needed = total_bytes((*placed.inside, Term("pool", layout.pool_bytes(users), "")))
    assert isinstance(needed, int)
    if found.utilization is None:
        assert needed > total
    else:
        assert requested_bytes(total, found.utilization) >= needed
        assert requested_bytes(total, found.utilization - 0.01) < needed + 1
