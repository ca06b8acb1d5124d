"""Drafters: the pairs that the sources name, and no other."""

from __future__ import annotations

from typing import Final, NamedTuple

import pytest

from sparkiac import catalog


class Known(NamedTuple):
    """What the table says of a pair."""

    drafter: str | None
    tokens: int | None = None
    built_in: bool = False
    image: str | None = None


Z_LAB_IMAGE: Final = "ghcr.io/z-lab/vllm-openai:gemma4-dflash-cu130"
CODER: Final = "sakamakismile/gemma-4-12B-coder-fable5-composer2.5-MTP-NVFP4"
PAIRS: Final = {
    ("Qwen/Qwen3.6-35B-A3B", "dflash"): Known("z-lab/Qwen3.6-35B-A3B-DFlash", 15),
    ("Qwen/Qwen3.6-27B", "dflash"): Known("z-lab/Qwen3.6-27B-DFlash", 15),
    ("Qwen/Qwen3.5-27B", "dflash"): Known("z-lab/Qwen3.5-27B-DFlash", 15),
    ("Qwen/Qwen3.5-9B", "dflash"): Known("z-lab/Qwen3.5-9B-DFlash"),
    ("Qwen/Qwen3.5-4B", "dflash"): Known("z-lab/Qwen3.5-4B-DFlash"),
    ("Qwen/Qwen3-8B", "dflash"): Known("z-lab/Qwen3-8B-DFlash-b16"),
    ("google/gemma-4-31B-it", "dflash"): Known("z-lab/gemma-4-31B-it-DFlash", image=Z_LAB_IMAGE),
    ("google/gemma-4-26B-A4B-it", "dflash"): Known("z-lab/gemma-4-26B-A4B-it-DFlash", image=Z_LAB_IMAGE),
    ("poolside/Laguna-XS.2", "dflash"): Known("poolside/Laguna-XS.2-speculator.dflash", 7),
    ("Llama-3.1-8B", "dflash"): Known(None),
    ("google/gemma-4-26B-A4B-it", "mtp"): Known("google/gemma-4-26B-A4B-it-assistant", 4),
    (CODER, "mtp"): Known("/model/assistant", 3),
    ("nvidia/Qwen3.6-35B-A3B-NVFP4", "mtp"): Known(None, 3, built_in=True),
    ("deepseek-ai/DeepSeek-V4-Flash", "deepseek_mtp"): Known(None, 2, built_in=True),
}


def test_the_table_has_the_pairs_of_the_sources_and_no_other() -> None:
    assert len(PAIRS) == 14
    assert [(pair.target, pair.method) for pair in catalog.drafters()] == list(PAIRS)


@pytest.mark.parametrize("key", PAIRS)
def test_a_pair_is_found_by_target_and_method(key: tuple[str, str]) -> None:
    target, method = key
    pair = catalog.drafter(target, method=method)
    assert pair is not None
    assert Known(pair.drafter, pair.num_speculative_tokens, pair.built_in, pair.image) == PAIRS[key]
    assert pair.source


def test_a_pair_without_a_drafter_says_why() -> None:
    """Either the target's own checkpoint has the heads, or the source does not name the drafter."""
    for pair in catalog.drafters():
        if pair.drafter is None and not pair.built_in:
            assert "unnamed" in (pair.alternative or "")


def test_no_drafter_is_known_for_another_target_or_method() -> None:
    assert catalog.drafter("nvidia/Qwen3.6-35B-A3B-NVFP4", method="dflash") is None
    assert catalog.drafter("Qwen/Qwen3.6-35B-A3B", method="mtp") is None
    assert catalog.drafter(None, method="dflash") is None
