"""tools/catalog_sources.py: which files the catalog cites, and what became of them in a repository."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

RECIPE = """\
sources:
  - "github.com/example/recipes at {commit}, one/moved.yaml and one/same.yaml: options"
  - "github.com/example/recipes at {commit}, gone.md"
  - "Example's recipes, two/folder at {commit}: the command"
  - "github.com/example/recipes at 0123abcd, one/same.yaml"
  - "github.com/example/recipes issue 1, and github.com/example/other, README.md: no commit, so nothing to compare"
"""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load the tool, with one source that has a title."""
    spec = importlib.util.spec_from_file_location("catalog_sources", ROOT / "tools/catalog_sources.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "titles", lambda: {"Example's recipes": "example/recipes"})
    return module


@pytest.fixture
def commit(tmp_path: Path) -> str:
    """Make a repository in which one file moves, one goes and one stays; return the commit before that."""
    folder = tmp_path / "repository"

    def git(*words: str) -> str:
        named = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(folder), *named, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    folder.mkdir()
    git("init", "--quiet")
    for path in ("one/moved.yaml", "one/same.yaml", "gone.md", "two/folder/command.sh"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("max-num-seqs: 4\nport: 8000\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    before = git("rev-parse", "--short=8", "HEAD")
    (folder / "one/moved.yaml").write_text("max-num-seqs: 8\nport: 8000\n")
    (folder / "two/folder/more.sh").write_text("true\n")
    git("rm", "--quiet", "gone.md")
    git("add", ".")
    git("commit", "--quiet", "-m", "second")
    recipes = tmp_path / "catalog/recipes/example"
    recipes.mkdir(parents=True)
    (recipes / "model.yaml").write_text(RECIPE.format(commit=before))
    return before


def test_a_git_directory_says_what_moved(
    tool: ModuleType, commit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--catalog", str(tmp_path / "catalog"), "--git", f"example/recipes={tmp_path / 'repository'}"]
    assert tool.main(options) == 1
    lines = capsys.readouterr().out.splitlines()
    name = f"example/recipes at {commit}"
    assert lines[0] == f"gone: {name}, gone.md: the newest commit has no such file"
    assert lines[1] == "    recipes/example/model.yaml"
    assert lines[2].startswith(f"moved: {name}, one/moved.yaml: +1 -1 lines, last in ")
    assert lines[4].startswith(f"moved: {name}, two/folder: +1 -0 lines, last in ")
    assert lines[6] == "unknown: example/recipes at 0123abcd, one/same.yaml: the commit is not in the git directory"
    assert lines[-1] == "1 gone, 2 moved, 1 unknown, 1 same"
    assert tool.main([*options, "--diff"]) == 1
    assert "    +max-num-seqs: 8" in capsys.readouterr().out.splitlines()


def test_a_raw_url_says_what_moved(
    tool: ModuleType, commit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for state, text in ((commit, "port: 8000\n"), ("HEAD", "port: 8001\n")):
        (tmp_path / "raw/example/recipes" / state / "one").mkdir(parents=True)
        (tmp_path / "raw/example/recipes" / state / "one/moved.yaml").write_text(text)
        (tmp_path / "raw/example/recipes" / state / "one/same.yaml").write_text("port: 8000\n")
    raw = f"{(tmp_path / 'raw').as_uri()}/{{repository}}/{{commit}}/{{path}}"
    assert tool.main(["--catalog", str(tmp_path / "catalog"), "--raw", raw]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"moved: example/recipes at {commit}, one/moved.yaml: +1 -1 lines"
    assert lines[-1] == "0 gone, 1 moved, 3 unknown, 1 same"


def test_without_a_repository_everything_is_unknown(
    tool: ModuleType, commit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commit
    assert tool.main(["--catalog", str(tmp_path / "catalog")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "0 gone, 0 moved, 5 unknown, 0 same"


def test_the_citations_of_the_catalog_are_found(tool: ModuleType) -> None:
    found = {each.repository for each in tool.cited(ROOT / "sparkiac/catalog", {"NVIDIA's Spark recipes": "NVIDIA/x"})}
    assert {"NVIDIA/x", "eugr/spark-vllm-docker", "sgl-project/sglang", "ai-dynamo/aiconfigurator"} <= found
