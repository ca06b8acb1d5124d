"""`sparkiac recipes new`: what it writes is a recipe that starts the same server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac import pipeline
from sparkiac.commands.inputs import read
from tests.plan.fleets import LOCK

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

INVENTORY: Final = """\
name: lab
defaults: {model_store: /srv/models, timeouts: {stop_s: 77}}
hosts: {spark-01: {address: 192.168.1.11}}
deployments:
  chat:
    recipe: base/single-spark
    model: example/model
    hosts: spark-01
    port: 8001
    api_key: {secret: vllm_api_key}
    set: {max_model_len: 4096}
    env: {OUR_VARIABLE: "1", VLLM_NO_USAGE_STATS: null}
"""
SCRIPT: Final = """\
docker run --rm --gpus all -p 8001:8000 -v /srv/models:/root/.cache/huggingface vllm/vllm-openai:v0.19.0 \\
  --model example/model --max-model-len 4096
"""


@pytest.fixture
def repository(folder: Path) -> Path:
    """Run the test in a repository with an inventory and its lock."""
    (folder / "inventories").mkdir()
    (folder / "inventories/lab.yaml").write_text(INVENTORY)
    (folder / "inventories/lab.lock.yaml").write_text(LOCK)
    return folder


def argv(folder: Path) -> tuple[object, ...]:
    outcome = pipeline.check(*read(folder / "inventories/lab.yaml"))
    assert outcome.plan is not None, outcome.report.findings
    [container] = outcome.plan.hosts[0].containers
    return container.argv, container.command.env, container.timeouts, container.storage.mounts


def test_a_recipe_of_a_deployment_starts_the_same_server(cli: Cli, repository: Path) -> None:
    before = argv(repository)
    done = cli("recipes", "new", "ours/chat", "--from", "chat", "--inventory", "inventories/lab.yaml")
    assert (done.code, done.out) == (0, "recipes/ours/chat.yaml: written\n"), done.err
    written = (repository / "recipes/ours/chat.yaml").read_text()
    assert "sources:" in written
    assert "deployment chat of lab.yaml" in written
    assert "VLLM_NO_USAGE_STATS: null" in written
    assert not [word for word in ("api_key", "port:", "model_store: /", "192.168") if word in written]
    text = INVENTORY.partition("    recipe:")[0].replace(", timeouts: {stop_s: 77}", "")
    text += "    recipe: ours/chat\n    hosts: spark-01\n    port: 8001\n    api_key: {secret: vllm_api_key}\n"
    (repository / "inventories/lab.yaml").write_text(text)
    assert argv(repository) == before


def test_a_recipe_of_a_file_is_listed(cli: Cli, repository: Path) -> None:
    (repository / "start.sh").write_text(SCRIPT)
    done = cli("recipes", "new", "ours/script", "--from", "start.sh")
    assert done.code == 0, done.err
    assert "start.sh" in done.err
    shown = cli("recipes", "show", "ours/script")
    assert shown.code == 0
    assert "example/model" in shown.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["base/single-spark", "--from", "start.sh"], "base/single-spark exists in the catalog of sparkiac"),
        (["Chat", "--from", "start.sh"], "'Chat' is not a recipe name such as"),
        (["ours/chat", "--from", "chat"], "there is no file chat; to start from a deployment, add --inventory"),
        (
            ["ours/chat", "--from", "chatt", "--inventory", "inventories/lab.yaml"],
            "unknown deployment 'chatt'; did you mean 'chat'?",
        ),
        (["ours/chat", "--from", "empty.sh"], "empty.sh:1:1: error IMP001 unreadable"),
    ],
)
def test_nothing_is_written_for_bad_input(cli: Cli, repository: Path, words: list[str], message: str) -> None:
    (repository / "start.sh").write_text(SCRIPT)
    (repository / "empty.sh").write_text("echo nothing\n")
    done = cli("recipes", "new", *words)
    assert done.code == 2
    assert message in done.err
    assert not (repository / "recipes").exists()


def test_an_existing_recipe_is_kept(cli: Cli, repository: Path) -> None:
    (repository / "start.sh").write_text(SCRIPT)
    assert cli("recipes", "new", "ours/script", "--from", "start.sh").code == 0
    before = (repository / "recipes/ours/script.yaml").read_bytes()
    done = cli("recipes", "new", "ours/script", "--from", "start.sh")
    assert done.code == 2
    assert "ours/script exists in recipes/ours/script.yaml" in done.err
    assert (repository / "recipes/ours/script.yaml").read_bytes() == before
