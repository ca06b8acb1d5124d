"""Inventories for the rules about options, speculation and parsers that their pages have no room for."""

from __future__ import annotations

from typing import Final

from tests.plan.fleets import ONES, PAIR, deployment, service
from tests.rules.pages import Case

QWEN: Final = "nvidia/qwen3.6-35b-a3b-nvfp4"
NANO: Final = "nvidia/nemotron-3-nano-30b-a3b-nvfp4"
GEMMA: Final = "nvidia/gemma-4-31b-it-nvfp4"
CODER: Final = "qwen/qwen3-coder-next-fp8"
NIGHTLY: Final = f"image: vllm/vllm-openai:nightly@{ONES}"
UNKNOWN: Final = f"image: example.org/x@{ONES}"
V020: Final = f"image: vllm/vllm-openai:v0.20.0@{ONES}"
V033: Final = f"image: vllm/vllm-openai:v0.33.0@{ONES}"


def of(recipe: str, *lines: str) -> str:
    """Write a deployment of a recipe that names its model."""
    text = deployment(*lines).replace("base/single-spark", recipe)
    return text.replace("    model: example/model\n", "")


def serving(model: str, *lines: str) -> str:
    """Write a deployment of a model by the general entry."""
    return deployment(*lines).replace("example/model", model)


def group(recipe: str, model: str, *lines: str) -> str:
    """Write a deployment on two hosts."""
    text = PAIR.replace("base/single-spark", recipe).replace("example/big", model)
    return text + "".join(f"    {line}\n" for line in (UNKNOWN, *lines))


def deepseek(*lines: str, recipe: str = "deepseek-v4-flash") -> str:
    """Write a deployment of DeepSeek-V4-Flash on two hosts."""
    return group(f"deepseek-ai/{recipe}", "deepseek-ai/DeepSeek-V4-Flash", *lines)


def _yarn(tokens: int) -> str:
    """Ask for so many tokens with YaRN of twice the model's own length."""
    parameters = "{rope_type: yarn, factor: 2.0, original_max_position_embeddings: 262144}"
    return f"set: {{max_model_len: {tokens}, hf_overrides: {{rope_parameters: {parameters}}}}}"


_TOOLS: Final = "set: {{enable_auto_tool_choice: true, tool_call_parser: {}}}"
_JSON: Final = '{"rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 40000}}'
_PINS: Final = "FLG022 11:{} chat pins {} to {}, which its recipe does not"
_OF_GEMMA: Final = "with the paired drafter of google/gemma-4-26B-A4B-it"
_RAN: Final = "FLG001 9:12 chat takes the options of nvidia/qwen3.6-35b-a3b-nvfp4, which ran "
_FEW: Final = "chat drafts with DFlash for quantised weights, for which fewer tokens are accepted"
_PYTHONIC: Final = "writes tool calls for pythonic, and chat reads hermes"

FLAGS: Final[dict[str, list[Case]]] = {
    "FLG001": [
        Case(deployment(NIGHTLY)),
        Case(of(QWEN, NIGHTLY)),
        Case(of(QWEN, f"image: vllm/vllm-openai@{ONES}")),
        Case(of(QWEN, f"image: docker.io/vllm/vllm-openai:nightly@{ONES}")),
        Case(of(QWEN, UNKNOWN), (_RAN + "vllm/vllm-openai:nightly, and runs example.org/x",)),
        Case(of(QWEN, "model: example/other"), (_RAN + "nvidia/Qwen3.6-35B-A3B-NVFP4, and runs example/other",)),
    ],
    "FLG002": [
        Case(
            deployment("env: {VLLM_FP8_MOE_BACKEND: marlin}"),
            ("FLG002 10:33 chat sets VLLM_FP8_MOE_BACKEND, which no release of vLLM reads",),
        ),
        Case(
            deployment(
                "env: {VLLM_FP8_MOE_BACKEND: marlin}",
                "extra_flags: {variables: [VLLM_FP8_MOE_BACKEND], why: a patch of ours reads it}",
            )
        ),
        Case(deployment(UNKNOWN, "env: {VLLM_USE_FLASHINFER_MOE_FP8: 1}")),
    ],
    "FLG004": [Case(deployment("set: {enforce_eager: false}"))],
    "FLG005": [
        Case(deployment(NIGHTLY, "set: {load_format: fastsafetensors}")),
        Case(deployment(UNKNOWN, "set: {load_format: fastsafetensors}")),
    ],
    "FLG006": [
        Case(deployment("set: {enable_chunked_prefill: true}")),
        Case(of(QWEN)),
        Case(of(GEMMA, "set: {enable_chunked_prefill: true}")),
    ],
    "FLG007": [
        Case(serving("Qwen/Qwen3.6-35B-A3B", "set: {max_num_batched_tokens: 1024}")),
        Case(serving("Qwen/Qwen3.6-35B-A3B", "set: {enable_prefix_caching: true}")),
        Case(serving("Qwen/Qwen3.6-35B-A3B", "set: {enable_prefix_caching: true, max_num_batched_tokens: 2k}")),
        Case(
            serving("Qwen/Qwen3.6-35B-A3B", "set: {enable_prefix_caching: true, max_num_batched_tokens: 1k}"),
            (("FLG007 10:64 chat batches 1k tokens, fewer than one block of the prefix cache: vLLM ends at start"),),
        ),
        Case(
            serving(
                "Qwen/Qwen3.6-35B-A3B",
                "set: {enable_prefix_caching: true, max_num_batched_tokens: 1024, mamba_ssm_cache_dtype: float16}",
            )
        ),
        Case(
            serving(
                "Qwen/Qwen3.6-35B-A3B",
                V033,
                "set: {enable_prefix_caching: true, max_num_batched_tokens: 1024}",
            )
        ),
        Case(serving("Qwen/Qwen3.6-27B", "set: {enable_prefix_caching: true, max_num_batched_tokens: 1024}")),
    ],
    "FLG008": [
        Case(
            of(GEMMA, "set: {enable_prefix_caching: true}"),
            ("FLG008 9:34 prefix caching is on by default for nvidia/Gemma-4-31B-IT-NVFP4",),
        ),
        Case(of(QWEN, "set: {enable_prefix_caching: true}")),
        Case(deployment("set: {enable_prefix_caching: true}")),
        Case(of(QWEN, "set: {enable_prefix_caching: false}")),
        Case(of(GEMMA)),
    ],
    "FLG009": [
        Case(of(CODER)),
        Case(
            serving("unsloth/Qwen3-Coder-Next-GGUF", "model_file: m.gguf", UNKNOWN).replace("single-spark", "llama-cpp")
        ),
        Case(deployment()),
    ],
    "FLG010": [
        Case(PAIR),
        Case(PAIR + "    set: {pipeline_parallel_size: 2}\n"),
        Case(PAIR + "    set: {pipeline_parallel_size: 4}\n", ("FLG010 16:35 big is split over 4 GPUs, and has 2",)),
    ],
    "FLG011": [
        Case(PAIR),
        Case(group("base/single-spark", "google/gemma-4-26B-A4B-it", "set: {pipeline_parallel_size: 2}")),
    ],
    "FLG012": [Case(PAIR + "    set: {enable_expert_parallel: true}\n")],
    "FLG013": [
        Case(of(QWEN, "variant: yarn-1m")),
        Case(of(QWEN, "set: {max_model_len: null}")),
        Case(deployment("set: {max_model_len: 1M}")),
        Case(of(GEMMA, "set: {max_model_len: 256K}")),
        Case(
            of(GEMMA, "set: {max_model_len: 263k}"),
            ("FLG013 9:26 nvidia/Gemma-4-31B-IT-NVFP4 was trained for 262144 tokens, and chat asks for 263000",),
        ),
        Case(
            of(QWEN, _yarn(524288)),
            ("FLG013 9:26 nvidia/Qwen3.6-35B-A3B-NVFP4 was trained for 262144 tokens, and chat asks for 524288",),
        ),
        Case(
            of(QWEN, _yarn(524289)),
            ("FLG013 9:26 nvidia/Qwen3.6-35B-A3B-NVFP4 was trained for 262144 tokens, and chat asks for 524289",),
        ),
    ],
    "FLG014": [
        Case(
            of(QWEN, "variant: yarn-1m"),
            ("FLG014 5:3 chat serves short prompts with positions stretched to 1048576 tokens",),
        ),
        Case(
            of(QWEN, "variant: yarn-1m", "set: {max_model_len: 2000000}"),
            ("FLG014 10:5 chat asks for 2000000 tokens, and its YaRN reaches 1048576",),
        ),
        Case(
            of(QWEN, "variant: yarn-1m", "set: {max_model_len: null}"),
            ("FLG014 10:5 chat serves short prompts with positions stretched to 1048576 tokens",),
        ),
        Case(deployment("set: {hf_overrides: {rope_parameters: {rope_type: linear, factor: 2.0}}}")),
        Case(
            deployment("set: {hf_overrides: {rope_type: yarn, factor: '2'}}"),
            ("FLG014 10:25 chat asks for 65536 tokens, and its YaRN reaches 0",),
        ),
        Case(
            deployment(f"set: {{hf_overrides: '{_JSON}'}}"),
            ("FLG014 10:25 chat serves short prompts with positions stretched to 80000 tokens",),
        ),
        Case(deployment("set: {hf_overrides: no JSON}")),
    ],
    "FLG016": [Case(PAIR + "    env: {VLLM_ALLREDUCE_USE_FLASHINFER: 0}\n")],
    "FLG017": [
        Case(
            deployment(r'set: {hf_overrides: {a: ["\u201cb"]}}'),
            ("FLG017 10:25 hf_overrides of chat holds the typographic character “",),
        ),
        Case(deployment("set: {chat_template: /models/ü-ß.jinja}")),
        Case(
            deployment(r'set: {chat_template: "\u201cx"}'),
            ("FLG017 10:26 chat_template of chat holds the typographic character “",),
        ),
        Case(
            service(r'command: [x, "\u2014port=1"]'), ("FLG017 9:14 command of asr holds the typographic character —",)
        ),
        Case(service(r'command: ["It\u2019s \u201cx\u201d \u2014 y", "a\u2013b", "\u2014Hola", "\u201cx\u201d"]')),
        Case(service(r'env: {X: "{\u201ca\u201d: 1}"}'), ("FLG017 9:14 X of asr holds the typographic character “",)),
        Case(
            service(r'env: {X: "\u2018{1}\u2019", T: "say: \u201chi\u201d"}'),
            ("FLG017 9:14 X of asr holds the typographic character \u2018",),
        ),
        Case(
            deployment(r'container: {prelude: [[x, "-\u2013kv-cache-dtype fp8"]]}'),
            ("FLG017 10:26 prelude of chat holds the typographic character \u2013",),
        ),
        Case(
            deployment(r'set: {chat_template: "x \u2014port=1"}'),
            ("FLG017 10:26 chat_template of chat holds the typographic character —",),
        ),
        Case(deployment('description: "It\u2019s \u2014port=1"', r'env: {X: "x \u2013 y"}')),
    ],
    "FLG019": [Case(deployment(UNKNOWN, "env: {VLLM_USE_V1: 1}"))],
    "FLG020": [
        Case(of(NANO)),
        Case(
            of(NANO, "set: {max_num_seqs: 9}"),
            ("FLG020 9:25 chat runs up to 9 requests at once; for interactive use 8 is a good start",),
        ),
        Case(deployment("set: {max_num_seqs: null}")),
        Case(of(NANO, "set: {max_num_seqs: 9}", "workload: {users: 9, context: 8192}")),
    ],
    "FLG022": [
        Case(of(CODER)),
        Case(deployment("set: {moe_backend: MARLIN, attention_backend: TRITON_ATTN, linear_backend: auto}")),
        Case(of(QWEN, NIGHTLY, "set: {moe_backend: flashinfer_cutlass}")),
        Case(deployment(NIGHTLY, "set: {moe_backend: cutlass}"), (_PINS.format(24, "moe_backend", "cutlass"),)),
        Case(deployment(NIGHTLY, "set: {moe_backend: flashinfer_trtllm}")),
        Case(deployment("set: {moe_backend: flashinfer_cutedsl}")),
        Case(deployment(NIGHTLY, "set: {attention_backend: flashinfer, quantization: fp8}")),
        Case(
            deployment(NIGHTLY, "set: {attention_backend: flash_attn, quantization: fp8}"),
            (_PINS.format(30, "attention_backend", "flash_attn"),),
        ),
        Case(
            deployment(NIGHTLY, "set: {attention_backend: flashinfer}"),
            (_PINS.format(30, "attention_backend", "flashinfer"),),
        ),
    ],
    "FLG023": [
        Case(deployment("set: {load_format: auto}")),
        Case(deployment("set: {load_format: fastsafetensors}")),
        Case(
            deployment(NIGHTLY, "set: {load_format: fastsafetensors}"),
            ("FLG023 11:24 no source says that vllm/vllm-openai:nightly holds fastsafetensors",),
        ),
        Case(
            deployment(UNKNOWN, "set: {load_format: instanttensor}"),
            ("FLG023 11:24 no source says that example.org/x holds instanttensor",),
        ),
        Case(deepseek()),
    ],
    "FLG027": [
        Case(deployment()),
        Case(deepseek()),
        Case(deepseek(recipe="deepseek-v4-flash-pinned")),
        Case(
            deepseek("set: {block_size: 128, reasoning_parser: null}"),
            ("FLG027 17:23 big differs from the recipe of its model in block_size, reasoning_parser",),
        ),
    ],
    "FLG028": [Case(deployment()), Case(deployment("set: {max_num_batched_tokens: 32K}"))],
    "FLG029": [
        Case(
            deployment(),
            ("FLG029 6:13 base/single-spark is made for any model, and no source ran example/model with its options",),
        )
    ],
    "SPD001": [
        Case(deployment("speculative: {method: mtp}", V020)),
        Case(deployment("speculative: {method: dflash, model: a/b}")),
        Case(deployment("speculative: {method: dflash, model: a/b}", UNKNOWN)),
    ],
    "SPD004": [
        Case(serving("Qwen/Qwen3.6-35B-A3B", "speculative: {method: mtp}")),
        Case(of("sakamakismile/gemma-4-12b-coder-nvfp4")),
    ],
    "SPD006": [
        Case(of("unsloth/qwen3.6-27b-nvfp4", "variant: mtp")),
        Case(
            serving("Qwen/Qwen3.6-35B-A3B", NIGHTLY, "speculative: {method: dflash}", "set: {quantization: fp8}"),
            ("SPD006 11:18 " + _FEW,),
        ),
        Case(of("aeon-7/dflash-qwen3.5-27b-nvfp4", "api_key: null")),
        Case(of("unsloth/qwen3.6-27b-nvfp4", "variant: dflash", UNKNOWN)),
        Case(serving("google/gemma-4-26B-A4B-it", NIGHTLY, "speculative: {method: dflash}")),
    ],
    "SPD008": [
        Case(deployment(V020)),
        Case(serving("Qwen/Qwen3.6-27B", UNKNOWN, "speculative: {method: dflash}")),
        Case(serving("Qwen/Qwen3.6-35B-A3B", V020, "speculative: {method: dflash, model: z-lab/Qwen3.6-27B-DFlash}")),
        Case(
            serving("Qwen/Qwen3.6-27B-FP8", "speculative: {method: dflash, model: z-lab/Qwen3.6-27B-DFlash}"),
            (
                (
                    "SPD008 5:3 z-lab/Qwen3.6-27B-DFlash needs vLLM 0.26.0, and nvcr.io/nvidia/vllm:26.04-py3 holds "
                    "0.19.0"
                ),
            ),
        ),
    ],
    "SPD011": [
        Case(serving("Qwen/Qwen3.6-35B-A3B", "speculative: {method: dflash, num_speculative_tokens: 16}")),
        Case(
            serving("Qwen/Qwen3.6-35B-A3B", "speculative: {method: dflash, num_speculative_tokens: 17}"),
            ("SPD011 10:18 chat guesses 17 tokens in each step; DFlash runs 7 to 16",),
        ),
        Case(deployment("speculative: {method: mtp, num_speculative_tokens: 3}")),
    ],
    "SPD016": [
        Case(
            deployment("speculative: {method: suffix, num_speculative_tokens: 9}"),
            ("SPD016 10:18 chat guesses 9 tokens in each step; suffix usually runs 8",),
        ),
        Case(deployment("speculative: {method: suffix, num_speculative_tokens: 8}")),
        Case(deployment("speculative: {method: mtp, num_speculative_tokens: 1}")),
        Case(deployment("speculative: {method: ngram}")),
    ],
    "SPD019": [
        Case(
            of(NANO, "speculative: {method: mtp}"),
            ("SPD019 9:18 nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4 has no speculator for mtp",),
        ),
        Case(of(NANO, "speculative: {method: ngram}")),
        Case(of(NANO)),
        Case(serving("nvidia/Gemma-4-31B-IT-NVFP4", "speculative: {method: ngram}")),
        Case(serving("Qwen/Qwen3.6-35B-A3B", "speculative: {method: mtp}")),
        Case(
            serving("google/gemma-4-26B-A4B-it", "speculative: {method: mtp}"),
            ("SPD019 5:3 nvcr.io/nvidia/vllm:26.04-py3 is too old for MTP " + _OF_GEMMA,),
        ),
        Case(serving("google/gemma-4-26B-A4B-it")),
    ],
    "API002": [
        Case(
            of(GEMMA, _TOOLS.format("pythonic")),
            ("API002 9:60 nvidia/Gemma-4-31B-IT-NVFP4 writes tool calls for gemma4, and chat reads pythonic",),
        ),
        Case(of(GEMMA, _TOOLS.format("gemma4"))),
        Case(deployment(_TOOLS.format("mistral"))),
        Case(
            of("bg-digitalservices/gemma-4-26b-a4b-it-nvfp4", _TOOLS.format("hermes")),
            ("API002 9:60 bg-digitalservices/Gemma-4-26B-A4B-it-NVFP4 " + _PYTHONIC,),
        ),
        Case(
            of("google/gemma-4-26b-a4b-it-fp8", _TOOLS.format("pythonic")),
            ("API002 9:60 google/gemma-4-26B-A4B-it writes tool calls for hermes, and chat reads pythonic",),
        ),
        Case(serving("google/gemma-4-26B-A4B-it", _TOOLS.format("pythonic"))),
        Case(of("redhatai/qwen3.6-35b-a3b-nvfp4")),
        Case(serving("Qwen/Qwen3.5-27B-FP8", _TOOLS.format("qwen3_xml"))),
        Case(serving("google/gemma-4-26B-A4B-it", NIGHTLY, _TOOLS.format("gemma4"))),
        Case(
            of("bg-digitalservices/gemma-4-26b-a4b-it-nvfp4", _TOOLS.format("gemma4")),
            ("API002 9:60 bg-digitalservices/Gemma-4-26B-A4B-it-NVFP4 " + _PYTHONIC.replace("hermes", "gemma4"),),
        ),
        Case(
            serving("openai/gpt-oss-120b", _TOOLS.format("hermes")),
            ("API002 10:60 openai/gpt-oss-120b writes tool calls for openai, and chat reads hermes",),
        ),
        Case(serving("openai/gpt-oss-120b", _TOOLS.format("openai"))),
        Case(of(GEMMA, "set: {enable_auto_tool_choice: true, tool_call_parser: mine, tool_parser_plugin: /x.py}")),
    ],
    "API003": [
        Case(
            of(CODER, "set: {reasoning_parser: qwen3}"),
            ("API003 9:29 Qwen/Qwen3-Coder-Next-FP8 does not reason, and chat parses it with qwen3",),
        ),
        Case(of(CODER)),
        Case(of(GEMMA)),
        Case(serving("Qwen/Qwen3.6-35B-A3B")),
    ],
    "API004": [
        Case(of(NANO)),
        Case(
            of(NANO, "set: {reasoning_parser: nemotron_v3}"),
            ("API004 9:29 nvcr.io/nvidia/vllm:25.12.post1-py3 has no parser nemotron_v3",),
        ),
        Case(
            of(NANO, "image: nvcr.io/nvidia/vllm:26.02-py3", "set: {reasoning_parser: nemotron_v3}"),
            ("API004 10:29 nvcr.io/nvidia/vllm:26.02-py3 has no parser nemotron_v3",),
        ),
        Case(of(NANO, "image: nvcr.io/nvidia/vllm:26.02-py3")),
        Case(deployment(NIGHTLY, "set: {reasoning_parser: nano_v3}")),
        Case(deployment("image: nvcr.io/nvidia/vllm:26.02-py3", "set: {reasoning_parser: nemotron_v3}")),
    ],
    "API006": [
        Case(of(GEMMA)),
        Case(deployment("set: {reasoning_parser: qwen3}")),
        Case(of(QWEN)),
        Case(deployment("set: {default_chat_template_kwargs: {enable_thinking: true}}")),
        Case(deepseek()),
        Case(
            deepseek("set: {default_chat_template_kwargs: {enable_thinking: true}}"),
            ("API006 17:41 deepseek-ai/DeepSeek-V4-Flash does not know enable_thinking",),
        ),
    ],
    "API009": [Case(deployment())],
    "API010": [
        Case(
            serving("nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4"),
            ("API010 5:3 chat takes media, and is without allowed_local_media_path and limit_mm_per_prompt",),
        ),
        Case(deployment()),
    ],
}
