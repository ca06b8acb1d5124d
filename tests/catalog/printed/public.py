"""Options that the public sources of entries print for `vllm serve`, without those that a deployment sets itself.

Host, port, model, served names, parallel sizes and the options of a group are left out: each deployment has its own.
"""

from __future__ import annotations

from typing import Final

QWEN_TOOLS: Final = "--enable-auto-tool-choice --reasoning-parser qwen3"
PREFILL: Final = "--enable-chunked-prefill --async-scheduling --enable-prefix-caching"
DSV4: Final = (
    "--trust-remote-code --kv-cache-dtype fp8 --block-size 256 --enable-prefix-caching --max-num-batched-tokens 8192"
    " --gpu-memory-utilization 0.85 --tokenizer-mode deepseek_v4 --tool-call-parser deepseek_v4"
    " --enable-auto-tool-choice --reasoning-parser deepseek_v4 --reasoning-config"
    ' \'{"reasoning_parser":"deepseek_v4","reasoning_start_str":"","reasoning_end_str":""}\''
    ' --default-chat-template-kwargs \'{"thinking":true,"reasoning_effort":"high"}\''
)
B12X_DSV4: Final = (
    f"{DSV4} --max-model-len auto --max-num-seqs 8 --moe-backend b12x --linear-backend b12x --attention-backend B12X"
    " --max-cudagraph-capture-size 48"
    ' --compilation-config \'{"cudagraph_mode":"FULL_AND_PIECEWISE","custom_ops":["all"]}\''
)
REPORT: Final = (
    f"--max-model-len 262144 --kv-cache-dtype fp8 --gpu-memory-utilization 0.90 --max-num-seqs 16 {QWEN_TOOLS}"
    " --max-num-batched-tokens 8192 --tool-call-parser qwen3_coder"
)
RADIXARK: Final = (
    f"--trust-remote-code --kv-cache-dtype fp8 --gpu-memory-utilization 0.8 --max-model-len 262144 --max-num-seqs 8"
    f" --max-num-batched-tokens 16384 {PREFILL} --load-format safetensors --tool-call-parser qwen3_xml {QWEN_TOOLS}"
)
QWEN36_27B: Final = (
    "--trust-remote-code --kv-cache-dtype fp8 --attention-backend flashinfer --gpu-memory-utilization 0.5"
    f" --max-model-len 262144 --max-num-seqs 8 --max-num-batched-tokens 8192 {PREFILL} --load-format fastsafetensors"
    f" --tool-call-parser qwen3_xml {QWEN_TOOLS}"
)
CAMPAIGN: Final = (
    f"--gpu-memory-utilization 0.5 --max-model-len 8192 --tool-call-parser qwen3_coder {QWEN_TOOLS}"
    ' --override-generation-config \'{"temperature":1.0,"top_p":0.95,"top_k":20}\''
)
NEXT: Final = (
    "--mamba-cache-mode align --enable-prefix-caching --enable-chunked-prefill --dtype bfloat16 --kv-cache-dtype fp8"
    " --quantization modelopt_mixed --block-size 16 --load-format b12x --max-model-len 262144"
    " --max-num-batched-tokens 4096 --gdn-decode-kernel b12x --linear-backend b12x --moe-backend b12x"
    f" --no-enable-flashinfer-autotune --mm-encoder-tp-mode data --tool-call-parser qwen3_xml {QWEN_TOOLS}"
    ' --compilation-config \'{"pass_config":{"fuse_act_quant":true}}\''
    ' --speculative-config \'{"method":"mtp","num_speculative_tokens":4}\''
)
LIGHTNING: Final = (
    "--moe-backend marlin --kv-cache-dtype fp8 --enable-prefix-caching --mamba-backend flashinfer"
    " --mamba-cache-mode align --mamba-ssm-cache-dtype float16 --enable-mamba-cache-stochastic-rounding"
    " --mamba-cache-philox-rounds 5 --enable-auto-tool-choice"
)
GEMMA: Final = (
    "--max-model-len 262144 --gpu-memory-utilization 0.8 --max-num-seqs 8 --enable-prefix-caching"
    " --enable-auto-tool-choice --tool-call-parser gemma4 --reasoning-parser gemma4 --max-num-batched-tokens 8192"
)


def spec(text: str) -> str:
    """Write the option for speculation."""
    return f"--speculative-config '{{{text}}}'"


def mtp(tokens: int) -> str:
    """Write the option for the heads in the checkpoint."""
    return spec(f'"method":"mtp","num_speculative_tokens":{tokens}')


PRINTED: Final = {
    "nvidia/qwen3.6-35b-a3b-nvfp4#nemoclaw": (
        f"--trust-remote-code --gpu-memory-utilization 0.4 --dtype auto --quantization modelopt --kv-cache-dtype fp8"
        f" --attention-backend flashinfer --moe-backend marlin --max-num-seqs 4 --max-num-batched-tokens 8192 {PREFILL}"
        f" --max-model-len 262144 --tool-call-parser qwen3_coder --load-format fastsafetensors {QWEN_TOOLS}"
    ),
    "nvidia/qwen3.6-35b-a3b-nvfp4#vllm-0-28": (
        f"--trust-remote-code --kv-cache-dtype fp8 --attention-backend flashinfer --moe-backend marlin"
        f" --gpu-memory-utilization 0.8 --max-model-len 262144 --max-num-seqs 8 --max-num-batched-tokens 8192 {PREFILL}"
        f" --load-format safetensors --tool-call-parser qwen3_xml {QWEN_TOOLS} "
        + spec('"method":"mtp","num_speculative_tokens":3,"moe_backend":"triton"')
    ),
    "nvidia/qwen3.6-35b-a3b-nvfp4#nvidia-sync": (
        f"--trust-remote-code --kv-cache-dtype fp8 --attention-backend flashinfer --moe-backend marlin"
        f" --gpu-memory-utilization 0.5 --max-model-len 262144 --max-num-seqs 8 --max-num-batched-tokens 8192 {PREFILL}"
        f" --load-format fastsafetensors --tool-call-parser qwen3_coder {QWEN_TOOLS}"
    ),
    "unsloth/gemma-4-26b-a4b-it-nvfp4": (
        "--max-model-len 65536 --max-num-seqs 2 --gpu-memory-utilization 0.80 --reasoning-parser gemma4"
        " --mm-processor-kwargs '{\"max_soft_tokens\": 1120}'"
    ),
    "inferact/qwen3.8-27b-nvfp4": CAMPAIGN,
    "inferact/qwen3.8-27b-nvfp4#mtp": f"{CAMPAIGN} {mtp(3)}",
    "inferact/muse-glimmer-30b-nvfp4-w4a4": (
        "--max-model-len 32768 --gpu-memory-utilization 0.75 --max-num-seqs 1 --max-num-batched-tokens 4096"
        " --enable-auto-tool-choice --tool-call-parser muse_glimmer --reasoning-parser muse_glimmer"
        " --generation-config auto"
    ),
    "qwen/qwen3.6-27b-fp8": (
        "--max-model-len 262144 --gpu-memory-utilization 0.7 --max-num-seqs 4 --tool-call-parser qwen3_coder"
        f" --load-format fastsafetensors --enable-prefix-caching --trust-remote-code {QWEN_TOOLS}"
    ),
    "nvidia/nemotron-3-nano-4b-fp8": (
        "--trust-remote-code --max-model-len 262144 --gpu-memory-utilization 0.7 --reasoning-parser nemotron_v3"
        " --load-format fastsafetensors --enable-auto-tool-choice --tool-call-parser qwen3_coder"
    ),
    **dict.fromkeys(
        (
            "unsloth/qwen3.8-27b-nvfp4",
            *(f"unsloth/qwen3.8-27b-nvfp4#{name}" for name in ("redhatai-int4", "awq", "int8", "bf16")),
            "radixark/qwen3.8-27b-nvfp4#mtp",
        ),
        f"{REPORT} {mtp(3)}",
    ),
    "unsloth/qwen3.8-27b-nvfp4#v2-runner": f"{REPORT} {mtp(4)}",
    "radixark/qwen3.8-27b-nvfp4": f"{RADIXARK} "
    + spec('"method":"dflash","model": "z-lab/Qwen3.8-27B-DFlash2", "num_speculative_tokens":8'),
    "radixark/qwen3.8-27b-nvfp4#dual-spark": f"{RADIXARK} "
    + spec(
        '"method":"dflash","model":"z-lab/Qwen3.8-27B-DFlash2","num_speculative_tokens":8,"draft_tensor_parallel_size":2'
    ),
    "nvidia/qwen3.6-27b-nvfp4": f"{QWEN36_27B} {mtp(5)}",
    "nvidia/qwen3.6-27b-nvfp4#dual-spark": f"{QWEN36_27B} "
    + spec('"method":"mtp","num_speculative_tokens":5,"draft_tensor_parallel_size": 2'),
    "nvidia/qwen3.5-122b-a10b-nvfp4": (
        "--max-model-len 262144 --gpu-memory-utilization 0.8 --max-num-seqs 8 --load-format safetensors"
        " --enable-prefix-caching --tool-call-parser qwen3_xml --max-num-batched-tokens 8192"
        f" --attention-backend flashinfer --kv-cache-dtype fp8 --moe-backend marlin {QWEN_TOOLS} "
        + spec('"method":"mtp","num_speculative_tokens":3,"moe_backend":"triton"')
    ),
    "nvidia/gemma-4-26b-a4b-nvfp4": f"{GEMMA} --load-format instanttensor "
    + spec(
        '"method":"mtp","model":"google/gemma-4-26B-A4B-it-assistant","num_speculative_tokens":4,"moe_backend":"triton"'
    ),
    "nvidia/gemma-4-31b-it-nvfp4#assistant": f"{GEMMA} --load-format fastsafetensors "
    + spec('"model": "google/gemma-4-31B-it-assistant", "num_speculative_tokens": 4'),
    "nvidia/diffusiongemma-26b-a4b-it-nvfp4": (
        "--max-model-len 262144 --gpu-memory-utilization 0.8 --trust-remote-code --enable-auto-tool-choice"
        " --tool-call-parser gemma4 --load-format fastsafetensors --attention-backend TRITON_ATTN --max-num-seqs 10"
        " --enable-prefix-caching --diffusion-config '{\"canvas_length\":256}' --reasoning-parser gemma4"
        " --override-generation-config '{\"max_new_tokens\": null}'"
        " --default-chat-template-kwargs '{\"enable_thinking\": true}'"
    ),
    "nvidia/nemotron-3-super-120b-a12b-nvfp4#vllm-0-24": (
        "--max-model-len 262144 --gpu-memory-utilization 0.8 --max-num-seqs 8 --load-format fastsafetensors"
        " --attention-backend flashinfer --max-num-batched-tokens 16384 --kv-cache-dtype fp8 --mamba-cache-mode align"
        " --mamba-ssm-cache-dtype float32 --enable-prefix-caching --reasoning-parser nemotron_v3"
        " --enable-auto-tool-choice --tool-call-parser qwen3_xml " + mtp(3)
    ),
    "nvidia/nemotron-3.5-lightning-30b-a3b-nvfp4": (
        f"{LIGHTNING} --max-num-batched-tokens 16384 --gpu-memory-utilization 0.8 --reasoning-parser nemotron_v3"
        " --tool-call-parser qwen3_xml --load-format safetensors "
        + spec(
            '"method":"dspark","model":"nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4-DSpark",'
            '"num_speculative_tokens":7'
        )
    ),
    "nvidia/nemotron-3.5-lightning-30b-a3b-nvfp4#nemoclaw": (
        f"{LIGHTNING} --max-model-len 65536 --max-num-seqs 1 --gpu-memory-utilization 0.65"
        " --max-num-batched-tokens 4096 --tool-call-parser step3p5 --reasoning-parser step3p5"
        " --compilation-config long "
        + spec('"method":"mtp","num_speculative_tokens":1,"moe_backend":"flashinfer_cutlass"')
    ),
    "nvidia/minimax-m2.7-nvfp4": (
        "--trust-remote-code --gpu-memory-utilization 0.85 --kv-cache-dtype fp8 --max-model-len 196608"
        " --load-format instanttensor --enable-auto-tool-choice --tool-call-parser minimax_m2"
        " --reasoning-parser minimax_m2"
    ),
    "deepseek-ai/deepseek-v4-flash#eugr-nightly": f"{DSV4} --max-model-len 500000 --max-num-seqs 4"
    f" --load-format instanttensor {mtp(2)}",
    "deepseek-ai/deepseek-v4-flash-0731": f"{B12X_DSV4} --load-format instanttensor "
    + spec(
        '"method":"dspark","num_speculative_tokens":5,"draft_sample_method":"probabilistic","attention_backend":"B12X"'
    ),
    "deepseek-ai/deepseek-v4-flash-0731#vision-exp": f"{B12X_DSV4} --load-format b12x "
    + spec(
        '"method":"dspark","num_speculative_tokens":6,"draft_sample_method":"probabilistic","attention_backend":"B12X"'
    ),
    "local-inference-lab/glm-5.3-flash-nvfp4-spark": (
        "--decode-context-parallel-size 1 --mamba-cache-mode align --enable-prefix-caching --enable-chunked-prefill"
        " --dtype bfloat16 --kv-cache-dtype fp8 --quantization modelopt_mixed --attention-backend B12X --block-size 256"
        " --moe-backend b12x --linear-backend b12x --no-enable-flashinfer-autotune --load-format b12x"
        " --max-model-len 1048576 --max-num-seqs 4 --max-num-batched-tokens 4096 --reasoning-parser glm45"
        " --tool-call-parser glm47 --enable-auto-tool-choice --kv-cache-memory-bytes 8G --gpu-memory-utilization 0.87 "
        + spec('"method":"mtp","num_speculative_tokens":5,"moe_backend":"humming","attention_backend":"B12X"')
    ),
    "local-inference-lab/qwen3.8-flash-next-nvfp4": f"{NEXT} --max-num-seqs 8 --gpu-memory-utilization 0.8",
    "local-inference-lab/qwen3.8-flash-next-nvfp4#dual-spark": (
        f"{NEXT} --trust-remote-code --max-num-seqs 16 --gpu-memory-utilization 0.7"
    ),
    "nvidia/minimax-m3-nvfp4": (
        "--max-num-seqs 8 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.87 --kv-cache-dtype fp8"
        " --moe-backend flashinfer_b12x --load-format instanttensor --block-size 128 --max-model-len 262144"
        " --attention-backend triton_attn --tool-call-parser minimax_m3 --reasoning-parser minimax_m3"
        ' --enable-auto-tool-choice --default-chat-template-kwargs \'{"thinking_mode":"enabled"}\' '
        + spec(
            '"method": "eagle3", "model": "Inferact/MiniMax-M3-EAGLE3", "num_speculative_tokens": 3,'
            ' "attention_backend": "TRITON_ATTN"'
        )
    ),
}
"""Entry → what its source prints; the value of one long list is written as `long`."""
DIFFERS: Final = {
    **dict.fromkeys(
        ("nvidia/qwen3.6-35b-a3b-nvfp4#nemoclaw", "qwen/qwen3.6-27b-fp8", "nvidia/nemotron-3-nano-4b-fp8"),
        ({"load-format"}, "load_format fastsafetensors is omitted"),
    ),
    "nvidia/nemotron-3.5-lightning-30b-a3b-nvfp4#nemoclaw": (
        {"compilation-config"},
        "the list of cudagraph_capture_sizes is omitted",
    ),
    "nvidia/gemma-4-31b-it-nvfp4#assistant": ({"speculative-config"}, "the method of speculation is named"),
}
"""Entry → the options in which it differs, and the correction that says so."""
