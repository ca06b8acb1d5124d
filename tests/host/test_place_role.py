"""The role `place`, run by Ansible on this machine: only what is not as generated is copied, wherever it comes from."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
import yaml

from tests.host.plays import play

ROOT = Path(__file__).parents[2]
TEXTS = {"etc/a file's.json": "{}\n", "lib/run": "#!/bin/sh\nexit 0\n\n\n", "lib/words.txt": "ünlaut, no last line"}
MODES = {path: 0o755 if path == "lib/run" else 0o644 for path in TEXTS}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give two trees with files, a host with their directories, and a play that places them and says what changed."""
    trees = {path: tmp_path / ("programs" if path.startswith("lib/") else "own") for path in TEXTS}
    for path, text in TEXTS.items():
        for root in (trees[path], tmp_path / "root"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
        (trees[path] / path).write_text(text)
    (tmp_path / "roles").symlink_to(ROOT / "playbooks/roles")
    variables = {
        "place_files": [
            {"path": path, "mode": f"{mode:04o}", "from": str(trees[path])} for path, mode in MODES.items()
        ],
        "place_root": str(tmp_path / "root"),
        "place_owner": pwd.getpwuid(os.geteuid()).pw_name,
    }
    said = {
        "msg": "copied {{ place_copied.results | selectattr('changed') | map(attribute='item.path') | join('|') }}."
    }
    tasks = [{"ansible.builtin.include_role": {"name": "place"}, "vars": variables}, {"ansible.builtin.debug": said}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    return tmp_path


def placed(folder: Path) -> dict[str, tuple[str, int]]:
    """Read what is on the host: path → text and mode."""
    found = [path for path in (folder / "root").rglob("*") if path.is_file()]
    return {
        path.relative_to(folder / "root").as_posix(): (path.read_text(), path.lstat().st_mode & 0o7777)
        for path in found
    }


def copied(folder: Path, *words: str) -> list[str]:
    """Run the play; give the files that it copied."""
    done = play(folder, *words)
    assert done.code == 0, done.said
    return [path for path in done.sentence.split("copied ")[1].split('."')[0].split("|") if path]


def test_what_is_missing_is_copied_and_then_nothing(folder: Path) -> None:
    assert copied(folder, "--check") == [*TEXTS]
    assert placed(folder) == {}
    assert copied(folder) == [*TEXTS]
    assert placed(folder) == {path: (text, MODES[path]) for path, text in TEXTS.items()}
    assert copied(folder) == []


def test_only_what_somebody_changed_is_copied(folder: Path) -> None:
    """Its text, its mode, or that it is a file at all; the others are not touched."""
    assert copied(folder) == [*TEXTS]
    first, script, words = (folder / "root" / path for path in TEXTS)
    kept = words.lstat().st_mtime_ns
    first.rename(folder / "elsewhere")
    first.symlink_to(folder / "elsewhere")
    script.chmod(0o644)
    assert copied(folder) == [*TEXTS][:2]
    assert placed(folder) == {path: (text, MODES[path]) for path, text in TEXTS.items()}
    assert (first.is_symlink(), words.lstat().st_mtime_ns) == (False, kept)
    words.write_text(TEXTS["lib/words.txt"] + "\n")
    done = play(folder, "--check", "--diff")
    assert done.changed == {"here": 1}
    assert "-ünlaut, no last line" in done.said
    assert copied(folder) == ["lib/words.txt"]
    assert copied(folder) == []


def test_another_owner_is_a_difference(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: only root gives files away")
    assert copied(folder) == [*TEXTS]
    os.chown(folder / "root/lib/run", 65534, -1)
    assert copied(folder) == ["lib/run"]
    assert (folder / "root/lib/run").lstat().st_uid == 0
