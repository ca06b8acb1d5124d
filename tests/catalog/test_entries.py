"""Every deployment that the sources describe has its entry in the catalog, and every entry states what it is for."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac import catalog
from tests.catalog.entries import FILES, entry, found, usable
from tests.every import every

CODER_NEXT: Final = "qwen/qwen3-coder-next-fp8"
DSV4: Final = "deepseek-ai/deepseek-v4-flash"
GEMMA_12B: Final = "sakamakismile/gemma-4-12b-coder-nvfp4"
GEMMA_26B: Final = "bg-digitalservices/gemma-4-26b-a4b-it-nvfp4"
GEMMA_31B: Final = "nvidia/gemma-4-31b-it-nvfp4"
GEMMA_FP8: Final = "google/gemma-4-26b-a4b-it-fp8"
NANO: Final = "nvidia/nemotron-3-nano-30b-a3b-nvfp4"
OMNI: Final = "nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4"
QWEN35_122B: Final = "redhatai/qwen3.5-122b-a10b-nvfp4"
QWEN36_27B: Final = "unsloth/qwen3.6-27b-nvfp4"
QWEN36_35B: Final = "nvidia/qwen3.6-35b-a3b-nvfp4"
QWEN36_REDHAT: Final = "redhatai/qwen3.6-35b-a3b-nvfp4"
SUPER: Final = "nvidia/nemotron-3-super-120b-a12b-nvfp4"

R, M, S, X = "recipe", "mention", "superseded", "retired"
ENTRIES: Final = {
    "base-single-spark": ("base/single-spark", R),
    "qwen36-35b-a3b-nvfp4": (QWEN36_35B, R),
    "qwen36-35b-a3b-nvfp4-card-original": (f"{QWEN36_35B}#card-original", S),
    "qwen36-35b-a3b-nvfp4-card-updated": (f"{QWEN36_35B}#card-updated", R),
    "qwen36-35b-a3b-nvfp4-minimal": (f"{QWEN36_35B}#minimal", R),
    "qwen36-35b-a3b-nvfp4-256k": (f"{QWEN36_35B}#context-256k", R),
    "qwen36-35b-a3b-nvfp4-yarn-1m": (f"{QWEN36_35B}#yarn-1m", R),
    "qwen36-35b-a3b-mtp-demo": (f"{QWEN36_35B}#mtp-demo", R),
    "qwen36-35b-a3b-dflash": (f"{QWEN36_35B}#dflash", R),
    "qwen36-35b-a3b-heretic-dflash-aeon": ("aeon-7/qwen3.6-35b-a3b-heretic-nvfp4", M),
    "qwen36-27b-nvfp4": (QWEN36_27B, R),
    "qwen36-27b-nvfp4-coder": (f"{QWEN36_27B}#coder", R),
    "qwen36-27b-nvfp4-mtp": (f"{QWEN36_27B}#mtp", R),
    "qwen36-27b-nvfp4-yarn-1m": (f"{QWEN36_27B}#yarn-1m", R),
    "qwen36-27b-dflash": (f"{QWEN36_27B}#dflash", R),
    "qwen36-27b-aeon-ultimate": ("aeon-7/qwen3.6-27b-ultimate", M),
    "qwen3-coder-next-fp8": (CODER_NEXT, R),
    "qwen3-coder-next-fp8-unsloth": (f"{CODER_NEXT}#unsloth", R),
    "qwen3-coder-next-dual-spark": (f"{CODER_NEXT}#dual-spark", M),
    "qwen3-coder-next-gguf": ("unsloth/qwen3-coder-next-gguf", M),
    "qwen35-122b-a10b-nvfp4": (QWEN35_122B, R),
    "qwen35-122b-a10b-nvfp4-flashinfer-cutlass": (f"{QWEN35_122B}#flashinfer-cutlass", R),
    "qwen35-122b-a10b-nvfp4-chat-template": (f"{QWEN35_122B}#chat-template", R),
    "gemma4-31b-it-nvfp4": (GEMMA_31B, R),
    "gemma4-31b-it-nvfp4-tools": (f"{GEMMA_31B}#tools", R),
    "gemma4-31b-it-dflash": (f"{GEMMA_31B}#dflash", M),
    "gemma4-26b-a4b-nvfp4": (GEMMA_26B, R),
    "gemma4-26b-a4b-nvfp4-thinking": (f"{GEMMA_26B}#thinking", R),
    "gemma4-26b-a4b-nvfp4-official": (f"{GEMMA_26B}#official", M),
    "gemma4-26b-a4b-dflash": (f"{GEMMA_26B}#dflash", M),
    "gemma4-12b-coder": (GEMMA_12B, R),
    "gemma4-12b-coder-mtp": (f"{GEMMA_12B}#mtp", R),
    "nemotron3-nano-30b-a3b-nvfp4": (NANO, R),
    "nemotron3-nano-30b-on-0.23": (f"{NANO}#vllm-0-23", R),
    "nemotron3-nano-30b-1m": (f"{NANO}#context-1m", R),
    "nemotron3-nano-30b-low-util": (f"{NANO}#low-utilization", R),
    "nemotron3-nano-sidecar": ("nvidia/nemotron-nano-30b-sidecar", X),
    "nemotron3-nano-omni-30b-nvfp4": (OMNI, R),
    "nemotron3-nano-omni-oom-fallback": (f"{OMNI}#low-memory", R),
    "nemotron3-nano-omni-ngc-vision-only": (f"{OMNI}#vision-only", R),
    "nemotron3-super-120b-a12b-nvfp4": (SUPER, R),
    "nemotron3-super-120b-tuned": (f"{SUPER}#tuned", R),
    "nemotron3-super-120b-dual-spark": (f"{SUPER}#dual-spark", M),
    "vllm-dflash-qwen35-27b": ("aeon-7/dflash-qwen3.5-27b-nvfp4", R),
    "laguna-xs2-dflash": ("poolside/laguna-xs.2-dflash", R),
    "diffusion-gemma": ("google/diffusion-gemma", M),
    "spec-ngram": ("fragment ngram", R),
    "spec-suffix": ("fragment suffix", R),
    "spec-mtp": ("fragment mtp", R),
    "spec-dflash": ("fragment dflash", R),
    "spec-load-guard": ("fragment load-guard", S),
    "faster-load": ("fragment fast-load", R),
    "air-gapped": ("fragment offline", R),
    "compile-cache": ("fragment compile-cache", S),
    "host-user": ("fragment host-user", S),
    "spark1-qwen36-nvfp4-systemd": (QWEN36_REDHAT, R),
    "spark1-qwen36-nvfp4-systemd-before": (f"{QWEN36_REDHAT}#mtp-1", S),
    "spark2-gemma4-fp8-mtp-systemd": (GEMMA_FP8, R),
    "spark2-gemma4-fp8-draft-model": (f"{GEMMA_FP8}#draft-model", S),
    "spark2-gemma4-fp8-mtp-085": (f"{GEMMA_FP8}#utilization-085", M),
    "sm121-ngc-2604-profile": ("fragment sm121-ngc-2604", R),
    "sm121-two-node-ray": ("fragment two-node-roce", R),
    "gpt-oss-120b-mxfp4": ("openai/gpt-oss-120b", R),
    "hf-moe-gptq-int4": ("base/moe-gptq-int4", M),
    "hf-moe-fp8": ("base/moe-fp8", M),
    "dsv4-flash-op": (f"{DSV4}-opener", M),
    "dsv4-flash-jasl-head": (f"{DSV4}-jasl", M),
    "dsv4-flash-victor-base": (f"{DSV4}#no-mtp", R),
    "dsv4-flash-eugr-mtp": (DSV4, R),
    "dsv4-flash-pr43447": (f"{DSV4}#pr-43447", R),
    "dsv4-flash-host-sysctl": (f"{DSV4}#host-tuning", R),
    "dsv4-flash-ray-roce-pinned": (f"{DSV4}-pinned", R),
}
"""Short name of a deployment in the sources → its entry, and what can be done with it."""
NAMED: Final = (
    *("qwen/qwen2.5-3b", "minimax/minimax-m2.7", "xiaomi/mimo", "mistralai/mixtral-8x7b"),
    "poolside/laguna-xs.2-fp8",
)
"""Models that the sources name without a deployment."""
STATUS: Final = dict(ENTRIES.values()) | dict.fromkeys(NAMED, M)
FRAGMENTS_OF_THE_SOURCES: Final = 11


def test_the_table_has_every_deployment_of_the_sources_once() -> None:
    assert len(ENTRIES) == 72
    assert len(STATUS) == len(ENTRIES) + len(NAMED), "no entry stands for two"
    assert sum(name.startswith("fragment ") for name, _ in ENTRIES.values()) == FRAGMENTS_OF_THE_SOURCES


@every(STATUS)
def test_an_entry_is_there_with_its_status(name: str) -> None:
    """The 72 deployments, and the models that are only named."""
    assert entry(name).status == STATUS[name]


@every(FILES)
def test_every_entry_names_its_sources_and_what_to_use_instead(name: str) -> None:
    """A recipe needs no reason; what cannot be used as printed has one, and names an entry that can be used."""
    found = entry(name)
    assert found.sources
    assert (found.why is None) == (found.status == R)
    if found.status == R:
        assert found.instead is None
    elif found.instead is None:  # sparkiac does the same for every deployment, so no other entry replaces it
        assert name.startswith("fragment ")
    else:
        assert usable(found.instead)


def test_a_fragment_names_fragments_that_are_there() -> None:
    for name in catalog.fragment_names():
        assert all(found(f"fragment {needed}") for needed in entry(f"fragment {name}").needs)


def test_what_holds_for_every_recipe_is_said_once() -> None:
    standing = catalog.standing().corrections
    assert all(correction.what and correction.why for correction in standing)
    said = {correction.what for correction in standing}
    assert len(said) == len(standing)
    for name in FILES:
        assert said.isdisjoint(correction.what for correction in entry(name).corrections), name


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("nvidia/gemma-4-31b-it-nvfp4", ("6 tok/s", "92 tok/s")),
        ("qwen/qwen2.5-3b", ("26", "477", "460")),
    ],
)
def test_what_many_requests_at_once_gain_is_on_record(name: str, figures: tuple[str, ...]) -> None:
    found = catalog.recipe(name)
    assert found is not None
    assert found.value is not None
    said = " ".join(f"{figure.what} {figure.value}" for figure in found.value.measured)
    assert [figure for figure in figures if figure not in said] == []
