"""Record how vLLM's own functions lay out the KV cache of networks that a CPU cannot serve.

Runs with the Python of a venv that has vLLM; reads configurations from standard input, writes JSON. The specification
of each layer is made here, from the configuration alone; shapes of states, alignment, groups and blocks are vLLM's.
"""

from __future__ import annotations

import inspect
import json
import sys
from types import SimpleNamespace
from typing import Any

import compressed
import torch
import vllm
from vllm.model_executor.layers.mamba import mamba_mixer2
from vllm.model_executor.layers.mamba.mamba_utils import MambaStateDtypeCalculator as Dtypes
from vllm.model_executor.layers.mamba.mamba_utils import MambaStateShapeCalculator as States
from vllm.v1.core import kv_cache_utils as utils
from vllm.v1.kv_cache_interface import FullAttentionSpec, MambaSpec, MLAAttentionSpec, SlidingWindowSpec

RELEASE = vllm.__version__.split("+")[0]
NUMBERS = tuple(map(int, RELEASE.split(".")[:2]))
OLD = NUMBERS < (0, 20)
LAID_OUT = NUMBERS >= (0, 29)
DELTA_CHECKPOINTS = NUMBERS >= (0, 29)
MIXER_CHECKPOINTS = "num_prefill_checkpoint_blocks=1" in inspect.getsource(mamba_mixer2)
POOL_BYTES = 20 << 30
CASES: tuple[dict[str, Any], ...] = (
    {
        "model": "nvidia/Qwen3.6-35B-A3B-NVFP4",
        "max_model_len": 65536,
        "kv_cache_dtype": "fp8",
        "method": "mtp",
        "drafts": 3,
    },
    {
        "model": "nvidia/Qwen3.6-35B-A3B-NVFP4",
        "max_model_len": 131072,
        "kv_cache_dtype": "fp8",
        "method": "mtp",
        "drafts": 2,
    },
    {"model": "nvidia/Qwen3.6-35B-A3B-NVFP4", "max_model_len": 262144, "enable_prefix_caching": False},
    {
        "model": "nvidia/Qwen3.6-35B-A3B-NVFP4",
        "max_model_len": 262144,
        "tensor_parallel_size": 2,
        "method": "mtp",
        "drafts": 1,
    },
    {"model": "nvidia/Qwen3.6-27B-NVFP4", "max_model_len": 65536, "kv_cache_dtype": "fp8", "block_size": 32},
    {"model": "Qwen/Qwen3-Coder-Next", "max_model_len": 170000},
    {"model": "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", "max_model_len": 262144, "kv_cache_dtype": "fp8"},
    {"model": "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", "max_model_len": 131072},
    {"model": "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", "max_model_len": 131072, "tensor_parallel_size": 2},
    {"model": "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", "max_model_len": 65536, "method": "mtp", "drafts": 1},
    {"model": "google/gemma-4-26B-A4B", "max_model_len": 65536, "kv_cache_dtype": "fp8"},
    {
        "model": "nvidia/Gemma-4-31B-IT-NVFP4",
        "max_model_len": 65536,
        "kv_cache_dtype": "fp8",
        "pipeline_parallel_size": 2,
    },
    {"model": "openai/gpt-oss-120b", "max_model_len": 131072},
    {"model": "openai/gpt-oss-120b", "max_model_len": 131072, "tensor_parallel_size": 2},
    {"model": "deepseek-ai/DeepSeek-V3", "max_model_len": 32768, "kv_cache_dtype": "fp8", "method": "mtp", "drafts": 1},
    {"model": "mistralai/Mixtral-8x7B-v0.1", "max_model_len": 32768, "pipeline_parallel_size": 3},
    {"model": "XiaomiMiMo/MiMo-V2-Flash", "max_model_len": 65536},
    {"model": "deepseek-ai/DeepSeek-V4-Flash", "max_model_len": 300000, "max_num_batched_tokens": 16384},
    {
        "model": "deepseek-ai/DeepSeek-V4-Flash",
        "max_model_len": 200000,
        "method": "deepseek_mtp",
        "drafts": 2,
        "tensor_parallel_size": 2,
    },
    {"model": "deepseek-ai/DeepSeek-V4-Flash", "max_model_len": 65536, "pipeline_parallel_size": 2},
    {"model": "deepseek-ai/DeepSeek-V4-Pro", "max_model_len": 131072, "method": "mtp", "drafts": 1},
    {
        "model": "deepseek-ai/DeepSeek-V3.2",
        "max_model_len": 65536,
        "kv_cache_dtype": "fp8",
        "method": "mtp",
        "drafts": 1,
    },
    {"model": "zai-org/GLM-5.2", "max_model_len": 65536, "kv_cache_dtype": "fp8", "method": "mtp", "drafts": 3},
    {"model": "moonshotai/Kimi-K3", "max_model_len": 262144, "tensor_parallel_size": 2},
    {"model": "meta-llama/Llama-4-Scout-17B-16E-Instruct", "max_model_len": 65536},
    {"model": "nvidia/Llama-3_3-Nemotron-Super-49B-v1", "max_model_len": 65536, "kv_cache_dtype": "fp8"},
)


def main() -> None:
    """Return the record of all cases."""
    configs = json.load(sys.stdin)
    answers = [{**case, **answer(case, configs[case["model"]])} for case in CASES if knows(configs[case["model"]])]
    json.dump({"release": RELEASE, "pool_bytes": POOL_BYTES, "cases": answers}, sys.stdout, indent=1)
    print()


def knows(config: dict[str, Any]) -> bool:
    """Return whether this release has the layers of a model."""
    return "compress_ratios" not in config or compressed.ATTENTION is not None


def answer(case: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """Return the record of one case, or why vLLM refuses it."""
    text = config.get("text_config", config)
    vllm = engine(case, text)
    stages = layers(case, text, vllm)
    try:
        laid = utils.get_kv_cache_configs(vllm, stages, [POOL_BYTES] * len(stages))
    except (NotImplementedError, ValueError, AssertionError) as error:
        return {"refused": str(error)}
    scheduled = utils.generate_scheduler_kv_cache_config(laid)
    concurrency = utils.get_max_concurrency_for_kv_cache_config(vllm, scheduled)
    blocks = scheduled.num_blocks
    groups = scheduled.kv_cache_groups
    shortest = min(group.kv_cache_spec.block_size for group in groups)
    return {
        "groups": len(groups),
        "blocks": blocks,
        "concurrency": concurrency,
        "tokens": blocks // len(groups) * shortest if OLD else int(concurrency * case["max_model_len"]),
    }


def engine(case: dict[str, Any], text: dict[str, Any]) -> Any:
    """Return the values that the functions read from a configuration, under vLLM's names."""
    hybrid = state_of(text, 1, 0) is not None
    batch = case.get("max_num_batched_tokens", 8192)
    cached = case.get("enable_prefix_caching", True)
    layout = {}
    if LAID_OUT:
        from vllm.v1.kv_cache_layout import KVCacheLayout  # noqa: PLC0415  not in older releases

        # The compressed attention's indexer takes layouts with the blocks outside alone.
        order = KVCacheLayout.BLHNC if "compress_ratios" in text else KVCacheLayout.LBNHC
        layout = {"get_resolved_kv_cache_layout": lambda: order, "prefix_cache_retention_interval": None}
    return SimpleNamespace(
        model_config=SimpleNamespace(
            max_model_len=case["max_model_len"], original_max_model_len=None, hf_config=SimpleNamespace(model_type="")
        ),
        # vLLM turns the manager off by itself for models with chunks, and keeps those like the whole context.
        scheduler_config=SimpleNamespace(
            disable_hybrid_kv_cache_manager="attention_chunk_size" in text, max_num_batched_tokens=batch
        ),
        kv_transfer_config=None,
        parallel_config=SimpleNamespace(
            decode_context_parallel_size=1, prefill_context_parallel_size=1, tensor_parallel_size=1
        ),
        cache_config=SimpleNamespace(
            num_gpu_blocks_override=None, mamba_cache_mode="align" if hybrid and cached else "none", **layout
        ),
        attention_config=SimpleNamespace(hisparse_config=None),
        device_config=SimpleNamespace(device_type="cuda"),
        speculative_config=None,
        num_prefill_lookahead_tokens=0,
        max_in_flight_tokens=batch * (case.get("pipeline_parallel_size", 1) + 1),
    )


def layers(case: dict[str, Any], text: dict[str, Any], vllm: Any) -> list[dict[str, Any]]:
    """Return the specifications of the layers of each stage."""
    count, stages = text["num_hidden_layers"], case.get("pipeline_parallel_size", 1)
    nextn = text.get("mtp_num_hidden_layers", text.get("num_nextn_predict_layers", 0)) if case.get("method") else 0
    specs = sparse(text, count + nextn) if "index_topk" in text else dense(case, text, vllm, count + nextn)
    placed: list[dict[str, Any]] = [{} for _ in range(stages)]
    for rank in range(stages):
        first, last = span(count, rank, stages)
        held = range(first, last + nextn if rank == stages - 1 else last)
        placed[rank] = {name: spec for name, spec in specs.items() if spec and int(name.split(".")[0]) in held}
    return placed


def sparse(text: dict[str, Any], count: int) -> dict[str, Any]:
    """Return the specifications of layers with sparse attention, which are packed in FP8."""
    block = 256 if "compress_ratios" in text else 64
    found = (compressed.specs(text, index, block=block, dtype=compressed.PACKED) for index in range(count))
    return {name: spec for each in found for name, spec in each.items()}


def dense(case: dict[str, Any], text: dict[str, Any], vllm: Any, count: int) -> dict[str, Any]:
    """Return the specifications of all other layers; those after the last one attend to the whole context."""
    ranks, tokens = case.get("tensor_parallel_size", 1), case.get("drafts", 0)
    dtype = torch.uint8 if case.get("kv_cache_dtype") == "fp8" else torch.bfloat16
    state = state_of(text, ranks, tokens)
    block = block_size(case, text, state, dtype, ranks)
    kinds = kinds_of(text)
    kinds += ["full"] * (count - len(kinds))
    return {
        f"{index}.{kind}": spec(kind, blocked(text, index), state, block, dtype, ranks, vllm, tokens)
        for index, kind in enumerate(kinds)
    }


def blocked(text: dict[str, Any], index: int) -> dict[str, Any]:
    """Return the configuration of one layer, with its own number of KV heads if it has one."""
    if "block_configs" not in text or text["block_configs"][index]["attention"].get("no_op"):
        return text
    group = text["block_configs"][index]["attention"]["n_heads_in_group"]
    return {**text, "num_key_value_heads": text["num_attention_heads"] // group}


def span(count: int, rank: int, stages: int) -> tuple[int, int]:
    """Return the layers of one stage, distributed as vLLM does."""
    from vllm.distributed.utils import get_pp_indices  # noqa: PLC0415  it loads much

    return get_pp_indices(count, rank, stages)


def kinds_of(text: dict[str, Any]) -> list[str]:
    """Return the kind of each layer."""
    if pattern := text.get("hybrid_override_pattern"):
        return [{"M": "state", "*": "full"}.get(letter, "none") for letter in pattern]
    if marks := text.get("hybrid_layer_pattern"):
        return ["window" if mark else "full" for mark in marks]
    words = {"full_attention": "full", "sliding_attention": "window", "linear_attention": "state"}
    if kinds := text.get("layer_types"):
        return [words[kind] for kind in kinds]
    if blocks := text.get("block_configs"):
        return ["none" if block["attention"].get("no_op") else "full" for block in blocks]
    if linear := text.get("linear_attn_config"):
        return ["state" if i + 1 in linear["kda_layers"] else "full" for i in range(text["num_hidden_layers"])]
    every = text.get("full_attention_interval")
    count = text["num_hidden_layers"]
    return ["full" if not every or (i + 1) % every == 0 else "state" for i in range(count)]


def state_of(text: dict[str, Any], ranks: int, tokens: int) -> MambaSpec | None:
    """Return the specification of a state without padding, with vLLM's own shapes."""
    if "linear_num_value_heads" in text:
        names = ("linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim")
        numbers = [text[name] for name in (*names, "linear_conv_kernel_dim")]
        shapes = States.gated_delta_net_state_shape(ranks, *numbers, tokens)
        recurrent = torch.float32 if text.get("mamba_ssm_dtype") == "float32" else torch.bfloat16
    elif "ssm_state_size" in text:
        shapes = States.mamba2_state_shape(
            tp_world_size=ranks,
            intermediate_size=text["mamba_num_heads"] * text["mamba_head_dim"],
            n_groups=text["n_groups"],
            num_heads=text["mamba_num_heads"],
            head_dim=text["mamba_head_dim"],
            state_size=text["ssm_state_size"],
            conv_kernel=text["conv_kernel"],
            num_spec=tokens,
        )
        recurrent = torch.float32
    elif linear := text.get("linear_attn_config"):
        kernel = linear["short_conv_kernel_size"]
        shapes = States.kda_state_shape(
            ranks, linear["num_heads"], linear["head_dim"], conv_kernel_size=kernel, num_spec=tokens
        )
        return MambaSpec(shapes=shapes, dtypes=Dtypes.kda_state_dtype(torch.bfloat16, "auto"), block_size=-1)
    else:
        return None
    return MambaSpec(shapes=shapes, dtypes=(torch.bfloat16, recurrent), block_size=-1)


def block_size(case: dict[str, Any], text: dict[str, Any], state: Any, dtype: torch.dtype, ranks: int) -> int:
    """Return the block size that vLLM's platform sets, from its own function if the release has one."""
    block = case.get("block_size", 16)
    if state is None:
        return block
    whole = spec("full", text, state, 1, dtype, ranks, None, 0)
    if OLD:
        # The same lines stand inside a method that reads a whole engine configuration (platforms/interface.py).
        step = 64 if "kv_lora_rank" in text else 16
        return max(block, step * -(-state.page_size_bytes // (step * whole.page_size_bytes)))
    return aligned(block, whole, state)


def aligned(block: int, whole: Any, state: Any) -> int:
    """Call Platform._align_hybrid_block_size with the values it reads, and return the block size that it sets."""
    from unittest import mock  # noqa: PLC0415  for one call

    from vllm.model_executor.models import ModelRegistry  # noqa: PLC0415  it loads much
    from vllm.platforms.interface import Platform  # noqa: PLC0415  it loads much
    from vllm.v1.attention.backend import AttentionBackend, MultipleOf  # noqa: PLC0415  it loads much

    class Backend(AttentionBackend):  # type: ignore[misc, unused-ignore]
        get_supported_kernel_block_sizes = staticmethod(lambda: [MultipleOf(16)])

    class Model:
        get_mamba_state_shape_from_config = staticmethod(lambda _: state.shapes)
        get_mamba_state_dtype_from_config = staticmethod(lambda _: state.dtypes)

    cache = SimpleNamespace(
        cache_dtype="auto", block_size=block, mamba_cache_mode="align", mamba_page_size_padded=None,
        kv_cache_dtype_skip_layers=[], mamba_block_size=None, user_specified_mamba_block_size=False,
    )  # fmt: skip
    model = SimpleNamespace(
        dtype=whole.dtype, use_mla=isinstance(whole, MLAAttentionSpec), architecture="",
        get_num_kv_heads=lambda _: whole.num_kv_heads, get_head_size=lambda: whole.head_size,
    )  # fmt: skip
    vllm = SimpleNamespace(cache_config=cache, model_config=model, parallel_config=None)
    with (
        mock.patch.object(ModelRegistry, "resolve_model_cls", return_value=(Model, "")),
        mock.patch("vllm.config.vllm.set_current_vllm_config"),
        mock.patch.object(Platform, "_find_non_ssm_backends", return_value=[Backend], create=True),
    ):
        Platform._align_hybrid_block_size(vllm, Backend)
    return int(cache.block_size)


def spec(  # noqa: PLR0913, PLR0917  what the specification of a layer is made of
    kind: str, text: dict[str, Any], state: Any, block: int, dtype: torch.dtype, ranks: int, vllm: Any, tokens: int
) -> Any:
    """Return the specification of one layer."""
    if kind == "none":
        return None
    if kind == "state":
        padded = block * spec("full", text, state, 1, dtype, ranks, vllm, tokens).page_size_bytes
        mode = vllm.cache_config.mamba_cache_mode
        # From 0.32 on the Mamba-2 mixer asks for one more block, in a method that only a loaded layer has.
        # So does Kimi Delta Attention with the kernel that it takes on this machine (SM 12.x).
        bounded = text.get("linear_attn_config", {}).get("gate_lower_bound") is not None
        kept = ("ssm_state_size" in text and MIXER_CHECKPOINTS) or (bounded and DELTA_CHECKPOINTS)
        extra = {"num_prefill_checkpoint_blocks": 1} if kept else {}
        return MambaSpec(
            shapes=state.shapes,
            dtypes=state.dtypes,
            num_speculative_blocks=tokens,
            mamba_cache_mode=mode,
            block_size=block if mode == "align" else vllm.model_config.max_model_len,
            page_size_padded=padded,
            **extra,
        )
    if rank := text.get("kv_lora_rank"):
        return MLAAttentionSpec(
            block_size=block, num_kv_heads=1, head_size=rank + text["qk_rope_head_dim"], dtype=dtype
        )
    windowed = kind == "window"
    heads, size, value = head(text, windowed)
    shared = {"block_size": block, "num_kv_heads": max(1, heads // ranks), "head_size": size, "dtype": dtype}
    if "head_size_v" in inspect.signature(SlidingWindowSpec).parameters or not windowed:
        shared["head_size_v"] = value
    return (
        SlidingWindowSpec(sliding_window=text["sliding_window"], **shared) if windowed else FullAttentionSpec(**shared)
    )


def head(text: dict[str, Any], windowed: bool) -> tuple[int, int, int]:  # noqa: FBT001  a kind of two
    """Return the number of KV heads and the sizes of their keys and values."""
    size = text.get("head_dim") or text["hidden_size"] // text["num_attention_heads"]
    heads = text["num_key_value_heads"]
    if windowed:
        size = text.get("swa_head_dim", size)
        return text.get("swa_num_key_value_heads", heads), size, text.get("swa_v_head_dim", size)
    size = text.get("global_head_dim") or size
    return text.get("num_global_key_value_heads") or heads, size, text.get("v_head_dim", size)


if __name__ == "__main__":
    main()
