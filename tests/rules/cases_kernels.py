"""Further inventories of the rules about images, formats of weights, and kernels of sm_121."""

from __future__ import annotations

from typing import Final

from tests.plan.fleets import ONES, deployment, service
from tests.rules.pages import Case

NIGHTLY: Final = "vllm/vllm-openai:nightly"
V0_23: Final = NIGHTLY.replace("nightly", "v0.23.0")
RELEASED: Final = "vllm/vllm-openai:v0.23.0"
CU130: Final = "vllm/vllm-openai:cu130-nightly"
GEMMA: Final = "vllm/vllm-openai:gemma4-cu130"
BAD_GEMMA: Final = "vllm/vllm-openai:gemma4"
PREVIEW: Final = "vllm/vllm-openai:gemma4-0505-arm64-cu130"
V020: Final = "vllm/vllm-openai:v0.20.0"
LATEST: Final = "vllm/vllm-openai:latest"
NGC: Final = "nvcr.io/nvidia/vllm:26.04-py3"
NGC_03: Final = "nvcr.io/nvidia/vllm:26.03-py3"
NGC_02: Final = "nvcr.io/nvidia/vllm:26.02-py3"
NGC_BARE: Final = "nvcr.io/nvidia/vllm"
OTHER: Final = "example.org/vllm:1"
OTHER_BARE: Final = "example.org/vllm"
DESK: Final = (
    "platforms: {desk: {title: Desk, architecture: amd64, gpu: {name: GPU, compute_capability: '9.0'}}}\n"
    + deployment(f"image: '{BAD_GEMMA}@{ONES}'", host="desk: {address: 192.168.1.11, platform: desk}").replace(
        "hosts: spark-01", "hosts: desk"
    )
)
"""A machine of another kind, which the rules about sm_121 leave alone."""


def _serving(recipe: str, image: str, *lines: str) -> str:
    """Write a deployment of a recipe on an image, with these further lines."""
    text = deployment(f"image: '{image}@{ONES}'", *lines).replace("base/single-spark", recipe)
    return text.replace("    model: example/model\n", "", 1)


NGC_25: Final = "nvcr.io/nvidia/vllm:25.12.post1-py3"
QWEN: Final = "RedHatAI/Qwen3.6-35B-A3B-NVFP4"
NANO: Final = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"
MODEL: Final = "model: example/model"
RAY: Final = "set: {distributed_executor_backend: ray}"
OMNI: Final = "nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4"
OMNI_UNSUPPORTED: Final = (
    "IMG011 9:12 nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4 has the architecture "
    "NemotronH_Nano_Omni_Reasoning_V3, which vLLM 0.19.0 (nvcr.io/nvidia/vllm:26.04-py3) does not "
    "support"
)
MTP: Final = "speculative: {method: mtp, moe_backend: null}"
FLASHINFER: Final = "set: {attention_backend: flashinfer}"


def _cuda(tag: str) -> tuple[str, ...]:
    return (
        (
            f"IMG001 9:12 example.org/x:{tag} of chat names a CUDA older than 12.9, whose compiler has no target for "
            "sm_121: Triton kernels may fail"
        ),
    )


def _experts(model: str, said: str, release: str = "0.19.0", *, at: str = "5:3") -> tuple[str, ...]:
    has = f"MOE001 {at} {model} has FP4 experts, and chat has {said} on vLLM {release}"
    return (f"{has}; answers were wrong or the server crashed",)


KERNELS: Final[dict[str, list[Case]]] = {
    "ENT002": [
        Case(service("command: [x]")),
        Case(
            service("command: [--port, x]").replace("example.org/asr", "nvcr.io/nvidia/vllm"),
            ("ENT002 9:14 asr would run --port as a program in nvcr.io/nvidia/vllm",),
        ),
        Case(service("command: [/bin/sh]").replace("example.org/asr", "nvcr.io/nvidia/vllm")),
    ],
    "ENT004": [
        Case(_serving("base/single-spark", NGC, "model: example/model")),
    ],
    "IMG001": [
        Case(_serving("base/single-spark", "vllm/vllm-openai:v0.27.1", "model: example/model")),
        Case(service()),
        Case(DESK),
        *(
            Case(_serving("base/single-spark", f"example.org/x:{tag}", "model: example/model"), said)
            for tag, said in (("1-cu129", ()), ("cu126", _cuda("cu126")), ("cuda12.8", _cuda("cuda12.8")))
        ),
    ],
    "IMG004": [
        Case(_serving("redhatai/qwen3.6-35b-a3b-nvfp4", NGC_02)),
        Case(_serving("nvidia/nemotron-3-super-120b-a12b-nvfp4", OTHER)),
    ],
    "IMG005": [
        Case(_serving("base/single-spark", NGC, MODEL, RAY, "container: {prelude: [[pip, install, ray==2.49.0]]}")),
        Case(_serving("base/single-spark", NIGHTLY, MODEL, RAY)),
    ],
    "IMG009": [
        Case(_serving(OMNI, V020, "container: {prelude: null}", "set: {limit_mm_per_prompt: {image: 1, audio: 0}}")),
        Case(
            _serving(OMNI, V020, "container: {prelude: [[echo, hello]]}", "set: {limit_mm_per_prompt: null}"),
            (
                (
                    f"IMG009 9:12 nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4 accepts audio, but {V020} has "
                    "no audio packages: requests with audio fail"
                ),
            ),
        ),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", V020)),
        Case(_serving(OMNI, NIGHTLY, "container: {prelude: null}")),
    ],
    "IMG011": [
        Case(
            _serving("redhatai/qwen3.5-122b-a10b-nvfp4", NGC_02),
            (
                (
                    "IMG011 9:12 RedHatAI/Qwen3.5-122B-A10B-NVFP4 has the architecture "
                    "Qwen3_5MoeForConditionalGeneration, which vLLM 0.15.1 (nvcr.io/nvidia/vllm:26.02-py3) does not "
                    "support"
                ),
            ),
        ),
        Case(_serving("base/single-spark", OTHER, "model: google/gemma-4-26B-A4B-it")),
        Case(_serving("base/single-spark", BAD_GEMMA, "model: google/gemma-4-26B-A4B-it")),
        Case(
            _serving("base/single-spark", NGC_03, "model: google/gemma-4-26B-A4B-it"),
            (
                (
                    "IMG011 9:12 google/gemma-4-26B-A4B-it has the architecture Gemma4ForConditionalGeneration, "
                    "which vLLM 0.17.1 (nvcr.io/nvidia/vllm:26.03-py3) does not support"
                ),
            ),
        ),
        Case(_serving("base/single-spark", NGC, "model: google/gemma-4-26B-A4B-it")),
        Case(
            _serving("nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4", NGC, "container: {prelude: null}"),
            (OMNI_UNSUPPORTED,),
        ),
        Case(
            _serving(
                "nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4",
                NGC,
                "set: {hf_overrides: {architectures: [NemotronH_Nano_VL_V2]}}",
            )
        ),
        Case(
            _serving("nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4", NGC, "set: {hf_overrides: {architectures: []}}"),
            (OMNI_UNSUPPORTED,),
        ),
        Case(
            _serving("nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4", NGC, "set: {hf_overrides: {text_config: {}}}"),
            (OMNI_UNSUPPORTED,),
        ),
        Case(_serving("base/single-spark", PREVIEW, "model: google/gemma-4-26B-A4B-it")),
        Case(_serving("base/single-spark", NGC, "model: example/model")),
    ],
    "ENT006": [Case(deployment("set: {model: null}"))],
    "QNT001": [
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY, "set: {quantization: modelopt_fp4}")),
        Case(_serving("unsloth/qwen3.6-27b-nvfp4", NIGHTLY, "set: {quantization: fp8}")),
    ],
    "QNT002": [
        Case(_serving("redhatai/qwen3.6-35b-a3b-nvfp4", NGC)),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY)),
    ],
    "QNT003": [
        Case(_serving("base/single-spark", NIGHTLY, MODEL, "set: {quantization: mxfp4}")),
        Case(_serving("base/single-spark", NGC, MODEL, "set: {quantization: fp8}")),
    ],
    "QNT005": [Case(_serving("base/single-spark", PREVIEW, "model: google/gemma-4-26B-A4B-it"))],
    "QNT006": [
        Case(
            _serving("base/single-spark", GEMMA, "model: nvidia/Gemma-4-26B-A4B-NVFP4"),
            (
                (
                    "QNT006 9:12 gemma4.py of vLLM 0.19 does not map the expert scales of "
                    "nvidia/Gemma-4-26B-A4B-NVFP4: chat exits with a KeyError while it loads"
                ),
            ),
        ),
        Case(_serving("base/single-spark", RELEASED, "model: nvidia/Gemma-4-26B-A4B-NVFP4")),
        Case(_serving("base/single-spark", GEMMA, "model: google/gemma-4-26B-A4B-it")),
        Case(
            _serving(
                "base/single-spark",
                GEMMA,
                "model: nvidia/Gemma-4-26B-A4B-NVFP4",
                "container: {mounts: {/usr/lib/vllm/model_executor/models/gemma4.py: {source: /srv/gemma4.py}}}",
            )
        ),
    ],
    "QNT009": [
        Case(_serving("base/single-spark", NGC, "model: poolside/Laguna-XS.2-INT4", "set: {kv_cache_dtype: bfloat16}"))
    ],
    "QNT010": [
        Case(_serving("poolside/laguna-xs.2-dflash", RELEASED, "speculative: null", "set: {quantization: fp8}")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", RELEASED, "set: {quantization: null}")),
    ],
    "MOE001": [
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", V020, "set: {moe_backend: cutlass}")),
        Case(
            _serving("nvidia/qwen3.6-35b-a3b-nvfp4", NGC, "set: {moe_backend: triton}"),
            _experts("nvidia/Qwen3.6-35B-A3B-NVFP4", "moe_backend: triton", at="10:24"),
        ),
        Case(_serving("base/single-spark", NGC, f"model: {QWEN}")),
        Case(
            _serving("base/single-spark", NGC, f"model: {QWEN}", "set: {moe_backend: triton}"),
            _experts(QWEN, "moe_backend: triton", at="11:24"),
        ),
        Case(
            _serving("base/single-spark", NGC_03, f"model: {QWEN}"),
            _experts(QWEN, "no moe_backend", "0.17.1"),
        ),
        Case(_serving("base/single-spark", NGC_25, f"model: {QWEN}"), _experts(QWEN, "no moe_backend", "0.11.1")),
        Case(_serving("base/single-spark", NGC_25, f"model: {NANO}")),
        Case(_serving("base/single-spark", NGC, f"model: {NANO}"), _experts(NANO, "no moe_backend")),
        Case(
            _serving("base/single-spark", NGC, "model: example/Qwen3-30B-A3B-NVFP4"),
            _experts("example/Qwen3-30B-A3B-NVFP4", "no moe_backend"),
        ),
        Case(_serving("unsloth/qwen3.6-27b-nvfp4", NGC)),
        Case(_serving("qwen/qwen3-coder-next-fp8", NGC)),
    ],
    "MOE006": [
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY)),
    ],
    "MOE007": [
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", RELEASED, "speculative: {method: ngram}")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", RELEASED, MTP, "set: {moe_backend: null}")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", RELEASED, "speculative: {method: mtp, moe_backend: auto}")),
        Case(_serving("redhatai/qwen3.6-35b-a3b-nvfp4", RELEASED, MTP, "set: {moe_backend: marlin}")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", "vllm/vllm-openai:v0.33.0", MTP)),
    ],
    "MOE008": [
        Case(
            _serving(
                "base/single-spark", NGC, "model: example/Model-30B-A3B", "set: {moe_backend: flashinfer_cutedsl}"
            ),
            (
                (
                    "MOE008 11:24 moe_backend: flashinfer_cutedsl of chat needs an SM100 GPU, and this GPU is "
                    "sm_121: the server exits at start"
                ),
            ),
        ),
        Case(_serving("base/single-spark", NGC, MODEL, "set: {moe_backend: flashinfer_trtllm}")),
        Case(_serving("redhatai/qwen3.6-35b-a3b-nvfp4", OTHER, "set: {moe_backend: flashinfer_trtllm}")),
    ],
    "ATT001": [
        Case(
            _serving("qwen/qwen3-coder-next-fp8", NGC),
            ("ATT001 5:3 chat runs FP8 weights on FlashInfer attention, which gave wrong answers on vLLM 0.19.0",),
        ),
        Case(_serving("qwen/qwen3-coder-next-fp8", RELEASED)),
        Case(_serving("base/single-spark", NGC, MODEL, "set: {attention_backend: flashinfer}")),
    ],
    "ATT002": [
        Case(_serving("base/single-spark", RELEASED, "model: google/gemma-4-31B-it", FLASHINFER)),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", V0_23, "set: {attention_backend: triton_attn}")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", V020, FLASHINFER)),
        Case(_serving("base/single-spark", NGC, MODEL, FLASHINFER)),
        Case(_serving("base/single-spark", V0_23, MODEL, FLASHINFER)),
    ],
    "ATT004": [
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model")),
        Case(_serving("base/single-spark", NIGHTLY, "model: Qwen/Qwen3.6-35B-A3B", "speculative: {method: ngram}")),
        Case(_serving("poolside/laguna-xs.2-dflash", NIGHTLY, "set: {attention_backend: null}")),
        Case(
            _serving("poolside/laguna-xs.2-dflash", V0_23, "set: {attention_backend: null}"),
            (
                (
                    "ATT004 10:30 chat drafts with DFlash and has no attention_backend; sources disagree on the "
                    "backend that runs on sm_121"
                ),
            ),
        ),
    ],
}
