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

DSV41: Final = (
    "--dtype bfloat16 --load-format b12x --block-size 256 --enable-prefix-caching --gpu-memory-utilization 0.87"
    " --max-model-len auto --max-num-seqs 2 --max-num-batched-tokens 4096 --limit-mm-per-prompt '{\"image\":1}'"
    ' --engram-config \'{"cpu_offload":false,"table_memory":"disk"}\' --linear-backend b12x --moe-backend b12x'
    " --attention-backend b12x --reasoning-parser deepseek_v41 --tool-call-parser deepseek_v41"
    " --enable-auto-tool-choice"
)
GLM_BIG: Final = (
    "--trust-remote-code --reasoning-parser glm45 --tool-call-parser glm47 --enable-auto-tool-choice"
    " --enable-prefix-caching --async-scheduling --kv-cache-dtype fp8_ds_mla"
)
POOLING: Final = "--runner pooling --gpu-memory-utilization 0.3 --max-model-len 32768 --trust-remote-code"


def spec(text: str) -> str:
    """Write the option for speculation."""
    return f"--speculative-config '{{{text}}}'"


def mtp(tokens: int) -> str:
    """Write the option for the heads in the checkpoint."""
    return spec(f'"method":"mtp","num_speculative_tokens":{tokens}')


def dspark_v41(size: int) -> str:
    """Write the option for the drafter in the checkpoint of DeepSeek-V4.1-Flash."""
    return spec(
        f'"method":"dspark","num_speculative_tokens":7,"draft_tensor_parallel_size":{size},"attention_backend":"B12X",'
        '"draft_sample_method":"probabilistic","rejection_sample_method":"standard","enable_adaptive_verification":true'
    )


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
    "nvidia/qwen3.8-27b-nvfp4": f"{RADIXARK} "
    + spec('"method":"dflash","model": "z-lab/Qwen3.8-27B-DFlash2", "num_speculative_tokens":8'),
    "nvidia/qwen3.8-27b-nvfp4#dual-spark": f"{RADIXARK} "
    + spec(
        '"method":"dflash","model":"z-lab/Qwen3.8-27B-DFlash2","num_speculative_tokens":8,"draft_tensor_parallel_size":2'
    ),
    "nvidia/qwen3.8-27b-nvfp4#spark-64gb": (
        f"--kv-cache-dtype fp8 --gpu-memory-utilization 0.7 --max-model-len 262144 --max-num-seqs 8"
        f" --max-num-batched-tokens 8192 {PREFILL} --load-format fastsafetensors --tool-call-parser qwen3_xml"
        f" {QWEN_TOOLS}"
    ),
    "deepseek-ai/deepseek-v4.1-flash": f"{DSV41} --kv-cache-memory-bytes 536870912 {dspark_v41(3)}",
    "deepseek-ai/deepseek-v4.1-flash#four-sparks": f"{DSV41} {dspark_v41(4)}",
    "openai/gpt-oss-120b": (
        "--tool-call-parser openai --reasoning-parser openai_gptoss --enable-auto-tool-choice"
        " --gpu-memory-utilization 0.70 --enable-prefix-caching --load-format fastsafetensors --quantization mxfp4"
        " --mxfp4-backend CUTLASS --mxfp4-layers moe,qkv,o,lm_head --attention-backend FLASHINFER --kv-cache-dtype fp8"
        " --max-num-batched-tokens 8192"
    ),
    "openai/gpt-oss-20b": "--max-model-len 131072 --gpu-memory-utilization 0.8",
    "poolside/laguna-s-2.1-nvfp4": (
        "--max-model-len 262144 --max-num-batched-tokens 8192 --max-num-seqs 32 --gpu-memory-utilization 0.85"
        " --enable-chunked-prefill --enable-prefix-caching --enable-auto-tool-choice --tool-call-parser poolside_v1"
        " --reasoning-parser poolside_v1 --trust-remote-code"
        " --default-chat-template-kwargs '{\"enable_thinking\": true}'"
        ' --override-generation-config \'{"temperature": 0.7, "top_p": 0.95}\' '
        + spec('"method": "dflash", "model": "poolside/Laguna-S-2.1-DFlash-NVFP4", "num_speculative_tokens": 7')
    ),
    "nvidia/nemotron-labs-3-puzzle-75b-a9b-nvfp4": (
        "--trust-remote-code --mamba-backend flashinfer --async-scheduling --tool-call-parser qwen3_coder"
        " --reasoning-parser nemotron_v3 --enable-auto-tool-choice --enable-prefix-caching"
        f" --max-num-batched-tokens 8192 --max-num-seqs 4 --max-model-len 262144 --gpu-memory-utilization 0.88 {mtp(3)}"
    ),
    "thinkingmachines/inkling-small-nvfp4": (
        "--trust-remote-code --tokenizer-mode inkling --enable-auto-tool-choice --tool-call-parser inkling"
        " --reasoning-parser inkling --gpu-memory-utilization 0.8 --max-model-len 262144 --max-num-seqs 2"
        f" --load-format instanttensor --quantization nvfp4 {PREFILL} {mtp(1)}"
        ' --compilation-config \'{"cudagraph_mode":"FULL_AND_PIECEWISE","custom_ops":["all"]}\''
    ),
    "stepfun-ai/step-3.7-flash-nvfp4": (
        "--trust-remote-code --gpu-memory-utilization 0.8 --distributed-executor-backend ray --max-model-len 262144"
        " --enable-auto-tool-choice --reasoning-parser step3p5 --tool-call-parser step3p5 --load-format instanttensor"
    ),
    "xiaomi/mimo-v2.5-nvfp4": (
        "--trust-remote-code --dtype auto --distributed-executor-backend ray --load-format safetensors"
        ' --hf-overrides \'{"architectures":["MiMoV2OmniForCausalLM"]}\''
        ' --limit-mm-per-prompt \'{"image":4,"video":1,"audio":1}\' --mm-encoder-tp-mode data'
        " --attention-backend triton_attn_diffkv --moe-backend flashinfer_cutlass --kv-cache-dtype nvfp4"
        " --gpu-memory-utilization 0.83 --max-model-len 1000000 --max-num-batched-tokens 2048 --max-num-seqs 3"
        " --block-size 64 --enable-prefix-caching --enable-chunked-prefill --no-async-scheduling"
        " --enable-auto-tool-choice --tool-call-parser mimo --reasoning-parser mimo"
        " --default-chat-template-kwargs '{\"enable_thinking\":false}'"
        " --generation-config vllm --enforce-eager --disable-uvicorn-access-log "
        + spec('"method":"mtp","num_speculative_tokens":1,"use_local_argmax_reduction":false')
    ),
    "zai-org/glm-5.3-flash": (
        "--max-model-len 524288 --max-num-seqs 4 --max-num-batched-tokens 4096 --gpu-memory-utilization 0.88"
        " --kv-cache-dtype fp8_ds_mla --moe-backend marlin --disable-custom-all-reduce --enable-auto-tool-choice"
        " --enable-chunked-prefill --enable-prefix-caching --reasoning-parser glm45 --tool-call-parser glm47"
        f" --distributed-executor-backend ray --trust-remote-code {mtp(5)}"
    ),
    "local-inference-lab/glm-5.3-flash-nvfp4": (
        "--trust-remote-code --decode-context-parallel-size 1 --dcp-comm-backend a2a --disable-custom-all-reduce"
        " --mamba-cache-mode align --enable-prefix-caching --enable-chunked-prefill --dtype bfloat16"
        " --kv-cache-dtype fp8 --quantization modelopt_mixed --attention-backend B12X --block-size 256"
        " --linear-backend b12x --moe-backend marlin --no-enable-flashinfer-autotune --load-format instanttensor"
        " --model-loader-extra-config '{\"instanttensor_copy\":false}' --gpu-memory-utilization 0.88"
        " --max-model-len 1000000 --max-num-seqs 8 --max-num-batched-tokens 2048 --reasoning-parser deepseek_r1"
        " --tool-call-parser glm47 --enable-auto-tool-choice --enable-expert-parallel"
        ' --hf-overrides \'{"num_attention_heads":66,"num_key_value_heads":66,"linear_num_heads":66,"text_config":'
        '{"num_attention_heads":66,"num_key_value_heads":66,"linear_num_heads":66}}\' --mm-encoder-tp-mode data'
        ' --mm-processor-cache-gb 0 --skip-mm-profiling --limit-mm-per-prompt \'{"image": 4, "video": 1}\''
        ' --default-chat-template-kwargs \'{"enable_thinking":true,"reasoning_effort":"low"}\' '
        + spec(
            '"method":"dflash","model":"incoai/GLM-5.3-Flash-DFlash2","num_speculative_tokens":7,"kv_cache_dtype":"auto",'
            '"draft_tensor_parallel_size":1,"draft_load_config":{"load_format":"safetensors"}'
        )
    ),
    "quanttrio/glm-5.2-int4-int8mix": (
        f"{GLM_BIG} --default-chat-template-kwargs '{{\"clear_thinking\":false}}' --decode-context-parallel-size 2"
        f' --hf-overrides \'{{"index_topk_pattern":"FFF{"SSSF" * 18}SSS"}}\' --dcp-kv-cache-interleave-size 1'
        " --attention-backend B12X_MLA_SPARSE --max-model-len 327680 --max-num-seqs 1 --max-num-batched-tokens 2048"
        " --gpu-memory-utilization 0.89"
        ' --compilation-config \'{"cudagraph_mode":"FULL","max_cudagraph_capture_size":10}\' '
        + spec(
            '"method":"mtp","quantization":"compressed-tensors","draft_attention_backend":"B12X_MLA_SPARSE",'
            '"num_speculative_tokens":4,"draft_sample_method":"probabilistic"'
        )
    ),
    "2wild4tv/glm-5.3-int4-int8mix": (
        f"{GLM_BIG} --max-model-len 200000 --max-num-seqs 6 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.91"
        ' --kv-cache-memory-bytes 10950000000 --compilation-config \'{"cudagraph_mode":"FULL"}\' '
        + spec(
            '"method":"mtp","num_speculative_tokens":4,"draft_tensor_parallel_size":1,"attention_backend":"FLASHMLA_SPARSE"'
        )
    ),
    **dict.fromkeys(
        ("qwen/qwen3-vl-embedding-8b", "qwen/qwen3-vl-embedding-8b#small"),
        f"{POOLING} --load-format safetensors",
    ),
    **dict.fromkeys(
        ("qwen/qwen3-vl-reranker-8b", "qwen/qwen3-vl-reranker-8b#small"),
        f"{POOLING} --load-format fastsafetensors",
    ),
    "qwen/qwen3-asr-1.7b": "",
    **dict.fromkeys(
        ("radixark/qwen3.8-27b-nvfp4-sglang", "radixark/qwen3.8-27b-nvfp4-sglang#fp8"),
        "--trust-remote-code --kv-cache-dtype fp8_e4m3 --mem-fraction-static 0.80 --attention-backend flashinfer"
        " --chunked-prefill-size 2048 --reasoning-parser qwen3 --tool-call-parser qwen3_coder",
    ),
    "nvidia/nemotron-3.5-lightning-30b-a3b-nvfp4-sglang": (
        "--mamba-ssm-dtype float16 --mem-fraction-static 0.78 --cuda-graph-max-bs-decode 4"
        " --reasoning-parser nemotron_3 --tool-call-parser qwen3_coder"
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
    "openai/gpt-oss-20b": ({"tool-call-parser", "enable-auto-tool-choice"}, "tool_call_parser openai is added"),
    **dict.fromkeys(
        ("stepfun-ai/step-3.7-flash-nvfp4", "zai-org/glm-5.3-flash", "xiaomi/mimo-v2.5-nvfp4"),
        ({"distributed-executor-backend"}, "distributed_executor_backend ray is omitted"),
    ),
    **dict.fromkeys(
        ("qwen/qwen3-vl-reranker-8b", "qwen/qwen3-vl-reranker-8b#small"),
        ({"hf-overrides"}, "hf_overrides is added"),
    ),
    "qwen/qwen3-asr-1.7b": (
        {"gpu-memory-utilization", "max-model-len"},
        "gpu_memory_utilization 0.2 is added",
    ),
}
"""Entry → the options in which it differs, and the correction that says so."""
