"""Events of the real Ansible, of the oldest supported release, this one and the newest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.upstream import playbook
from tests import pythons

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAY = """\
- hosts: all
  gather_facts: false
  connection: local
  vars: {ansible_python_interpreter: "PYTHON"}
  roles: [look, services]
"""
LOOK = """\
- ansible.builtin.command: {argv: [echo, '{"units": []}']}
- ansible.builtin.debug: {msg: "the hidden word"}
  no_log: true
"""
SERVICES = """\
- ansible.builtin.command: {argv: [sh, -c, "echo why >&2; exit 3"]}
  when: inventory_hostname == "two"
- ansible.builtin.command: {argv: [sh, -c, "echo the hidden word; exit 3"]}
  no_log: true
- ansible.builtin.include_role: {name: look}
"""


def tree(folder: Path) -> Path:
    for name, text in {
        "inventory.yml": "all: {hosts: {one: {}, two: {}}}\n",
        "ansible.cfg": "[defaults]\ninterpreter_python = auto_silent\n",
        "site.yml": PLAY.replace("PYTHON", sys.executable),
        "roles/look/tasks/main.yml": LOOK,
        "roles/services/tasks/main.yml": SERVICES,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize("release", ["2.16", "2.19", "2.21"])
def test_events_are_the_same_in_every_release(release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = bin_of(release)
    monkeypatch.setenv("PATH", f"{found}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    events: list[Mapping[str, Any]] = []
    wanted = playbook.PlaybookRun(tree(tmp_path / "tree"), "site.yml", (), tmp_path / "log")
    assert playbook.run(wanted, events.append, lambda: None) == 2
    version = subprocess.run([found / "ansible-playbook", "--version"], capture_output=True, text=True, check=True)
    assert f"core {release}." in version.stdout
    log = (tmp_path / "log").read_text()
    assert "PLAY RECAP" in log
    assert "rror while" not in log, "the callback raised"
    assert "hidden word" not in repr(events)
    looks = [each for each in events if each["event"] == "ok" and each["role"] == "look" and "stdout" in each]
    assert [(each["host"], each["rc"], each["stdout"]) for each in sorted(looks, key=lambda each: each["host"])] == [
        ("one", 0, '{"units": []}'),
        ("two", 0, '{"units": []}'),
    ]
    failed = {each["host"]: each for each in events if each["event"] == "failed"}
    assert (failed["two"]["rc"], failed["two"]["stderr"]) == (3, "why")
    assert set(failed) == {"one", "two"}
    assert "stdout" not in failed["one"]
    assert events[0]["event"] == "play"
    assert ("started", "two", "services") in [(each["event"], each.get("host"), each.get("role")) for each in events]


def bin_of(release: str) -> Path:
    """Give the programs of an Ansible release; sparkiac's own is 2.19."""
    own = Path(sys.executable).parent
    return own if release == "2.19" else pythons.environment("3.12", f"ansible-core=={release}.*")


def test_an_event_that_arrives_in_parts_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host may answer more than a pipe holds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    made = tree(tmp_path / "tree")
    (made / "roles/look/tasks/main.yml").write_text("- ansible.builtin.command: {argv: [seq, '100000']}\n")
    (made / "roles/services/tasks/main.yml").write_text("[]\n")
    events: list[Mapping[str, Any]] = []
    waits: list[int] = []
    wanted = playbook.PlaybookRun(made, "site.yml", ("--limit", "one"), tmp_path / "log")
    assert playbook.run(wanted, events.append, lambda: waits.append(1)) == 0
    [found] = [each["stdout"] for each in events if "stdout" in each]
    assert len(found) == len("\n".join(map(str, range(1, 100001))))
    assert len(waits) > 3
