"""Each model that NVIDIA's vLLM playbook for the Spark names has a recipe, or runs with the base recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.report import Severity
from sparkiac.resolve import catalogued
from tests.catalog.test_reference import ENTRIES, inventory
from tests.plan.fleets import checked, said
from tests.resolve.built import as_yaml

if TYPE_CHECKING:
    from sparkiac.resolve.catalogued import Catalogued

HANDLES: Final = """
Qwen/Qwen3-VL-Embedding-2B Qwen/Qwen3-VL-Reranker-2B Qwen/Qwen3-VL-Reranker-8B
MiniMaxAI/MiniMax-M2.5 hugging-quants/Meta-Llama-3.1-405B-Instruct-AWQ-INT4 meta-llama/Llama-3.3-70B-Instruct
google/diffusiongemma-26B-A4B-it google/gemma-4-26B-A4B-it google/gemma-4-31B-it google/gemma-4-E2B-it
google/gemma-4-E4B-it openai/gpt-oss-120b openai/gpt-oss-20b
nvidia/Gemma-4-31B-IT-NVFP4 nvidia/Llama-3.1-8B-Instruct-FP8 nvidia/Llama-3.1-8B-Instruct-NVFP4
nvidia/Llama-3.3-70B-Instruct-NVFP4 nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16
nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8 nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4
nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-BF16 nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-FP8
nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4 nvidia/Phi-4-multimodal-instruct-FP8
nvidia/Phi-4-multimodal-instruct-NVFP4 nvidia/Phi-4-reasoning-plus-FP8 nvidia/Phi-4-reasoning-plus-NVFP4
nvidia/Qwen2.5-VL-7B-Instruct-NVFP4 nvidia/Qwen3-14B-FP8 nvidia/Qwen3-14B-NVFP4 nvidia/Qwen3-32B-NVFP4
nvidia/Qwen3-8B-FP8 nvidia/Qwen3-8B-NVFP4 nvidia/Qwen3.6-35B-A3B-NVFP4 nvidia/diffusiongemma-26B-A4B-it-NVFP4
""".split()  # noqa: SIM905  a column of words is easier to compare with the page
"""All models in nvidia/vllm/README.md of NVIDIA/dgx-spark-playbooks at b9b14c44: 31 in its table, 4 in its commands."""
OLDER: Final = """
nvidia/Llama-3.1-8B-Instruct-FP4 nvidia/Llama-3.3-70B-Instruct-FP4 nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8
nvidia/Phi-4-multimodal-instruct-FP4 nvidia/Phi-4-reasoning-plus-FP4 nvidia/Qwen2.5-VL-7B-Instruct-FP4
nvidia/Qwen3-14B-FP4 nvidia/Qwen3-32B-FP4 nvidia/Qwen3-8B-FP4
""".split()  # noqa: SIM905  as above
"""Names that earlier versions of the page gave."""
NEEDS: Final[dict[str, dict[str, Any]]] = {
    # The page says that these need remote code.
    name: {"set": {"trust_remote_code": True}}
    for name in (*HANDLES, *OLDER)
    if "Phi-4-multimodal" in name
}
HOSTS: Final = {
    "meta-llama/Llama-3.3-70B-Instruct": 2,
    "hugging-quants/Meta-Llama-3.1-405B-Instruct-AWQ-INT4": 2,
    "MiniMaxAI/MiniMax-M2.5": 4,
}
"""Hosts on which the page serves a model, if more than one."""


def _base(hosts: int) -> Catalogued:
    base = ENTRIES["base/single-spark"]
    return base._replace(recipe=base.recipe.model_copy(update={"nodes": hosts}))


def test_the_page_names_35_models() -> None:
    assert len(set(HANDLES)) == 35


@pytest.mark.parametrize("handle", [*HANDLES, *OLDER])
def test_a_model_of_the_playbook_passes_check_with_its_recipe_or_the_base_recipe(handle: str) -> None:
    """Without errors before a lock, and the options of the base recipe are checked like those of a recipe."""
    served = [each for each in catalogued.serving(handle) if each.usable]
    each = served[0] if served else _base(HOSTS.get(handle, 1))
    given = {} if served else {"model": handle, **NEEDS.get(handle, {})}
    outcome = checked(as_yaml(inventory(each, **given)), locked=None, allow_unlocked=True)
    assert [finding for finding in outcome.report.findings if finding.severity is Severity.ERROR] == [], said(
        outcome.report.findings
    )
    assert outcome.plan is not None
    assert {each.server.model for host in outcome.plan.hosts for each in host.containers} == {handle}
    typed = inventory(each, **given | {"set": {"max_model_lenn": 1}})
    assert "FLG101" in {finding.code for finding in checked(as_yaml(typed)).report.findings}


def test_the_models_without_a_recipe_are_known() -> None:
    """Of the 35 models; the others are served with the base recipe."""
    assert sum(any(each.usable for each in catalogued.serving(handle)) for handle in HANDLES) >= 10
