"""Versions that an image's labels and variables name.

NVIDIA's images carry `com.nvidia.<what>.version` labels and `<WHAT>_VERSION` variables with the version of a part
(com.nvidia.vllm.version=0.10.2+9dd9ca32, VLLM_VERSION=0.10.1.1+381074ae), and `NVIDIA_<PRODUCT>_VERSION` with the
release of the whole image (NVIDIA_VLLM_VERSION=25.10): so the history of nvcr.io/nvidia/vllm:25.10 and inspections of
Spark images that their users published. `CUDA_VERSION` is set by the nvidia/cuda images, on which vLLM's own are built.
`org.opencontainers.image.version` is the image's own version (OCI image specification, annotations), unless it is
inherited from the Ubuntu base, which says so in `org.opencontainers.image.ref.name`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.upstream.registry.documents import Settings

_NAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "vllm": ("com.nvidia.vllm.version", "VLLM_VERSION"),
    "sglang": ("com.nvidia.sglang.version", "SGLANG_VERSION"),
    "cuda": ("com.nvidia.cuda.version", "CUDA_VERSION"),
    "torch": ("com.nvidia.pytorch.version", "PYTORCH_VERSION"),
    "ngc": ("NVIDIA_VLLM_VERSION", "NVIDIA_PYTORCH_VERSION"),
}
"""What it is called in the lock → labels and variables that name it, the first that is set."""
_OWN: Final = "org.opencontainers.image.version"
_BASE: Final = "org.opencontainers.image.ref.name"
_UBUNTU: Final = "ubuntu"
_VERSION: Final = re.compile(r"v?[0-9][A-Za-z0-9.+_-]{0,63}")


def versions(settings: Settings) -> dict[str, str]:
    """Give the versions that an image names. What does not look like a version is left out."""
    said = {**_variables(settings), **(settings.labels or {})}
    wanted = dict(_NAMED)
    if said.get(_BASE) != _UBUNTU:
        wanted["image"] = (_OWN,)
    found = {name: next((said[key] for key in keys if said.get(key)), "") for name, keys in wanted.items()}
    return {name: value for name, value in sorted(found.items()) if _VERSION.fullmatch(value)}


def _variables(settings: Settings) -> dict[str, str]:
    return {name: value for name, _, value in (each.partition("=") for each in settings.variables or ())}
