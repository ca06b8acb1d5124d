"""Which hosts change, and which together: the tasks of the playbooks, by Ansible on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.host.plays import Played, play

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
LINKED = {"a": ["a"], "b": ["b", "c"], "c": ["b", "c"]}


def played(folder: Path, plays: list[dict[str, Any]], *words: str) -> Played:
    """Run plays on hosts that say who changes together with them."""
    own = {"host": "{{ inventory_hostname }}", "together": "{{ linked[inventory_hostname] }}", "fetch": {"owners": []}}
    facts = {"name": "Set", "ansible.builtin.set_fact": {"sparkiac": own, "look_done": "{{ looked | default({}) }}"}}
    written = [{**each, "gather_facts": False, "tasks": [facts, *each["tasks"]]} for each in plays]
    for each in written:
        each["vars"] = {"linked": LINKED, **each.get("vars", {})}
    (folder / "play.yml").write_text(yaml.safe_dump(written, sort_keys=False))
    return play(folder, *words, inventory=",".join(LINKED) + ",")


def show(name: str) -> dict[str, Any]:
    """Make a task that names the host it ran on."""
    return {"name": name, "ansible.builtin.debug": {"msg": f"{name} {{{{ inventory_hostname }}}}"}}


def task(role: str, name: str) -> dict[str, Any]:
    """Return a task of a role."""
    found: list[dict[str, Any]] = yaml.safe_load((PLAYBOOKS / f"roles/{role}/tasks/main.yml").read_text())
    return next(each for each in found if each["name"] == name)


# b and c run one model: a difference of one of them takes both.
@pytest.mark.parametrize(("differing", "changing"), [("", ""), ("a", "a"), ("c", "bc")])
def test_hosts_that_differ_change_with_their_group(differing: str, changing: str, tmp_path: Path) -> None:
    said = {host: {"stdout": json.dumps({"differs": host in differing, "lease": None})} for host in LINKED}
    looked = {"said": said, "looked": "{{ said[inventory_hostname] }}"}
    plays = [
        {"hosts": "all", "tasks": [task("look", "Choose the hosts that change")], "vars": looked},
        {"hosts": ["a", "b", "c", "&sparkiac_changing"], "tasks": [show("changes")]},
    ]
    code, _, text = played(tmp_path, plays)
    assert code == 0, text
    assert [host for host in "abc" if f"changes {host}" in text] == [*changing]


def test_no_host_of_a_group_changes_without_the_others(tmp_path: Path) -> None:
    tasks = [task("begin", "Check that all hosts of a group take part"), show("changes")]
    plays = [{"hosts": "all", "any_errors_fatal": True, "tasks": tasks}]
    assert played(tmp_path, plays, "--limit", "a").code == 0
    code, _, said = played(tmp_path, plays, "--limit", "a,b")
    assert code != 0
    assert "--limit leaves out c. Add these hosts" in " ".join(said.split())
    assert "changes a" not in said
