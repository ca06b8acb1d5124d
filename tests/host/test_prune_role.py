"""The role `prune`, run by Ansible on this machine: what only old generations need is removed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

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


def record(folder: Path, generation: str, image: str) -> None:
    """Record what a generation needs, as a switch does."""
    needs = json.dumps({"images": [image], "stores": [], "extra_files": [], "caches": []})
    argv = [SCRIPTS / "stage", "record", "--generation", generation, "--needs", needs, "--root", folder]
    env = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "STUB": str(folder)}
    subprocess.run(argv, check=True, env=env, capture_output=True)


def play(folder: Path, *words: str, generation: str) -> tuple[int, int, str]:
    """Run the role; give the exit code, the number of changed tasks, and what was said on one line."""
    own = {"host": "here", "stores": []}
    roots = {"prune_root": str(folder), "prune_program": str(SCRIPTS / "stage"), "prune_lists": str(folder / "lists")}
    written = {
        "hosts": "all",
        "gather_facts": False,
        "vars": {"sparkiac": own, "sparkiac_hashes": {"generation": generation}, "prune_keep": 1, **roots},
        "roles": [{"role": "prune"}],
    }
    (folder / "play.yml").write_text(yaml.safe_dump([written]))
    done = played(folder, *words)
    return done.code, done.changed.get("here", -1), done.sentence


def test_what_is_old_goes_and_a_dry_run_lists_it(folder: Path) -> None:
    (folder / "lists/acme--old.json").write_text("{}")
    record(folder, "one", NAME)
    record(folder, "two", "example.org/b")
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
    record(folder, "one", NAME)
    code, _, said = play(folder, generation="new")
    assert code == 2
    assert "generation new has no record on this host: apply it first; nothing was removed" in said
