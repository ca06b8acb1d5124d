"""Versions from labels and variables."""

from __future__ import annotations

from typing import Any

import pytest

from sparkiac.upstream.registry.documents import ContainerDefaults
from sparkiac.upstream.registry.images import versions

UBUNTU = {"org.opencontainers.image.ref.name": "ubuntu", "org.opencontainers.image.version": "24.04"}


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"Labels": {"com.nvidia.vllm.version": "0.10.2+9dd9ca32"}}, {"vllm": "0.10.2+9dd9ca32"}),
        ({"Env": ["VLLM_VERSION=0.10.1.1+381074ae", "NVIDIA_VLLM_VERSION=25.09"]},
         {"ngc": "25.09", "vllm": "0.10.1.1+381074ae"}),
        ({"Env": ["NVIDIA_VLLM_VERSION=26.05.post1"]}, {"ngc": "26.05.post1"}),
        ({"Env": ["SGLANG_VERSION=0.5.23+nv26.04"]}, {"sglang": "0.5.23+nv26.04"}),
        ({"Env": ["CUDA_VERSION=13.0.1", "NV_CUDA_LIB_VERSION=1"], "Labels": UBUNTU}, {"cuda": "13.0.1"}),
        ({"Labels": {"org.opencontainers.image.version": "v1.2.3"}}, {"image": "v1.2.3"}),
        ({"Env": ["PYTORCH_VERSION=2.11.0a0+eb65b36914.nv26.02"]}, {"torch": "2.11.0a0+eb65b36914.nv26.02"}),
        ({"Labels": {"com.nvidia.cuda.version": ""}, "Env": ["CUDA_VERSION=13.1"]}, {"cuda": "13.1"}),
        ({"Env": ["CUDA_VERSION=unknown", "VLLM_VERSION", "PYTORCH_VERSION=2.9\n"]}, {}),
        ({"Env": None, "Labels": None}, {}),
        ({}, {}),
    ],
)  # fmt: skip
def test_versions_are_what_the_image_names(settings: dict[str, Any], wanted: dict[str, str]) -> None:
    assert versions(ContainerDefaults.model_validate(settings, strict=False)) == wanted
