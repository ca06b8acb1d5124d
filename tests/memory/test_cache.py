"""How a cache is laid out: pages, groups, blocks, and what releases do differently."""

from __future__ import annotations

from typing import Any

import pytest

from sparkiac.memory import blocks, kv, options, pages
from sparkiac.memory.blocks import Cache, CacheGroup
from sparkiac.memory.layers import Attention, Latent, Layer, Linear, Mamba2, Shape
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.values import GIB, Unknown
from tests.memory.known import LATEST, MTP_3, QWEN, laid, network, told

FULL = Attention(kv_heads=2, head_size=64, value_size=64)
WINDOW = Attention(2, 64, 64, 128)
STATE = Linear(2, 4, 32, 32, 4)
CONTEXT = {"max_model_len": 4096}


def of(
    *layers: Layer | None, given: dict[str, Any] | None = None, release: tuple[int, ...] = LATEST
) -> Cache | Unknown:
    return blocks.cache(Shape(layers), told({**CONTEXT, **(given or {})}, release=release))


def known(*layers: Layer | None, given: dict[str, Any] | None = None, release: tuple[int, ...] = LATEST) -> Cache:
    found = of(*layers, given=given, release=release)
    assert isinstance(found, Cache), found
    return found


# -- bytes of one layer ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("auto", 512),
        ("bfloat16", 512),
        ("fp8", 256),
        ("fp8_e5m2", 256),
        ("nvfp4", 144),
        ("fp8_per_token_head", 272),
        ("int4_per_token_head", 144),
        ("float32", 1024),
    ],
)
def test_a_token_takes_what_its_dtype_takes(dtype: str, size: int) -> None:
    kept = kv.kv_format(Shape((FULL,)), told({"kv_cache_dtype": dtype}))
    assert isinstance(kept, kv.Format)
    assert kv.token_bytes(FULL, kept=kept, ranks=1) == size


def test_a_dtype_of_the_activations_or_of_the_checkpoint_stands_in_for_auto() -> None:
    assert kv.kv_format(Shape((FULL,)), told({"dtype": "float32"})) == kv.Format(4)
    assert kv.kv_format(Shape((FULL,), kv_dtype="fp8"), told()) == kv.Format(1)


def test_a_dtype_that_is_not_known_is_named() -> None:
    assert of(FULL, given={"kv_cache_dtype": "turboquant_k8v4"}) == Unknown(("bytes of the KV dtype turboquant_k8v4",))


def test_ranks_share_heads_and_repeat_what_cannot_be_shared() -> None:
    kept = kv.Format(2)
    assert [kv.token_bytes(FULL, kept=kept, ranks=ranks) for ranks in (1, 2, 4)] == [512, 256, 256]
    assert [kv.token_bytes(Latent(576), kept=kept, ranks=ranks) for ranks in (1, 2)] == [1152, 1152]


@pytest.mark.parametrize(("tokens", "size"), [(0, 2_146_304), (1, 2_162_688), (2, 2_179_072), (3, 2_195_456)])
def test_a_state_of_gated_deltanet_grows_with_each_drafted_token(tokens: int, size: int) -> None:
    shape = network(QWEN)
    state = shape.layers[0]
    assert isinstance(state, Linear)
    assert kv.state_bytes(state, shape=shape, options=told(), speculative_tokens=tokens) == size


def test_a_state_of_mamba_repeats_groups_that_ranks_cannot_share() -> None:
    def size(ranks: int) -> int | Unknown:
        state = Mamba2(heads=8, head_size=16, groups=1, state_size=32, kernel=4)
        shape = Shape((state,), state_dtype="float32")
        return kv.state_bytes(state, shape=shape, options=told({"tensor_parallel_size": ranks}), speculative_tokens=0)

    assert size(1) == (8 * 16 + 2 * 32) * 3 * 2 + 8 * 16 * 32 * 4
    assert size(2) == (8 * 16 + 2 * 2 * 32) // 2 * 3 * 2 + 8 * 16 * 32 * 4 // 2


@pytest.mark.parametrize(
    ("given", "recurrent"), [({}, 2), ({"mamba_ssm_cache_dtype": "float32"}, 4), ({"mamba_cache_dtype": "float32"}, 4)]
)
def test_the_dtype_of_a_state_can_be_told(given: dict[str, Any], recurrent: int) -> None:
    taps = 4 if "mamba_cache_dtype" in given else 2
    size = kv.state_bytes(STATE, shape=Shape((STATE,)), options=told(given), speculative_tokens=0)
    assert size == 256 * 3 * taps + 4 * 32 * 32 * recurrent


def test_a_dtype_of_states_that_is_not_known_is_named() -> None:
    found = of(STATE, FULL, given={"mamba_ssm_cache_dtype": "fp8"})
    assert found == Unknown(("bytes of the state dtype fp8",))


# -- groups and blocks ---------------------------------------------------------------------------------------


def test_layers_of_one_kind_are_one_group() -> None:
    found = known(FULL, FULL, None, FULL)
    assert found.groups == (CacheGroup("full", 3, 16, 256),)
    assert (found.block_bytes, found.token_bytes, found.state_bytes) == (3 * 16 * 512, 3 * 512, 0)
    assert found.request_bytes == 256 * 3 * 16 * 512


def test_heads_of_another_size_in_the_drafter_stay_in_the_group_of_full_attention() -> None:
    drafter = Shape((Attention(1, 64, 64), None))
    shape = Shape((FULL, FULL))
    found = blocks.cache(shape, told(CONTEXT), speculation=Speculation("eagle3", 3, drafter))
    assert isinstance(found, Cache)
    assert (len(found.groups), found.block_bytes) == (1, 16 * (512 + 512 + 256))


def test_the_rarest_kind_sets_the_size_of_groups() -> None:
    found = known(FULL, *(WINDOW,) * 5)
    assert [(group.kind, group.layers) for group in found.groups] == [("full", 1), *[("window", 1)] * 5]
    assert found.block_bytes == 16 * 512


def test_kinds_of_about_the_same_number_are_filled_up_to_the_larger_one() -> None:
    found = known(*(FULL,) * 4, *(WINDOW,) * 5)
    assert [(group.kind, group.layers) for group in found.groups] == [("full", 4), ("window", 5)]
    assert found.block_bytes == 5 * 16 * 512


def test_smaller_pages_hold_more_tokens() -> None:
    found = known(Attention(1, 64, 64), WINDOW)
    assert {(group.kind, group.block_tokens) for group in found.groups} == {("full", 32), ("window", 16)}


def test_a_page_that_does_not_divide_the_largest_is_padded_from_0_24_on_and_refused_before() -> None:
    odd = Attention(3, 64, 64)
    assert known(odd, WINDOW).block_bytes == 16 * 768
    refused = of(odd, WINDOW, release=(0, 23, 0))
    assert refused == Unknown(("one page size for all layers: vLLM 0.23.0 refuses 8192 in 12288 bytes",))


def test_a_latent_page_is_never_padded() -> None:
    refused = of(Latent(576), Attention(5, 64, 64, 128))
    assert refused == Unknown(("one page size for all layers: vLLM 0.32.0 refuses 18432 in 20480 bytes",))


def test_windows_of_two_sizes_are_two_kinds() -> None:
    assert len(known(WINDOW, WINDOW._replace(window=256)).groups) == 2


@pytest.mark.parametrize(
    ("release", "given", "wanted"),
    [
        ((0, 19, 0), {}, 1 + -(-(127 + 512) // 16)),
        ((0, 26, 0), {}, 1 + -(-(127 + 1024) // 16)),
        ((0, 26, 0), {"async_scheduling": False}, 1 + -(-(127 + 512) // 16)),
        ((0, 26, 0), {"max_model_len": 256}, 1 + 16),
    ],
)
def test_a_window_keeps_itself_and_what_is_under_way(
    release: tuple[int, ...], given: dict[str, Any], wanted: int
) -> None:
    found = known(WINDOW, given={"max_num_batched_tokens": 512, **given}, release=release)
    assert found.request_blocks == wanted
    assert found.state_bytes == 128 * 512


def test_pipeline_stages_share_layers_and_the_fullest_one_counts() -> None:
    found = known(*(FULL,) * 5, given={"pipeline_parallel_size": 2})
    assert found.block_bytes == 3 * 16 * 512
    drafted = blocks.cache(
        Shape((FULL,) * 4, drafts=(FULL,)), told({**CONTEXT, "pipeline_parallel_size": 2}), speculation=MTP_3
    )
    assert isinstance(drafted, Cache)
    assert drafted.block_bytes == 3 * 16 * 512  # the last stage has the drafter as well


def test_blocks_of_latent_attention_beside_states_are_whole_multiples() -> None:
    big = Linear(16, 32, 128, 128, 4)
    assert known(Latent(576), big, release=(0, 19, 0)).block_tokens % 64 == 0
    assert known(Latent(576), big).block_tokens % 128 == 0


def test_from_0_20_on_a_block_is_a_multiple_of_the_block_that_was_told() -> None:
    given = {"block_size": 48}
    assert known(STATE, FULL, given=given).block_tokens == 48
    assert known(STATE, FULL, given=given, release=(0, 19, 0)).block_tokens == 48


def test_states_alone_are_blocks_of_their_own_size() -> None:
    found = known(STATE, STATE)
    assert found.groups == (CacheGroup("state", 2, 16, 2),)
    assert found.block_bytes == 2 * (256 * 3 * 2 + 4 * 32 * 32 * 2)


@pytest.mark.parametrize(
    ("release", "given", "kept"),
    [
        (LATEST, {}, 2),
        (LATEST, {"enable_prefix_caching": False}, 1),
        ((0, 23, 0), {}, 1),
        ((0, 27, 1), {}, 1),
        ((0, 28, 0), {}, 2),
        ((0, 23, 0), {"enable_prefix_caching": True}, 2),
        ((0, 23, 0), {"enable_prefix_caching": True, "mamba_cache_mode": "align"}, 2),
    ],
)
def test_prefix_caching_keeps_one_state_more(release: tuple[int, ...], given: dict[str, Any], kept: int) -> None:
    states = [group for group in known(STATE, FULL, given=given, release=release).groups if group.kind == "state"]
    assert [group.request_blocks for group in states] == [kept]


def test_a_model_without_states_caches_prefixes_in_every_release() -> None:
    assert told(release=(0, 15, 1)).mamba_mode(Shape((FULL,))) == "align"


def test_the_mode_that_keeps_all_states_is_named() -> None:
    given = {"mamba_cache_mode": "all", "enable_prefix_caching": True}
    assert of(STATE, FULL, given=given, release=(0, 23, 0)) == Unknown(("mamba_cache_mode: all",))


# -- speculation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ngram", "ngram_gpu", "suffix"])
def test_a_method_without_a_network_adds_no_layers(method: str) -> None:
    plain = blocks.cache(Shape((FULL,)), told(CONTEXT))
    assert blocks.cache(Shape((FULL,)), told(CONTEXT), speculation=Speculation(method, 3)) == plain


def test_a_model_of_its_own_under_mtp_keeps_nothing() -> None:
    found = blocks.cache(Shape((FULL,)), told(CONTEXT), speculation=Speculation("mtp", 4, Shape((FULL,))))
    assert found == blocks.cache(Shape((FULL,)), told(CONTEXT))


@pytest.mark.parametrize("method", ["mtp", "deepseek_mtp", "eagle3", "dflash", "medusa"])
def test_a_drafter_whose_layers_nobody_knows_is_named(method: str) -> None:
    found = blocks.cache(Shape((FULL,)), told(CONTEXT), speculation=Speculation(method, 3))
    assert found == Unknown((f"layers of the drafter ({method})",))


# -- what a log says --------------------------------------------------------------------------------------------


def test_releases_before_0_20_share_blocks_out_to_groups() -> None:
    layout = known(FULL, *(WINDOW,) * 3, release=(0, 19, 0))
    assert layout.tokens(1000 * layout.block_bytes) == 1000 // 4 * 16
    assert layout.concurrency(1000 * layout.block_bytes) == 1000 / layout.request_blocks


def test_from_0_29_on_one_block_is_never_handed_out() -> None:
    assert known(FULL, release=(0, 28, 0)).pool_bytes(2) == 2 * 256 * 16 * 512
    assert known(FULL, release=(0, 29, 0)).pool_bytes(2) == (2 * 256 + 1) * 16 * 512


def test_a_pool_that_is_missing_holds_nothing() -> None:
    assert (known(FULL).blocks(-5), known(FULL).tokens(-5)) == (0, 0)


def test_a_context_that_nobody_states_is_named() -> None:
    assert blocks.cache(Shape((FULL,)), told()) == Unknown(("max_model_len",))
    assert isinstance(blocks.cache(Shape((FULL,), context=1024), told({"max_model_len": "auto"})), Cache)


def test_a_network_that_keeps_nothing_is_named() -> None:
    assert of(None, None) == Unknown(("layers with a KV cache or a state",))


def test_a_layout_without_groups_has_no_block() -> None:
    assert Cache(1, 1, (), 0, 0, LATEST, 0).block_tokens == 0


def test_the_guides_server_by_both_ways_of_counting() -> None:
    given = {"kv_cache_dtype": "fp8", "max_model_len": 65_536, "enable_prefix_caching": True}
    old = laid(QWEN, given, release=(0, 19, 0), speculation=MTP_3)
    new = laid(QWEN, given, release=(0, 23, 0), speculation=MTP_3)
    size = round(76.49 * GIB)
    assert old.blocks(size) == new.blocks(size)
    assert (old.tokens(size), new.tokens(size)) == (1_822_400, 4_843_965)


def test_0_20_0_counts_as_0_19_does() -> None:
    """The log of a Spark with vLLM 0.20.0 has 2,158,880 tokens and 108.50 requests in 82.42 GiB."""
    given = {"kv_cache_dtype": "fp8", "max_model_len": 65_536, "enable_prefix_caching": True}
    found = laid(QWEN, given, release=(0, 20, 0))
    size = round(82.42 * GIB)
    assert (found.block_tokens, found.tokens(size), found.concurrency(size)) == (2096, 2_158_880, 108.5)
    assert laid(QWEN, given, release=(0, 20, 1)).tokens(size) == 7_110_656


# -- options ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "visible", "wanted"),
    [
        ((0, 19, 0), None, (0.9, 256, 2048)),
        ((0, 20, 0), 80 * GIB, (0.92, 1024, 8192)),
        ((0, 20, 0), 62 * GIB, (0.92, 256, 2048)),
        ((0, 27, 1), 180 * GIB, (0.92, 1024, 8192)),
        ((0, 28, 0), 180 * GIB, (0.92, 1024, 16_384)),
    ],
)
def test_defaults_are_those_of_the_release_and_of_the_memory_that_nvml_reports(
    release: tuple[int, ...], visible: int | None, wanted: tuple[float, int, int]
) -> None:
    found = options.read({}, release=release, gpu_bytes=visible)
    assert isinstance(found, ServerOptions)
    assert (found.gpu_memory_utilization, found.max_num_seqs, found.max_num_batched_tokens) == wanted


@pytest.mark.parametrize(("written", "size"), [("8G", 8 * GIB), ("8g", 8 * 10**9), ("1.5k", 1500), (4096, 4096)])
def test_sizes_have_units(written: object, size: int) -> None:
    assert told({"kv_cache_memory_bytes": written}).kv_cache_memory_bytes == size


@pytest.mark.parametrize(
    "given",
    [
        {"max_num_seqs": "many"},
        {"max_num_seqs": 0},
        {"max_num_seqs": True},
        {"max_num_seqs": 2.5},
        {"gpu_memory_utilization": 0},
        {"gpu_memory_utilization": 1.2},
        {"gpu_memory_utilization": True},
        {"gpu_memory_utilization": "0.8"},
        {"disable_hybrid_kv_cache_manager": True},
        {"num_gpu_blocks_override": 100},
        {"decode_context_parallel_size": 2},
    ],
    ids=str,
)
def test_options_without_sense_or_without_words_are_named(given: dict[str, Any]) -> None:
    assert options.read(given, release=LATEST) == Unknown(tuple(given))


def test_a_context_that_vllm_finds_itself_is_the_trained_one() -> None:
    assert told({"max_model_len": -1}).max_model_len is None
    assert told({"decode_context_parallel_size": 1, "disable_hybrid_kv_cache_manager": False}).max_num_seqs == 256


def test_pages_are_grown_only_where_kinds_are_mixed() -> None:
    found = pages.paged(Shape((FULL, Attention(1, 64, 64))), told(CONTEXT), None)
    assert not isinstance(found, Unknown)
    assert pages.unified(found, LATEST) == found
