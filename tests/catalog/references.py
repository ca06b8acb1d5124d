"""Image references that people publish for DGX Spark and other aarch64 machines, with the release inside.

Only references, with the place where each stands; nothing else is taken from there. `None`: unknown, because the tag
moves, names no release, or names a commit whose version no source states. Where a server printed its version, that is
noted; a build of a day lies between releases, which the lower one stands for.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Reference(NamedTuple):
    """A published reference."""

    engine: str
    image: str
    release: str | None
    """What is expected; of a build of the main branch, the start of its version."""
    link: str


_GITHUB: Final = "https://github.com/"
_PLACES: Final[dict[str, tuple[tuple[str, str, str | None], ...]]] = {
    f"{_GITHUB}scitrera/cuda-containers/blob/main/README.md": (
        ("vllm", "scitrera/dgx-spark-vllm:0.16.0-t4", "0.16.0"),
        ("vllm", "scitrera/dgx-spark-vllm:0.16.0-t5", "0.16.0"),
        ("vllm", "scitrera/dgx-spark-vllm:0.15.1-t4", "0.15.1"),
        ("vllm", "scitrera/dgx-spark-vllm:0.15.1-t5", "0.15.1"),
        ("vllm", "scitrera/dgx-spark-vllm:0.15.0-t4", "0.15.0"),
        ("vllm", "scitrera/dgx-spark-vllm:0.15.0-t5", "0.15.0"),
        ("vllm", "scitrera/dgx-spark-vllm:0.14.1-t4", "0.14.1"),
        ("vllm", "scitrera/dgx-spark-vllm:0.14.1-t5", "0.14.1"),
        ("vllm", "scitrera/dgx-spark-vllm:0.14.0-t4", "0.14.0"),
        ("vllm", "scitrera/dgx-spark-vllm:0.14.0-t5", "0.14.0"),
        ("vllm", "scitrera/dgx-spark-vllm:0.14.0rc2-t4", "0.14.0rc2"),
        ("sglang", "scitrera/dgx-spark-sglang:0.5.8-t4", "0.5.8"),
        ("sglang", "scitrera/dgx-spark-sglang:0.5.8-t5", "0.5.8"),
    ),
    f"{_GITHUB}LePhanFF/MyOpenclawAgent/blob/main/qwen3-80b-a3b/vl-32code.sh": (
        ("vllm", "scitrera/dgx-spark-vllm:0.13.0-t4", "0.13.0"),
    ),
    f"{_GITHUB}jdaln/dgx-spark-inference-stack/blob/main/compose/models-qwen.yml": (
        ("vllm", "avarok/vllm-dgx-spark:v11", None),
        ("vllm", "christopherowen/vllm-dgx-spark:v12", None),
        ("vllm", "nvcr.io/nvidia/vllm:25.10-py3", "0.10.2"),
    ),
    f"{_GITHUB}NVIDIA/dgx-spark-playbooks/blob/main/nvidia/vllm/README.md": (
        ("vllm", "nvcr.io/nvidia/vllm:25.11-py3", "0.11.0"),
    ),
    f"{_GITHUB}NVIDIA/dgx-spark-playbooks/issues/3": (
        ("tensorrt-llm", "nvcr.io/nvidia/tensorrt-llm/release:spark-single-gpu-dev", None),
    ),
    f"{_GITHUB}NVIDIA/dgx-spark-playbooks": (
        ("tensorrt-llm", "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc12", None),
        ("tensorrt-llm", "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc5", None),
        ("vllm", "vllm/vllm-openai:gemma4-cu130", "0.19"),
    ),
    f"{_GITHUB}NVIDIA/NemoClaw/pull/4810": (("vllm", "nvcr.io/nvidia/vllm:26.05.post1-py3", "0.20.1"),),
    f"{_GITHUB}NVIDIA/NemoClaw/blob/main/src/lib/inference/vllm-models.ts": (
        ("vllm", "vllm/vllm-openai:v0.22.0", "0.22.0"),
        ("vllm", "vllm/vllm-openai:v0.25.1-aarch64", "0.25.1"),
        (
            "vllm",
            "vllm/vllm-openai@sha256:0fec7ec5f3e6bc168e54899935fb0557da908a4832a1dbc88e2debcf2f889416",
            "0.22.0",
        ),
        (
            "vllm",
            "vllm/vllm-openai@sha256:2cc49b81319f7a66a33dd8bd63a7bfddae079122b33ce51989b6828a1f038c37",
            "0.25.1",
        ),
        ("vllm", "vllm/vllm-openai@sha256:677afd5bf3b4bb9881f91e107af7098f8410726b4c05b25cb4a815900b398204", None),
    ),
    f"{_GITHUB}EmanueleMeazzo/qwen3.8-27b-dgx-spark-vllm/blob/main/README.md": (
        ("vllm", "nvcr.io/nvidia/vllm:26.07-py3", "0.24.0"),
        ("vllm", "nvcr.io/nvidia/vllm:25.12.post1-py3", "0.11.1"),
    ),
    f"{_GITHUB}vllm-project/vllm/issues/31424": (("vllm", "nvcr.io/nvidia/vllm:25.12-py3", "0.11.1"),),
    "https://docs.nvidia.com/deeplearning/frameworks/vllm-release-notes/rel-26-01.html": (
        ("vllm", "nvcr.io/nvidia/vllm:26.01-py3", "0.11.1"),
    ),
    "https://docs.nvidia.com/deeplearning/frameworks/vllm-release-notes/rel-26-03.html": (
        ("vllm", "nvcr.io/nvidia/vllm:26.03-py3", "0.17.1"),
    ),
    "https://docs.nvidia.com/deeplearning/frameworks/vllm-release-notes/rel-26-10.html": (
        ("vllm", "nvcr.io/nvidia/vllm:26.10-py3", "0.31.0"),
    ),
    f"{_GITHUB}vllm-project/vllm/issues/42738": (("vllm", "vllm/vllm-openai:cu130-nightly", "0.19.2rc1"),),
    f"{_GITHUB}vllm-project/vllm/issues/32575": (("vllm", "vllm/vllm-openai:nightly-aarch64", None),),
    f"{_GITHUB}vllm-project/vllm/pull/50996": (
        ("vllm", "vllm/vllm-openai:nightly", None),
        ("vllm", "vllm/vllm-openai:latest", None),
    ),
    f"{_GITHUB}vllm-project/recipes/pull/241": (
        ("vllm", "vllm/vllm-openai:nightly-0b20469c627e94060d1015170b186d19de1db583", "0.16.0rc2"),
    ),
    f"{_GITHUB}noonghunna/club-3090/issues/258": (
        ("vllm", "vllm/vllm-openai:nightly-e47c98ef7a38792996e452ef53914e21e41928e9", "0.20.2rc1"),
    ),
    f"{_GITHUB}noonghunna/club-3090/pull/277": (("vllm", "vllm/vllm-openai:v0.21.0", "0.21.0"),),
    f"{_GITHUB}SemiAnalysisAI/InferenceX/pull/1582": (
        ("vllm", "vllm/vllm-openai:v0.21.0-ubuntu2404", "0.21.0"),
        ("vllm", "vllm/vllm-openai:v0.20.0-ubuntu2404", "0.20.0"),
        ("vllm", "vllm/vllm-openai:v0.18.0-cu130", "0.18.0"),
    ),
    f"{_GITHUB}SemiAnalysisAI/InferenceX/issues/303": (("vllm", "vllm/vllm-openai:v0.12.0", "0.12.0"),),
    f"{_GITHUB}NVIDIA/Model-Optimizer/pull/2042": (("vllm", "vllm/vllm-openai:v0.21.0-cu129", "0.21.0"),),
    f"{_GITHUB}3whiskeywhiskey/vllm-spark/blob/main/README.md": (
        ("vllm", "vllm/vllm-openai:v0.15.1-aarch64-cu130", "0.15.1"),
        ("vllm", "ghcr.io/3whiskeywhiskey/vllm-spark:20260217", None),
        ("vllm", "ghcr.io/3whiskeywhiskey/vllm-spark:latest", None),
    ),
    f"{_GITHUB}timothystewart6/vllm-gb10/blob/main/README.md": (
        ("vllm", "ghcr.io/timothystewart6/vllm-gb10:v0.24.0-gb10.0", "0.24.0"),
        ("vllm", "ghcr.io/timothystewart6/vllm-gb10:v0.24.0-cu13.2-torch2.11-gb10.0", "0.24.0"),
        ("vllm", "ghcr.io/timothystewart6/vllm-gb10:latest", None),
    ),
    f"{_GITHUB}Th0rgal/vllm-gb10-dgx-spark/blob/main/README.md": (
        ("vllm", "th0rgal/vllm-gb10-dgx-spark:latest", None),
    ),
    # The server printed 0.23.1; 0.24.0 had been published five days before.
    f"{_GITHUB}Mjxkill/deepseek-v4-flash-2x-dgx-spark/blob/main/README.md": (
        ("vllm", "ghcr.io/spark-arena/dgx-vllm-eugr-nightly:2026070501", "0.23.1.dev"),
    ),
    # The server printed 0.22.1.
    f"{_GITHUB}anud18/qwen36-vllm-aiperf-benchmark": (
        ("vllm", "ghcr.io/spark-arena/dgx-vllm-eugr-nightly-tf5:20260614", "0.22.2.dev"),
    ),
    f"{_GITHUB}FeanorsCodeSL/dgx-spark-quantization/blob/main/tools/serve_vllm_docker.sh": (
        ("vllm", "ghcr.io/spark-arena/dgx-vllm-eugr-nightly-tf5:20260415", "0.19.1.dev"),
    ),
    f"{_GITHUB}maxspevack/spark-rocky/blob/main/recipes/qwen3.5-0.8b-arena-2026072302.yaml": (
        ("vllm", "ghcr.io/spark-arena/dgx-vllm-eugr-nightly:2026072302", "0.25.2.dev"),
    ),
    f"{_GITHUB}spark-arena/sparkrun": (
        ("vllm", "ghcr.io/spark-arena/dgx-vllm-eugr-nightly:latest", None),
        ("vllm", "ghcr.io/spark-arena/dgx-vllm-eugr-nightly-tf5:latest", None),
        ("vllm", "ghcr.io/spark-arena/dgx-vllm-eugr-nightly-b12x:latest", None),
    ),
    # The author found 0.25.
    f"{_GITHUB}eugr/spark-vllm-docker/issues/326": (("vllm", "eugr/spark-vllm:nightly-20260710", "0.24.1.dev"),),
    f"{_GITHUB}eugr/spark-vllm-docker/issues/363": (("vllm", "eugr/spark-vllm-b12x:latest", None),),
    f"{_GITHUB}eugr/spark-vllm-docker/issues/272": (("vllm", "vllm-node-tf5:latest", None),),
    f"{_GITHUB}Avarok-Cybersecurity/dgx-vllm/issues/13": (("vllm", "avarok/dgx-vllm-nvfp4-kernel:v22", "0.16.0rc2"),),
    f"{_GITHUB}verl-project/verl/pull/6460": (("vllm", "verlai/verl:vllm020.aarch64.dev1", None),),
    f"{_GITHUB}sgl-project/sglang/issues/12134": (("sglang", "lmsysorg/sglang:spark", None),),
    f"{_GITHUB}sgl-project/sglang/issues/29317": (("sglang", "nvcr.io/nvidia/sglang:26.02-py3", None),),
    f"{_GITHUB}sgl-project/sglang/issues/13900": (
        ("sglang", "lmsysorg/sglang:nightly-dev-cu13-20251122-f84e825d", None),
    ),
    f"{_GITHUB}ishandhanani/srt-slurm/pull/130": (
        ("sglang", "lmsysorg/sglang:v0.5.8-cu130-runtime", "0.5.8"),
        ("sglang", "lmsysorg/sglang:v0.5.7-cu130-runtime", "0.5.7"),
        ("sglang", "lmsysorg/sglang:latest-cu130-runtime", None),
    ),
    f"{_GITHUB}ggml-org/llama.cpp/issues/17321": (("llama-cpp", "ghcr.io/ggml-org/llama.cpp:server-cuda", None),),
}
REFERENCES: Final = tuple(
    Reference(engine, image, release, link) for link, images in _PLACES.items() for engine, image, release in images
)
