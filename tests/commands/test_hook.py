"""The pre-commit hook: which files it checks, and that pre-commit installs and runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from sparkiac import hook
from tests.conftest import ROOT
from tests.plan.fleets import LOCK, ONES, deployment

if TYPE_CHECKING:
    from collections.abc import Callable

SHIPPED = (
    *("sparkiac", "templates", "playbooks", "docs", "tools"),
    *("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".pre-commit-hooks.yaml"),
)
[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
WARNED = deployment("image: example.org/x@sha256:" + "1" * 64).replace("base/single-spark", "base/sglang")


@pytest.fixture
def changed(folder: Path) -> Path:
    """Run the test in a repository with two inventories, of which one has a lock."""
    (folder / "inventories").mkdir()
    (folder / "inventories/lab.yaml").write_text(deployment())
    (folder / "inventories/lab.lock.yaml").write_text(LOCK)
    (folder / "inventories/home.yml").write_text("name: no\n")
    return folder


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Return a function that calls the hook with the words that pre-commit passes; it gives exit code and messages."""

    def run(*words: str) -> tuple[int, str]:
        return hook.check(list(words)), capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("inventories/lab.yaml", True),
        ("inventories/lab.yml", True),
        ("inventories/lab.lock.yaml", True),
        ("inventories/site/lab.yaml", True),
        ("inventories/interfaces/vllm-1.json", True),
        ("inventories/site/interfaces/vllm-1.json", True),
        ("inventories/site/vllm-1.json", False),
        ("inventories/lab.yaml.orig", False),
        ("generated/lab/inventories/x.yaml", False),
        ("lab.yaml", False),
    ],
)
def test_the_pattern_takes_inventories_and_their_locks(path: str, *, taken: bool) -> None:
    assert (re.search(HOOK["files"], path) is not None) == taken


@pytest.mark.usefixtures("changed")
def test_a_changed_lock_checks_its_inventory_and_each_is_checked_once() -> None:
    given = ["inventories/lab.lock.yaml", "inventories/lab.yaml", "inventories/home.lock.yaml", "inventories/x.yaml"]
    assert hook.inventories(given) == ["inventories/lab.yaml", "inventories/home.yml", "inventories/x.yaml"]
    assert hook.inventories(["inventories/gone.lock.yaml"]) == ["inventories/gone.yaml"]


def test_a_changed_interface_checks_all_inventories_beside_it(
    changed: Path, call: Callable[..., tuple[int, str]]
) -> None:
    (changed / "inventories/notes.txt").write_text("")
    interface = "inventories/interfaces/vllm-1.json"
    assert hook.inventories([interface, "inventories/lab.lock.yaml"]) == [
        "inventories/home.yml",
        "inventories/lab.yaml",
    ]
    assert hook.inventories(["interfaces/vllm-1.json"]) == []
    (changed / "inventories/home.yml").unlink()
    assert call(interface) == (0, "inventories/lab.yaml: no findings\n")


@pytest.mark.usefixtures("changed")
def test_all_inventories_are_checked_and_the_worst_decides(call: Callable[..., tuple[int, str]]) -> None:
    assert call("inventories/lab.lock.yaml") == (0, "inventories/lab.yaml: no findings\n")
    code, said = call("inventories/home.yml", "inventories/lab.yaml")
    assert code == 2
    assert "inventories/home.yml:1:7: error YML007" in said
    assert said.endswith("inventories/lab.yaml: no findings\n")
    assert call() == (0, "")


def test_options_are_those_of_check(changed: Path, call: Callable[..., tuple[int, str]]) -> None:
    (changed / "inventories/lab.yaml").write_text(WARNED)
    (changed / "inventories/lab.lock.yaml").write_text(
        LOCK.replace("models:", f"  example.org/x@{ONES}: {{digest: '{ONES}', entrypoint: [x]}}\nmodels:")
    )
    strict = ("--strict", "inventories/lab.yaml")
    assert call("inventories/lab.yaml")[0] == 0
    assert call(*strict)[0] == 1
    assert call("--ignore", "MEM100", *strict)[0] == 0
    code, said = call("--profil", "minimal", "inventories/lab.yaml")
    assert code == 2
    assert "--profile" in said


def git(*words: str, cwd: Path) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *words], cwd=cwd, check=True, capture_output=True)


def test_pre_commit_installs_and_runs_it(changed: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Without a package index: the dependencies and the build back end are those of this interpreter."""
    source, cache = tmp_path_factory.mktemp("sparkiac"), tmp_path_factory.mktemp("cache")
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    for repository in (source, changed):
        git("init", cwd=repository)
        git("add", "--all", cwd=repository)
    git("commit", "--message", "all", cwd=source)
    offline = {
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this as the option's own value: no isolation
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "VIRTUALENV_NO_PERIODIC_UPDATE": "1",
        "VIRTUALENV_OVERRIDE_APP_DATA": str(cache / "virtualenv"),
    }
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PIP_", "PRE_COMMIT"))}
    command = [Path(sys.executable).with_name("pre-commit"), "try-repo", source, HOOK["id"], "--all-files"]
    done = subprocess.run(
        command,
        cwd=changed,
        env=kept | offline | {"PRE_COMMIT_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "exit code: 2" in done.stdout, done.stdout + done.stderr
    assert "inventories/home.yml:1:7: error YML007" in done.stdout
    assert done.stdout.count("inventories/lab.yaml: no findings") == 1
    assert "lock.yaml:" not in done.stdout
    assert done.returncode == 1
