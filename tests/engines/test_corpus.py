"""Recipes that people run on these machines, against the newest release that is known.

What a release takes and we refuse would show here: the commands are all in use. What is left is what a patch or a fork
brings, and it is listed with the one that does. The files are no part of this project; without them nothing is tested.
"""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac.catalog import interfaces
from sparkiac.engines.vllm_check import Fault, check_words
from tests.engines.corpus import CORPUS, Shared, files, recipes

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="opt-in: needs the recipes beside this checkout, ../shared/corpus"
)

NEWEST: Final = interfaces.interface(interfaces.versions()[-1])
ONE: Final = "eugr-v1/"
TWO: Final = "sparkrun-v2/experimental-recipes/"
DSV4: Final = f"{TWO}deepseek4/deepseek4-flash-fp8"
CODER: Final = "sparkrun-v2/official-recipes/qwen3-coder-next/vllm/qwen3-coder-next-int4-autoround-vllm.yaml"
OPTIONS: Final = {
    (f"{ONE}openai-gpt-oss-120b.yaml", "--mxfp4-backend"): "--exp-mxfp4",
    (f"{ONE}openai-gpt-oss-120b.yaml", "--mxfp4-layers"): "--exp-mxfp4",
    (f"{ONE}qwen3.5-397b-int4-autoround.yaml", "--gpu-memory-utilization-gb"): "mods/gpu-mem-util-gb",
    (f"{ONE}step-3.7-flash-fp8.yaml", "--gpu-memory-utilization-gb"): "mods/gpu-mem-util-gb",
    (f"{TWO}eugr-vllm/openai-gpt-oss-120b-vllm.yaml", "--mxfp4-backend"): "sparkarena/spark-vllm-docker:mxfp4",
    (f"{TWO}eugr-vllm/openai-gpt-oss-120b-vllm.yaml", "--mxfp4-layers"): "sparkarena/spark-vllm-docker:mxfp4",
}
"""File and option → the patch, build argument or image in the file that brings it."""
NAMES: Final = {
    (f"{ONE}8x-spark-cluster/glm-5.2-nvfp4.yaml", "B12X_MLA_SPARSE"): "vllm-node-b12x",
    (f"{ONE}deepseek-v4-flash-0731.yaml", "B12X_MLA_SPARSE"): "--exp-b12x",
    # No patch is named for this one. vLLM takes a ModelOpt checkpoint's own format instead of the word.
    (f"{ONE}inkling-small-nvfp4.yaml", "nvfp4"): "",
}
"""File and name → what brings it."""
DEPRECATED: Final = {
    (f"{ONE}4x-spark-cluster/nemotron-3-ultra-nvfp4.yaml", "--mamba-cache-mode"),
    (f"{ONE}nemotron-3.5-lightning.yaml", "--mamba-cache-mode"),
    (CODER, "--mamba-cache-mode"),
}
JASL: Final = "scitrera/dgx-spark-vllm-jasl-ds4:20260609"
SPARSE: Final = (
    "VLLM_TRITON_MLA_SPARSE",
    "VLLM_TRITON_MLA_SPARSE_HEAD_BLOCK_SIZE",
    "VLLM_TRITON_MLA_SPARSE_QUERY_CHUNK_SIZE",
    "VLLM_TRITON_MLA_SPARSE_TOPK_CHUNK_SIZE",
)
OF_B12X: Final = {
    f"{ONE}8x-spark-cluster/glm-5.2-nvfp4.yaml": (
        "VLLM_B12X_MLA_CKV_GATHER",
        "VLLM_B12X_MLA_SPEC_EXTEND_AS_DECODE",
        "VLLM_DCP_QUERY_SPLIT",
        "VLLM_USE_B12X_SPARSE_INDEXER",
    ),
    f"{ONE}deepseek-v4-flash-0731.yaml": (
        "VLLM_MEMORY_PROFILE_INCLUDE_ATTN",
        "VLLM_USE_B12X_FP8_GEMM",
        "VLLM_USE_B12X_MHC",
        "VLLM_USE_B12X_MOE",
        "VLLM_USE_B12X_SPARSE_INDEXER",
        "VLLM_USE_B12X_WO_PROJECTION",
    ),
}
VARIABLES: Final = {
    **{(file, name): "vllm-node-b12x" for file, names in OF_B12X.items() for name in names},
    **{(f"{DSV4}{kind}-vllm.yaml", name): JASL for kind in ("", "-mtp") for name in SPARSE},
    (f"{ONE}openai-gpt-oss-120b.yaml", "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"): "--exp-mxfp4",
    (f"{TWO}eugr-vllm/openai-gpt-oss-120b-vllm.yaml", "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"): (
        "sparkarena/spark-vllm-docker:mxfp4"
    ),
    # No patch is named for these. vLLM had the last two, and has them no more; no known release had the first.
    (f"{ONE}4x-spark-cluster/minimax-m2.5.yaml", "VLLM_DISTRIBUTED_EXECUTOR_CONFIG"): "",
    (f"{TWO}eugr-vllm/minimax-m2.5-4x-vllm.yaml", "VLLM_DISTRIBUTED_EXECUTOR_CONFIG"): "",
    (f"{ONE}4x-spark-cluster/qwen3.5-397b-a17B-fp8.yaml", "VLLM_USE_FLASHINFER_MOE_FP16"): "",
    (f"{TWO}eugr-vllm/qwen3.5-397b-a17b-fp8-4x-vllm.yaml", "VLLM_USE_FLASHINFER_MOE_FP16"): "",
    (CODER, "VLLM_SLEEP_WHEN_IDLE"): "",
}
"""File and variable → what reads it."""


def found() -> list[tuple[Shared, Fault]]:
    """Judge every command."""
    assert NEWEST is not None
    return [(each, fault) for each in recipes() for fault in check_words(each.words, NEWEST)]


def of(kind: str) -> set[tuple[str, str]]:
    """Return the file and the word of all faults of a kind."""
    return {(each.name, fault.wrong or fault.option) for each, fault in found() if fault.kind == kind}


def test_the_commands_for_vllm_are_read() -> None:
    """The other three are for SGLang."""
    assert (len(files()), len(recipes())) == (72, 69)
    assert all(each.words for each in recipes())


def test_the_newest_release_knows_every_option_but_those_of_patches_and_forks() -> None:
    assert of("option") == {*OPTIONS}


def test_no_option_lacks_its_value_or_has_a_wrong_one() -> None:
    assert [(each.name, fault.problem) for each, fault in found() if fault.kind in {"value", "short"}] == []


def test_every_key_of_a_json_value_is_known() -> None:
    assert [(each.name, fault.problem) for each, fault in found() if fault.kind in {"key", "ignored"}] == []


def test_the_newest_release_has_every_parser_backend_and_format_but_those_of_patches_and_forks() -> None:
    assert of("name") == {*NAMES}


def test_what_is_deprecated_is_known() -> None:
    assert of("deprecated") == DEPRECATED


def test_the_newest_release_reads_every_variable_but_those_of_patches_and_forks() -> None:
    assert NEWEST is not None
    known = {*NEWEST.variables, *NEWEST.undeclared_variables}
    unknown = {(each.name, name) for each in recipes() for name in each.env if name.startswith("VLLM_")}
    assert {pair for pair in unknown if pair[1] not in known} == {*VARIABLES}


@pytest.mark.parametrize("table", [OPTIONS, NAMES, VARIABLES], ids=["options", "names", "variables"])
def test_what_brings_it_is_in_the_file(table: dict[tuple[str, str], str]) -> None:
    brings = {each.name: (*each.mods, each.container) for each in recipes()}
    assert [pair for pair, what in table.items() if what and what not in brings[pair[0]]] == []
