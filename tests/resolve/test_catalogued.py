"""Entries of the catalog, found by the model that they serve."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac import catalog
from sparkiac.resolve import catalogued

EVERYTHING: Final = catalogued.everything()
MODELS: Final = sorted({each.values["model"] for each in EVERYTHING if "model" in each.values})


@pytest.mark.parametrize("model", MODELS)
def test_a_handle_finds_every_entry_that_serves_it(model: str) -> None:
    wanted = [each.name for each in EVERYTHING if each.values.get("model") == model]
    assert [each.name for each in catalogued.serving(model)] == wanted


@pytest.mark.parametrize("model", ["example/none", "google/gemma-4", "title"])
def test_a_text_that_is_not_a_handle_finds_nothing(model: str) -> None:
    assert [*catalogued.serving(model)] == []


def test_a_variant_has_what_its_recipe_holds() -> None:
    found = [*catalog.holding("model: unsloth/Qwen3-Coder-Next-FP8")]
    assert found == ["qwen/qwen3-coder-next-fp8#unsloth"]
    recipe = "deepseek-ai/deepseek-v4-flash"
    held = [name for name in catalog.holding("model: deepseek-ai/DeepSeek-V4-Flash") if name.startswith(f"{recipe}#")]
    assert held == [*catalogued.variants(recipe)]
    assert len(held) > 1


def test_few_entries_are_read_to_find_a_model() -> None:
    assert len([*catalog.holding("RedHatAI/Qwen3.6-35B-A3B-NVFP4")]) < len(catalogued.names()) // 3
