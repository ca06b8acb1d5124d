"""Recipes in the folder `recipes` of a user's repository, in every command that knows recipes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.commands.inputs import recipes_path
from tests.plan.fleets import LOCK

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

RECIPE: Final = """\
title: Our model
engine: vllm
sources: [our own measurement of 2026-11-02]
image: nvcr.io/nvidia/vllm:26.04-py3
model: example/model
set: {max_model_len: 4096, gpu_memory_utilization: 0.4}
container:
  mounts: {/root/.cache/huggingface: {source: model_store}}
measured: [{what: decode, value: 50 tok/s, source: our own measurement}]
"""
INVENTORY: Final = """\
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat: {recipe: ours/chat, hosts: spark-01, port: 8001}
"""


@pytest.fixture
def repository(folder: Path) -> Path:
    """Run the test in a repository with an inventory, its lock and a recipe."""
    (folder / "inventories").mkdir()
    (folder / "inventories/lab.yaml").write_text(INVENTORY)
    (folder / "inventories/lab.lock.yaml").write_text(LOCK)
    (folder / "recipes/ours").mkdir(parents=True)
    (folder / "recipes/ours/chat.yaml").write_text(RECIPE)
    return folder


def test_an_own_recipe_is_deployed_and_each_value_has_its_line(cli: Cli, repository: Path) -> None:
    done = cli("generate", "inventories/lab.yaml")
    assert done.code == 0, done.err
    compose = (repository / "generated/lab/hosts/spark-01/etc/sparkiac/chat/compose.yaml").read_text()
    assert "--max-model-len" in compose
    explained = cli("plan", "inventories/lab.yaml", "--explain", "deployments.chat.set.max_model_len")
    assert explained.code == 0
    assert "recipes/ours/chat.yaml:6" in explained.out


@pytest.mark.parametrize(
    ("lines", "expected"),
    [("  ipc: host\n", 'ipc: "host"'), ("  ipc: private\n  shm_size_gib: 2\n", "shm_size: 2147483648")],
)
def test_an_own_recipe_says_whose_shared_memory_its_server_uses(
    cli: Cli, repository: Path, lines: str, expected: str
) -> None:
    """Only `ipc: host` of the catalog, which its sources print, is replaced on one host."""
    path = repository / "recipes/ours/chat.yaml"
    path.write_text(RECIPE.replace("container:\n", f"container:\n{lines}"))
    assert cli("generate", "inventories/lab.yaml").code == 0
    compose = (repository / "generated/lab/hosts/spark-01/etc/sparkiac/chat/compose.yaml").read_text()
    assert [line.strip() for line in compose.splitlines() if "ipc:" in line or "shm_size" in line] == [expected]


def test_a_rule_checks_an_own_recipe_and_names_its_line(cli: Cli, repository: Path) -> None:
    path = repository / "recipes/ours/chat.yaml"
    path.write_text(RECIPE.replace("max_model_len: 4096", "max_model_length: 4096"))
    done = cli("check", "inventories/lab.yaml")
    assert "max_model_length of chat is not an option" in done.err
    assert "from: recipe ours/chat recipes/ours/chat.yaml:6" in done.err


def test_every_fault_of_a_recipe_is_shown_with_those_of_the_inventory(cli: Cli, repository: Path) -> None:
    (repository / "recipes/ours/chat.yaml").write_text(RECIPE.replace("engine: vllm", "engin: vllm"))
    (repository / "inventories/lab.yaml").write_text(INVENTORY.replace("hosts: spark-01", "hosts: spark-9"))
    done = cli("check", "inventories/lab.yaml")
    assert done.code == 2
    assert "recipes/ours/chat.yaml:2:1" in done.err
    assert "did you mean 'engine'" in done.err
    assert "unknown host 'spark-9'" in done.err
    assert "unknown recipe" not in done.err


def test_an_unknown_recipe_suggests_an_own_one(cli: Cli, repository: Path) -> None:
    (repository / "inventories/lab.yaml").write_text(INVENTORY.replace("ours/chat", "ours/chatt"))
    done = cli("check", "inventories/lab.yaml")
    assert done.code == 2
    assert "did you mean 'ours/chat'" in done.err


@pytest.mark.usefixtures("repository")
def test_own_recipes_are_listed_found_and_shown(cli: Cli) -> None:
    assert "ours/chat" in cli("recipes", "list").out
    found = json.loads(cli("recipes", "search", "--model", "our model", "--format", "json").out)
    assert [(each["name"], each["file"]) for each in found["recipes"]] == [("ours/chat", "recipes/ours/chat.yaml")]
    page = cli("recipes", "show", "ours/chat").out
    assert "recipes/ours/chat.yaml" in page
    assert "50 tok/s" in page


def test_recipes_with_faults_are_not_listed(cli: Cli, repository: Path) -> None:
    (repository / "recipes/README.yaml").write_text("title: notes\n")
    done = cli("recipes", "list")
    assert (done.code, done.out) == (2, "")
    assert "recipes/README.yaml:1:1" in done.err
    assert "RCP001" in done.err


def test_add_writes_a_deployment_of_an_own_recipe(cli: Cli, repository: Path) -> None:
    done = cli("add", "ours/chat", "--on", "spark-01", "--to", "inventories/lab.yaml", "--name", "second")
    assert done.code == 0, done.err
    assert "recipe: ours/chat" in (repository / "inventories/lab.yaml").read_text().partition("second")[2]


def test_the_lock_pins_the_model_of_an_own_recipe(cli: Cli, repository: Path) -> None:
    commit = "a" * 40
    facts = f"facts: {{architecture: {{kind: dense, total_params_b: 8, sources: [ours]}}, revision: '{commit}'}}\n"
    (repository / "recipes/ours/chat.yaml").write_text(RECIPE + facts)
    done = cli("lock", "inventories/lab.yaml", "--check")
    assert done.code == 3
    assert commit in done.err


def test_a_change_of_a_recipe_is_in_the_diff_with_a_commit(cli: Cli, repository: Path) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=repository, check=True)
    same = cli("diff", "--git", "HEAD", "inventories/lab.yaml")
    assert same.code == 0, same.err
    (repository / "recipes/ours/chat.yaml").write_text(RECIPE.replace("4096", "8192"))
    changed = cli("diff", "--git", "HEAD", "inventories/lab.yaml")
    assert changed.code == 0, changed.err
    assert "spark-01" in changed.out
    assert changed.out != same.out


@pytest.mark.parametrize(
    ("inventory", "expected"),
    [("inventories/lab.yaml", "recipes"), ("lab.yaml", "recipes"), ("fleet/lab.yaml", "fleet/recipes")],
)
def test_recipes_are_beside_the_folder_of_inventories(folder: Path, inventory: str, expected: str) -> None:
    assert folder.name != "inventories"
    assert recipes_path(Path(inventory)) == Path(expected)


def test_recipes_are_found_from_the_folder_of_inventories(
    cli: Cli, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "inventories")
    assert recipes_path(Path("lab.yaml")) == Path("../recipes")
    assert cli("check", "lab.yaml").code == 0
