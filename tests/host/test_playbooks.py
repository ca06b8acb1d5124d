"""The playbooks, without a host: what Ansible and the linters think of them. Real hosts: tests/e2e."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.host import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKOUT = Path(__file__).parents[2]
PLAYBOOKS = CHECKOUT / "playbooks"
BIN = Path(sys.executable).parent
BLOCKS = ("block", "rescue", "always")
KEYWORDS = {
    *["name", "when", "vars", "loop", "loop_control", "register", "changed_when", "failed_when", "check_mode"],
    *["no_log", "diff", "environment", "until", "retries", "delay"],
    *["run_once", "delegate_to", "become", "ignore_unreachable", "any_errors_fatal"],
}


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a generated tree of two hosts."""
    root = tmp_path_factory.mktemp("lab") / "lab"
    tree.build(root, checkout=CHECKOUT)
    return root


def run(*argv: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1", "ANSIBLE_HOME": str(cwd / ".ansible")}
    return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def tasks(entries: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        nested = [task for key in BLOCKS for task in entry.get(key) or []]
        yield from tasks(nested) if nested else [entry]


def test_syntax(generated: Path) -> None:
    done = run(BIN / "ansible-playbook", "--syntax-check", "site.yml", cwd=generated)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.deep
def test_ansible_lint(generated: Path) -> None:
    done = run(BIN / "ansible-lint", "--offline", "--profile", "production", "site.yml", "playbooks", cwd=generated)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failure(s), 0 warning(s)" in done.stderr + done.stdout


def test_yamllint() -> None:
    done = run(BIN / "yamllint", "--strict", "-d", "{extends: default}", ".", cwd=PLAYBOOKS)
    assert (done.returncode, done.stdout) == (0, "")


def roles_of(entries: list[dict[str, Any]]) -> list[str]:
    """Return the roles that a play uses, in their order."""
    words = ("ansible.builtin.import_role", "ansible.builtin.include_role")
    return [task[word]["name"] for task in tasks(entries) for word in words if word in task]


def test_every_host_is_checked_before_one_is_changed() -> None:
    look, prepare = yaml.safe_load((PLAYBOOKS / "deploy.yml").read_text())
    assert [role["role"] for role in look["roles"]] == ["pins", "tree", "begin", "look"]
    assert prepare["hosts"] == "sparkiac_changing"
    order = [role for role in roles_of(prepare["tasks"]) if role != "lease"]
    assert order[:4] == ["preflight", "host", "secrets", "stage"]
    # The play that changes what runs comes after both, for hosts that differ from the tree alone.
    [change] = yaml.safe_load((PLAYBOOKS / "change.yml").read_text())
    assert change["hosts"].endswith("+ ['&sparkiac_changing'] }}")
    assert "services" in roles_of(change["tasks"])
    assert "services" not in order


def test_every_playbook_says_how_to_call_it() -> None:
    """Also with which words: change.yml, finish.yml, look.yml and deploy.yml are imported by others."""
    for path in sorted(PLAYBOOKS.glob("*.yml")):
        text = path.read_text()
        imported = path.stem in {"change", "finish", "look"}
        assert text.startswith("---\n# "), path.name
        assert imported or f"#   ansible-playbook playbooks/{path.name}" in text or "site.yml" in text, path.name


def test_included_tasks_run_whatever_tags_were_chosen() -> None:
    """Ansible gives the tasks of an include none of the tags of the include."""
    for path in [*PLAYBOOKS.glob("*.yml"), *PLAYBOOKS.glob("roles/*/tasks/*.yml")]:
        for play in yaml.safe_load(path.read_text()):
            for task in tasks([play, *play.get("tasks", [])]):
                for word in ("ansible.builtin.include_role", "ansible.builtin.include_tasks"):
                    assert word not in task or task[word]["apply"] == {"tags": ["always"]}, path


@pytest.mark.parametrize("path", sorted(PLAYBOOKS.glob("roles/*/tasks/*.yml")), ids=lambda path: str(path)[-30:])
def test_tasks_are_named_and_use_what_ansible_core_has(path: Path) -> None:
    for task in tasks(yaml.safe_load(path.read_text())):
        assert task.get("name"), task
        modules = set(task) - KEYWORDS
        assert len(modules) == 1, modules
        module = modules.pop()
        own = path.parents[1] / f"action_plugins/{module}.py"
        assert module.startswith("ansible.builtin.") or own.is_file(), task["name"]


@pytest.mark.parametrize("path", sorted(PLAYBOOKS.glob("roles/*/tasks/*.yml")), ids=lambda path: str(path)[-30:])
def test_commands_take_words_literally(path: Path) -> None:
    for task in tasks(yaml.safe_load(path.read_text())):
        assert "ansible.builtin.shell" not in task
        if command := task.get("ansible.builtin.command"):
            assert "argv" in command, task["name"]
            # Without this, Ansible expands $HOME and ~ in each word.
            assert command["expand_argument_vars"] is False, task["name"]
            assert "changed_when" in task, task["name"]


def test_no_playbook_removes_an_image() -> None:
    """(HST011) The former generation's images are the way back; whoever wants the room takes it by hand."""
    words = [
        " ".join(map(str, task["ansible.builtin.command"]["argv"]))
        for path in PLAYBOOKS.glob("roles/*/tasks/*.yml")
        for task in tasks(yaml.safe_load(path.read_text()))
        if isinstance(task.get("ansible.builtin.command", {}).get("argv"), list)
    ]
    docker = [each.split()[1:3] for each in words if each.startswith("docker ")]
    assert len(docker) > 5
    assert {"rmi", "rm", "prune", "system", "builder"}.isdisjoint(word for each in docker for word in each)


def test_secrets_are_shown_nowhere() -> None:
    writing = [
        task
        for path in PLAYBOOKS.glob("roles/*/tasks/*.yml")
        for task in tasks(yaml.safe_load(path.read_text()))
        if "secrets_given | to_json" in str(task)
    ]
    assert [task["no_log"] for task in writing] == [True]
    [command] = (task["ansible.builtin.command"] for task in writing)
    assert "secrets_given" not in str(command["argv"]), "every user of a host sees the arguments of its processes"


def test_roles_have_one_shape() -> None:
    """`programs` has files alone: other roles bring them to the hosts."""
    roles = {*PLAYBOOKS.glob("roles/*")}
    assert {path.name for path in (PLAYBOOKS / "roles/programs").iterdir()} == {"files"}
    for role in roles - {PLAYBOOKS / "roles/programs"}:
        assert {path.name for path in role.iterdir()} - {"defaults", "action_plugins"} == {"tasks"}, role.name
        assert (role / "tasks/main.yml").is_file()
