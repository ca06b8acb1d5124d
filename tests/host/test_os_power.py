"""A host that has not come back from a boot: the declared command, or a sentence for somebody. Ansible is real."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.host.plays import Played, play
from tests.host.test_playbooks import PLAYBOOKS

if TYPE_CHECKING:
    from pathlib import Path


def gone(folder: Path, power: list[str]) -> Played:
    """Do what the playbook does for a host that has not come back; the host is this machine, which answers at once."""
    (folder / "roles").symlink_to(PLAYBOOKS / "roles")
    body = [
        {
            "hosts": "all",
            "gather_facts": False,
            "vars": {"sparkiac": {"power": power}},
            "tasks": [{"ansible.builtin.include_role": {"name": "os", "tasks_from": "power"}}],
        }
    ]
    (folder / "play.yml").write_text(json.dumps(body))
    return play(folder)


def test_the_declared_command_runs_without_a_shell(tmp_path: Path) -> None:
    done = gone(tmp_path, ["touch", str(tmp_path / "$HOME; off and on")])
    assert done.code == 0, done.said
    assert (tmp_path / "$HOME; off and on").exists()


def test_without_one_somebody_is_asked(tmp_path: Path) -> None:
    done = gone(tmp_path, [])
    assert done.code != 0
    assert "here has not come back. Take its power away for 10 seconds: it then starts what ran before" in done.sentence
