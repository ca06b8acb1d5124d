"""Attention that picks what it reads: what a layer of DeepSeek-V3.2, GLM-5 and DeepSeek-V4 keeps, and what is refused.

Groups and blocks are held to vLLM's own in test_recorded.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from sparkiac.memory import blocks, options, shape
from sparkiac.memory.blocks import Cache
from sparkiac.memory.fit import fit
from sparkiac.memory.kv import Format, kv_format, token_bytes
from sparkiac.memory.layers import Latent, Rows, Shape, Sparse
from sparkiac.memory.options import Speculation
from sparkiac.memory.values import GIB, Unknown
from tests.memory.known import LATEST, configs, laid, network, told

FLASH = "deepseek-ai/DeepSeek-V4-Flash"
V32 = "deepseek-ai/DeepSeek-V3.2"
WINDOW = Rows(584, window=128, block_tokens=64, alignment=576)


def test_compressed_attention_keeps_a_window_and_what_its_ratio_says() -> None:
    found = network(FLASH)
    first, picked, read = found.layers[0], found.layers[2], found.layers[3]
    assert first == Sparse((WINDOW,), 256)
    assert picked == Sparse(
        (
            Rows(132, tokens=4, alignment=576),
            Rows(2048, window=8, block_tokens=4, alignment=576),
            WINDOW,
            Rows(584, tokens=4, alignment=576),
            Rows(8192, window=8, block_tokens=4, alignment=576),
        ),
        256,
    )
    assert read == Sparse(
        (WINDOW, Rows(584, tokens=128, alignment=576), Rows(4096, window=128, block_tokens=8, alignment=576)), 256
    )
    assert (found.layers.count(picked), found.layers.count(read), found.layers.count(first)) == (21, 20, 2)
    assert found.drafts == (first,)


def test_an_indexer_is_beside_latent_attention() -> None:
    found = network(V32)
    layer = Sparse((Rows(132), Latent(576, packed_bytes=656)), 64)
    assert set(found.layers) == {layer}
    assert found.drafts == (layer,)


def test_layers_that_share_an_indexer_have_none_of_their_own() -> None:
    found = network("zai-org/GLM-5.2")
    own = [index for index, layer in enumerate(found.layers) if isinstance(layer, Sparse) and len(layer.caches) == 2]
    assert own[:6] == [0, 1, 2, 6, 10, 14]
    assert isinstance(found.drafts[0], Sparse)
    assert len(found.drafts[0].caches) == 2


def test_a_pattern_says_which_layers_share_an_indexer() -> None:
    found = shape.read({**configs()[V32], "num_hidden_layers": 4, "index_topk_pattern": "FSSF"})
    assert isinstance(found, Shape)
    assert [len(layer.caches) for layer in found.layers if isinstance(layer, Sparse)] == [2, 1, 1, 2]


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"compress_ratios": None}, "compress_ratios: 0, 4 or 128 for each layer"),
        ({"compress_ratios": [2] * 43}, "compress_ratios: 0, 4 or 128 for each layer"),
        ({"compress_ratios": [4]}, "compress_ratios: 0, 4 or 128 for each layer"),
        ({"head_dim": 256}, "head_dim: 512"),
        ({"index_head_dim": None}, "index_head_dim"),
        ({"sliding_window": None}, "sliding_window"),
    ],
)
def test_a_fact_of_compressed_attention_that_is_missing_is_named_once(change: dict[str, Any], missing: str) -> None:
    assert shape.read({**configs()[FLASH], **change}) == Unknown((missing,))


def test_no_block_is_said_and_the_model_takes_its_own() -> None:
    assert laid(FLASH, {"max_model_len": 1024}) == laid(FLASH, {"max_model_len": 1024, "block_size": 256})
    assert laid(V32, {"max_model_len": 1024}).block_tokens == 64


def test_a_block_that_the_kernels_do_not_take_is_refused() -> None:
    found = blocks.cache(network(FLASH), told({"block_size": 64}))
    assert found == Unknown(("block_size: a multiple of 256 for sparse attention",))


@pytest.mark.parametrize("word", ["fp8_e5m2", "nvfp4", "float16"])
def test_sparse_attention_takes_few_formats(word: str) -> None:
    given = told({"kv_cache_dtype": word})
    assert kv_format(network(V32), given) == Unknown((f"bytes of the KV dtype {word}",))


def test_a_row_in_fp8_is_packed_and_one_in_16_bits_is_not() -> None:
    row, older = Latent(576, packed_bytes=656), told(release=(0, 19, 0))
    plain = kv_format(network(V32), older)
    assert isinstance(plain, Format)
    assert token_bytes(row, kept=plain, ranks=1) == 1152
    for given in (told(), told({"kv_cache_dtype": "fp8"}), told({"kv_cache_dtype": "fp8"}, release=(0, 19, 0))):
        kept = kv_format(network(V32), given)
        assert isinstance(kept, Format)
        assert token_bytes(row, kept=kept, ranks=2) == 656


def test_16_bits_are_refused_where_the_kernel_takes_fp8_alone() -> None:
    wanted = Unknown(("kv_cache_dtype: fp8 or auto, the only values that sparse attention supports here",))
    assert kv_format(network(V32), told({"kv_cache_dtype": "bfloat16"})) == wanted
    assert kv_format(network(FLASH), told({"kv_cache_dtype": "bfloat16"}, release=(0, 22, 1))) == wanted


@pytest.mark.parametrize(("key", "value"), [("indexer_kv_dtype", "mxfp4"), ("use_fp4_indexer_cache", True)])
def test_an_indexer_in_four_bits_is_not_worked_out(key: str, value: object) -> None:
    found = options.read({"attention_config": {key: value}}, release=LATEST)
    assert found == Unknown((f"attention_config.{key}",))
    told({"attention_config": {"indexer_kv_dtype": "fp8", "use_fp4_indexer_cache": False, "backend": "FLASHINFER"}})


def test_a_server_needed_what_is_worked_out_for_it() -> None:
    """vllm-project/vllm#44376: two GH200 with 0.22 refused 30,000 tokens, for which they need 6.66 GiB."""
    given = {"max_model_len": 30_000, "max_num_batched_tokens": 16_384, "tensor_parallel_size": 2}
    assert round(laid(FLASH, given, release=(0, 22, 1)).request_bytes / GIB, 2) == 6.66


@pytest.mark.parametrize("release", [(0, 22, 1), (0, 32, 0)])
def test_windows_alone_are_one_group(release: tuple[int, ...]) -> None:
    alone = shape.read({**configs()[FLASH], "compress_ratios": [0] * 43})
    assert isinstance(alone, Shape)
    found = blocks.cache(alone, told({"max_model_len": 65_536}, release=release))
    assert isinstance(found, Cache)
    assert [group.layers for group in found.groups] == [43]


def test_pages_that_are_larger_than_those_of_the_whole_context_are_refused() -> None:
    odd = shape.read({**configs()[FLASH], "compress_ratios": [128] * 43})
    assert isinstance(odd, Shape)
    wanted = Unknown(("a layer without a sliding window whose page is at least as large as all others",))
    assert blocks.cache(odd, told(release=(0, 26, 0))) == wanted
    assert isinstance(blocks.cache(odd, told(release=(0, 27, 1))), Cache)


def test_a_release_without_compressed_attention_is_named() -> None:
    found = blocks.cache(network(FLASH), told(release=(0, 19, 0)))
    assert found == Unknown(("compressed attention: vLLM 0.19.0 does not support it",))


def test_older_releases_count_too_many_blocks_in_their_log() -> None:
    old, new = (laid(FLASH, {"max_model_len": 65_536}, release=release) for release in ((0, 26, 0), (0, 27, 1)))
    assert old.counted_blocks > 2 * old.request_blocks
    assert new.counted_blocks == new.request_blocks
    pool = old.pool_bytes(1)
    assert (fit(old, pool, max_num_seqs=1).concurrency, fit(old, pool, max_num_seqs=1).all) == (1, True)
    assert old.concurrency(pool) < 0.5


def test_several_layers_for_prediction_keep_more_of_a_window() -> None:
    several = shape.read({**configs()[FLASH], "num_nextn_predict_layers": 2})
    assert isinstance(several, Shape)
    given, drafts = told({"max_model_len": 65_536}), Speculation("mtp", 65)
    found, plain = blocks.cache(several, given, speculation=drafts), blocks.cache(several, given)
    assert isinstance(found, Cache)
    assert isinstance(plain, Cache)
    # 64 tokens: one block of 64, 16 of 4, 8 of 8.
    more = [one.request_blocks - other.request_blocks for one, other in zip(found.groups, plain.groups, strict=False)]
    assert [count for group, count in zip(found.groups, more, strict=False) if group.block_tokens == 4] == [16]
