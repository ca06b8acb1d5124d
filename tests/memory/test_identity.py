"""What a startup log states about its server, in logs of several releases."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from sparkiac.memory import startup
from sparkiac.memory.startup import UNKNOWN

TESTS: Final = Path(__file__).parent.parent
START: Final = "(APIServer pid=1) INFO 11-22 04:39:13 [utils.py:253] non-default args: {}\n"
ENGINE: Final = "(EngineCore pid=7) INFO [core.py:105] Initializing a V1 LLM engine (v0.23.0) with config: {}\n"
READY: Final = "Available KV cache memory: 5 GiB\nINFO:     Application startup complete.\n"


def options(printed: str) -> object:
    """Read the options of a start."""
    return startup.server(START.format(printed)).options


def test_a_log_of_0_23_states_model_release_and_options() -> None:
    found = startup.server((TESTS / "fleet/recorded/qwen3-8b.log").read_text())
    assert found.ready
    assert found.facts == {
        "model": "/models/qwen3-8b",
        "commit": UNKNOWN,
        "release": "0.23.0",
        "device": UNKNOWN,  # the line is cut in the recorded log
        "speculative decoding": "off",
    }
    assert found.options is not None
    assert (found.options["gpu_memory_utilization"], found.options["enable_prefix_caching"]) == (0.85, True)


def test_a_log_of_0_26_states_its_drafts() -> None:
    found = startup.server((TESTS / "memory/recorded/started-0.26.0.log").read_text())
    assert (found.ready, found.facts["model"], found.facts["release"]) == (True, "models/glm47-flash", "0.26.0")
    assert (found.facts["speculative decoding"], found.facts["device"]) == ("mtp with 1 tokens", UNKNOWN)
    assert found.options is not None
    assert found.options["kv_cache_dtype"] == "fp8"


def test_a_public_log_without_the_word_model_among_its_options() -> None:
    found = startup.server((TESTS / "catalog/healthy.log").read_text())
    assert found.facts["model"] == "nvidia/Qwen3.6-35B-A3B-NVFP4"
    assert found.facts["speculative decoding"] == "mtp with 3 tokens"


def test_a_model_from_the_cache_has_its_handle_and_commit() -> None:
    path = "/models/hub/models--example--a--b/snapshots/" + "3" * 40
    found = startup.server(ENGINE.format(f"model='{path}', speculative_config=None, device_config=cpu, seed=0"))
    assert (found.facts["model"], found.facts["commit"]) == ("example/a--b", "3" * 40)
    assert found.facts["device"] == "cpu"


def test_of_several_starts_the_lines_of_one_count() -> None:
    """The last start with a KV cache: its options stand before the line of its engine."""
    first = (
        START.format("{'model': 'a/a', 'max_num_seqs': 1}") + ENGINE.format("model='a/a', device_config=cuda") + READY
    )
    second = START.format("{'model': 'b/b'}") + ENGINE.format("model='b/b', device_config=cuda")
    whole = startup.server(first + second + READY)
    assert (whole.facts["model"], whole.options) == ("b/b", {"model": "b/b"})
    assert startup.server(first + second).facts["model"] == "a/a"
    failed = READY.partition("\n")[0] + "\nRuntimeError: out of memory\n"
    crashed = startup.server(first + second + failed)
    assert (crashed.facts["model"], crashed.ready) == ("b/b", False)


def test_a_log_that_states_nothing_has_nothing() -> None:
    found = startup.server("INFO: started\n")
    assert set(found.facts.values()) == {UNKNOWN}
    assert (found.ready, found.options) == (False, None)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("{'a': [1, 2], 'b': {'image': 2}, 'c': None}", {"a": [1, 2], "b": {"image": 2}, "c": None}),
        ("{'a': <CUDAGraphMode.PIECEWISE: 1>, 'b': 2}", {"a": UNKNOWN, "b": 2}),
        ("{'a': KVTransferConfig(kv_connector='x', y=1), 'b': torch.bfloat16}", {"a": UNKNOWN, "b": UNKNOWN}),
        ('{\'a\': {"level":null,"x":true,"b":""}}', {"a": {"level": UNKNOWN, "x": UNKNOWN, "b": ""}}),
    ],
)
def test_options_are_what_python_prints(printed: str, expected: object) -> None:
    assert options(printed) == expected


@pytest.mark.parametrize(
    "printed",
    [
        "{'a': 1, 'b': …",
        "{'a': f(g(1))}",
        "{1, 2}",
        "{" + "[" * 5000 + "]" * 5000 + "}",
        "{" + "-" * 200_000 + "1}",
        "{[]: 1}",
    ],
)
def test_options_that_cannot_be_read_are_unknown(printed: str) -> None:
    assert options(printed) is None


def test_methods_of_the_layers_of_a_checkpoint_are_one_method() -> None:
    assert startup.drafting("qwen3_5_mtp", 3) == startup.drafting("mtp", 3) != startup.drafting("eagle3", 3)
    assert startup.drafting(None, 0) == "off"
