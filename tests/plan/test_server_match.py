"""A startup log counts for the planned server if vLLM would print it for that server, and for no other server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac import catalog
from sparkiac.memory import startup
from sparkiac.memory.values import Unknown
from sparkiac.plan import startup_log
from tests.plan.fleets import COMMIT, ONES, deployment, pins, planned
from tests.started import log_of

if TYPE_CHECKING:
    from sparkiac.plan import Container, HostPlan

INCOMPLETE: Final = {"deepseek-ai/deepseek-v4-flash", "deepseek-ai/deepseek-v4-flash-pinned"}
"""Recipes whose build the inventory must complete."""
SERVED: Final = {
    name: found.value.nodes
    for name in catalog.recipe_names()
    if (found := catalog.recipe(name)) and found.value and found.value.engine == "vllm"
    if found.value.status in {"recipe", "superseded"} and name not in INCOMPLETE
}
"""Recipe → hosts that it needs."""
CHAT: Final = deployment()
RECORDED: Final = Path(__file__).parent.parent / "fleet/recorded/qwen3-8b.log"
OPTIONS: Final = (
    "gpu_memory_utilization: 0.85, max_model_len: 40960, max_num_batched_tokens: 8192, max_num_seqs: 256, "
    "enable_prefix_caching: true, load_format: dummy"
)
IMPOSSIBLE: Final = "are impossible for a server that can use 119.0 GiB"
H100: Final = """\
platforms: {h100: {title: H, architecture: arm64, gpu: {name: H, compute_capability: '9.0'}}}
"""


def server(text: str) -> tuple[HostPlan, Container]:
    """Plan an inventory and give the container that answers requests, and its host."""
    plan = planned(text, locked=pins(text))
    return next((host, each) for host, each in plan.containers if each.server.leads)


def compared(text: str, log: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Compare a log with the server of an inventory."""
    host, container = server(text)
    return startup_log.of_log(container, host, log, startup.read(log), None)


def own_log(text: str, **changes: Any) -> str:  # noqa: ANN401  whatever a line says
    """Write the log of the server of an inventory."""
    host, container = server(text)
    cache = host.proofs[container.name].cache
    return log_of(container, **{"context": 4096 if isinstance(cache, Unknown) else cache.context, **changes})


def placed(recipe: str) -> str:
    """Place a recipe on as many hosts as it needs."""
    hosts = {
        f"s{number}": f"{{address: 192.168.1.{number}, fabric: {{links: [{{interface: a, hca: b, "
        f"address: 192.168.177.{number}/24}}]}}}}"
        for number in range(1, SERVED[recipe] + 1)
    }
    found = catalog.recipe(recipe)
    model = ", model: example/model" if recipe.startswith("base/") else ""
    model += "" if found and found.value and found.value.image else f", image: example/engine:1@{ONES}"
    lines = "".join(f"  {name}: {host}\n" for name, host in hosts.items())
    unit = f"  chat: {{recipe: {recipe}, hosts: [{', '.join(hosts)}], port: 8001{model}}}\n"
    return f"name: lab\ndefaults: {{model_store: /srv/models}}\nhosts:\n{lines}deployments:\n{unit}"


@pytest.mark.parametrize("recipe", SERVED)
def test_the_log_of_the_planned_server_is_accepted_for_every_recipe(recipe: str) -> None:
    text = placed(recipe)
    assert compared(text, own_log(text))[0] == ()


@pytest.mark.parametrize(
    ("options", "changed", "expected"),
    [
        ("", "max_model_len: 262144", "max_model_len is 262144 in the log and 65536 in the inventory"),
        ("", "gpu_memory_utilization: 0.4", "gpu_memory_utilization is 0.4 in the log and 0.85 in the inventory"),
        ("gpu_memory_utilization: 0.4", "", "gpu_memory_utilization is 0.85 in the log and 0.4 in the inventory"),
        ("gpu_memory_utilization: null", "", "gpu_memory_utilization is 0.85 in the log and 0.9 in the inventory"),
        ("", "max_num_batched_tokens: 8192", "max_num_batched_tokens is 8192 in the log and not set in the inventory"),
        ("enforce_eager: true", "", "enforce_eager is False in the log and True in the inventory"),
        ("kv_cache_dtype: fp8", "", "kv_cache_dtype is auto in the log and fp8 in the inventory"),
        ("limit_mm_per_prompt: {image: 1}", "limit_mm_per_prompt: {image: 2}",
         "limit_mm_per_prompt is {'image': 2} in the log and {'image': 1} in the inventory"),
        ("compilation_config: {mode: 0}", "",
         "compilation_config is not set in the log and {'mode': 0} in the inventory"),
    ],
)  # fmt: skip
def test_another_option_is_named_with_both_values(options: str, changed: str, expected: str) -> None:
    log = own_log(deployment(f"set: {{{changed}}}"))
    assert compared(deployment(f"set: {{{options}}}"), log)[0] == (expected,)


@pytest.mark.parametrize(
    "options",
    [
        "kv_cache_memory_bytes: 8G",
        "max_model_len: 64k",
        "max_model_len: auto",
        "tensor_parallel_size: 1",
        "enable_prefix_caching: false",
        "limit_mm_per_prompt: {video: 0, image: 2}",
        "moe_backend: FLASHINFER-CUTLASS",
        "gpu_memory_utilization: 0.9",
    ],
)
def test_other_spellings_and_stated_defaults_are_equal(options: str) -> None:
    text = deployment(f"set: {{{options}}}")
    assert compared(text, own_log(text))[0] == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("example/model", "example/other", "model is example/other in the log and example/model in the inventory"),
        (COMMIT, "4" * 40, f"commit is {'4' * 40} in the log and {COMMIT} in the inventory"),
        ("(v0.19.0)", "(v0.26.0)", "vLLM release is 0.26.0 in the log and 0.19.0 in the inventory"),
        ("=cuda", "=cpu", "device is cpu in the log and cuda in the inventory"),
        ("65,536 tokens per", "131,072 tokens per", "max_model_len is 131072 in the log and 65536 in the inventory"),
        ("speculative_config=None", "speculative_config=SpeculativeConfig(method='mtp', model='x', num_spec_tokens=3)",
         "speculative decoding is mtp with 3 tokens in the log and off in the inventory"),
        ("INFO [gpu_w", "Free memory on device (78.66/79.18 GiB)\nINFO [gpu_w",
         "memory of the GPU is 79.2 GiB in the log and 119.0 GiB in the inventory"),
        ("Application startup complete", "RuntimeError: out of memory",
         "the start failed, or the log ends too early: it has no line with Application startup complete"),
        ("1.5 GiB\n", "-3.5 GiB\n",
         "weights 1.5 GiB, KV cache -3.5 GiB and CUDA graphs unknown " + IMPOSSIBLE),
        ("1.5 GiB\n", "9" * 400 + " GiB\n",
         "weights 1.5 GiB, KV cache 99999.0 GiB and CUDA graphs unknown " + IMPOSSIBLE),
    ],
)  # fmt: skip
def test_another_server_is_named_with_both_values(before: str, after: str, expected: str) -> None:
    log = own_log(CHAT)
    assert before in log
    assert compared(CHAT, log.replace(before, after))[0] == (expected,)


def test_a_release_is_compared_without_the_suffix_of_its_vendor() -> None:
    log = own_log(CHAT)
    assert compared(CHAT, log.replace("(v0.19.0)", "(v0.19.0+e9e52fd.nv26.4)"))[0] == ()
    assert compared(CHAT, log.replace("(v0.19.0)", "(v0.1.dev1+g1234)")) == ((), ("vLLM release", "memory of the GPU"))


def test_the_log_of_another_engine_is_refused() -> None:
    text = CHAT.replace("base/single-spark", "base/sglang") + f"    image: lmsysorg/sglang:v0.5.5@{ONES}\n"
    refused, _ = compared(text, own_log(CHAT))
    assert "engine is vllm in the log and sglang in the inventory" in refused


@pytest.mark.parametrize(
    ("estimate", "shown"), [("-10.33", "-10.3"), ("0.2 GiB total\nEstimated CUDA graph memory: -0.4", "-0.4")]
)
def test_a_negative_estimate_of_the_cuda_graphs_makes_the_sizes_unusable(estimate: str, shown: str) -> None:
    """VLLM subtracts it, so that the KV cache is too large; also of one rank among several."""
    log = own_log(CHAT).replace("INFO [gpu_w", f"Estimated CUDA graph memory: {estimate} GiB total\nINFO [gpu_w")
    [reason] = compared(CHAT, log)[0]
    assert reason.startswith(f"vLLM estimates the CUDA graphs at {shown} GiB and adds that")
    assert "{VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS: 0}" in reason


def test_facts_that_the_log_does_not_state_are_unknown() -> None:
    lines = own_log(CHAT).splitlines(keepends=True)
    assert compared(CHAT, "".join(lines)) == ((), ("memory of the GPU",))
    without_options = compared(CHAT, "".join(lines[1:]))
    assert without_options == ((), ("commit", "memory of the GPU", "options"))
    without_engine = compared(CHAT, lines[0] + "".join(lines[2:]))
    assert without_engine == ((), ("vLLM release", "device", "speculative decoding", "memory of the GPU"))
    assert compared(CHAT, "".join(lines[2:]))[0] == ("there is no model name in the log",)


def test_an_object_that_vllm_prints_with_its_defaults_is_not_compared() -> None:
    text = deployment("set: {compilation_config: {mode: 0}}")
    log = own_log(text).replace("{'mode': 0}", "{'mode': <CompilationMode.NONE: 0>, 'backend': ''}")
    assert compared(text, log) == ((), ("memory of the GPU", "compilation_config"))


def test_a_recorded_log_counts_for_the_server_that_was_started_and_for_no_other() -> None:
    lines = (
        f"set: {{{OPTIONS}}}",
        "model_path: /models/qwen3-8b",
        f"image: vllm/vllm-openai:v0.23.0@{ONES}",
    )
    host = "spark-01: {address: 192.168.1.11, platform: h100}"
    text = deployment(*lines, host=host).replace("max_num_seqs: 4", "") + H100
    assert compared(text, RECORDED.read_text())[0] == ()
    small = text.replace("platform: h100", "platform: h100, memory: {total_gib: 32}")
    assert compared(small, RECORDED.read_text())[0] == ()  # the memory of the host, not that of its GPU
    refused, _ = compared(text.replace("qwen3-8b", "qwen3-14b"), RECORDED.read_text())
    assert refused == ("model is /models/qwen3-8b in the log and example/model in the inventory",)
    refused, _ = compared(text.replace("256,", "128,"), RECORDED.read_text())
    assert refused == ("max_num_seqs is 256 in the log and 128 in the inventory",)


def test_an_estimate_of_no_cuda_graphs_is_possible() -> None:
    log = own_log(CHAT).replace("INFO [gpu_w", "Estimated CUDA graph memory: 0.0 GiB total\nINFO [gpu_w")
    assert "0.0 GiB total" in log
    assert compared(CHAT, log)[0] == ()
