"""The share of the memory that an engine takes: what is set, or the default of the release."""

from __future__ import annotations

import pytest

from sparkiac.rules import deployments
from tests.plan.fleets import ONES, deployment, planned

UNSET = "set: {gpu_memory_utilization: null}"


def share(*lines: str) -> deployments.Share | None:
    """Return the share of the one deployment with these lines."""
    (host,) = planned(deployment(*lines)).hosts
    return deployments.share(host, host.containers[0])


def test_what_is_set_is_taken() -> None:
    assert share("set: {gpu_memory_utilization: 0.5}") == ("gpu_memory_utilization", 0.5, "")


@pytest.mark.parametrize(
    ("image", "value", "default"),
    [
        ("nvcr.io/nvidia/vllm:26.04-py3", 0.9, ", the default of vLLM 0.19.0"),
        ("vllm/vllm-openai:v0.20.0", 0.92, ", the default of vLLM 0.20.0"),
        ("example.org/vllm:1", 0.92, ", the default from vLLM 0.20.0 on (the release in the image is unknown)"),
    ],
)
def test_without_a_value_it_is_the_default_of_the_release(image: str, value: float, default: str) -> None:
    assert share(f"image: {image}@{ONES}", UNSET) == ("gpu_memory_utilization", value, default)


@pytest.mark.parametrize(
    "options",
    [
        "set: {gpu_memory_utilization: null, kv_cache_memory_bytes: 8000000000}",
        "set: {gpu_memory_utilization: null, max_num_seqs: many}",
    ],
)
def test_it_is_unknown_where_the_pool_has_a_size_of_its_own_or_the_options_are_wrong(options: str) -> None:
    assert share(options) is None


@pytest.mark.parametrize(("image", "gib"), [("nvcr.io/nvidia/vllm:26.04-py3", 107.1), ("example.org/vllm:1", 109.5)])
def test_the_plan_takes_the_same_default(image: str, gib: float) -> None:
    (host,) = planned(deployment(f"image: {image}@{ONES}", UNSET)).hosts
    (container,) = host.containers
    requested = host.proofs["chat"].server.requested.size_bytes
    assert [round((each or 0) / (1 << 30), 1) for each in (container.memory_bytes, requested)] == [gib, gib]


def test_the_plan_knows_no_share_where_the_pool_has_a_size_of_its_own() -> None:
    text = deployment("set: {gpu_memory_utilization: null, kv_cache_memory_bytes: 8000000000}")
    (host,) = planned(text).hosts
    assert host.containers[0].memory_bytes is None
