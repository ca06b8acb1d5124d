"""Expected speeds: ranges that carry their source."""

from __future__ import annotations

import pytest

from sparkiac.memory import speed
from sparkiac.memory.layers import Width
from sparkiac.memory.speed import SPARK, Drafting, Range, Reads
from sparkiac.memory.values import Unknown
from sparkiac.model.facts import Prefill
from tests.memory.known import laid, network, told

LAYOUT = laid("Qwen/Qwen3-Coder-Next", {"max_model_len": 65_536})
SHAPE = network("Qwen/Qwen3-Coder-Next")
READS = Reads(3_000_000_000, 4_000_000_000)


def test_a_token_reads_the_share_of_active_parameters() -> None:
    found = speed.reads(85, total_params=80, active_params=8)
    assert found == Reads(8, 8)


def test_packed_tensors_are_experts_and_others_are_read_as_a_whole() -> None:
    width = Width(experts=100, experts_per_token=10)
    tensors = {"U8": 1000, "F8_E4M3": 145, "BF16": 50, "F32": 1}
    found = speed.reads(1249, total_params=10, active_params=1, tensors=tensors, width=width)
    assert isinstance(found, Reads)
    assert (found.low, found.high) == (125, 112 + 20 + 104)


@pytest.mark.parametrize("width", [None, Width()])
def test_without_experts_parameters_alone_count(width: Width | None) -> None:
    found = speed.reads(100, total_params=10, active_params=1, tensors={"U8": 100}, width=width)
    assert found == Reads(10, 10)
    plain = speed.reads(100, total_params=10, active_params=1, tensors={"BF16": 50}, width=Width(experts=2))
    assert plain == found


def test_facts_of_speed_that_lack_are_named() -> None:
    assert speed.reads(None) == Unknown(("weights",))
    assert speed.reads(10, total_params=3) == Unknown(("total and active parameters",))
    assert speed.reads(10, active_params=3) == Unknown(("total and active parameters",))


def test_a_step_reads_weights_keys_values_and_states() -> None:
    assert speed.step_bytes(7, LAYOUT, context=1000) == 7 + 1000 * LAYOUT.token_bytes + 2 * LAYOUT.state_bytes


def test_decode_is_a_range_below_the_roofline_with_its_source() -> None:
    found = speed.decode(READS, LAYOUT, context=1000, shape=SHAPE)
    roofline = SPARK.bandwidth / speed.step_bytes(READS.low, LAYOUT, context=1000)
    assert found.low < found.high < roofline
    assert found.source == "70% to 92% of 273 GB/s (Spark guide L25), and 90 to 300 us for each layer"


def test_the_bounds_are_bytes_over_a_share_of_the_bandwidth_and_a_constant_for_each_layer() -> None:
    found = speed.decode(READS, LAYOUT, context=1000, shape=SHAPE)
    slow = speed.step_bytes(READS.high, LAYOUT, context=1000) / (0.70 * 273e9) + 48 * 300e-6
    fast = speed.step_bytes(READS.low, LAYOUT, context=1000) / (0.92 * 273e9) + 48 * 90e-6
    assert (found.low, found.high) == pytest.approx((1 / slow, 1 / fast))


def test_a_longer_context_is_slower() -> None:
    short, long = (speed.decode(READS, LAYOUT, context=context, shape=SHAPE) for context in (1000, 60_000))
    assert long.low < short.low
    assert long.high < short.high


@pytest.mark.parametrize("context", [0, 300, 1024, 30_000, 65_536])
def test_a_speed_follows_from_those_at_two_other_contexts(context: int) -> None:
    """The time of a step is linear in the context, so that the bounds are those of the formula."""
    known = {each: speed.decode(READS, LAYOUT, context=each, shape=SHAPE) for each in (1024, 65_536)}
    assert speed.between(known, context) == pytest.approx(
        speed.decode(READS, LAYOUT, context=context, shape=SHAPE)._replace(source=known[1024].source)
    )


@pytest.mark.parametrize(
    "known",
    [
        {},
        {1000: Range(10, 20, "")},
        {1000: Range(10, 20, ""), 4999: Range(5, 10, "")},
        {6000: Range(10, 20, ""), 6010: Range(1, 2, "")},
    ],
    ids=["nothing", "one context", "beyond the last", "no positive time"],
)
def test_a_speed_that_does_not_follow_is_none(known: dict[int, Range]) -> None:
    assert speed.between(known, 5000) is None


def test_servers_that_decode_at_the_same_time_share_the_bandwidth_and_not_the_constants() -> None:
    alone, two = (speed.decode(READS, LAYOUT, context=1000, shape=SHAPE, servers=count) for count in (1, 2))
    assert alone.low / 2 < two.low < alone.low


def test_drafts_read_other_experts_the_output_layer_and_the_drafter() -> None:
    def drafted(**facts: object) -> Range:
        drafting = Drafting(3, 0.0, 0.0)._replace(**facts)
        return speed.decode(READS, LAYOUT, context=1000, shape=SHAPE, drafting=drafting)

    plain = drafted()
    for facts in ({"growth": (1.5, 2.0)}, {"output_elements": 10**8}, {"drafter_bytes": 10**8}):
        assert drafted(**facts).low < plain.low
        assert drafted(**facts).high < plain.high
    assert drafted(low=0.6, high=0.85).high == pytest.approx(plain.high * (1 + 0.85 + 0.85**2 + 0.85**3))


def test_several_tokens_choose_more_distinct_experts() -> None:
    width = Width(hidden=2048, experts=256, experts_per_token=8, expert_layers=40, expert_intermediate=512)
    low, high = speed.growth(width, 3, active_params=3e9)
    distinct = 256 * (1 - (1 - 8 / 256) ** 4) / 8
    share = 3 * 40 * 8 * 2048 * 512 / 3e9
    assert (low, high) == pytest.approx((1 + share * (distinct - 1) / 2, 1 + share * (distinct - 1)))
    assert speed.growth(width, 3, active_params=None) == (1.0, pytest.approx(distinct))
    assert speed.growth(Width(), 3, active_params=3e9) == (1.0, 1.0)


def test_without_a_published_rate_the_class_of_the_network_gives_one() -> None:
    routed, dense = (speed.prefill_rates(network(name), 3e9) for name in ("Qwen/Qwen3-Coder-Next", "Qwen/Qwen3-8B"))
    assert routed.low < 6200 < routed.high  # Qwen3.6-35B: Spark guide L600
    assert routed.source == "routed networks on this GPU, by active parameters"
    assert dense.low > routed.low
    assert speed.prefill_rates(network("Qwen/Qwen3-8B"), 27e9).low < 1380 < speed.prefill_rates(SHAPE, 3e9).high


def test_bounds_of_a_rate_become_bounds_of_the_time() -> None:
    assert speed.prefill_seconds(1000, rates=Prefill(low=100, high=200, source="stated")) == Range(5, 10, "stated")


@pytest.mark.parametrize(
    ("handle", "given", "release", "added_us"),
    [
        ("Qwen/Qwen3-8B", {}, (0, 32, 0), 0),
        ("Qwen/Qwen3-8B", {"enforce_eager": True}, (0, 32, 0), 600),
        ("Qwen/Qwen3-8B", {"compilation_config": {"cudagraph_mode": "NONE"}}, (0, 32, 0), 600),
        ("Qwen/Qwen3-Coder-Next", {"enforce_eager": True}, (0, 32, 0), 1500),
        ("Qwen/Qwen3-8B", {"tensor_parallel_size": 2}, (0, 32, 0), 150),
        ("Qwen/Qwen3-8B", {"pipeline_parallel_size": 2}, (0, 32, 0), 0),
        ("openai/gpt-oss-20b", {}, (0, 18, 1), 150),
        ("openai/gpt-oss-20b", {}, (0, 19, 0), 0),
        ("openai/gpt-oss-20b", {"enforce_eager": True, "tensor_parallel_size": 2}, (0, 18, 1), 900),
    ],
)
def test_options_make_each_layer_slower(
    handle: str, given: dict[str, object], release: tuple[int, ...], added_us: int
) -> None:
    found = speed.slower_layer_s(network(handle), told(given, release=release))
    assert found == pytest.approx(added_us * 1e-6)


def test_only_the_lower_bound_knows_what_may_be_slower() -> None:
    plain, slower = (speed.decode(READS, LAYOUT, context=1000, shape=SHAPE, slower_s=each) for each in (0.0, 600e-6))
    assert slower.high == plain.high
    assert 1 / slower.low - 1 / plain.low == pytest.approx(len(SHAPE.layers) * 600e-6)
    assert "90 to 900 us for each layer" in slower.source
