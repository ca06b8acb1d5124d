"""Inventories and all that comes of them, stored as files: a change of output is a diff that a person reads.

A case is a directory with `inventory.yaml`, its lock if it has one, `report.txt` with what the command said, and
`expected/` with the plan and the files of hosts and builds. `pytest --update-golden` rewrites the last two; review that
in Git. The scripts and playbooks of a tree are copies, proven in tests/render, and are not stored again.
"""

from __future__ import annotations

import re
import shutil
import stat
from pathlib import Path

import pytest

from sparkiac.console import run
from sparkiac.write.manifest import MANIFEST
from tests.conftest import ROOT

HERE = Path(__file__).parent
CASES = sorted(path.name for path in HERE.iterdir() if (path / "inventory.yaml").is_file())
ON_KUBERNETES = sorted(name for name in CASES if (HERE / name / "kubernetes").is_dir())
"""Cases whose objects for Kubernetes are stored too; its ConfigMap with the probe is not."""
GROUPS = {"pair": 2, "ring": 3, "ring4": 4, "switch4": 4, "switch8": 8}
"""Cases of groups by topology, with their number of hosts; `decisions.txt` is what their nodes get, and why."""
COPIES = re.compile(r"usr/local/lib/sparkiac/|^builds/[^/]+/build$")


def tree(root: Path) -> dict[str, str]:
    """Read the stored part of a tree."""
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {
        name: path.read_text()
        for name, path in sorted(files.items())
        if name == "PLAN.md" or (name.startswith(("hosts/", "builds/")) and not COPIES.search(name))
    }


def store(root: Path, files: dict[str, str]) -> None:
    """Write a tree anew."""
    shutil.rmtree(root, ignore_errors=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("name", CASES)
def test_the_output_is_as_stored(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    case = HERE / name
    monkeypatch.chdir(case)
    code = run(["generate", "inventory.yaml", "--output", str(tmp_path / "out")])
    report = f"{capsys.readouterr().err}exit code {code}\n"
    found = tree(tmp_path / "out")
    if request.config.getoption("--update-golden"):
        (case / "report.txt").write_text(report)
        store(case / "expected", found)
    assert report == (case / "report.txt").read_text()
    assert found == tree(case / "expected")
    assert bool(found) == (code == 0)


@pytest.mark.parametrize("name", ON_KUBERNETES)
def test_the_objects_for_kubernetes_are_as_stored(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    case = HERE / name
    monkeypatch.chdir(case)
    assert run(["generate", "inventory.yaml", "--target", "kubernetes", "--output", str(tmp_path / "out")]) == 0
    found = {path: content.decode() for path, (content, _) in whole(tmp_path / "out").items() if is_own(path)}
    if request.config.getoption("--update-golden"):
        store(case / "kubernetes", found)
    assert found == {path: content.decode() for path, (content, _) in whole(case / "kubernetes").items()}


def is_own(path: str) -> bool:
    return not path.startswith("probe/") and path != MANIFEST


@pytest.mark.parametrize("name", GROUPS)
def test_what_the_nodes_of_a_group_get_is_as_stored(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    case = HERE / name
    monkeypatch.chdir(case)
    found = []
    for part in ("env", "container"):
        assert run(["plan", "inventory.yaml", "--explain", f"deployments.big.{part}"]) == 0
        values = re.split(r"^(?=\S)", capsys.readouterr().out, flags=re.MULTILINE)
        found += [each for each in values if "\n  from group: " in each]
    if request.config.getoption("--update-golden"):
        (case / "decisions.txt").write_text("".join(found))
    assert "".join(found) == (case / "decisions.txt").read_text()
    assert sum(".env.VLLM_HOST_IP: " in each for each in found) == GROUPS[name]


def test_there_is_no_stray_file() -> None:
    allowed = {"inventory.yaml", "inventory.lock.yaml", "report.txt", "expected", "decisions.txt", "kubernetes"}
    assert {path.name for case in CASES for path in (HERE / case).iterdir()} <= allowed
    assert {path.name for path in HERE.iterdir() if path.is_dir()} - {"__pycache__"} == set(CASES)


def whole(root: Path) -> dict[str, tuple[bytes, bool]]:
    """Read everything in a tree: bytes, and whether a file may be executed, which is what Git keeps."""
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".ansible" not in path.parts
    }


def test_the_committed_output_of_the_lab_is_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert run(["generate", "inventories/lab.yaml", "--output", str(tmp_path / "lab")]) == 0
    fresh, committed = whole(tmp_path / "lab"), whole(ROOT / "generated" / "lab")
    hint = "run: sparkiac generate inventories/lab.yaml"
    assert fresh.keys() == committed.keys(), hint
    assert [path for path, file in fresh.items() if file != committed[path]] == [], hint
