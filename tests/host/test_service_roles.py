"""Networks and Ollama's models, by Ansible on this machine with a stand-in for docker: made once, and told before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.host.plays import play

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
DOCKER = """\
#!/bin/sh
# Stand-in for docker: $STUB/networks and $STUB/models hold what is here, one a line.
case "$1 $2" in
  "network inspect") grep -qxF "$3" "$STUB/networks" ;;
  "network create") echo "$3" >>"$STUB/networks" ;;
  "exec sparkiac-ollama-server-1")
    case "$4" in
      list) echo "NAME ID SIZE MODIFIED"; sed 's/$/ 0123 1 GB now/' "$STUB/models" ;;
      pull) echo "$5" >>"$STUB/models" ;;
    esac ;;
  *) exit 9 ;;
esac
"""
PULLS = [{"unit": "sparkiac-ollama", "model": model} for model in ("qwen3:8b", "nomic:latest")]


def bench(folder: Path, role: str, tasks: str | None = None, **variables: object) -> Path:
    """Write a play of one role, or of the tasks of it that begin with a word, and the stand-in."""
    (folder / "bin").mkdir()
    (folder / "bin/docker").write_text(DOCKER)
    (folder / "bin/docker").chmod(0o755)
    for name in ("networks", "models"):
        (folder / name).write_text("")
    chosen: list[dict[str, Any]] = yaml.safe_load((PLAYBOOKS / f"roles/{role}/tasks/main.yml").read_text())
    if tasks is not None:
        chosen = chosen[next(index for index, task in enumerate(chosen) if task["name"].startswith(tasks)) :]
    written = {"hosts": "all", "gather_facts": False, "vars": {"sparkiac": variables}, "tasks": chosen}
    (folder / "play.yml").write_text(yaml.safe_dump([written], sort_keys=False))
    return folder


@pytest.mark.parametrize(
    ("role", "tasks", "variables", "file", "said"),
    [
        ("host", "Look for the networks", {"networks": ["sparkiac"]}, "networks", "would create the network sparkiac"),
        ("models", None, {"pulls": PULLS}, "models", "would pull qwen3:8b into sparkiac-ollama"),
    ],
    ids=["network", "models"],
)
def test_what_is_missing_is_made_once(  # noqa: PLR0913, PLR0917  the columns of a table
    role: str, tasks: str | None, variables: dict[str, Any], file: str, said: str, tmp_path: Path
) -> None:
    """A dry run tells it and changes nothing; the second run changes nothing."""
    folder = bench(tmp_path, role, tasks, **variables)
    code, changed, text = play(folder, "--check")
    assert (code, changed, (folder / file).read_text()) == (0, {"here": 1}, ""), text
    assert said in text
    code, changed, text = play(folder)
    assert (code, changed) == (0, {"here": 1}), text
    assert (folder / file).read_text().split() == (
        [*variables.get("networks", ())] or [each["model"] for each in PULLS]
    )
    assert play(folder)[:2] == (0, {"here": 0})


def test_only_the_models_that_are_missing_are_pulled(tmp_path: Path) -> None:
    folder = bench(tmp_path, "models", pulls=PULLS)
    (folder / "models").write_text("other:latest\nqwen3:8b\n")
    assert play(folder)[:2] == (0, {"here": 1})
    assert (folder / "models").read_text().split() == ["other:latest", "qwen3:8b", "nomic:latest"]


@pytest.mark.parametrize(
    ("role", "tasks", "variables"),
    [("host", "Look for the networks", {"networks": []}), ("models", None, {"pulls": []})],
)
def test_nothing_to_do(role: str, tasks: str | None, variables: dict[str, Any], tmp_path: Path) -> None:
    for words in ((), ("--check",)):
        folder = tmp_path / str(len(words))
        folder.mkdir()
        assert play(bench(folder, role, tasks, **variables), *words)[:2] == (0, {"here": 0})


def test_a_server_that_does_not_answer_is_an_error_and_in_a_dry_run_none(tmp_path: Path) -> None:
    """In a dry run of the first apply the container is not there yet."""
    folder = bench(tmp_path, "models", pulls=[{"unit": "sparkiac-gone", "model": "a:1"}])
    assert play(folder).code == 2
    code, changed, text = play(folder, "--check")
    assert (code, changed) == (0, {"here": 1}), text
