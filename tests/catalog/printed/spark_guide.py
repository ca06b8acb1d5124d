"""The thirteen commands of the Spark guide; the comments give its lines."""

from __future__ import annotations

from typing import Final

from tests.catalog.printed import CALLERS, HF_TOKEN, STORE, docker_run, env, flags

ANY: Final = "0.0.0.0"  # noqa: S104  compared, not bound

BASELINE: Final = (
    docker_run("vllm")  # L79-80
    | HF_TOKEN  # L81
    | STORE  # L82-83
    | {("image", "nvcr.io/nvidia/vllm:26.04-py3")}  # L84
    | {("words", "vllm serve")}  # L85; the model is the reader's choice
    | flags(host=ANY, port=8000)  # L86
    | flags(max_model_len=65536)  # L87
    | flags(gpu_memory_utilization=0.85)  # L88
    | flags(max_num_seqs=4)  # L89
)
"""Section 6."""

QWEN36_35B: Final = (
    docker_run("qwen36-35b")  # L140-141
    | STORE  # L142
    | HF_TOKEN  # L142
    | env(FLASHINFER_DISABLE_VERSION_CHECK=1)  # L143
    | env(CUTE_DSL_ARCH="sm_121a")  # L144
    | {("image", "vllm/vllm-openai:nightly")}  # L145
    | {("model", "nvidia/Qwen3.6-35B-A3B-NVFP4")}  # L146
    | flags(port=8000)  # L146
    | flags(tensor_parallel_size=1, trust_remote_code=True, dtype="auto")  # L147
    | flags(quantization="modelopt", kv_cache_dtype="fp8")  # L148
    | flags(moe_backend="marlin")  # L149
    | flags(gpu_memory_utilization=0.85, max_model_len=65536)  # L150
    | flags(max_num_seqs=4, max_num_batched_tokens=8192)  # L151
    | flags(enable_chunked_prefill=True, async_scheduling=True, enable_prefix_caching=True)  # L152
    | flags(speculative_config={"method": "mtp", "num_speculative_tokens": 3, "moe_backend": "triton"})  # L153
    | flags(reasoning_parser="qwen3")  # L154
    | flags(enable_auto_tool_choice=True, tool_call_parser="qwen3_xml")  # L155
)
"""Section 7.1.1."""

QWEN36_27B: Final = (
    docker_run("qwen36-27b")  # L167-168
    | STORE  # L169
    | {("image", "vllm/vllm-openai:nightly")}  # L170
    | {("model", "unsloth/Qwen3.6-27B-NVFP4")}  # L171
    | flags(trust_remote_code=True, dtype="bfloat16")  # L172
    | flags(gpu_memory_utilization=0.85, max_model_len=65536)  # L173
    | flags(max_num_seqs=4, reasoning_parser="qwen3")  # L174
)
"""Section 7.1.2."""

QWEN3_CODER_NEXT: Final = (
    docker_run("qwen3-coder-next")  # L185-186
    | {("container", "shm-size", "32gb")}  # L186
    | STORE  # L187
    | {("image", "vllm/vllm-openai:cu130-nightly")}  # L188
    | {("model", "Qwen/Qwen3-Coder-Next-FP8")}  # L189
    | flags(served_model_name="qwen3-coder-next", host=ANY, port=8000)  # L190
    | flags(attention_backend="flashinfer")  # L191
    | flags(enable_prefix_caching=True)  # L192
    | flags(enable_auto_tool_choice=True, tool_call_parser="qwen3_coder")  # L193
    | flags(gpu_memory_utilization=0.85, max_model_len=170000)  # L194
    | flags(max_num_seqs=4, max_num_batched_tokens=32768)  # L195
)
"""Section 7.1.3."""

QWEN35_122B: Final = (
    docker_run("qwen35-122b")  # L201-202
    | {("container", "shm-size", "32gb")}  # L202
    | STORE  # L203
    | {("image", "vllm/vllm-openai:cu130-nightly")}  # L204
    | {("model", "RedHatAI/Qwen3.5-122B-A10B-NVFP4")}  # L205
    | flags(served_model_name="qwen3.5-122b", host=ANY, port=8000)  # L206
    | flags(trust_remote_code=True, moe_backend="marlin")  # L207
    | flags(reasoning_parser="qwen3", enable_auto_tool_choice=True, tool_call_parser="qwen3_coder")  # L208
    | flags(enable_prefix_caching=True)  # L209
    | flags(gpu_memory_utilization=0.85, max_model_len=65536)  # L210
    | flags(max_num_seqs=4, max_num_batched_tokens=8192)  # L211
)
"""Section 7.1.4."""

GEMMA4_31B: Final = (
    docker_run("gemma4-31b")  # L220-221
    | STORE  # L222
    | HF_TOKEN  # L222
    | {("image", "vllm/vllm-openai:gemma4-cu130")}  # L223
    | {("model", "nvidia/Gemma-4-31B-IT-NVFP4")}  # L224
    | flags(quantization="modelopt", tensor_parallel_size=1)  # L225
    | flags(gpu_memory_utilization=0.85, max_model_len=65536, max_num_seqs=4)  # L226
)
"""Section 7.2.1."""

GEMMA4_26B: Final = (
    docker_run("gemma4-26b")  # L238-239
    | {("mount", "/models/gemma4", "~/vllm/gemma4-26b-a4b-nvfp4")}  # L240
    | {  # L241
        (
            "mount",
            "/usr/local/lib/python3.12/dist-packages/vllm/model_executor/models/gemma4.py",
            "~/vllm/gemma4-26b-a4b-nvfp4/gemma4_patched.py",
        )
    }
    | {("image", "vllm/vllm-openai:gemma4-cu130")}  # L242
    | {("words", "--model"), ("model", "/models/gemma4")}  # L243
    | flags(served_model_name="gemma-4-26b")  # L243
    | flags(quantization="modelopt", moe_backend="marlin", trust_remote_code=True)  # L244
    | flags(kv_cache_dtype="fp8", max_model_len=65536)  # L245
    | flags(gpu_memory_utilization=0.85, max_num_seqs=4)  # L246
    | flags(reasoning_parser="gemma4")  # L247
    | flags(enable_auto_tool_choice=True, tool_call_parser="pythonic")  # L248
)
"""Section 7.2.2."""

GEMMA4_12B_CODER: Final = (
    docker_run("gemma4-coder")  # L263-264
    | {("container", "shm-size", "16gb")}  # L263
    | {("mount", "/model", "~/vllm/gemma4-coder"), ("read-only", "/model")}  # L265
    | {("image", "vllm/vllm-openai:nightly")}  # L266
    | {("words", "--model"), ("model", "/model")}  # L267
    | flags(served_model_name="gemma4-coder")  # L267
    | flags(max_model_len=16384, gpu_memory_utilization=0.92, trust_remote_code=True)  # L268
)
"""Section 7.2.3."""

NEMOTRON_NANO: Final = (
    docker_run("nemotron-nano")  # L285-286
    | STORE  # L287
    | HF_TOKEN  # L287
    | env(VLLM_USE_FLASHINFER_MOE_FP4=1)  # L288
    | env(VLLM_FLASHINFER_MOE_BACKEND="throughput")  # L289
    | {("image", "nvcr.io/nvidia/vllm:25.12.post1-py3")}  # L290
    | {("words", "vllm serve"), ("model", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4")}  # L291
    | flags(served_model_name="nemotron-3-nano", port=8000)  # L292
    | flags(tensor_parallel_size=1, trust_remote_code=True)  # L293
    | flags(max_model_len=262144, max_num_seqs=8)  # L294
    | flags(gpu_memory_utilization=0.85)  # L295
    | flags(kv_cache_dtype="fp8")  # L296
    | flags(enable_auto_tool_choice=True, tool_call_parser="qwen3_coder")  # L297
    | flags(reasoning_parser_plugin="/models/nano_v3_reasoning_parser.py")  # L298
    | flags(reasoning_parser="nano_v3")  # L299
)
"""Section 7.3.1."""

NEMOTRON_OMNI: Final = (
    docker_run("nemotron-omni")  # L308-309
    | {("container", "shm-size", "16g")}  # L309
    | STORE  # L310
    | HF_TOKEN  # L310
    | {("container", "entrypoint", "/bin/bash")}  # L311
    | {("image", "vllm/vllm-openai:v0.20.0")}  # L312
    | {("before", "pip install vllm[audio]")}  # L313
    | {("words", "vllm serve"), ("model", "nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-NVFP4")}  # L313
    | flags(served_model_name="nemotron-omni", host=ANY, port=8000, trust_remote_code=True)  # L314
    | flags(gpu_memory_utilization=0.8, max_model_len=131072)  # L315
    | flags(max_num_seqs=8, max_num_batched_tokens=32768, enable_prefix_caching=True)  # L316
    | flags(limit_mm_per_prompt={"video": 1, "image": 1, "audio": 1})  # L317
    | flags(media_io_kwargs={"video": {"fps": 2, "num_frames": 256}})  # L318
    | flags(allowed_local_media_path="/")  # L319
    | flags(reasoning_parser="nemotron_v3")  # L320
    | flags(enable_auto_tool_choice=True, tool_call_parser="qwen3_coder")  # L321
)
"""Section 7.3.2."""

MTP: Final = (
    docker_run("mtp")  # L705-706
    | STORE  # L707
    | HF_TOKEN  # L707
    | env(FLASHINFER_DISABLE_VERSION_CHECK=1, CUTE_DSL_ARCH="sm_121a")  # L708
    | {("image", "vllm/vllm-openai:nightly")}  # L709
    | {("model", "nvidia/Qwen3.6-35B-A3B-NVFP4")}  # L710
    | flags(port=8000, trust_remote_code=True)  # L710
    | flags(quantization="modelopt", kv_cache_dtype="fp8", moe_backend="marlin")  # L711
    | flags(gpu_memory_utilization=0.85, max_model_len=65536, max_num_seqs=4)  # L712
    | flags(reasoning_parser="qwen3")  # L713
    | flags(speculative_config={"method": "mtp", "num_speculative_tokens": 3, "moe_backend": "triton"})  # L714
)
"""Section 14.3."""

AEON_DFLASH: Final = (
    {("container", "detached"), ("container", "name", "vllm-dflash")}  # L724
    | {("container", "runtime", "nvidia"), ("container", "network", "host"), ("container", "ipc", "host")}  # L724
    | {("container", "restart", "unless-stopped"), ("ulimit", "memlock", "-1")}  # L725
    | {("mount", "/models/target", "~/vllm/DFlash-Qwen3.5-27B-Uncensored-NVFP4")}  # L726
    | {("read-only", "/models/target")}  # L726
    | {("mount", "/models/drafter-cache", "~/vllm/drafter-cache")}  # L727
    | env(MODEL_PATH="/models/target")  # L728
    | env(SERVED_MODEL_NAME="dflash-qwen3.5-27b")  # L729
    | env(DFLASH_DRAFTER="z-lab/Qwen3.5-27B-DFlash")  # L730
    | env(DFLASH_NUM_SPEC_TOKENS=15)  # L731
    | env(MAX_MODEL_LEN=65536, MAX_NUM_SEQS=16)  # L732
    | env(GPU_MEMORY_UTILIZATION=0.85, MAX_NUM_BATCHED_TOKENS=32768)  # L733
    | env(VLLM_API_KEY=CALLERS)  # L734
    | HF_TOKEN  # L734
    | {("image", "ghcr.io/aeon-7/vllm-dflash:latest")}  # L735
)
"""Section 14.4."""

LAGUNA: Final = (
    docker_run("laguna")  # L759-760
    | HF_TOKEN  # L761
    | STORE  # L761
    | env(VLLM_USE_DEEP_GEMM=0)  # L761
    | {("image", "vllm/vllm-openai:nightly")}  # L762
    | {("model", "poolside/Laguna-XS.2")}  # L763
    | flags(trust_remote_code=True)  # L763
    | flags(enable_auto_tool_choice=True, tool_call_parser="poolside_v1", reasoning_parser="poolside_v1")  # L764
    | flags(  # L765
        speculative_config={
            "model": "poolside/Laguna-XS.2-speculator.dflash",
            "num_speculative_tokens": 7,
            "method": "dflash",
        }
    )
)
"""Section 14.5."""
