"""Which of vLLM's two model runners serves a network, and whether its CUDA graphs are part of the requested memory.

A runner that measures its graphs before it allocates the pool includes them in the request; otherwise they are extra.
Follows `use_v2_model_runner` in vLLM's `config/vllm.py` and `profile_cudagraph_memory` of both runners, 0.19.1 to
0.32.0.
"""

from __future__ import annotations

from typing import Final

from sparkiac.memory.layers import Shape
from sparkiac.memory.options import ServerOptions, Speculation

_FIRST_MEASURES: Final = (0, 20)
_SECOND_MEASURES: Final = (0, 29)
_TAKES_QUANTIZED: Final = (0, 24)
_TAKES_DENSE: Final = (0, 25)
"""Since this release the V2 model runner serves every network without experts and recurrent states."""
_MIXED_DRAFTERS: Final = (0, 26)
"""Since this release the V2 model runner serves DFlash drafters in which only some layers have a window."""
_SERVED: Final = {
    "Qwen3ForCausalLM": (0, 22),
    "LlamaForCausalLM": (0, 23),
    "MistralForCausalLM": (0, 23),
    "DeepseekV2ForCausalLM": (0, 24),
    "Qwen2MoeForCausalLM": (0, 24),
    "KimiK3ForConditionalGeneration": (0, 27),
    "DeepseekV4ForCausalLM": (0, 28),
}
"""Model class → the first release in which vLLM's V2 model runner serves it."""
_DRAFTS: Final = {"eagle": (0, 22), "eagle3": (0, 22), "dflash": (0, 24), "dspark": (0, 25)}
"""Speculative method besides MTP → the first release in which vLLM's V2 model runner supports it."""


def measures_graphs(options: ServerOptions, shape: Shape | None, speculation: Speculation | None) -> bool:
    """Return whether the requested memory includes CUDA graphs; an unknown network counts as one of the V1 runner."""
    if options.release < _FIRST_MEASURES:
        return False
    second = shape is not None and _second(shape, options.release, speculation)
    return options.release >= _SECOND_MEASURES or not second


def _second(shape: Shape, release: tuple[int, ...], speculation: Speculation | None) -> bool:
    if speculation is not None:
        first = (0, 22) if speculation.predicts else _DRAFTS.get(speculation.method)
        if first is None or release < first:
            return False
        if speculation.method == "dspark" or (release >= _MIXED_DRAFTERS and _mixed(speculation)):
            return True
    named = any(release >= _SERVED[name] for name in shape.architectures if name in _SERVED)
    experts = shape.width.experts > 0
    if release >= _TAKES_DENSE:
        return named or not (experts or shape.hybrid)
    return named and (release >= _TAKES_QUANTIZED or not (experts or shape.quantized))


def _mixed(speculation: Speculation) -> bool:
    layers = speculation.drafter.layers if speculation.drafter and speculation.method == "dflash" else ()
    return len({getattr(layer, "window", None) is None for layer in layers}) > 1
