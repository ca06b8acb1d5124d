"""Expected speeds: ranges that carry their source."""

from __future__ import annotations

import pytest

from sparkiac.memory import speed
from sparkiac.memory.layers import Width
from sparkiac.memory.speed import Drafting, Range, Reads
from sparkiac.memory.values import Unknown
from sparkiac.model.facts import Prefill
from tests.memory.known import laid

LAYOUT = laid("Qwen/Qwen3-Coder-Next", {"max_model_len": 65_536})
READS = Reads(3_000_000_000, 4_000_000_000, "test")


def test_a_token_reads_the_share_of_active_parameters() -> None:
    found = speed.reads(85, total_params=80, active_params=8)
    assert found == Reads(8, 8, "loaded bytes times active over total parameters")


def test_packed_tensors_are_experts_and_others_are_read_as_a_whole() -> None:
    width = Width(experts=100, experts_per_token=10)
    tensors = {"U8": 1000, "F8_E4M3": 145, "BF16": 50, "F32": 1}
    found = speed.reads(1249, total_params=10, active_params=1, tensors=tensors, width=width)
    assert isinstance(found, Reads)
    assert (found.low, found.high) == (125, 112 + 20 + 104)
    assert "packed tensors as experts" in found.source


@pytest.mark.parametrize("width", [None, Width()])
def test_without_experts_parameters_alone_count(width: Width | None) -> None:
    found = speed.reads(100, total_params=10, active_params=1, tensors={"U8": 100}, width=width)
    assert found == Reads(10, 10, "loaded bytes times active over total parameters")
    plain = speed.reads(100, total_params=10, active_params=1, tensors={"BF16": 50}, width=Width(experts=2))
    assert plain == found


def test_facts_of_speed_that_lack_are_named() -> None:
    assert speed.reads(None) == Unknown(("weights",))
    assert speed.reads(10, total_params=3) == Unknown(("total and active parameters",))
    assert speed.reads(10, active_params=3) == Unknown(("total and active parameters",))


def test_the_roofline_reads_weights_keys_values_and_states() -> None:
    assert speed.steps(0, LAYOUT, context=1000) == 273e9 / (1000 * LAYOUT.token_bytes + 2 * LAYOUT.state_bytes)


def test_decode_is_a_range_below_the_roofline_with_its_source() -> None:
    found = speed.decode(READS, LAYOUT, context=1000)
    assert found.low < found.high < speed.steps(READS.low, LAYOUT, context=1000)
    assert found.source == "35% to 90% of the roofline at 273 GB/s (Spark guide L25)"


def test_a_longer_context_is_slower() -> None:
    short, long = (speed.decode(READS, LAYOUT, context=context) for context in (1000, 60_000))
    assert long.low < short.low
    assert long.high < short.high


def test_drafts_widen_the_range_both_ways() -> None:
    plain = speed.decode(READS, LAYOUT, context=1000)
    drafted = speed.decode(
        READS, LAYOUT, context=1000, drafting=Drafting(3, 0.0, 1.0, drafter_bytes=10**8, routed=True)
    )
    assert drafted.low < plain.low
    assert drafted.high > plain.high
    dense = speed.decode(READS, LAYOUT, context=1000, drafting=Drafting(3, 0.5, 0.5))
    assert dense.low == pytest.approx(1.875 * plain.low)


def test_bounds_of_a_rate_become_bounds_of_the_time() -> None:
    assert speed.prefill_seconds(1000, rates=Prefill(low=100, high=200, source="stated")) == Range(5, 10, "stated")
