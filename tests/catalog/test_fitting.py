"""Which models fit beside one another: the arithmetic, against numbers that were worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkiac.catalog import fitting
from sparkiac.catalog.fitting import Load
from sparkiac.model.facts import ModelFacts, WeightSizes

QWEN = ModelFacts(weights=WeightSizes(disk_gb=24, loaded_gb=23.5))
GEMMA = ModelFacts(weights=WeightSizes(loaded_gb=49, drafter_gb=0.87))
OWN = {"method": "mtp", "num_speculative_tokens": 2}
DRAFTED = {"method": "mtp", "model": "google/gemma-4-26B-A4B-it-assistant"}


def test_a_pair_by_hand() -> None:
    """The dual-Spark post's two models on one machine of 119 GiB.

    23.5 GB are 21.886 GiB; 49 and 0.87 GB are 46.445 GiB. With 3 GiB for each and 12 for the system 86.331 are needed
    and 32.669 left, 16.334 for each: 24.886 to 41.220 of 119 for the one, 49.445 to 65.780 for the other.
    """
    loads = [fitting.load("qwen", QWEN, OWN), fitting.load("gemma", GEMMA, DRAFTED)]
    assert [(load.name, round(load.gib or 0, 3), load.basis) for load in loads] == [
        ("qwen", 21.886, "loaded"),
        ("gemma", 46.445, "loaded"),
    ]
    room = fitting.together(loads, memory_gib=119)
    assert room.needed_gib == pytest.approx(86.331, abs=0.001)
    assert room.spare_gib == pytest.approx(32.669, abs=0.001)
    assert room.shares == (("qwen", 0.21, 0.34), ("gemma", 0.42, 0.55))
    assert room.fits is True


def test_the_overhead_is_that_of_the_one_log_in_the_sources() -> None:
    """Spark guide L345-346: 21.94 GiB of weights, a pool of 76.49 GiB at 0.85 of 128 GB."""
    overhead_gib = 0.85 * 128 * fitting.GIB_PER_GB - 21.94 - 76.49
    assert overhead_gib == pytest.approx(fitting.OVERHEAD_GIB, abs=0.15)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (None, None),
        (WeightSizes(), None),
        (WeightSizes(drafter_gb=1), None),
        (WeightSizes(disk_gb=8 * 1.073741824), (8, "on disk")),
        (WeightSizes(disk_gb=1, loaded_gb=8 * 1.073741824), (8, "loaded")),
        (WeightSizes(disk_gb=1, loaded_gb=1, loaded_gib=8), (8, "loaded")),
    ],
)
def test_the_better_figure_counts(weights: WeightSizes | None, expected: tuple[float, str] | None) -> None:
    found = fitting.weights_gib(weights)
    assert (found and (pytest.approx(found[0]), found[1])) == expected


@pytest.mark.parametrize(
    ("facts", "speculative", "nodes", "basis"),
    [
        (ModelFacts(), None, 1, "size of the weights unknown"),
        (QWEN, DRAFTED, 1, "size of the drafter unknown"),
        (QWEN, None, 2, "spans 2 machines"),
    ],
)
def test_what_is_not_known_is_unknown_and_never_fits(
    facts: ModelFacts, speculative: dict[str, str] | None, nodes: int, basis: str
) -> None:
    load = fitting.load("x", facts, speculative, nodes=nodes)
    assert load == Load("x", None, basis)
    room = fitting.together([load, fitting.load("qwen", QWEN, None)], memory_gib=4096)
    assert (room.fits, room.needed_gib, room.spare_gib, room.shares) == (None, None, None, ())


def test_what_is_too_large_does_not_fit() -> None:
    room = fitting.together([Load("a", 60, "loaded"), Load("b", 60, "loaded")], memory_gib=119)
    assert room.fits is False
    assert room.spare_gib == 119 - 12 - 6 - 120


def test_no_room_for_a_hundredth_is_no_room() -> None:
    """101.5 GiB of 119 are left for weights: one more bit, and no share in hundredths would hold them."""
    assert fitting.together([Load("a", 104, "loaded")], memory_gib=119).fits is False
    assert fitting.together([Load("a", 102.5, "loaded")], memory_gib=119).fits is True


@given(st.lists(st.floats(0.1, 60), min_size=1, max_size=4), st.floats(60, 512))
def test_the_shares_never_take_more_than_there_is(sizes: list[float], memory_gib: float) -> None:
    room = fitting.together([Load(str(size), size, "loaded") for size in sizes], memory_gib=memory_gib)
    assert room.fits is not None
    if room.fits:
        taken_gib = sum(share.even for share in room.shares) * memory_gib
        assert taken_gib <= memory_gib - fitting.RESERVE_GIB + 1e-6
        for share, size in zip(room.shares, sizes, strict=True):
            assert share.least * memory_gib >= size + fitting.OVERHEAD_GIB - 1e-6
            assert share.least <= share.even
