"""catalog/configs.json: each config.json has a source, agrees with the entries, and makes memory known before a pin."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac import catalog
from sparkiac.memory import shape
from sparkiac.memory.layers import Attention, Linear, Shape
from sparkiac.memory.values import Unknown
from sparkiac.resolve import catalogued
from sparkiac.upstream.hub import config as hub
from tests.catalog.test_reference import ENTRIES, USABLE, inventory
from tests.conftest import ROOT
from tests.every import every
from tests.plan.fleets import checked, pins
from tests.resolve.built import as_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

CITED: Final = re.compile(r"github\.com/[\w.-]+/[\w.-]+ at [0-9a-f]{8}, \S+")
RAW: Final[dict[str, dict[str, Any]]] = json.loads((ROOT / "sparkiac/catalog/configs.json").read_text())
KEYS: Final = ("source", "network_of", "same_network", "config")
QUANTIZATION: Final = {"quantization_config", "quantization", "compression_config", "hf_quant_config"}
UNKNOWN: Final = {
    "2wild4tv/GLM-5.3-Int4-Int8Mix",
    "Inferact/Muse-Glimmer-30B-NVFP4-W4A4",
    "Qwen/Qwen3-ASR-1.7B",
    "Qwen/Qwen3-Coder-Next-FP8",
    "Qwen/Qwen3-VL-Embedding-2B",
    "Qwen/Qwen3-VL-Embedding-8B",
    "Qwen/Qwen3-VL-Reranker-2B",
    "Qwen/Qwen3-VL-Reranker-8B",
    "deepseek-ai/DeepSeek-V4-Flash-Vision-Exp",
    "deepseek-ai/DeepSeek-V4.1-Flash",
    "local-inference-lab/GLM-5.3-Flash-NVFP4",
    "local-inference-lab/GLM-5.3-Flash-NVFP4-Spark",
    "local-inference-lab/Qwen3.8-Flash-Next-NVFP4",
    "lukealonso/MiMo-V2.5-NVFP4",
    "nvidia/MiniMax-M3-NVFP4",
    "nvidia/NVIDIA-Nemotron-3-Nano-4B-FP8",
    "nvidia/NVIDIA-Nemotron-Labs-3-Puzzle-75B-A9B-NVFP4",
    "nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4",
    "nvidia/diffusiongemma-26B-A4B-it-NVFP4",
    "poolside/Laguna-S-2.1-NVFP4",
    "poolside/Laguna-XS.2",
    "sakamakismile/gemma-4-12B-coder-fable5-composer2.5-MTP-NVFP4",
    "stepfun-ai/Step-3.7-Flash-NVFP4",
    "thinkingmachines/Inkling-Small-NVFP4",
    "unsloth/Qwen3-Coder-Next-FP8",
    "zai-org/GLM-5.3-Flash",
}
"""Models of entries without a config.json here: no public repository that could be opened holds one that is read."""
CONTEXTS: Final = {"nvidia/minimax-m2.7-nvfp4": 204800}
"""Contexts that an entry has of the base model's config.json; that of the checkpoint has another one (196608)."""
KNOWN: Final = 52
"""Entries whose KV cache is known before a lock."""


def models() -> Iterator[str]:
    """Yield the models of the entries that can be deployed."""
    for each in catalogued.everything():
        if each.usable and (model := each.values.get("model")):
            yield model


def formed(model: str) -> Shape:
    found = shape.read(catalog.config(model))
    assert isinstance(found, Shape), found
    return found


@every(RAW)
def test_a_config_says_where_it_is_from(model: str) -> None:
    each = RAW[model]
    assert set(each) <= set(KEYS)
    assert CITED.fullmatch(each["source"])
    of = each.get("network_of", model).replace("/", "--")
    assert each["source"].endswith(f"/{of}_config.json"), "the file is that of the model, or of the one that is named"
    assert CITED.fullmatch(each.get("same_network", each["source"]))


@every(RAW)
def test_a_config_has_only_what_a_lock_keeps(model: str) -> None:
    kept = RAW[model]["config"]
    described = kept.get("hf_quant_config")
    facts = hub.facts({key: value for key, value in kept.items() if key != "hf_quant_config"})
    assert json.loads(json.dumps(facts)) == {key: value for key, value in kept.items() if key != "hf_quant_config"}
    assert described is None or json.loads(json.dumps(hub.facts(described))) == described
    if "network_of" in RAW[model]:
        sections = (kept, kept.get("text_config", {}))
        assert not any(QUANTIZATION & set(each) for each in sections), "another checkpoint is quantized otherwise"


@pytest.mark.parametrize("name", [name for name in USABLE if ENTRIES[name].values.get("model") in RAW])
def test_a_config_agrees_with_what_the_entry_says(name: str) -> None:
    entry, found = ENTRIES[name], formed(ENTRIES[name].values["model"])
    facts = entry.variant.facts if entry.variant and entry.variant.facts else entry.recipe.facts
    full = [each for each in found.layers if isinstance(each, Attention) and each.window is None]
    states = [each for each in found.layers if isinstance(each, Linear)]
    known = facts.architecture
    said = (known.full_attention_layers, known.linear_attention_layers, known.native_context)
    read = (len(full), len(states), CONTEXTS.get(name, found.context))
    assert all(left in (None, right) for left, right in zip(said, read, strict=True)), (said, read)
    if known.full_attention_layers:
        assert {(known.kv_heads, known.head_size)} == {(each.kv_heads, each.head_size) for each in full}


def test_the_other_models_are_named_as_unknown() -> None:
    assert {model for model in models() if not catalog.config(model)} == UNKNOWN
    assert catalog.config(None) == catalog.config("example/model") == {}


def test_the_kv_cache_of_most_entries_is_known_before_a_lock() -> None:
    known = []
    for name in USABLE:
        if name.startswith("base/"):
            continue
        outcome = checked(as_yaml(inventory(ENTRIES[name])), locked=None, allow_unlocked=True)
        if outcome.plan is not None and not isinstance(outcome.plan.hosts[0].proofs["chat"].cache, Unknown):
            known.append(name)
    assert len(known) == KNOWN, known


def test_the_plan_of_the_lab_has_nothing_unknown() -> None:
    plan = (ROOT / "generated/lab/PLAN.md").read_text()
    assert "**unknown**" not in plan


@pytest.mark.parametrize(("locked", "is_known"), [("config: {model_type: example}, ", False), ("", True)])
def test_a_config_of_the_lock_comes_first(locked: str, *, is_known: bool) -> None:
    text = as_yaml(inventory(ENTRIES["openai/gpt-oss-20b"]))
    pinned = re.sub(", config: [{][^}]*}", "", pins(text)).replace("commit:", f"{locked}commit:")
    outcome = checked(text, locked=pinned, allow_unlocked=True)
    assert outcome.plan is not None
    assert isinstance(outcome.plan.hosts[0].proofs["chat"].cache, Unknown) is not is_known
