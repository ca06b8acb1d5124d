"""A fleet whose hosts are this machine, with stand-in playbooks: what a host answers is in files of a folder."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from sparkiac.console import finish, run
from sparkiac.render import playbooks
from sparkiac.report import assets
from sparkiac.upstream import capture, playbook, programs
from tests.conftest import ROOT
from tests.forked_python import interpreter
from tests.plan.fleets import LOCK, deployment

HOSTS: Final = "spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}"
INVENTORY: Final = deployment(host=HOSTS)
LOCAL: Final = ("--connection=local", "-e", f"ansible_python_interpreter={interpreter()}")
"""Options with which Ansible takes this machine for each host."""
TASK: Final = (
    "- name: Do it\n  ansible.builtin.command: {argv: [sh, -c, '. $STUB/$0.sh', \"{{ inventory_hostname }}.%s\"]}\n"
)
SHOW: Final = "tasks: [{ansible.builtin.debug: {msg: would do it}, changed_when: true, when: ansible_check_mode}]"
"""What a playbook says in check mode, in which `command` does not run."""
FILES: Final = {
    "look.yml": "- {hosts: all, gather_facts: false, roles: [look]}\n",
    "deploy.yml": "- {hosts: all, gather_facts: false, roles: [preflight, stage]}\n",
    "change.yml": (
        '- {hosts: "{{ change_hosts }}", serial: "{{ change_serial }}", gather_facts: false, '
        "any_errors_fatal: true, roles: [services]}\n"
    ),
    "turn.yml": (f"- {{hosts: all, gather_facts: false, any_errors_fatal: true, roles: [status, services], {SHOW}}}\n"),
    "restart.yml": f"- {{hosts: all, gather_facts: false, roles: [services], {SHOW}}}\n",
    "stage.yml": "- {hosts: all, gather_facts: false, roles: [preflight, stage]}\n",
    "verify.yml": "- {hosts: all, gather_facts: false, roles: [verify]}\n",
    **{
        f"roles/{role}/tasks/main.yml": TASK % role
        for role in ("look", "preflight", "stage", "services", "status", "verify")
    },
}
"""Each role runs $STUB/HOST.ROLE.sh."""
PROGRAMS: Final = "roles/programs"
SAME: Final[dict[str, Any]] = {
    "differs": False,
    "files": [],
    "sysctls": [],
    "units": [],
    "effects": [],
    "missing": [],
    "secrets": [],
    "state": {"current": "0123456789abcdef", "previous": None, "committed": "0123456789abcdef", "pending": None},
    "lease": None,
    "faults": [],
}
"""What the program `switch look` prints for a host that is up to date."""
LEASE: Final[dict[str, Any]] = {
    "run": "r1",
    "owner": "ann@desk, pid 4711",
    "age_s": 200,
    "renewed_s": 12,
    "step": "switch",
    "ended": False,
    "free": False,
}
"""The lease of another apply in such an answer."""
RESTART: Final[dict[str, Any]] = SAME | {
    "differs": True,
    "files": ["etc/sparkiac/chat/compose.yaml", "etc/sparkiac/generation.json"],
    "units": [
        {"unit": "sparkiac-chat", "action": "restart", "because": "changed: /etc/sparkiac/chat/compose.yaml"},
    ],
    "effects": [{"action": "write", "subject": "1 file", "because": "/etc/sparkiac/generation.json"}],
}
ROLES: Final = ("look", "preflight", "stage", "services", "status", "verify")


def make(root: Path) -> None:
    """Write the playbooks and the answers of hosts that are up to date."""
    for name, text in FILES.items():
        path = root / "playbooks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copytree(ROOT / "playbooks" / PROGRAMS, root / "playbooks" / PROGRAMS)
    for host in ("spark-01", "spark-02"):
        for role in ROLES:
            answers(root, host, role, "true")
        looks(root, host, SAME)


KEPT: Final = (capture, playbook, programs)
"""Modules that take the directory of the shipped playbooks when they are imported: before `use` replaces it."""


def use(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Render these playbooks in place of the shipped ones."""
    shipped = assets.directory
    monkeypatch.setattr(assets, "directory", lambda name: root / name if name == "playbooks" else shipped(name))
    forget()
    monkeypatch.setenv("STUB", str(root))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def forget() -> None:
    """Forget the playbooks that were rendered: the next test renders the shipped ones."""
    playbooks.render.cache_clear()
    playbooks.on_every_host.cache_clear()


def answers(root: Path, host: str, role: str, script: str) -> None:
    """Let a role run this shell script on a host."""
    (root / f"{host}.{role}.sh").write_text(script + "\n")


def looks(root: Path, host: str, answer: dict[str, Any]) -> None:
    """Let a host answer this to the first look."""
    (root / f"{host}.look.json").write_text(json.dumps(answer))
    answers(root, host, "look", f"cat $STUB/{host}.look.json")


def write(folder: Path) -> None:
    """Write an inventory and its lock."""
    (folder / "lab.yaml").write_text(INVENTORY)
    (folder / "lab.lock.yaml").write_text(LOCK)


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        use(Path(sys.argv[1]), patch)
        finish(lambda: run(sys.argv[2:]))
