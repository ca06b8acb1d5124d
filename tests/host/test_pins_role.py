"""The first task of the play: made-up or missing pins stop it before it connects to any host."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
import yaml

from sparkiac import pipeline
from tests.conftest import ROOT
from tests.host.plays import Played, play
from tests.plan.fleets import LOCK, checked, deployment

if TYPE_CHECKING:
    from pathlib import Path

FIRST = "Reject example pins and missing pins"


def applied(tree: Path, *words: str) -> Played:
    """Apply a tree to its own hosts, which do not exist."""
    return play(
        tree,
        "-e",
        "ansible_connection=ssh",
        "-e",
        "ansible_ssh_timeout=1",
        *words,
        playbook="site.yml",
        inventory="inventory.yml",
    )


def generated(folder: Path, locked: str | None) -> Path:
    """Write the tree of an inventory."""
    plan = checked(deployment(host="spark-01: {address: 192.0.2.1}"), locked=locked, allow_unlocked=True).plan
    assert plan is not None
    for artifact in pipeline.render(plan):
        path = folder / artifact.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(artifact.content)
    return folder


@pytest.mark.parametrize("words", [[], ["--check", "--diff"], ["--limit", "spark-01"]])
def test_a_tree_with_missing_pins_stops_in_its_first_task(tmp_path: Path, words: list[str]) -> None:
    done = applied(generated(tmp_path, None), *words)
    assert done.code == 2
    assert done.said.count("TASK [") == done.said.count(f"TASK [pins : {FIRST}]") == 1
    assert "Nothing was changed on any host. These pins are examples or missing: " in done.sentence
    assert "nvcr.io/nvidia/vllm:26.04-py3" in done.sentence
    assert "UNREACHABLE" not in done.said


def test_the_shipped_tree_passes(tmp_path: Path) -> None:
    tree = shutil.copytree(ROOT / "generated/lab", tmp_path / "lab")
    done = applied(tree, "-e", "ansible_host=192.0.2.1", "--start-at-task", FIRST)
    assert "examples or missing" not in done.said
    assert "UNREACHABLE" in done.said, "the next task connects to the host"


@pytest.mark.parametrize("locked", [None, LOCK.replace("version: 1", "version: 1\nexample: true")])
def test_a_tree_with_such_pins_is_refused(tmp_path: Path, locked: str | None) -> None:
    done = applied(generated(tmp_path, locked))
    assert (done.code, done.said.count("TASK [")) == (2, 1)
    assert "examples or missing: example/model, nvcr.io/nvidia/vllm:26.04-py3. Run" in done.sentence


def test_real_pins_pass(tmp_path: Path) -> None:
    done = applied(generated(tmp_path, LOCK), "--start-at-task", FIRST)
    assert "examples or missing" not in done.said
    assert "UNREACHABLE" in done.said, "the next task asks the host"


def test_it_is_the_first_task_of_the_first_play() -> None:
    first, *_ = yaml.safe_load((ROOT / "playbooks/deploy.yml").read_text())
    assert first["roles"][0] == {"role": "pins"}
    assert first["any_errors_fatal"] is True
    assert "pre_tasks" not in first
