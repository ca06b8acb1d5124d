"""The role `files`: the list of the former deployment, read before anything of it is removed."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.conftest import ROOT
from tests.host.plays import play

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("former", "code", "said"),
    [
        ('{"files": ["etc/sparkiac/a"], "units": ["sparkiac-a"]}', 0, "['sparkiac-a'] ['etc/sparkiac/a']"),
        ('{"files": [], "unit": []}', 2, "/etc/sparkiac/owned.json of h has the keys files, unit; this version of"),
    ],
)
def test_a_list_with_other_keys_is_refused(tmp_path: Path, former: str, code: int, said: str) -> None:
    tasks = yaml.safe_load((ROOT / "playbooks/roles/files/tasks/main.yml").read_text())[1:3]
    tasks.append({"ansible.builtin.debug": {"msg": "{{ files_stale_units }} {{ files_stale }}"}})
    known = {"sparkiac": {"host": "h", "units": [], "files": []}, "sparkiac_programs": []}
    known["files_former"] = {"content": base64.b64encode(former.encode()).decode()}
    written = {"hosts": "all", "gather_facts": False, "vars": known, "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([written]))
    done = play(tmp_path, playbook="play.yml", inventory="here,")
    assert done.code == code
    assert said in done.sentence
