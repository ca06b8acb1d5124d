"""Inventories about the release of vLLM in an image: options, values, keys, names and variables."""

from __future__ import annotations

from typing import Final

from tests.plan.fleets import ONES, PAIR, deployment, service
from tests.rules.pages import Case

_EXACT: Final = "vllm/vllm-openai:v0.20.0"
_NEAREST: Final = "nvcr.io/nvidia/vllm:26.04-py3"
_OLD: Final = "nvcr.io/nvidia/vllm:26.02-py3"
_UNKNOWN: Final = "example.org/vllm:1"


def _said(*parts: str) -> tuple[str, ...]:
    """Put one finding together."""
    return ("".join(parts),)


def _on(image: str, *lines: str) -> str:
    return deployment(f"image: {image}@{ONES}", *lines)


_OTHERS: Final = [
    Case(service("command: [x]")),
    Case(
        _on("lmsysorg/sglang:1", "set: {swap_space: 4}", "env: {VLLM_ATTENTION_BACKEND: X}").replace(
            "base/single-spark", "base/sglang"
        )
    ),
]
"""What has no vLLM in it."""
_KEY: Final = "extra_flags: {why: a patch, options: [compilation_config.wide]}"
_EXTRA: Final = "extra_flags: {why: a patch, options: [swap_space], variables: [VLLM_PATCHED]}"

_MODELS: Final = ("example/model", "nvidia/Gemma-4-31B-IT-NVFP4", "unsloth/Qwen3.6-27B-NVFP4")
"""Of an unknown checkpoint, of ModelOpt's, of another tool's."""
_NVFP4: Final = _said(
    "FLG105 11:25 quantization of chat names nvfp4, and there is no such quantization in vLLM 0.20.0: no",
    " known release has it",
)

RELEASES: Final[dict[str, list[Case]]] = {
    "FLG101": [
        *_OTHERS,
        Case(
            _on(_NEAREST, "set: {max_nm_seqs: 4}"),
            _said(
                "FLG101 11:11 max_nm_seqs of chat is not an option of vLLM 0.19.0 (nvcr.io/nvidia/vllm:26.04-py3):",
                " no known release has it",
            ),
        ),
        Case(
            _on(_NEAREST, "set: {mxfp4_backend: x}"),
            _said(
                "FLG101 11:11 mxfp4_backend of chat is not an option of vLLM 0.19.0 (nvcr.io/nvidia/vllm:26.04-py3):",
                " no known release has it",
            ),
        ),
        Case(
            _on(_EXACT, "set: {swap_spac: 4}"),
            ("FLG101 11:11 swap_spac of chat is not an option of vLLM 0.20.0: no known release has it",),
        ),
        Case(
            _on(_EXACT, "set: {mem_fraction_static: 0.8}"),
            ("FLG101 11:11 mem_fraction_static of chat is not an option of vLLM 0.20.0: no known release has it",),
        ),
        Case(
            _on(_EXACT, "set: {max_num_batched: 4096}"),
            ("FLG101 11:11 max_num_batched of chat is short for --max-num-batched-tokens in vLLM 0.20.0",),
        ),
        Case(
            _on(_NEAREST, "set: {linear_backend: marlin}"),
            _said(
                "FLG101 11:11 linear_backend of chat is not an option of vLLM 0.19.0",
                " (nvcr.io/nvidia/vllm:26.04-py3): 0.22.1 to 0.33.0 have it",
            ),
        ),
        Case(_on(_EXACT, "set: {speculative_disable_by_batch_size: 4}")),
        Case(_on(_UNKNOWN, "set: {speculative_disable_by_batch_size: 4}")),
        Case(_on(_EXACT, "set: {swap_space: 4}", _EXTRA)),
        Case(_on(_UNKNOWN, "set: {swap_space: 4, moe_backend: auto}")),
        Case(
            _on(_UNKNOWN, "set: {swap_spaces: 4}"),
            ("FLG101 11:11 swap_spaces of chat is not an option of any known vLLM release",),
        ),
        Case(
            PAIR + f"    image: {_EXACT}@{ONES}\n    set: {{swap_spac: 4}}\n",
            ("FLG101 17:11 swap_spac of big is not an option of vLLM 0.20.0: no known release has it",),
        ),
    ],
    "FLG102": [
        *_OTHERS,
        Case(
            _on(_NEAREST, "set: {max_num_seqs: 0}"),
            _said(
                "FLG102 11:25 in vLLM 0.19.0 (nvcr.io/nvidia/vllm:26.04-py3), max_num_seqs of chat is at least 1, not",
                " 0",
            ),
        ),
        Case(
            _on(_NEAREST, "set: {max_num_seqs: many}"),
            _said(
                "FLG102 11:25 in vLLM 0.19.0 (nvcr.io/nvidia/vllm:26.04-py3), max_num_seqs of chat takes a whole",
                " number, not 'many'",
            ),
        ),
        Case(
            _on(_EXACT, "set: {dtype: bfloat}"),
            _said(
                "FLG102 11:18 in vLLM 0.20.0, dtype of chat is one of auto, bfloat16, float, float16, float32, half,",
                " not 'bfloat'",
            ),
        ),
        Case(
            _on(_EXACT, "set: {enforce_eager: 1}"),
            ("FLG102 11:26 in vLLM 0.20.0, enforce_eager of chat takes no value",),
        ),
        Case(
            _on(_EXACT, "set: {enable_prefix_caching: 'Off'}"),
            ("FLG102 11:34 in vLLM 0.20.0, enable_prefix_caching of chat takes no value",),
        ),
        Case(
            _on(_EXACT, "set: {enable_prefix_caching: 1}"),
            ("FLG102 11:34 in vLLM 0.20.0, enable_prefix_caching of chat takes no value",),
        ),
        Case(_on(_EXACT, "set: {headless: 0}"), ("FLG102 11:21 in vLLM 0.20.0, headless of chat takes no value",)),
        Case(
            _on(_EXACT, "set: {max_num_seqs: true}"),
            ("FLG102 11:25 in vLLM 0.20.0, max_num_seqs of chat lacks its value",),
        ),
        Case(
            _on(_EXACT, "set: {headless: false}"),
            ("FLG102 11:21 in vLLM 0.20.0, headless of chat is a switch that cannot be turned off: remove it",),
        ),
        Case(
            _on(_EXACT, "set: {compilation_config: {pass_config: {fuse_act_quant: maybe}}}"),
            _said(
                "FLG102 11:62 in vLLM 0.20.0, compilation_config.pass_config.fuse_act_quant of chat takes true or",
                " false, not 'maybe'",
            ),
        ),
    ],
    "FLG103": [
        *_OTHERS,
        Case(
            _on(_NEAREST, "set: {quantization: fp_quant}"),
            _said(
                "FLG103 11:25 quantization of chat names fp_quant, which is deprecated in vLLM 0.19.0",
                " (nvcr.io/nvidia/vllm:26.04-py3): 0.11.1 to 0.33.0 have it",
            ),
        ),
    ],
    "FLG104": [
        *_OTHERS,
        Case(
            _on(_OLD, "set: {attention_config: {backends: X}}"),
            _said(
                "FLG104 11:30 attention_config.backends of chat is not a key of vLLM 0.15.1",
                " (nvcr.io/nvidia/vllm:26.02-py3), which ignores it: no known release has it",
            ),
        ),
        Case(_on(_EXACT, "set: {compilation_config: {wide: 1}}", _KEY)),
        Case(
            _on(_NEAREST, "speculative: {method: mtp, attention_backend: TRITON_ATTN}"),
            _said(
                "FLG104 11:32 speculative.attention_backend of chat is not a key of vLLM 0.19.0",
                " (nvcr.io/nvidia/vllm:26.04-py3): 0.21.0 to 0.33.0 have it",
            ),
        ),
    ],
    "FLG105": [
        *_OTHERS,
        Case(
            _on("vllm/vllm-openai:v0.33.0", "set: {kv_cache_dtype: fp4}"),
            _said(
                "FLG105 11:27 kv_cache_dtype of chat names fp4, and there is no such KV cache format in vLLM 0.33.0:",
                " no known release has it",
            ),
        ),
        *(
            Case(
                _on(_NEAREST, f"set: {{tool_call_parser: {name}}}"),
                _said(
                    f"FLG105 11:29 tool_call_parser of chat names {name}, and there is no such tool call parser in",
                    " vLLM 0.19.0 (nvcr.io/nvidia/vllm:26.04-py3): no known release has it",
                ),
            )
            for name in ("qwen3_codr", "none_such")
        ),
        Case(
            _on(_NEAREST, "speculative: {method: dflash, model: example/drafter, num_speculative_tokens: 5}"),
            _said(
                "FLG105 11:27 speculative.method of chat names dflash, and there is no such method of speculation in",
                " vLLM 0.19.0 (nvcr.io/nvidia/vllm:26.04-py3): 0.20.0 to 0.33.0 have it",
            ),
        ),
        Case(_on(_EXACT, "set: {reasoning_parser: nano_v3, reasoning_parser_plugin: /x.py}")),
        Case(
            _on(_EXACT, "set: {attention_backend: flash}"),
            _said(
                "FLG105 11:30 attention_backend of chat names flash, and there is no such attention backend in vLLM",
                " 0.20.0: no known release has it",
            ),
        ),
        *(Case(_on(_EXACT, "set: {quantization: nvfp4}").replace("example/model", each), _NVFP4) for each in _MODELS),
    ],
    "FLG106": [*_OTHERS, Case(_on("example.org/vllm:1", "set: {}").replace("base/single-spark", "base/sglang"))],
    "ENV101": [
        *_OTHERS,
        Case(_on(_EXACT, "env: {VLLM_USE_V1: 1, NCCL_X: 1}")),
        Case(_on(_EXACT, "env: {VLLM_PATCHED: 1}", _EXTRA)),
        Case(
            _on(_EXACT, "env: {VLLM_CUDART_SO_PATHS: x}"),
            _said(
                "ENV101 11:11 VLLM_CUDART_SO_PATHS of chat has no effect: vLLM 0.20.0 does not read it and logs a",
                " warning; no known release has it",
            ),
        ),
        Case(
            _on(_NEAREST, "env: {VLLM_USE_TRITON_FLASH_ATTN: 1}"),
            _said(
                "ENV101 11:11 VLLM_USE_TRITON_FLASH_ATTN of chat has no effect: vLLM 0.19.0",
                " (nvcr.io/nvidia/vllm:26.04-py3) does not read it and logs a warning; 0.11.0 has it",
            ),
        ),
        Case(_on("vllm-ds4-pinned", "env: {VLLM_TRITON_MLA_SPARSE: 1}")),
        Case(_on(_UNKNOWN, "env: {VLLM_ATTENTION_BACKEND: X}")),
        Case(
            _on(_UNKNOWN, "env: {VLLM_ATTENTION_BACKENT: X}"),
            ("ENV101 11:11 VLLM_ATTENTION_BACKENT of chat is not a variable of any known vLLM release",),
        ),
        Case(
            _on(_OLD, "env: {VLLM_ATTENTION_BACKEND: X}"),
            _said(
                "ENV101 11:11 VLLM_ATTENTION_BACKEND of chat has no effect: vLLM 0.15.1",
                " (nvcr.io/nvidia/vllm:26.02-py3) does not read it and logs nothing; 0.11.0 to 0.14.1 have it",
            ),
        ),
        Case(
            _on(_EXACT, "env: {VLLM_ATTENTION_BACKEND: X}", "set: {fail_on_environ_validation: true}"),
            _said(
                "ENV101 11:11 VLLM_ATTENTION_BACKEND of chat has no effect: vLLM 0.20.0 does not read it and logs a",
                " warning; 0.11.0 to 0.14.1 have it",
            ),
        ),
    ],
}
