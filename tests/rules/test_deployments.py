"""What rules about deployments look at: vLLM on sm_121, once for each group, and the facts about the model."""

from __future__ import annotations

import pytest

from sparkiac import catalog
from sparkiac.plan import facts
from sparkiac.rules import deployments
from tests.plan.fleets import ONES, PAIR, container, deployment, planned, service

DESK = "{address: 192.168.1.11, platform: desk}"
OTHER_GPU = "platforms: {desk: {title: Desk, architecture: arm64, gpu: {name: GPU, compute_capability: '9.0'}}}\n"
WITHOUT_GPU = "platforms: {desk: {title: Desk, architecture: arm64}}\n"


def looked_at(text: str) -> list[str]:
    return [f"{host.name}/{each.name}" for host, each in deployments.deployments(planned(text))]


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
    ("handle", "kind"),
    [
        ("RedHatAI/Qwen3.6-35B-A3B-NVFP4", "hybrid-moe"),
        ("unsloth/Qwen3.6-27B-NVFP4", "hybrid-dense"),
        ("Qwen/Qwen3-Coder-Next-FP8", "hybrid-moe"),
    ],
)
def test_a_model_is_known_whichever_recipe_of_the_catalog_serves_it(handle: str, kind: str) -> None:
    found = facts.known(container(deployment().replace("example/model", handle)).server)
    assert found is not None
    assert found.architecture.kind == kind


def test_of_other_models_nothing_is_known() -> None:
    assert facts.known(container(deployment()).server) is None


def test_images_are_compared_without_the_digest() -> None:
    assert container(deployment(f"image: example.org/x:1@{ONES}")).image.short == "example.org/x:1"


def test_the_catalog_knows_an_image_with_and_without_the_name_of_docker_hub() -> None:
    short, full = (catalog.image_family(f"{hub}vllm/vllm-openai") for hub in ("", "docker.io/"))
    assert short is not None
    assert short == full
    assert catalog.image_family("ghcr.io/vllm/vllm-openai") is None
