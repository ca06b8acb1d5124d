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
V032: Final = f"image: vllm/vllm-openai:v0.32.0@{ONES}"


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


def _yarn(tokens: int, more: str = "") -> str:
    """Set so many tokens with YaRN of twice the model's own length."""
    parameters = "{rope_type: yarn, factor: 2.0, original_max_position_embeddings: 262144}"
    return f"set: {{max_model_len: {tokens}, hf_overrides: {{{more}rope_parameters: {parameters}}}}}"


def _mtp(tag: str, caching: str) -> str:
    """Write a hybrid model with MTP on an image of vLLM, with this for prefix caching."""
    lines = (f"image: vllm/vllm-openai:{tag}@{ONES}", "speculative: {method: mtp}")
    return serving("nvidia/Qwen3.6-35B-A3B-NVFP4", *lines, f"set: {{enable_prefix_caching: {caching}}}")


_TOOLS: Final = "set: {{enable_auto_tool_choice: true, tool_call_parser: {}}}"
_JSON: Final = '{"rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 40000}}'
_LONG: Final = "FLG013 {} {} supports 262144 tokens, but chat sets {}: vLLM does not start"
_STRETCHED: Final = (
    "FLG014 {} chat stretches positions with YaRN for every request, and short prompts lose some quality"
)
_CORRUPT: Final = (
    "FLG008 {} chat has prefix caching and MTP on a hybrid model: with both, vLLM gave wrong answers and lost tool "
    "calls, as measured in May and, with 0.28.0, in August"
)
_FEW: Final = (
    "SPD006 {} chat uses DFlash with quantised weights: fewer drafted tokens are accepted than with BF16 weights"
)
_V1: Final = "env: {VLLM_USE_V2_MODEL_RUNNER: 0}"
_DRAFT_MODEL: Final = "speculative: {method: draft_model, model: google/gemma-4-26B-A4B-it-assistant}"
_SLOW_DRAFT: Final = (
    "SPD012 5:3 google/gemma-4-26B-A4B-it-assistant is a drafter for MTP, and "
    "vllm/vllm-openai:gemma4-0505-arm64-cu130 runs it as a separate model, which is slower"
)
_NO_MTP: Final = (
    "SPD019 9:18 nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4 has no MTP layers: vLLM exits with "
    "\"Unsupported speculative method: 'mtp'\""
)

FLAGS: Final[dict[str, list[Case]]] = {
    "FLG004": [Case(deployment("set: {enforce_eager: false}"))],
    "FLG005": [  # row 7.3
        Case(deployment(NIGHTLY, "set: {load_format: fastsafetensors}")),
        Case(deployment(UNKNOWN, "set: {load_format: fastsafetensors}")),
    ],
    "FLG007": [
        Case(serving("Qwen/Qwen3.6-35B-A3B", "set: {max_num_batched_tokens: 1024}")),
        Case(serving("Qwen/Qwen3.6-35B-A3B", "set: {enable_prefix_caching: true}")),
        Case(serving("Qwen/Qwen3.6-35B-A3B", "set: {enable_prefix_caching: true, max_num_batched_tokens: 2k}")),
        Case(
            serving("Qwen/Qwen3.6-35B-A3B", "set: {enable_prefix_caching: true, max_num_batched_tokens: 1k}"),
            (("FLG007 10:64 chat batches 1k tokens, fewer than one block of the prefix cache: vLLM exits at start"),),
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
        Case(_mtp("nightly", "true")),
        Case(_mtp("v0.20.0", "true")),
        Case(_mtp("v0.28.0", "true"), (_CORRUPT.format("12:34"),)),
        Case(_mtp("v0.28.0", "null"), (_CORRUPT.format("12:34"),)),
        Case(_mtp("v0.25.1", "null")),
        Case(_mtp("nightly", "null")),
        Case(_mtp("v0.28.0", "true").replace("method: mtp", "method: ngram")),
        Case(_mtp("v0.28.0", "null").replace("method: mtp", "method: ngram")),
        Case(_mtp("v0.28.0", "true").replace("nvidia/Qwen3.6-35B-A3B-NVFP4", "nvidia/Gemma-4-31B-IT-NVFP4")),
        Case(_mtp("v0.28.0", "null").replace("nvidia/Qwen3.6-35B-A3B-NVFP4", "nvidia/Gemma-4-31B-IT-NVFP4")),
        Case(
            deployment("set: {enable_prefix_caching: false}"),
            ("FLG008 10:34 chat computes the whole prompt of each request again: prefix caching is off",),
        ),
        Case(serving("nvidia/Qwen3.6-35B-A3B-NVFP4", "set: {enable_prefix_caching: false}")),
        Case(_mtp("v0.28.0", "false").replace("nvidia/Qwen3.6-35B-A3B-NVFP4", "nvidia/Gemma-4-31B-IT-NVFP4")),
        Case(deployment()),
    ],
    "FLG009": [
        Case(serving("Qwen/Qwen3-Coder-Next-FP8", f"image: vllm/vllm-openai:v0.26.0@{ONES}")),
        Case(deployment()),
    ],
    "FLG010": [
        Case(PAIR),
        Case(PAIR + "    set: {pipeline_parallel_size: 2}\n"),
        Case(PAIR + "    set: {pipeline_parallel_size: 4}\n", ("FLG010 16:35 big is split over 4 GPUs, but has 2",)),
    ],
    "FLG012": [Case(PAIR + "    set: {enable_expert_parallel: true}\n")],
    "FLG013": [
        Case(of(QWEN, "variant: yarn-1m")),
        Case(of(NANO, "variant: context-1m")),
        Case(of(GEMMA, "set: {max_model_len: 256K}")),
        Case(of(GEMMA, "set: {max_model_len: 263k}"), (_LONG.format("9:26", "nvidia/Gemma-4-31B-IT-NVFP4", "263k"),)),
        Case(of(QWEN, NIGHTLY, _yarn(524288))),
        Case(of(QWEN, V032, _yarn(262144))),
        Case(of(QWEN, V032, _yarn(524288), "env: {VLLM_ALLOW_LONG_MAX_MODEL_LEN: 1}")),
        Case(of(QWEN, V032, _yarn(524288, "max_position_embeddings: 524288, "))),
        Case(of(QWEN, V032, _yarn(524288)), (_LONG.format("10:26", "nvidia/Qwen3.6-35B-A3B-NVFP4", "524288"),)),
    ],
    "FLG014": [
        Case(of(QWEN, "variant: yarn-1m"), (_STRETCHED.format("5:3"),)),
        Case(deployment("set: {hf_overrides: {rope_parameters: {rope_type: linear, factor: 2.0}}}")),
        Case(deployment(f"set: {{hf_overrides: '{_JSON}'}}"), (_STRETCHED.format("10:25"),)),
        Case(deployment("set: {hf_overrides: no JSON}")),
    ],
    "FLG017": [
        Case(
            deployment(r'set: {hf_overrides: {a: ["\u201cb"]}}'),
            ("FLG017 10:25 hf_overrides of chat contains the typographic character “",),
        ),
        Case(deployment("set: {chat_template: /models/ü-ß.jinja}")),
        Case(
            deployment(r'set: {chat_template: "\u201cx"}'),
            ("FLG017 10:26 chat_template of chat contains the typographic character “",),
        ),
        Case(
            service(r'command: [x, "\u2014port=1"]'),
            ("FLG017 9:14 command of asr contains the typographic character —",),
        ),
        Case(service(r'command: ["It\u2019s \u201cx\u201d \u2014 y", "a\u2013b", "\u2014Hola", "\u201cx\u201d"]')),
        Case(
            service(r'env: {X: "{\u201ca\u201d: 1}"}'), ("FLG017 9:14 X of asr contains the typographic character “",)
        ),
        Case(
            service(r'env: {X: "\u2018{1}\u2019", T: "say: \u201chi\u201d"}'),
            ("FLG017 9:14 X of asr contains the typographic character \u2018",),
        ),
        Case(
            deployment(r'container: {prelude: [[x, "-\u2013kv-cache-dtype fp8"]]}'),
            ("FLG017 10:26 prelude of chat contains the typographic character \u2013",),
        ),
        Case(
            deployment(r'set: {chat_template: "x \u2014port=1"}'),
            ("FLG017 10:26 chat_template of chat contains the typographic character —",),
        ),
        Case(deployment('description: "It\u2019s \u2014port=1"', r'env: {X: "x \u2013 y"}')),
    ],
    "FLG019": [Case(deployment(UNKNOWN, "env: {VLLM_USE_V1: 1}"))],
    "FLG027": [
        Case(deployment(V020)),
        Case(serving("deepseek-ai/DeepSeek-V4-Flash", NIGHTLY)),
        Case(
            serving("deepseek-ai/DeepSeek-V4-Flash", V020, "set: {kv_cache_dtype: bfloat16}"),
            (
                (
                    "FLG027 11:27 deepseek-ai/DeepSeek-V4-Flash has kv_cache_dtype: bfloat16, and vLLM 0.20.0 serves "
                    "it only with an FP8 KV cache"
                ),
            ),
        ),
    ],
    "SPD004": [
        Case(serving("Qwen/Qwen3.6-35B-A3B", "speculative: {method: mtp}")),
        Case(of("sakamakismile/gemma-4-12b-coder-nvfp4")),
    ],
    "SPD006": [
        Case(of("unsloth/qwen3.6-27b-nvfp4", "variant: mtp")),
        Case(
            serving("Qwen/Qwen3.6-35B-A3B", NIGHTLY, "speculative: {method: dflash}", "set: {quantization: fp8}"),
            (_FEW.format("11:18"),),
        ),
        Case(of("unsloth/qwen3.6-27b-nvfp4", "variant: dflash", UNKNOWN)),
        Case(serving("Qwen/Qwen3.6-35B-A3B", NIGHTLY, "speculative: {method: ngram}", "set: {quantization: fp8}")),
        Case(serving("google/gemma-4-26B-A4B-it", NIGHTLY, "speculative: {method: dflash}")),
    ],
    "SPD008": [
        Case(deployment(f"image: vllm/vllm-openai:v0.25.1@{ONES}", _V1)),
        Case(serving("Qwen/Qwen3.6-27B", UNKNOWN, "speculative: {method: dflash}", _V1)),
        Case(
            serving("Qwen/Qwen3.6-27B", V020, "speculative: {method: dflash}"),
            (
                (
                    "SPD008 10:12 vLLM 0.20.0 runs the sliding-window layers of z-lab/Qwen3.6-27B-DFlash as full "
                    "attention: fewer drafted tokens are accepted on long prompts"
                ),
            ),
        ),
        Case(
            serving("Qwen/Qwen3.6-27B", V032, "speculative: {method: dflash}", _V1),
            (
                (
                    "SPD008 12:37 z-lab/Qwen3.6-27B-DFlash mixes sliding-window and full attention, which vLLM "
                    "supports only on its second model runner"
                ),
            ),
        ),
        Case(serving("Qwen/Qwen3.6-27B", V032, "speculative: {method: dflash}")),
        Case(deployment(V032, _V1)),
        Case(deployment(V020)),
    ],
    "SPD012": [
        Case(of("google/gemma-4-26b-a4b-it-fp8", "variant: draft-model"), (_SLOW_DRAFT,)),
        Case(of("google/gemma-4-26b-a4b-it-fp8")),
        Case(serving("google/gemma-4-26B-A4B-it", NIGHTLY, _DRAFT_MODEL)),
        Case(serving("Qwen/Qwen3-8B", V032, "speculative: {method: draft_model, model: Qwen/Qwen3-0.6B}")),
        Case(
            serving(
                "Qwen/Qwen3-8B",
                f"image: vllm/vllm-openai:gemma4-0505-arm64-cu130@{ONES}",
                "speculative: {method: draft_model, model: Qwen/Qwen3-0.6B}",
            )
        ),
    ],
    "SPD019": [
        Case(of(NANO, "speculative: {method: mtp}"), (_NO_MTP,)),
        Case(of(NANO, "speculative: {method: ngram}")),
        Case(serving("Qwen/Qwen3.6-35B-A3B", "speculative: {method: mtp}")),
        Case(
            serving("google/gemma-4-26B-A4B-it", "speculative: {method: mtp}"),
            (
                (
                    "SPD019 5:3 vLLM 0.19.0 does not support google/gemma-4-26B-A4B-it-assistant; 0.21.0 is the "
                    "first release that does"
                ),
            ),
        ),
    ],
    "API002": [
        Case(
            of(GEMMA, _TOOLS.format("pythonic")),
            (
                (
                    "API002 9:60 chat reads the tool calls of nvidia/Gemma-4-31B-IT-NVFP4 with pythonic; vLLM 0.19 has "
                    "a parser for Gemma 4"
                ),
            ),
        ),
        Case(of(GEMMA, _TOOLS.format("gemma4"))),
        Case(of(GEMMA, NIGHTLY, _TOOLS.format("hermes"))),
        Case(of(GEMMA, "set: {tool_call_parser: hermes, chat_template: /t.jinja}")),
        Case(deployment(_TOOLS.format("mistral"))),
        Case(serving("Qwen/Qwen3.6-35B-A3B", "set: {tool_call_parser: hermes, chat_template: /t.jinja}")),
        Case(
            serving("openai/gpt-oss-120b", _TOOLS.format("hermes")),
            (
                (
                    "API002 10:60 openai/gpt-oss-120b does not write tool calls in the format that hermes reads: "
                    "calls stay in the text of the answer"
                ),
            ),
        ),
    ],
    "API003": [
        Case(of(CODER, UNKNOWN, "set: {reasoning_parser: qwen3}")),
        Case(of(CODER, V020, "set: {reasoning_parser: qwen3, default_chat_template_kwargs: {enable_thinking: false}}")),
        Case(serving("Qwen/Qwen3-8B", V020, "set: {reasoning_parser: qwen3}")),
        Case(of(GEMMA)),
        Case(of(QWEN)),
        Case(
            serving("Qwen/Qwen3.6-35B-A3B"),
            (
                (
                    "API003 5:3 Qwen/Qwen3.6-35B-A3B reasons before it answers, and chat sets no reasoning_parser: "
                    "the reasoning stays in the answer"
                ),
            ),
        ),
    ],
    "API006": [
        Case(of(GEMMA)),
        Case(deployment("set: {reasoning_parser: qwen3}")),
        Case(of(QWEN)),
    ],
    "API009": [Case(deployment())],
}
