"""vLLM's command line from options, and what makes one node of a group."""

from __future__ import annotations

from typing import Any

import pytest

from sparkiac.engines import Member, Request
from sparkiac.engines.records import vllm
from sparkiac.engines.tables import written


def words(options: dict[str, Any], served: tuple[str, ...] = (), **speculative: object) -> tuple[str, ...]:
    """Start vLLM with these options and give what follows `vllm serve`."""
    start = vllm.start(Request("example/model", served, options, speculative or None))
    assert start.env == {}
    return start.arguments


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (65536, ["--max-model-len=65536"]),
        (0.85, ["--max-model-len=0.85"]),
        ("auto", ["--max-model-len=auto"]),
        ("", ["--max-model-len="]),
        (True, ["--max-model-len"]),
        (False, ["--no-max-model-len"]),
        (0, ["--max-model-len=0"]),
        (("a", "b c", 3), ["--max-model-len", "a", "b c", "3"]),
        ({"b": 1, "a": ["x", None]}, ['--max-model-len={"a":["x",null],"b":1}']),
        ({}, ["--max-model-len={}"]),
    ],
)
def test_one_option(value: object, expected: list[str]) -> None:
    assert list(written({"max_model_len": value})) == expected
    assert words({"max_model_len": value}) == ("example/model", *expected)


def test_options_are_sorted_and_follow_the_model() -> None:
    options: dict[str, Any] = {"port": 8000, "dtype": "auto", "host": "::"}
    assert words(options) == ("example/model", "--dtype=auto", "--host=::", "--port=8000")
    assert words({}) == ("example/model",)


def test_names_and_drafter_are_options_too() -> None:
    found = words({"port": 1}, ("fast", "a b"), method="ngram", num_speculative_tokens=4)
    assert found == (
        "example/model",
        "--port=1",
        "--served-model-name",
        "fast",
        "a b",
        '--speculative-config={"method":"ngram","num_speculative_tokens":4}',
    )


def test_the_leading_node_serves_and_the_others_are_headless() -> None:
    common = {
        "distributed_executor_backend": "mp",
        "nnodes": 3,
        "master_addr": "10.0.0.1",
        "master_port": vllm.MASTER_PORT,
    }
    nodes = [vllm.part(Member(rank, ("10.0.0.1", "10.0.0.2", "10.0.0.3"), "mp")).options for rank in range(3)]
    common["tensor_parallel_size"] = 3
    assert nodes[0] == common | {"node_rank": 0}
    assert nodes[1:] == [common | {"node_rank": rank, "headless": True} for rank in (1, 2)]
