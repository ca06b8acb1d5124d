"""A draft keeps the names under which the clients of the imported server reach their model."""

from __future__ import annotations

import pytest

from sparkiac import pipeline
from tests.importers.texts import imported

NGC = "nvcr.io/nvidia/vllm:26.04-py3"
SGLANG = "lmsysorg/sglang:spark python3 -m sglang.launch_server"
TRTLLM = "nvcr.io/nvidia/tensorrt-llm/release:1.2 trtllm-serve"


def served(text: str) -> tuple[str, ...]:
    """Return the names that the draft of a launch is served under: those of the plan."""
    plan = pipeline.check(pipeline.InputFile("draft", imported(text).text.encode()), None, allow_unlocked=True).plan
    assert plan is not None
    (found,) = (each.server.served for host in plan.hosts for each in host.containers if each.kind == "deployment")
    return found


@pytest.mark.parametrize(
    "model",
    ["Qwen/Qwen3-Coder-Next-FP8", "qwen/qwen3-coder-next-fp8", "nvidia/Gemma-4-31B-IT-NVFP4", "org/Unknown-7B"],
)
def test_a_launch_without_a_name_is_served_as_its_model_is_written(model: str) -> None:
    assert served(f"docker run -p 8000:8000 {NGC} vllm serve --model {model}") == (model,)
    assert served(f"docker run -p 8000:8000 {NGC} vllm serve {model}") == (model,)


def test_a_name_that_a_recipe_would_give_is_not_repeated() -> None:
    found = imported(f"docker run -p 8000:8000 {NGC} vllm serve org/Unknown-7B")
    assert "served_names" not in found.entry.data


@pytest.mark.parametrize("model", ["Qwen/Qwen3-Coder-Next-FP8", "org/Unknown-7B"])
def test_several_names_stay(model: str) -> None:
    line = f"docker run -p 8000:8000 {NGC} vllm serve {model} --served-model-name one two"
    assert served(line) == ("one", "two")


def test_a_served_path_is_its_name() -> None:
    line = f"docker run -p 8000:8000 -v /srv/llm:/llm {NGC} vllm serve /llm/org/Name-7B"
    assert served(line) == ("/llm/org/Name-7B",)


def test_several_names_of_sglang_stay_and_check_says_that_it_has_one() -> None:
    line = (
        f"docker run -p 1:30000 {SGLANG} --model-path org/Name-7B --served-model-name one two --mem-fraction-static 0.5"
    )
    found = imported(line)
    assert found.entry.data["served_names"] == ("one", "two")
    assert found.whys("lost") == {}
    report = pipeline.check(pipeline.InputFile("draft", found.text.encode()), None, allow_unlocked=True).report
    assert "ENG007" in {each.code for each in report.findings}


@pytest.mark.parametrize(("model", "name"), [("org/Name-7B", "org/Name-7B"), ("/llm/org/Name-7B", "Name-7B")])
def test_tensorrt_llm_serves_a_path_by_its_last_part(model: str, name: str) -> None:
    assert served(f"docker run -p 1:8000 -v /srv/llm:/llm {TRTLLM} {model}") == (name,)


def test_a_recipe_serves_what_its_command_serves_and_not_what_is_downloaded() -> None:
    text = "recipe_version: '1'\nname: x\ncontainer: c\nmodel: org/Other\ncommand: vllm serve org/Name-7B\n"
    assert imported(text, "eugr").entry.data["model"] == "org/Name-7B"
