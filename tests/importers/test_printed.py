"""Each command that a source prints is found in the catalog again, with no difference but the intended corrections."""

from __future__ import annotations

import pytest

from tests.catalog.commands import COMMANDS
from tests.importers.commandlines import docker_run, unit
from tests.importers.texts import imported, loaded

OF_MODELS = [name for name in COMMANDS if not name.startswith(("base/", "deepseek-ai/"))]
"""Baseline: the reader's model. DeepSeek's: printed as recipes of another tool, see its own importer."""
CORRECTED = {"poolside/laguna-xs.2-dflash": {"set": {"attention_backend": None}}}
"""Recipe → what an import of the printed command takes back, because a correction of the recipe sets it."""
UNITS = [name for name in OF_MODELS if any(fact[0] == "unit" for fact in COMMANDS[name].facts)]


@pytest.mark.parametrize("name", OF_MODELS)
def test_a_printed_command_is_its_catalog_recipe_and_nothing_beside(name: str) -> None:
    found = imported(docker_run(COMMANDS[name].facts), "docker-run")
    assert (found.entry.recipe, found.entry.same_model) == (name, True)
    own = CORRECTED.get(name, {})
    assert found.entry.data.items() >= own.items()
    assert found.entry.data.keys() - own.keys() <= {"recipe", "variant"}
    assert not found.whys("lost")
    loaded(found.text)


@pytest.mark.parametrize("name", UNITS)
def test_a_printed_unit_is_its_catalog_recipe_and_nothing_beside(name: str) -> None:
    found = imported(unit(COMMANDS[name].facts), "systemd")
    assert (found.entry.recipe, found.entry.same_model) == (name, True)
    assert found.entry.data.keys() <= {"recipe", "variant", "description", "timeouts"}
    assert not found.whys("lost")
    assert loaded(found.text).defaults.model_store == "/home/milo/.cache/huggingface"


def test_the_baseline_with_a_model_of_ones_own_is_the_base_recipe() -> None:
    text = docker_run(COMMANDS["base/single-spark"].facts).replace("example/any", "example/mine")
    found = imported(text, "docker-run")
    assert found.entry.data == {"recipe": "base/single-spark", "model": "example/mine"}
    assert not found.entry.same_model
    assert "# the catalog has no recipe for this model" in found.text


def test_what_is_not_the_recipe_is_written_and_nothing_else() -> None:
    text = docker_run(COMMANDS["qwen/qwen3-coder-next-fp8"].facts)
    text = text.replace("--max-model-len 170000", "--max-model-len 65536 --seed 1").replace(
        "--enable-prefix-caching", ""
    )
    text = text.replace("-p 8000:8000", "-p 127.0.0.1:9000:8000")
    assert imported(text, "docker-run").entry.data == {
        "recipe": "qwen/qwen3-coder-next-fp8",
        "port": 9000,
        "bind": "loopback",
        "set": {"enable_prefix_caching": None, "max_model_len": 65536, "seed": 1},
    }


def test_a_fragment_that_says_several_differences_is_named() -> None:
    text = docker_run(COMMANDS["unsloth/qwen3.6-27b-nvfp4"].facts)
    wanted = """--enable-auto-tool-choice --tool-call-parser qwen3_coder"""
    found = imported(text.rstrip() + f" {wanted}\n", "docker-run").entry
    assert found.recipe == "unsloth/qwen3.6-27b-nvfp4#coder"


def test_importing_again_gives_the_same_bytes() -> None:
    for name in OF_MODELS:
        text = docker_run(COMMANDS[name].facts)
        assert imported(text).text == imported(text).text
