"""What start-up logs state, over releases, and what they correct."""

from __future__ import annotations

import pytest

from sparkiac.memory import startup
from sparkiac.memory.startup import Startup
from sparkiac.memory.values import GIB

GUIDES_LOG = """\
Model loading took 21.94 GiB memory ← weights (~same as llama.cpp)
Available KV cache memory: 76.49 GiB ← the pre-allocated KV pool
GPU KV cache size: 4,843,965 tokens ← pool capacity, in tokens
Maximum concurrency for 65,536 tokens per request: 73.91x
"""
LOG_0_19 = """\
INFO [gpu_model_runner.py:4821] Model loading took 21.94 GiB memory and 84.123456 seconds
INFO [config.py:282] Setting attention block size to 2128 tokens to ensure that …
INFO [gpu_model_runner.py:5956] Estimated CUDA graph memory: 0.61 GiB total
INFO [gpu_worker.py:437] Available KV cache memory: 40.5 GiB
INFO [kv_cache_utils.py:1319] GPU KV cache size: 938,448 tokens
INFO [kv_cache_utils.py:1325] Maximum concurrency for 131,072 tokens per request: 23.84x
INFO [gpu_model_runner.py:6047] Graph capturing finished in 31 secs, took 0.57 GiB
DEBUG [gpu_worker.py:640] Free memory on device (110.02/119.64 GiB) on startup. \
Desired GPU memory utilization is (0.55, 65.8 GiB). Actual usage is 21.94 GiB for weight, \
2.41 GiB for peak activation, \
0.95 GiB for non-torch memory, and 0.57 GiB for CUDAGraph memory.
"""


def test_the_log_that_the_guide_prints() -> None:
    assert startup.read(GUIDES_LOG) == Startup(
        weights_bytes=round(21.94 * GIB),
        pool_bytes=round(76.49 * GIB),
        tokens=4_843_965,
        context=65_536,
        concurrency=73.91,
    )


def test_a_log_of_0_19_with_all_its_lines() -> None:
    assert startup.read(LOG_0_19) == Startup(
        weights_bytes=round(21.94 * GIB),
        pool_bytes=round(40.5 * GIB),
        graphs_bytes=round(0.57 * GIB),
        graphs_estimate_bytes=round(0.61 * GIB),
        visible_bytes=round(119.64 * GIB),
        requested_bytes=round(65.8 * GIB),
        activations_bytes=round(2.41 * GIB),
        runtime_bytes=round(0.95 * GIB),
        tokens=938_448,
        context=131_072,
        block_tokens=2128,
        concurrency=23.84,
    )


def test_older_and_newer_lines_say_the_same() -> None:
    old = startup.read("Model loading took 5.5 GiB and 3.0 seconds\n# GPU blocks: 12345, # CPU blocks: 0")
    assert (old.weights_bytes, old.blocks) == (round(5.5 * GIB), 12_345)
    new = startup.read("GPU KV cache size: 1,398,080 tokens, Maximum concurrency for 2,048 tokens per request: 682.66x")
    assert (new.tokens, new.context, new.concurrency) == (1_398_080, 2048, 682.66)


def test_a_log_without_figures_yields_no_measurement() -> None:
    assert startup.read("INFO: started") == Startup()


def test_of_several_starts_the_last_one_counts_that_had_a_pool() -> None:
    first = "Initializing a V1 LLM engine (v0.19.0)\nModel loading took 20 GiB\nAvailable KV cache memory: 70 GiB\n"
    second = "Initializing a V1 LLM engine (v0.32.0)\nModel loading took 25 GiB\nAvailable KV cache memory: 60 GiB\n"
    broken = "Initializing a V1 LLM engine (v0.32.0)\nModel loading took 90 GiB\nTraceback"
    found = startup.read(first + second + broken)
    assert (found.weights_bytes, found.pool_bytes) == (25 * GIB, 60 * GIB)
    assert startup.read(broken).weights_bytes == 90 * GIB


def test_of_several_ranks_the_smallest_pool_and_the_largest_weights_count() -> None:
    log = """\
(RayWorkerWrapper pid=164889, ip=10.0.0.3) INFO Model loading took 74.5 GiB memory and 148.4 seconds
(RayWorkerWrapper pid=89561) INFO Model loading took 74.25 GiB memory and 82.6 seconds [repeated 3x across cluster]
(Worker_TP0 pid=1) INFO Available KV cache memory: 20.5 GiB
(Worker_TP1 pid=2) INFO Available KV cache memory: 24.25 GiB
"""
    found = startup.read(log)
    assert (found.weights_bytes, found.pool_bytes) == (round(74.5 * GIB), round(20.5 * GIB))


@pytest.mark.parametrize(
    "prefix",
    [
        "vllm-1  | ",
        "\x1b[36mvllm-1  | \x1b[0m\x1b[0;36m(EngineCore_DP0 pid=441)\x1b[0;0m INFO 11-24 11:43:54 [gpu_worker.py:348] ",
        "Nov 22 01:00:00 spark-01 sparkiac-chat[123]: (EngineCore pid=7) INFO 06-22 02:54:47 [gpu_worker.py:232] ",
        "2026-05-27T12:52:56.1234567Z ",
    ],
)
def test_what_stands_before_a_line_does_not_matter(prefix: str) -> None:
    lines = ("Model loading took 2.0513 GiB memory and 27.2 seconds", "Available KV cache memory: 33.31 GiB")
    found = startup.read("".join(f"{prefix}{line}\r\n" for line in lines))
    assert (found.weights_bytes, found.pool_bytes) == (round(2.0513 * GIB), round(33.31 * GIB))


def test_sizes_that_no_server_has_are_read_without_an_overflow() -> None:
    found = startup.read(f"Available KV cache memory: {'9' * 400} GiB\nKV cache size: {'9' * 5000} tokens")
    assert (found.pool_bytes, found.tokens) == (99_999 * GIB, None)
    assert startup.read("Available KV cache memory: -3.5 GiB").pool_bytes == round(-3.5 * GIB)
    assert startup.read("for 8 tokens per request: 1.2.3x").concurrency is None


def test_a_negative_estimate_of_one_rank_counts() -> None:
    log = "Estimated CUDA graph memory: 0.22 GiB total\nEstimated CUDA graph memory: -10.33 GiB total\n"
    assert startup.read(log).graphs_estimate_bytes == round(-10.33 * GIB)


def test_a_start_without_a_line_of_its_pool_is_found_by_its_tokens() -> None:
    """A server with a pool of a fixed size does not print how much is available."""
    first = "INFO non-default args: {}\nModel loading took 20 GiB\nGPU KV cache size: 100 tokens\n"
    assert startup.read(first + first.replace("20", "25") + "INFO non-default args: {}\n").weights_bytes == 25 * GIB
