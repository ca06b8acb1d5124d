"""Further inventories of the rules about images, formats of weights, and kernels of sm_121."""

from __future__ import annotations

from typing import Final

from tests.plan.fleets import ONES, PAIR, deployment, service
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
        "on: spark-01", "on: desk"
    )
)
"""A machine of another kind, which the rules about sm_121 leave alone."""


def _serving(recipe: str, image: str, *lines: str) -> str:
    """Write a deployment of a recipe on an image, with these further lines."""
    text = deployment(f"image: '{image}@{ONES}'", *lines).replace("base/single-spark", recipe)
    return text.replace("    model: example/model\n", "", 1)


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
    "IMG007": [
        Case(service()),
        Case(
            service().replace("example.org/asr@", "example.org/asr:1-amd64@"),
            ("IMG007 7:12 example.org/asr:1-amd64 is for amd64, and spark-01 is arm64",),
        ),
        Case(_serving("base/single-spark", PREVIEW, "model: example/model")),
    ],
    "IMG001": [
        Case(_serving("nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4", V020)),
        Case(_serving("base/single-spark", V020, "model: example/model")),
        Case(_serving("base/single-spark", LATEST, "model: example/model")),
        Case(_serving("base/single-spark", "vllm/vllm-openai:v0.27.1", "model: example/model")),
        Case(service()),
        Case(DESK),
        Case(
            _serving("base/single-spark", "example.org/x:cu126", "model: example/model"),
            (
                (
                    "IMG001 9:12 example.org/x:cu126 of chat may not run on spark-01: its tag names CUDA 12.6, and "
                    "CUDA 12.9 is the first with a target for sm_121"
                ),
            ),
        ),
        Case(
            _serving("base/single-spark", "example.org/vllm:cuda12.8", "model: example/model"),
            (
                (
                    "IMG001 9:12 example.org/vllm:cuda12.8 of chat may not run on spark-01: its tag names CUDA 12.8, "
                    "and CUDA 12.9 is the first with a target for sm_121"
                ),
            ),
        ),
        Case(_serving("base/single-spark", "example.org/vllm:cu129", "model: example/model")),
        Case(service().replace("example.org/asr@", "example.org/asr:cu126@")),
        Case(DESK.replace(BAD_GEMMA, "example.org/x:cu126")),
    ],
    "IMG004": [
        Case(_serving("redhatai/qwen3.6-35b-a3b-nvfp4", NGC_02)),
        Case(_serving("unsloth/qwen3.6-27b-nvfp4", NGC_02)),
        Case(_serving("base/single-spark", NGC_02, "model: example/model")),
        Case(_serving("qwen/qwen3-coder-next-fp8", NGC_02)),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", OTHER)),
    ],
    "IMG005": [
        Case(
            _serving(
                "base/single-spark",
                NGC,
                "model: example/model",
                "set: {distributed_executor_backend: ray}",
                "container: {prelude: [[pip, install, ray==2.49.0]]}",
            )
        ),
        Case(
            _serving("base/single-spark", NIGHTLY, "model: example/model", "set: {distributed_executor_backend: ray}")
        ),
        Case(_serving("base/single-spark", OTHER, "model: example/model", "set: {distributed_executor_backend: ray}")),
    ],
    "IMG009": [
        Case(
            _serving(
                "nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4",
                V020,
                "container: {prelude: null}",
                "set: {limit_mm_per_prompt: {video: 1, image: 1, audio: 0}}",
            )
        ),
        Case(
            _serving(
                "nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4",
                V020,
                "container: {prelude: null}",
                "set: {limit_mm_per_prompt: null}",
            ),
            (
                (
                    "IMG009 10:26 nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4 takes audio, and "
                    "vllm/vllm-openai:v0.20.0 has no audio packages"
                ),
            ),
        ),
        Case(_serving("nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4", OTHER, "container: {prelude: null}")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", V020)),
        Case(_serving("base/single-spark", V020, "model: example/model")),
        Case(_serving("nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4", NIGHTLY, "container: {prelude: null}")),
        Case(
            _serving("nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4", V020, "container: {prelude: [[echo, hello]]}"),
            (
                (
                    "IMG009 10:26 nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4 takes audio, and "
                    "vllm/vllm-openai:v0.20.0 has no audio packages"
                ),
            ),
        ),
    ],
    "IMG011": [
        Case(
            _serving("redhatai/qwen3.5-122b-a10b-nvfp4", NGC_02),
            (
                (
                    "IMG011 9:12 RedHatAI/Qwen3.5-122B-A10B-NVFP4 is Qwen3_5MoeForConditionalGeneration, which "
                    "vLLM 0.15.1 (nvcr.io/nvidia/vllm:26.02-py3) does not know"
                ),
            ),
        ),
        Case(_serving("base/single-spark", OTHER, "model: google/gemma-4-26B-A4B-it")),
        Case(_serving("base/single-spark", BAD_GEMMA, "model: google/gemma-4-26B-A4B-it")),
        Case(
            _serving("base/single-spark", NGC_03, "model: google/gemma-4-26B-A4B-it"),
            (
                (
                    "IMG011 9:12 google/gemma-4-26B-A4B-it is Gemma4ForConditionalGeneration, which vLLM "
                    "0.17.1 (nvcr.io/nvidia/vllm:26.03-py3) does not know"
                ),
            ),
        ),
        Case(_serving("base/single-spark", NGC, "model: google/gemma-4-26B-A4B-it")),
        Case(
            _serving("nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4", NGC, "container: {prelude: null}"),
            (
                (
                    "IMG011 9:12 nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4 is "
                    "NemotronH_Nano_Omni_Reasoning_V3, which vLLM 0.19.0 (nvcr.io/nvidia/vllm:26.04-py3) does not know"
                ),
            ),
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
            (
                (
                    "IMG011 9:12 nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4 is "
                    "NemotronH_Nano_Omni_Reasoning_V3, which vLLM 0.19.0 (nvcr.io/nvidia/vllm:26.04-py3) does not know"
                ),
            ),
        ),
        Case(
            _serving("nvidia/nemotron-3-nano-omni-30b-a3b-nvfp4", NGC, "set: {hf_overrides: {text_config: {}}}"),
            (
                (
                    "IMG011 9:12 nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4 is "
                    "NemotronH_Nano_Omni_Reasoning_V3, which vLLM 0.19.0 (nvcr.io/nvidia/vllm:26.04-py3) does not know"
                ),
            ),
        ),
        Case(_serving("base/single-spark", PREVIEW, "model: google/gemma-4-26B-A4B-it")),
        Case(_serving("base/single-spark", NGC, "model: example/model")),
    ],
    "QNT001": [
        Case(
            _serving("nvidia/gemma-4-31b-it-nvfp4", GEMMA, "set: {quantization: fp8}"),
            (
                (
                    "QNT001 10:25 chat sets quantization: fp8; vLLM reads nvidia/Gemma-4-31B-IT-NVFP4 as ModelOpt all "
                    "the same"
                ),
            ),
        ),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY, "set: {quantization: null}")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY, "set: {quantization: modelopt_fp4}")),
        Case(_serving("base/single-spark", NIGHTLY, "model: nvidia/Qwen3.6-35B-A3B-NVFP4")),
        Case(_serving("base/single-spark", NIGHTLY, "model: nvidia/Other-NVFP4", "set: {quantization: fp8}")),
        Case(_serving("unsloth/qwen3.6-27b-nvfp4", NIGHTLY, "set: {quantization: fp8}")),
    ],
    "QNT002": [
        Case(_serving("redhatai/qwen3.6-35b-a3b-nvfp4", NGC)),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY)),
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model", "set: {quantization: modelopt}")),
        Case(
            _serving(
                "base/single-spark", NIGHTLY, "model: unsloth/Qwen3.6-27B-NVFP4", "set: {quantization: modelopt_fp4}"
            ),
            ("QNT002 11:25 unsloth/Qwen3.6-27B-NVFP4 is compressed-tensors, and chat reads it as ModelOpt",),
        ),
        Case(
            _serving("base/single-spark", NIGHTLY, "model: RedHatAI/Qwen3-32B-NVFP4", "set: {quantization: modelopt}"),
            ("QNT002 11:25 RedHatAI/Qwen3-32B-NVFP4 looks like compressed-tensors, and chat reads it as ModelOpt",),
        ),
        Case(_serving("base/single-spark", NIGHTLY, "model: RedHatAI/Qwen3-32B-NVFP4")),
    ],
    "QNT003": [
        Case(_serving("base/single-spark", OTHER, "model: example/model", "set: {quantization: mxfp4}")),
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model", "set: {quantization: mxfp4}")),
        Case(_serving("base/single-spark", NGC, "model: example/model", "set: {quantization: fp8}")),
    ],
    "QNT004": [
        Case(
            _serving(
                "base/single-spark",
                NIGHTLY,
                "model: example/model",
                "set: {quantization: fp8, attention_backend: FLASHINFER}",
            ),
            ("QNT004 11:49 chat runs FP8 weights on FlashInfer, which gave wrong results on vLLM 0.19",),
        ),
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model", "set: {attention_backend: flashinfer}")),
    ],
    "QNT005": [
        Case(_serving("base/single-spark", PREVIEW, "model: google/gemma-4-26B-A4B-it")),
        Case(_serving("base/single-spark", OTHER, "model: nvidia/Gemma-4-31B-IT-NVFP4")),
    ],
    "QNT006": [
        Case(
            _serving("base/single-spark", GEMMA, "model: nvidia/Gemma-4-26B-A4B-NVFP4"),
            ("QNT006 5:3 vLLM 0.19 cannot load nvidia/Gemma-4-26B-A4B-NVFP4 without a patched gemma4.py",),
        ),
        Case(_serving("base/single-spark", NIGHTLY, "model: nvidia/Gemma-4-26B-A4B-NVFP4")),
        Case(_serving("base/single-spark", GEMMA, "model: google/gemma-4-26B-A4B-it")),
        Case(
            _serving(
                "base/single-spark",
                GEMMA,
                "model: nvidia/Gemma-4-26B-A4B-NVFP4",
                "container: {mounts: {/usr/lib/vllm/model_executor/models/gemma4.py: {source: /srv/gemma4.py}}}",
            )
        ),
        Case(_serving("base/single-spark", OTHER, "model: nvidia/Gemma-4-26B-A4B-NVFP4")),
    ],
    "QNT008": [
        Case(
            _serving("redhatai/qwen3.5-122b-a10b-nvfp4", CU130, "set: {kv_cache_dtype: fp8}"),
            (
                (
                    "QNT008 10:27 chat keeps its KV cache in FP8; Spark guide runs "
                    "RedHatAI/Qwen3.5-122B-A10B-NVFP4 without"
                ),
            ),
        ),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY)),
        Case(_serving("poolside/laguna-xs.2-dflash", NIGHTLY, "set: {kv_cache_dtype: fp8}")),
        Case(
            _serving("base/single-spark", NIGHTLY, "model: example/model", "set: {kv_cache_dtype: fp8_e4m3}"),
            ("QNT008 11:27 chat keeps its KV cache in FP8; the catalog has no recipe that runs example/model so",),
        ),
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model", "set: {kv_cache_dtype: bfloat16}")),
        Case(
            _serving(
                "base/single-spark",
                NIGHTLY,
                "model: example/model",
                "set: {kv_cache_dtype: fp8}",
                "speculative: {method: ngram}",
            ),
            ("QNT008 11:27 chat keeps its KV cache in FP8; the catalog has no recipe that runs example/model so",),
        ),
    ],
    "QNT009": [
        Case(
            _serving("base/single-spark", NIGHTLY, "model: poolside/Laguna-XS.2-INT4"),
            (
                (
                    "QNT009 10:12 poolside/Laguna-XS.2-INT4 carries an FP8 KV cache, and its output is "
                    "scrambled on sm_121"
                ),
            ),
        ),
        Case(
            _serving(
                "base/single-spark", NIGHTLY, "model: poolside/Laguna-XS.2-INT4", "set: {kv_cache_dtype: bfloat16}"
            )
        ),
    ],
    "QNT010": [
        Case(_serving("poolside/laguna-xs.2-dflash", NIGHTLY, "speculative: null", "set: {quantization: fp8}")),
        Case(
            _serving("poolside/laguna-xs.2-dflash", NIGHTLY, "speculative: {method: ngram}"),
            ("QNT010 5:3 poolside/Laguna-XS.2 is BF16; NVFP4 or FP8 leaves more memory and decodes faster",),
        ),
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY)),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY, "set: {quantization: null}")),
    ],
    "QNT012": [
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model", "set: {quantization: fp8}")),
        Case(
            _serving("poolside/laguna-xs.2-dflash", NIGHTLY, "speculative: null", "set: {quantization: fp8}"),
            ("QNT012 11:25 chat loads poolside/Laguna-XS.2 in BF16 before it quantises it to FP8",),
        ),
        Case(_serving("poolside/laguna-xs.2-dflash", NIGHTLY)),
    ],
    "MOE001": [
        Case(_serving("nvidia/nemotron-3-super-120b-a12b-nvfp4", CU130, "set: {moe_backend: auto}")),
        Case(_serving("nvidia/nemotron-3-super-120b-a12b-nvfp4", V020, "set: {moe_backend: cutlass}")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", OTHER, "set: {moe_backend: cutlass}")),
        Case(
            _serving("nvidia/qwen3.6-35b-a3b-nvfp4", NGC, "set: {moe_backend: triton}"),
            (
                (
                    "MOE001 10:24 nvidia/Qwen3.6-35B-A3B-NVFP4 has FP4 experts, and chat sets moe_backend: triton on "
                    "vLLM 0.19.0"
                ),
            ),
        ),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NGC, "set: {moe_backend: flashinfer_trtllm}")),
        Case(_serving("base/single-spark", NGC, "model: RedHatAI/Qwen3.6-35B-A3B-NVFP4")),
        Case(_serving("base/single-spark", OTHER_BARE, "model: RedHatAI/Qwen3.6-35B-A3B-NVFP4")),
        Case(
            _serving("base/single-spark", NGC_03, "model: RedHatAI/Qwen3.6-35B-A3B-NVFP4"),
            (
                (
                    "MOE001 5:3 RedHatAI/Qwen3.6-35B-A3B-NVFP4 has FP4 experts, and chat sets no moe_backend on vLLM "
                    "0.17.1"
                ),
            ),
        ),
        Case(_serving("unsloth/qwen3.6-27b-nvfp4", NGC)),
        Case(_serving("qwen/qwen3-coder-next-fp8", NGC)),
        Case(_serving("base/single-spark", NGC, "model: example/model")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NGC, "set: {moe_backend: flashinfer_cutedsl}")),
        Case(
            _serving("nvidia/qwen3.6-35b-a3b-nvfp4", NGC_02, "set: {moe_backend: null}"),
            (
                (
                    "MOE001 10:24 nvidia/Qwen3.6-35B-A3B-NVFP4 has FP4 experts, and chat sets no moe_backend on vLLM "
                    "0.15.1"
                ),
            ),
        ),
        Case(
            _serving("base/single-spark", NGC, "model: nvidia/Qwen3-30B-A3B-NVFP4"),
            (
                (
                    "MOE001 5:3 nvidia/Qwen3-30B-A3B-NVFP4 seems to have FP4 experts, and chat sets no moe_backend on "
                    "vLLM 0.19.0"
                ),
            ),
        ),
        Case(_serving("base/single-spark", NGC, "model: nvidia/Qwen3-30B-A3B-FP8")),
        Case(_serving("base/single-spark", NGC, "model: nvidia/Qwen3-32B-NVFP4")),
    ],
    "MOE002": [
        Case(_serving("base/single-spark", NGC, "model: example/model")),
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model", "set: {moe_backend: marlin}")),
        Case(
            _serving(
                "base/single-spark",
                NGC,
                "model: example/model",
                "set: {moe_backend: marlin}",
                "env: {VLLM_MARLIN_USE_ATOMIC_ADD: 0}",
            ),
            (
                (
                    "MOE002 12:39 chat runs Marlin on vLLM 0.19.0 without VLLM_MARLIN_USE_ATOMIC_ADD=1, which "
                    "prevents a race"
                ),
            ),
        ),
        Case(_serving("bg-digitalservices/gemma-4-26b-a4b-it-nvfp4", GEMMA)),
    ],
    "MOE003": [
        Case(
            _serving("nvidia/qwen3.6-35b-a3b-nvfp4", NGC),
            (
                (
                    "MOE003 5:3 nvidia/Qwen3.6-35B-A3B-NVFP4 has FP4 experts, and chat does not set "
                    "VLLM_USE_FLASHINFER_MOE_FP4=0 on vLLM 0.19.0"
                ),
            ),
        ),
        Case(_serving("redhatai/qwen3.6-35b-a3b-nvfp4", NGC)),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY, "set: {moe_backend: null}")),
        Case(_serving("unsloth/qwen3.6-27b-nvfp4", NGC)),
        Case(_serving("base/single-spark", NGC, "model: example/model")),
        Case(
            _serving("redhatai/qwen3.5-122b-a10b-nvfp4", NGC, "set: {moe_backend: null}"),
            (
                (
                    "MOE003 5:3 RedHatAI/Qwen3.5-122B-A10B-NVFP4 has FP4 experts, and chat does not set "
                    "VLLM_USE_FLASHINFER_MOE_FP4=0 on vLLM 0.19.0"
                ),
            ),
        ),
    ],
    "MOE006": [
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY)),
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model", "set: {moe_backend: marlin}")),
    ],
    "MOE007": [
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", RELEASED, "speculative: {method: ngram}")),
        Case(_serving("unsloth/qwen3.6-27b-nvfp4", RELEASED, "variant: mtp")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", OTHER, "speculative: {method: mtp, moe_backend: null}")),
        Case(_serving("redhatai/qwen3.6-35b-a3b-nvfp4", NGC)),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", RELEASED, "speculative: null")),
        Case(_serving("redhatai/qwen3.6-35b-a3b-nvfp4", RELEASED, "speculative: {method: mtp}")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NIGHTLY, "speculative: {method: mtp, moe_backend: null}")),
    ],
    "MOE008": [
        Case(
            _serving("base/single-spark", NIGHTLY, "model: example/model", "set: {moe_backend: flashinfer_trtllm}"),
            (("MOE008 11:24 chat sets moe_backend: flashinfer_trtllm, which is for SM100 and newer data-centre GPUs"),),
        ),
        Case(_serving("base/single-spark", NGC, "model: example/model", "set: {moe_backend: marlin}")),
        Case(_serving("base/single-spark", OTHER, "model: example/model", "set: {moe_backend: flashinfer_cutedsl}")),
        Case(
            _serving("base/single-spark", NGC, "model: example/model", "set: {moe_backend: flashinfer_cutedsl}"),
            (
                (
                    "MOE008 11:24 chat sets moe_backend: flashinfer_cutedsl, and vLLM 0.19.0 takes Triton on "
                    "sm_121 instead"
                ),
            ),
        ),
    ],
    "ATT001": [
        Case(
            _serving("qwen/qwen3-coder-next-fp8", NGC),
            (
                (
                    "ATT001 5:3 chat runs FP8 on vLLM 0.19 with attention_backend: flashinfer; FlashInfer "
                    "gives wrong results there"
                ),
            ),
        ),
        Case(_serving("qwen/qwen3-coder-next-fp8", NGC, "set: {attention_backend: null}")),
        Case(_serving("base/single-spark", NGC, "model: google/gemma-4-26B-A4B-it", "set: {quantization: fp8}")),
        Case(
            _serving(
                "base/single-spark",
                NGC,
                "model: example/model",
                "set: {quantization: fp8, attention_backend: flashinfer}",
            ),
            (
                (
                    "ATT001 11:49 chat runs FP8 on vLLM 0.19 with attention_backend: flashinfer; FlashInfer "
                    "gives wrong results there"
                ),
            ),
        ),
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model", "set: {quantization: fp8}")),
        Case(_serving("base/single-spark", NGC, "model: example/model")),
        Case(_serving("base/single-spark", OTHER, "model: example/model", "set: {quantization: fp8}")),
        Case(
            _serving(
                "base/single-spark",
                NGC,
                "model: google/gemma-4-26B-A4B-it",
                "set: {quantization: fp8, attention_backend: flashinfer}",
            ),
            (
                (
                    "ATT001 11:49 chat runs FP8 on vLLM 0.19 with attention_backend: flashinfer; FlashInfer "
                    "gives wrong results there"
                ),
            ),
        ),
        Case(
            _serving("base/single-spark", NGC, "model: poolside/Laguna-XS.2", "set: {quantization: fp8}"),
            (
                (
                    "ATT001 11:5 chat runs FP8 on vLLM 0.19 with no attention_backend; FlashInfer gives wrong "
                    "results there"
                ),
            ),
        ),
    ],
    "ATT002": [
        Case(
            _serving("nvidia/qwen3.6-35b-a3b-nvfp4", V0_23, "set: {attention_backend: triton_attn}"),
            (
                (
                    "ATT002 10:30 chat forces attention_backend: triton_attn on all layers of "
                    "nvidia/Qwen3.6-35B-A3B-NVFP4"
                ),
            ),
        ),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", V0_23, "variant: dflash")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", NGC, "set: {attention_backend: flashinfer}")),
        Case(_serving("nvidia/qwen3.6-35b-a3b-nvfp4", OTHER, "set: {attention_backend: flashinfer}")),
        Case(_serving("qwen/qwen3-coder-next-fp8", CU130)),
        Case(
            _serving(
                "nvidia/qwen3.6-35b-a3b-nvfp4", V0_23, "speculative: null", "set: {attention_backend: flashinfer}"
            ),
            (("ATT002 11:30 chat forces attention_backend: flashinfer on all layers of nvidia/Qwen3.6-35B-A3B-NVFP4"),),
        ),
        Case(
            _serving(
                "nvidia/qwen3.6-35b-a3b-nvfp4",
                V0_23,
                "speculative: {method: ngram}",
                "set: {attention_backend: flashinfer}",
            ),
            (("ATT002 11:30 chat forces attention_backend: flashinfer on all layers of nvidia/Qwen3.6-35B-A3B-NVFP4"),),
        ),
        Case(
            _serving(
                "base/single-spark", V0_23, "model: google/gemma-4-31B-it", "set: {attention_backend: flashinfer}"
            ),
            ("ATT002 11:30 chat forces attention_backend: flashinfer on all layers of google/gemma-4-31B-it",),
        ),
        Case(
            _serving(
                "base/single-spark", V0_23, "model: google/gemma-4-31B-it", "set: {attention_backend: triton_attn}"
            )
        ),
        Case(_serving("base/single-spark", V0_23, "model: example/model", "set: {attention_backend: flashinfer}")),
    ],
    "ATT003": [
        Case(_serving("qwen/qwen3-coder-next-fp8", CU130, "set: {attention_backend: null, max_model_len: 60000}")),
        Case(
            _serving("qwen/qwen3-coder-next-fp8", NGC, "set: {attention_backend: null}"),
            ("ATT003 10:5 chat asks for 170000 tokens; Spark guide fitted about 60000 without flashinfer",),
        ),
        Case(
            _serving("qwen/qwen3-coder-next-fp8", OTHER, "set: {attention_backend: null}"),
            ("ATT003 10:5 chat asks for 170000 tokens; Spark guide fitted about 60000 without flashinfer",),
        ),
        Case(_serving("qwen/qwen3-coder-next-fp8", CU130, "set: {attention_backend: null, max_model_len: null}")),
        Case(
            _serving("qwen/qwen3-coder-next-fp8", CU130, "set: {attention_backend: null, max_model_len: 1M}"),
            ("ATT003 10:51 chat asks for 1048576 tokens; Spark guide fitted about 60000 without flashinfer",),
        ),
        Case(_serving("base/single-spark", CU130, "model: example/model")),
        Case(PAIR.replace("example/big", "Qwen/Qwen3-Coder-Next-FP8")),
        Case(_serving("base/single-spark", CU130, "model: example/model", "set: {max_model_len: 170000}")),
    ],
    "ATT004": [
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model")),
        Case(_serving("base/single-spark", NIGHTLY, "model: Qwen/Qwen3.6-35B-A3B", "speculative: {method: ngram}")),
        Case(
            _serving("poolside/laguna-xs.2-dflash", NIGHTLY, "set: {attention_backend: null}"),
            (
                (
                    "ATT004 10:30 chat drafts with DFlash and has no attention_backend; sources disagree on the "
                    "backend that runs on sm_121"
                ),
            ),
        ),
    ],
    "ATT005": [
        Case(
            _serving(
                "poolside/laguna-xs.2-dflash",
                NIGHTLY,
                "speculative: {method: eagle3, model: a/b, attention_backend: flash_attn}",
            )
        ),
        Case(_serving("base/single-spark", NIGHTLY, "model: example/model")),
    ],
}
