"""What Ansible makes of variables marked `!unsafe` and of `argv`: a play writes back what it got."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sparkiac.render.escape import json_argument
from sparkiac.render.yamltext import dump, without_templates
from tests.pythons import environment
from tests.render.hostile import SPECULATIVE_CONFIG, by_name, corpus, different

RECORDER = "import json, os, sys; print(json.dumps([os.fsencode(word).decode() for word in sys.argv[1:]]))"
PLAY = """
- name: Write back
  hosts: all
  gather_facts: false
  tasks:
    - name: Variables
      ansible.builtin.copy:
        content: "{{ hostile | to_json }}"
        dest: "{{ inventory_dir }}/variables.json"
        mode: "0600"
    - name: Many words
      ansible.builtin.command:
        argv: "{{ [ansible_python_interpreter, '-c', recorder] + hostile.words }}"
        expand_argument_vars: false
      environment: {FOO: expanded}
      register: many
      changed_when: false
    - name: One word
      ansible.builtin.command:
        argv: ["{{ ansible_python_interpreter }}", "-c", "{{ recorder }}", "{{ item }}"]
        expand_argument_vars: false
      loop: "{{ hostile.single }}"
      register: single
      changed_when: false
    - name: Records
      ansible.builtin.copy:
        content: "{{ ([many.stdout] + (single.results | map(attribute='stdout') | list)) | to_json }}"
        dest: "{{ inventory_dir }}/records.json"
        mode: "0600"
"""
# Each of these was read as something else by one version of Ansible or another when it stood alone.
SINGLE = ("", "no", "010", "~", "$HOME", "{{ 7 * 7 }}", "*", "=", "22:22", "[1, 2]", "a b", "{% raw %}")


@pytest.fixture(scope="module", params=["of this environment", pytest.param("2.21", marks=pytest.mark.deep)])
def playbook(request: pytest.FixtureRequest) -> Path:
    if request.param == "2.21":
        return environment("3.12", "ansible-core>=2.21,<2.22") / "ansible-playbook"
    return Path(sys.executable).with_name("ansible-playbook")


def play(directory: Path, playbook: Path, hostile: dict[str, Any]) -> tuple[dict[str, Any], list[list[str]]]:
    """Play with these variables of a host; return what a task saw and the words that programs got."""
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "recorder": RECORDER,
        "hostile": without_templates(hostile),
    }
    (directory / "host_vars").mkdir()
    (directory / "host_vars/spark-01.yml").write_text(dump(variables), encoding="ascii")
    (directory / "inventory.yml").write_text(dump({"all": {"hosts": {"spark-01": None}}}), encoding="ascii")
    (directory / "play.yml").write_text(PLAY, encoding="ascii")
    environment = {
        "HOME": str(directory),
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_HOME": str(directory / "ansible"),
    }
    argv = [playbook, "--inventory", "inventory.yml", "play.yml"]
    done = subprocess.run(
        argv, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert not (directory / "evaluated").exists()
    records = json.loads((directory / "records.json").read_text())
    return json.loads((directory / "variables.json").read_text()), [json.loads(record) for record in records]


def test_ansible_evaluates_nothing(tmp_path: Path, playbook: Path) -> None:
    strings = corpus(12)
    hostile = {
        "words": strings,
        "single": SINGLE,
        "by_name": by_name(strings),
        "deep": {"{{ 7 * 7 }}": [{"{{ key }}": "{{ 7 * 7 }}"}, ["{{ lookup('pipe', 'touch evaluated') }}"]]},
        "plain": {"number": 1, "float": 1.0e16, "true": True, "none": None, "empty": {}},
    }
    variables, [many, *single] = play(tmp_path, playbook, hostile)
    assert different(strings, variables["words"]) == []
    assert different(strings, list(variables["by_name"].values())) == []
    assert (variables["deep"], variables["plain"]) == (hostile["deep"], hostile["plain"])
    assert different(strings, many) == []
    assert single == [[word] for word in SINGLE]


def test_ansible_hands_over_json_and_long_words(tmp_path: Path, playbook: Path) -> None:
    word = json_argument(SPECULATIVE_CONFIG)
    words = [f"--speculative-config={word}", "👩‍💻", "é😀\\", "\\", "$" * 131_071]
    variables, [many, *_] = play(tmp_path, playbook, {"words": words, "single": []})
    assert json.loads(many[0].partition("=")[2]) == SPECULATIVE_CONFIG
    assert different(words, many) == []
    assert different(words, variables["words"]) == []
