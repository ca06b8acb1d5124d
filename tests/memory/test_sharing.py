"""Which models fit together on one machine: the arithmetic, against numbers that were worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkiac.memory import sharing
from sparkiac.memory.overhead import RUNTIME_BYTES
from sparkiac.memory.values import GIB, Term, Unknown
from sparkiac.model.facts import ModelFacts, WeightSizes

QWEN = ModelFacts(weights=WeightSizes(disk_gb=24, loaded_gb=23.5))
GEMMA = ModelFacts(weights=WeightSizes(loaded_gb=49, drafter_gb=0.87))
MACHINE = 119 * GIB


def loaded(name: str, gib: float) -> Term:
    return Term(name, int(gib * GIB), "loaded")


def test_a_pair_by_hand() -> None:
    """The dual-Spark post's two models on one machine of 119 GiB.

    23.5 GB are 21.886 GiB; 49 and 0.87 GB are 46.445 GiB. With 3 GiB for each and 11.9 for the system 86.231 are needed
    and 32.769 left, 16.384 for each: 24.886 to 41.270 of 119 for the one, 49.445 to 65.830 for the other.
    """
    models = [sharing.weights("qwen", QWEN, drafter=False), sharing.weights("gemma", GEMMA, drafter=True)]
    assert models == [Term("qwen", 23_500_000_000, "loaded"), Term("gemma", 49_870_000_000, "loaded")]
    room = sharing.on_one_machine(models, total_bytes=MACHINE)
    headroom = room.host.headroom_bytes
    assert not isinstance(headroom, Unknown)
    assert headroom / GIB == pytest.approx(32.769, abs=0.001)
    assert room.portions == (("qwen", 0.21, 0.35), ("gemma", 0.42, 0.55))
    assert room.fits is True


def test_the_overhead_is_that_of_the_one_log_in_the_sources() -> None:
    """Spark guide L345-346: 21.94 GiB of weights, a pool of 76.49 GiB at 0.85 of 128 GB."""
    overhead = 0.85 * 128 * 10**9 - (21.94 + 76.49) * GIB
    assert overhead / GIB == pytest.approx(RUNTIME_BYTES / GIB, abs=0.15)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (None, Term("x", Unknown(("weights",)), "size of the weights unknown")),
        (WeightSizes(), Term("x", Unknown(("weights",)), "size of the weights unknown")),
        (WeightSizes(drafter_gb=1), Term("x", Unknown(("weights",)), "size of the weights unknown")),
        (WeightSizes(disk_gb=8), Term("x", 8 * 10**9, "on disk")),
        (WeightSizes(disk_gb=1, loaded_gb=8), Term("x", 8 * 10**9, "loaded")),
        (WeightSizes(disk_gb=1, loaded_gb=1, loaded_gib=8), Term("x", 8 * GIB, "loaded")),
    ],
)
def test_the_better_figure_counts(weights: WeightSizes | None, expected: Term) -> None:
    assert sharing.weights("x", ModelFacts(weights=weights), drafter=False) == expected


@pytest.mark.parametrize(
    ("facts", "drafter", "nodes", "basis"),
    [
        (ModelFacts(), False, 1, "size of the weights unknown"),
        (QWEN, True, 1, "size of the drafter unknown"),
        (QWEN, False, 2, "spans 2 machines"),
    ],
)
def test_what_is_not_known_is_unknown_and_never_fits(
    facts: ModelFacts, basis: str, nodes: int, *, drafter: bool
) -> None:
    unknown = sharing.weights("x", facts, drafter=drafter, nodes=nodes)
    assert isinstance(unknown.size_bytes, Unknown)
    assert unknown.source == basis
    room = sharing.on_one_machine([unknown, sharing.weights("qwen", QWEN, drafter=False)], total_bytes=4096 * GIB)
    assert (room.fits, room.portions, room.host.headroom_bytes) == (None, (), Unknown(("x",)))


def test_what_is_too_large_does_not_fit() -> None:
    room = sharing.on_one_machine([loaded("a", 60), loaded("b", 60)], total_bytes=120 * GIB)
    assert room.fits is False
    assert room.host.headroom_bytes == (120 - 12 - 6 - 120) * GIB


def test_no_room_for_a_hundredth_is_no_room() -> None:
    """A tenth is reserved: weights and overhead of more than 90 hundredths do not fit."""
    assert sharing.on_one_machine([loaded("a", 86.9)], total_bytes=100 * GIB).fits is True
    assert sharing.on_one_machine([loaded("a", 87.5)], total_bytes=100 * GIB).fits is False


@given(st.lists(st.integers(GIB // 10, 60 * GIB), min_size=1, max_size=4), st.integers(60 * GIB, 512 * GIB))
def test_the_shares_never_take_more_than_there_is(sizes: list[int], total_bytes: int) -> None:
    room = sharing.on_one_machine([Term(str(size), size, "loaded") for size in sizes], total_bytes=total_bytes)
    assert room.fits is not None
    if room.fits:
        assert sum(round(100 * portion.even) for portion in room.portions) * total_bytes <= 90 * total_bytes + 100
        for portion, size in zip(room.portions, sizes, strict=True):
            assert round(100 * portion.least) * total_bytes >= 100 * (size + RUNTIME_BYTES)
            assert portion.least <= portion.even
