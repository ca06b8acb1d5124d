"""The list of `sparkiac init`: what fits stands first, and what is known not to fit is left out."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac.catalog import library
from sparkiac.catalog.library import SHIPPED, RecipeText
from sparkiac.commands.init import serving
from sparkiac.commands.init.repository import FleetHost
from sparkiac.commands.recipes.writing import OwnRecipes
from sparkiac.fleet.machine import Machine
from sparkiac.memory.values import GIB
from tests.commands.test_own_recipes import RECIPE as OWN

SPARK: Final = FleetHost("spark-01", "192.168.1.11")
NONE: Final = OwnRecipes((), SHIPPED)
SMALL: Final = FleetHost(
    "small",
    "192.168.1.12",
    Machine(name=None, architecture=None, memory_bytes=24 * GIB, gpus=None, disks=None, unknown={}),
)


@pytest.fixture(scope="module")
def fitting() -> tuple[serving.Candidate, ...]:
    return serving.fitting((SPARK,), (1,), NONE)


def test_what_the_sizes_prove_stands_before_what_is_unknown(fitting: tuple[serving.Candidate, ...]) -> None:
    words = [each.memory for each in fitting]
    assert words[0].startswith("fits, ")
    kinds = [2 if "unknown" in each and "weights fit" not in each else int("weights fit" in each) for each in words]
    open_ = [2 if "depend on" in each else kind for each, kind in zip(words, kinds, strict=True)]
    assert open_ == sorted(open_)
    assert {0, 1, 2} == set(open_)


def test_recipes_that_exceed_the_memory_are_left_out(
    fitting: tuple[serving.Candidate, ...],
) -> None:
    names = {each.found.name for each in fitting}
    assert "sakamakismile/gemma-4-12b-coder-nvfp4" not in names, "2.4 GiB over budget"
    small = {each.found.name: each for each in serving.fitting((SMALL,), (1,), NONE)}
    assert "qwen/qwen3-coder-next-fp8" in names - small.keys()
    assert "nvidia/nemotron-3-nano-4b-fp8" in small


def test_a_list_for_several_hosts_has_recipes_of_that_size_and_their_variants() -> None:
    pair = (SPARK, FleetHost("spark-02", "192.168.1.13"))
    found = serving.fitting(pair, (2,), NONE)
    assert {each.found.nodes for each in found} == {2}
    [flash] = [each for each in found if each.found.name == "deepseek-ai/deepseek-v4-flash"]
    assert " deepseek-ai/deepseek-v4-flash, 2 hosts: " in " ".join(serving.text((flash,), pair).split())
    assert " requires commit, pull_requests " in " ".join(serving.text((flash,), pair).split())
    assert "nvidia/qwen3.6-27b-nvfp4#dual-spark" in {each.found.name for each in found}


def test_an_entry_shows_what_it_is_for_size_memory_and_speed(fitting: tuple[serving.Candidate, ...]) -> None:
    text = " ".join(serving.text(fitting, (SPARK,)).split())
    assert text.startswith("Recipes for spark-01, without those that are known to exceed the memory: 1 ")
    said = "google/gemma-4-26b-a4b-it-fp8: agents, chat, fast, vision 49 GB loaded; fits, 11.9 GiB left free;"
    assert said in text


def test_recipes_of_the_directory_are_listed_with_their_measurements() -> None:
    files = (RecipeText("lab/recipes/ours/chat.yaml", ("ours", "chat"), OWN.encode()),)
    own = OwnRecipes(files, library.read(files)[0])
    [found] = [each for each in serving.fitting((SPARK,), (1,), own) if each.found.name == "ours/chat"]
    assert found.memory == "memory unknown"
    assert found.speed == "decode 50 tok/s (our own measurement)"
