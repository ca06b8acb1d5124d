"""The layout against what vLLM itself said: real servers on a CPU, and its own functions for full-sized networks.

What was said is recorded by tools/kv_reference; test_real_vllm.py asks again.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from sparkiac.memory import blocks, options, shape, startup
from sparkiac.memory.blocks import Cache
from sparkiac.memory.layers import Shape
from sparkiac.memory.options import ServerOptions, Speculation
from sparkiac.memory.values import Unknown
from tests.memory.known import HERE, configs

RECORDED: Final = HERE / "recorded"
ON_A_CPU: Final = {"mamba_ssm_cache_dtype": "float32"}
"""A CPU keeps the recurrent part of Gated DeltaNet in 32 bits, whatever it is told: its log says so."""


def numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def recorded(prefix: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(RECORDED.glob(f"{prefix}-*.json"))]


def check_server(said: dict[str, Any], *, release: str, pool_bytes: int) -> None:
    """Compare a prediction with the figures that one server printed."""
    assert "failed" not in said, said["failed"]
    formed = shape.read(said["config"])
    read = options.read({**said["options"], **ON_A_CPU}, release=numbers(release))
    assert isinstance(formed, Shape), formed
    assert isinstance(read, ServerOptions), read
    layout = blocks.cache(formed, read)
    assert isinstance(layout, Cache), layout
    labels = said["labels"]
    assert layout.block_tokens == int(labels["effective_attention_block_size"])
    assert layout.blocks(pool_bytes) == int(labels["num_gpu_blocks"])
    assert layout.tokens(pool_bytes) == int(labels["kv_cache_size_tokens"])
    assert layout.concurrency(pool_bytes) == float(labels["kv_cache_max_concurrency"])
    logged = startup.read("\n".join(said["log"]))
    assert (logged.tokens, logged.context) == (layout.tokens(pool_bytes), layout.context)
    assert logged.concurrency == round(layout.concurrency(pool_bytes), 2)
    assert logged.block_tokens in (None, layout.block_tokens)


def check_answer(case: dict[str, Any], *, release: str, pool_bytes: int) -> None:
    """Compare a prediction with the results of vLLM's functions for one network."""
    formed = shape.read(configs()[case["model"]])
    given = {name: value for name, value in case.items() if name in ServerOptions._fields}
    told = {"enable_prefix_caching": True, "max_num_batched_tokens": 8192, **given}
    read = options.read(told, release=numbers(release))
    assert isinstance(formed, Shape), formed
    assert isinstance(read, ServerOptions), read
    speculation = Speculation(case["method"], case["drafts"]) if "method" in case else None
    layout = blocks.cache(formed, read, speculation=speculation)
    if "refused" in case:
        assert isinstance(layout, Unknown)
        return
    assert isinstance(layout, Cache), layout
    assert len(layout.groups) == case["groups"]
    assert layout.blocks(pool_bytes) == case["blocks"]
    assert layout.tokens(pool_bytes) == case["tokens"]
    assert layout.concurrency(pool_bytes) == case["concurrency"]


@pytest.mark.parametrize(
    ("said", "release", "pool_bytes"),
    [
        pytest.param(said, run["release"], run["pool_bytes"], id=f"{run['release']}-{name}")
        for run in recorded("servers")
        for name, said in run["servers"].items()
    ],
)
def test_a_real_servers_blocks_and_tokens_are_predicted_exactly(
    said: dict[str, Any], release: str, pool_bytes: int
) -> None:
    check_server(said, release=release, pool_bytes=pool_bytes)


@pytest.mark.parametrize(
    ("case", "release", "pool_bytes"),
    [
        pytest.param(case, run["release"], run["pool_bytes"], id=f"{run['release']}-{number}-{case['model']}")
        for run in recorded("asked")
        for number, case in enumerate(run["cases"])
    ],
)
def test_vllms_own_groups_and_blocks_of_a_full_sized_network_are_predicted_exactly(
    case: dict[str, Any], release: str, pool_bytes: int
) -> None:
    check_answer(case, release=release, pool_bytes=pool_bytes)


def test_seven_networks_and_five_releases_are_recorded() -> None:
    servers = {name for run in recorded("servers") for name in run["servers"]}
    assert servers == {"dense", "experts", "latent", "linear", "mamba", "uneven-window", "window"}
    assert {run["release"] for run in recorded("asked")} == {"0.19.0", "0.22.1", "0.26.0", "0.28.0", "0.32.0"}
