"""The end of `sparkiac os` for a group. Ansible is real; the program of a host and what reaches it are stand-ins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.host.plays import play
from tests.host.test_playbooks import PLAYBOOKS

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = """#!/bin/sh
# Stand-in: keeps the phase of each host in a file.
case $2 in accept) echo good >"$1" ;; back) echo failed >"$1" ;; esac
printf '{"reboot": false, "trial": {"phase": "%s", "why": ""}}' "$(cat "$1")"
"""
FACTS = {
    "os_changes": True,
    "services_outcome": "upgraded",
    "os_begun": {"stdout": json.dumps({"of": "trial", "again": False})},
}


def ended(folder: Path, phases: dict[str, str]) -> list[tuple[str, str]]:
    """End it for hosts in these phases; return phase and outcome of each."""
    for host, phase in phases.items():
        (folder / host).write_text(phase)
    for role, files in {"lease": ("take", "keep"), "verify": ("main",)}.items():
        for file in files:
            path = folder / "roles" / role / "tasks" / f"{file}.yml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("[]\n")
    for role in ("os", "services"):
        (folder / "roles" / role).symlink_to(PLAYBOOKS / "roles" / role)
    (folder / "kernel").write_text(KERNEL)
    (folder / "kernel").chmod(0o755)
    program = [str(folder / "kernel"), f"{folder}/{{{{ inventory_hostname }}}}"]
    variables = {"os_program": program, "os_team": [*phases], "verify_failed": False}
    write = {"content": "{{ services_outcome }}", "dest": f"{folder}/{{{{ inventory_hostname }}}}.outcome"}
    tasks = [
        {"ansible.builtin.set_fact": FACTS},
        {"ansible.builtin.include_role": {"name": "os", "tasks_from": "end"}},
        {"ansible.builtin.copy": write},
    ]
    body = {"hosts": "all", "gather_facts": False, "vars": variables, "tasks": tasks}
    body["vars_files"] = [str(PLAYBOOKS / "vars/main.yml")]
    (folder / "play.yml").write_text(json.dumps([body]))
    done = play(folder, inventory=f"{','.join(phases)},")
    assert done.code == 0, done.said
    return [((folder / host).read_text().strip(), (folder / f"{host}.outcome").read_text()) for host in phases]


@pytest.mark.parametrize("cut", ["a", "b"])
def test_a_group_of_which_one_has_lost_what_passed_goes_back_and_says_so(tmp_path: Path, cut: str) -> None:
    phases = {"a": "passed", "b": "passed"} | {cut: "failed"}
    assert ended(tmp_path, phases) == [("failed", "left"), ("failed", "left")]


def test_a_group_that_has_passed_keeps_it(tmp_path: Path) -> None:
    assert ended(tmp_path, {"a": "passed", "b": "passed"}) == [("good", "upgraded"), ("good", "upgraded")]
