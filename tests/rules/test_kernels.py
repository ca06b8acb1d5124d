"""What rules about kernels look at: vLLM on sm_121, once for each group, and what is known of the model."""

from __future__ import annotations

import pytest

from sparkiac import catalog
from sparkiac.rules import kernels
from tests.plan.fleets import ONES, PAIR, container, deployment, planned, service

DESK = "{address: 192.168.1.11, platform: desk}"
OTHER_GPU = "platforms: {desk: {title: Desk, architecture: arm64, gpu: {name: GPU, compute_capability: '9.0'}}}\n"
WITHOUT_GPU = "platforms: {desk: {title: Desk, architecture: arm64}}\n"


def looked_at(text: str) -> list[str]:
    return [f"{host.name}/{each.name}" for host, each in kernels.deployments(planned(text))]


def test_a_deployment_of_vllm_on_a_spark_is_looked_at() -> None:
    assert looked_at(deployment()) == ["spark-01/chat"]


def test_a_group_is_looked_at_once_where_it_leads() -> None:
    assert looked_at(PAIR) == ["spark-02/big"]


@pytest.mark.parametrize("platforms", [OTHER_GPU, WITHOUT_GPU])
def test_other_machines_are_left_alone(platforms: str) -> None:
    assert looked_at(platforms + deployment(host=f"spark-01: {DESK}")) == []


def test_services_and_other_engines_are_left_alone() -> None:
    assert looked_at(service("command: [vllm, serve, example/model]")) == []
    other = deployment(f"image: example.org/x@{ONES}").replace("base/single-spark", "base/sglang")
    assert looked_at(other) == []


@pytest.mark.parametrize(
    ("handle", "kind", "fp4", "fp8"),
    [
        ("RedHatAI/Qwen3.6-35B-A3B-NVFP4", "hybrid-moe", True, False),
        ("unsloth/Qwen3.6-27B-NVFP4", "hybrid-dense", False, False),
        ("Qwen/Qwen3-Coder-Next-FP8", "hybrid-moe", False, True),
        ("Qwen/Qwen3.6-35B-A3B", "hybrid-moe", False, False),
    ],
)
def test_a_model_is_known_whichever_recipe_of_the_catalog_serves_it(
    handle: str, kind: str, *, fp4: bool, fp8: bool
) -> None:
    chat = container(deployment().replace("example/model", handle))
    found = kernels.known(chat)
    assert found is not None
    assert (found.kind, kernels.fp4_moe(chat), kernels.fp8(chat)) == (kind, fp4, fp8)


def test_of_other_models_nothing_is_known() -> None:
    chat = container(deployment("set: {quantization: FP8}"))
    assert (kernels.known(chat), kernels.fp4_moe(chat), kernels.fp8(chat)) == (None, False, True)


def test_options_and_names_are_compared_in_lower_case() -> None:
    chat = container(deployment("set: {attention_backend: TRITON_ATTN, moe_backend: null}"))
    assert (kernels.option(chat, "attention_backend"), kernels.option(chat, "moe_backend")) == ("triton_attn", "")
    assert kernels.option(container(deployment("set: {moe_backend: auto}")), "moe_backend") == ""
    assert kernels.model(container(deployment().replace("example/model", "Example/Model"))) == "example/model"
    assert kernels.image(container(deployment(f"image: example.org/x:1@{ONES}"))) == "example.org/x:1"


@pytest.mark.parametrize(
    ("image", "may_be"),
    [
        ("vllm/vllm-openai:nightly", True),
        (f"docker.io/vllm/vllm-openai:nightly@{ONES}", True),
        (f"vllm/vllm-openai@{ONES}", True),
        ("vllm/vllm-openai", False),
        (f"vllm/vllm-openai:cu130-nightly@{ONES}", False),
        (f"example.org/vllm-openai@{ONES}", False),
    ],
)
def test_a_digest_without_a_tag_may_be_any_image_of_its_repository(image: str, *, may_be: bool) -> None:
    assert kernels.may_be(container(deployment(f"image: {image}")), "vllm/vllm-openai:nightly") is may_be


def test_the_catalog_knows_an_image_with_and_without_the_name_of_docker_hub() -> None:
    short, full = (catalog.image_family(f"{hub}vllm/vllm-openai") for hub in ("", "docker.io/"))
    assert short is not None
    assert short == full
    assert catalog.image_family("ghcr.io/vllm/vllm-openai") is None


def test_weights_that_become_fp8_at_load_are_not_fp8_by_themselves() -> None:
    served = deployment().replace("example/model", "google/gemma-4-26B-A4B-it")
    assert kernels.fp8(container(served)) is False
    assert kernels.fp8(container(served + "    set: {quantization: fp8}\n")) is True
