"""The role `prune`, run by Ansible on this machine: a generation is noted once, and pruned when it is old."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.host.conftest import SCRIPTS
from tests.host.plays import play as played
from tests.host.staging import write_stubs
from tests.host.test_prune import DOCKER

ROOT = Path(__file__).parents[2]
NAME = "example.org/a@sha256:" + "0" * 64
ID = "sha256:" + "a" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "lists").mkdir()
    write_stubs(tmp_path / "bin", {"docker": DOCKER})
    (tmp_path / "images").write_text(f"{NAME} sha256:0\nexample.org/b sha256:1\n{ID} {ID}\nown sha256:2\n")
    (tmp_path / "used").write_text("")
    (tmp_path / "roles").symlink_to(ROOT / "playbooks/roles")
    return tmp_path


def play(folder: Path, *words: str, tasks: str = "main", **data: Any) -> tuple[int, int, str]:  # noqa: ANN401  JSON
    """Run the role's tasks; give the exit code, the number of changed tasks, and what was said on one line."""
    own = {"host": "here", "images": [], "image_ids": {}, "images_from": None, "stores": [], "extra_files": []}
    own |= {"units": [], "keep_generations": 1, **data}
    roots = {"prune_root": str(folder), "prune_program": str(SCRIPTS / "stage"), "prune_lists": str(folder / "lists")}
    run = {"name": "prune", "tasks_from": tasks}
    written = {
        "hosts": "all",
        "gather_facts": False,
        "vars": {"sparkiac": own, **roots},
        # Of the role `images` only its names are needed.
        "roles": [{"role": "images", "when": False}],
        "tasks": [{"ansible.builtin.include_role": run}],
    }
    (folder / "play.yml").write_text(yaml.safe_dump([written]))
    done = played(folder, *words)
    return done.code, done.changed.get("here", -1), done.sentence


def test_a_generation_is_noted_with_its_ids_and_caches_once(folder: Path) -> None:
    cached = {"name": "sparkiac-a", "cache": "/var/cache/sparkiac/a", "cache_keep": "0123"}
    data: dict[str, Any] = {
        "generation": "one",
        "images": [NAME, "example.org/b"],
        "image_ids": {"example.org/b": ID},
        "images_from": {"host": "there", "address": "192.0.2.1"},
        "units": [cached, {"name": "sparkiac-b"}],
        "extra_files": [{"path": "00/parser.py"}],
    }
    assert play(folder, "--check", tasks="record", **data)[:2] == (0, 1)
    assert not (folder / "var").exists()
    assert play(folder, tasks="record", **data)[:2] == (0, 1)
    for words in ((), ("--check",)):
        assert play(folder, *words, tasks="record", **data)[:2] == (0, 0)
    record = json.loads((folder / "var/lib/sparkiac/generations/one.json").read_text())
    assert record["images"] == {NAME: "sha256:0", ID: ID}
    assert set(record["directories"]) == {"/var/cache/sparkiac/a/0123", str(folder / "var/lib/sparkiac/files/00")}


def test_what_is_old_goes_and_a_dry_run_lists_it(folder: Path) -> None:
    (folder / "lists/acme--old.json").write_text("{}")
    assert play(folder, tasks="record", generation="one", images=[NAME])[0] == 0
    assert play(folder, tasks="record", generation="two", images=["example.org/b"])[0] == 0
    code, changed, said = play(folder, "--check", generation="two")
    assert (code, changed) == (0, 2), said
    assert f"would remove image {NAME} (1.95 KB)" in said, said
    assert NAME in (folder / "images").read_text()
    code, changed, said = play(folder, generation="two")
    assert (code, changed) == (0, 2), said
    assert [line.split()[0] for line in (folder / "images").read_text().splitlines()] == ["example.org/b", ID, "own"]
    assert list((folder / "lists").iterdir()) == []
    assert play(folder, generation="two")[:2] == (0, 0)


def test_a_generation_that_was_never_applied_prunes_nothing(folder: Path) -> None:
    assert play(folder, tasks="record", generation="one", images=[NAME])[0] == 0
    code, _, said = play(folder, generation="new")
    assert code == 2
    assert "generation new has no record on this host: apply it first; nothing was removed" in said
