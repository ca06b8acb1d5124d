"""Which hosts change, and which together: the tasks of the playbooks, by Ansible on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.host.plays import Played, play

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
NOTHING = {"files": [], "sysctls": [], "units": []}
FILE = {**NOTHING, "files": ["etc/x"]}
UNIT = {**NOTHING, "units": [{"unit": "u", "action": "start", "because": "failed"}]}


def played(folder: Path, plays: list[dict[str, Any]], together: dict[str, list[str]], *words: str) -> Played:
    """Run plays on hosts that say who changes together with them."""
    variables = {"sparkiac": {"host": "{{ inventory_hostname }}", "together": "{{ linked[inventory_hostname] }}"}}
    common = {"gather_facts": False, "vars": {"linked": together, **variables}}
    written = [{**common, **each, "vars": {**common["vars"], **each.get("vars", {})}} for each in plays]
    (folder / "play.yml").write_text(yaml.safe_dump(written, sort_keys=False))
    return play(folder, *words, inventory=",".join(together) + ",")


def show(name: str) -> dict[str, Any]:
    """Make a task that names the host it ran on."""
    return {"name": name, "ansible.builtin.debug": {"msg": f"{name} {{{{ inventory_hostname }}}}"}}


@pytest.mark.parametrize(
    ("found", "changing"),
    [
        ({"a": NOTHING, "b": NOTHING, "c": NOTHING}, []),
        ({"a": FILE, "b": NOTHING, "c": NOTHING}, ["a"]),
        # b and c run one model: a difference of one of them takes both.
        ({"a": NOTHING, "b": NOTHING, "c": UNIT}, ["b", "c"]),
    ],
)
def test_hosts_that_differ_change_with_their_group(found: dict[str, Any], changing: list[str], tmp_path: Path) -> None:
    tasks = yaml.safe_load((PLAYBOOKS / "roles/look/tasks/main.yml").read_text())[1:]
    looked = {"said": {host: json.dumps(each) for host, each in found.items()}}
    looked["look_done"] = {"stdout": "{{ said[inventory_hostname] }}"}
    plays = [
        {"hosts": "all", "tasks": tasks, "vars": looked},
        {"hosts": ["a", "b", "c", "&sparkiac_changing"], "tasks": [show("changes")]},
    ]
    code, _, said = played(tmp_path, plays, {"a": ["a"], "b": ["b", "c"], "c": ["b", "c"]})
    assert code == 0, said
    assert [host for host in "abc" if f"changes {host}" in said] == changing


def test_no_host_of_a_group_changes_without_the_others(tmp_path: Path) -> None:
    [change] = yaml.safe_load((PLAYBOOKS / "change.yml").read_text())
    plays = [{"hosts": "all", "any_errors_fatal": True, "tasks": [*change["pre_tasks"], show("changes")]}]
    together = {"a": ["a"], "b": ["b", "c"], "c": ["b", "c"]}
    assert played(tmp_path, plays, together).code == 0
    assert played(tmp_path, plays, together, "--limit", "a").code == 0
    code, _, said = played(tmp_path, plays, together, "--limit", "a,b")
    assert code != 0
    assert "b runs a model together with c, so these hosts must change" in " ".join(said.split())
    assert "changes a" not in said
