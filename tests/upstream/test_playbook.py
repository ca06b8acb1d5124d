"""Events of the real Ansible, of the oldest supported release, this one and the newest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.upstream import playbook
from tests import pythons
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
LOOP = """\
- ansible.builtin.command: {argv: [sh, -c, "test {{ item }} = fine || { echo no {{ item }} >&2; exit 1; }"]}
  loop: [fine, one, two]
"""
"""A loop, two of whose items fail."""


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


@pytest.mark.parametrize("release", ["2.16", "2.19", "2.21"])
def test_a_loop_fails_for_the_reasons_of_its_items(
    release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 2.21 the result of an item does not say that it failed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{bin_of(release)}:{os.environ['PATH']}")
    events: list[Mapping[str, Any]] = []
    folder = tree(tmp_path / "tree")
    (folder / "roles/services/tasks/main.yml").write_text(LOOP)
    playbook.run(playbook.PlaybookRun(folder, "site.yml", (), tmp_path / "log"), events.append, lambda: None)
    failed = [each for each in events if each["event"] == "failed"]
    assert [each["stderr"] for each in failed] == ["no one\nno two"] * 2
    assert all("items" not in each["msg"] for each in failed)


def bin_of(release: str) -> Path:
    """Return the programs of an Ansible release: those beside this Python, if it is theirs."""
    own = Path(sys.executable).parent
    return (
        own
        if metadata.version("ansible-core").startswith(f"{release}.")
        else pythons.environment("3.12", f"ansible-core=={release}.*")
    )


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


RETRIES = """\
- ansible.builtin.command: {argv: [sh, -c, "echo x >>NOTED; wc -l <NOTED"]}
  register: counted
  until: counted.stdout | int > 1
  retries: 5
  delay: 0
"""
KILLED = """\
import sys
from pathlib import Path
from sparkiac.upstream import playbook
wanted = playbook.PlaybookRun(Path(sys.argv[1]), "site.yml", ("--limit", "one"), Path(sys.argv[2]))
playbook.run(wanted, lambda event: print(event["event"], flush=True), lambda: None)
"""


@pytest.mark.parametrize("release", ["2.16", "2.19", "2.21"])
def test_a_repeated_task_is_an_event_and_ansible_ends_with_its_reader(
    release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader is killed while a task sleeps."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{bin_of(release)}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    made, own = tree(tmp_path / "tree"), tmp_path / "pid"
    (made / "roles/look/tasks/main.yml").write_text(RETRIES.replace("NOTED", str(tmp_path / "noted")))
    waits = f"import os, time; open({str(own)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    sleeps = json.dumps({"ansible.builtin.command": {"argv": [sys.executable, "-c", waits]}})
    (made / "roles/services/tasks/main.yml").write_text(f"- {sleeps}\n")
    argv = [sys.executable, "-c", KILLED, made, tmp_path / "log"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as reader:
        wait_for(own.exists)
        [controller] = children(reader.pid)
        reader.kill()
        assert reader.stdout
        assert "retry" in reader.stdout.read().splitlines()
    try:
        wait_for(lambda: ended(controller))
    finally:
        os.kill(int(own.read_text()), signal.SIGKILL)


def children(process: int) -> list[int]:
    """Return the processes that a process started."""
    found = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
    return [each for each in found if stat(each)[1:2] == [str(process)]]


def ended(process: int) -> bool:
    """Return whether a process has ended; nobody may have read its status."""
    return stat(process)[:1] in ([], ["Z"])


def stat(process: int) -> list[str]:
    """Return the fields of a process after its name: state, parent and the others; empty if it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_each_run_has_its_own_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Except where their sockets would have too long a path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ANSIBLE_SSH_CONTROL_PATH_DIR", "/mine")
    made = tree(tmp_path / "tree")
    (made / "roles/look/tasks/main.yml").write_text(
        "- ansible.builtin.command: {argv: [printenv, ANSIBLE_SSH_CONTROL_PATH_DIR]}\n"
    )
    (made / "roles/services/tasks/main.yml").write_text("[]\n")
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        for folder, expected in ((Path(short), short), (tmp_path / ("long" * 20), "/mine")):
            folder.mkdir(exist_ok=True)
            events: list[Mapping[str, Any]] = []
            wanted = playbook.PlaybookRun(made, "site.yml", ("--limit", "one"), folder / "log")
            assert playbook.run(wanted, events.append, lambda: None) == 0
            assert [each["stdout"] for each in events if "stdout" in each] == [expected]
