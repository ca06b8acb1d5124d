"""Logs of DGX Sparks that their owners published: tokens and requests of the logged pool, to the last digits."""

from __future__ import annotations

from typing import Any

import pytest

from sparkiac.memory.options import Speculation
from sparkiac.memory.values import GIB
from tests.memory.known import QWEN, laid

DEFAULTS = {"max_model_len": 8192, "max_num_batched_tokens": 2048, "max_num_seqs": 256}
GEMMA = "nvidia/Gemma-4-31B-IT-NVFP4"
LONG = {"max_model_len": 262_144, "enable_prefix_caching": True, "kv_cache_dtype": "fp8"}


@pytest.mark.parametrize(
    ("handle", "given", "release", "speculation", "pool", "tokens", "requests"),
    [
        (GEMMA, {**DEFAULTS, "kv_cache_dtype": "bfloat16"}, (0, 22, 1), None, 22.46, 61_711, 7.53),
        (GEMMA, {**DEFAULTS, "kv_cache_dtype": "fp8"}, (0, 22, 1), None, 23.13, 127_120, 15.52),
        ("google/gemma-3-12b-it", DEFAULTS, (0, 22, 1), None, 59.15, 335_944, 41.01),
        ("google/gemma-3-12b-it", {**DEFAULTS, "kv_cache_dtype": "fp8"}, (0, 22, 1), None, 54.43, 618_254, 75.47),
        # Qwen3.8-27B has the layers of Qwen3.6-27B.
        ("nvidia/Qwen3.6-27B-NVFP4", {**LONG, "max_num_seqs": 4, "max_num_batched_tokens": 32_768}, (0, 27, 1),
         Speculation("mtp", 2), 32.98, 945_803, 3.61),
        (QWEN, {**LONG, "max_model_len": 65_536}, (0, 20, 0), Speculation("mtp", 2), 52.66, 1_253_392, None),
        (QWEN, LONG, (0, 20, 0), None, 82.42, 2_158_880, None),
    ],
    ids=["gemma-4-31b", "gemma-4-31b-fp8", "gemma-3-12b", "gemma-3-12b-fp8", "qwen3.8-27b", "qwen3.6-mtp", "qwen3.6"],
)  # fmt: skip
def test_tokens_of_the_logged_pool(  # noqa: PLR0913, PLR0917  one column each
    handle: str,
    given: dict[str, Any],
    release: tuple[int, ...],
    speculation: Speculation | None,
    pool: float,
    tokens: int,
    requests: float | None,
) -> None:
    layout = laid(handle, given, release=release, speculation=speculation)
    assert layout.tokens(round(pool * GIB)) == pytest.approx(tokens, rel=2e-4)
    if requests is not None:
        assert layout.concurrency(round(pool * GIB)) == pytest.approx(requests, abs=0.006)
