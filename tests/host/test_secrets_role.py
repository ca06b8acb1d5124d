"""Secrets reach their files unchanged and are never evaluated, by Ansible on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.host.plays import Played, play

PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
VALUES = {
    "quotes": "p\"a's $1 ${HOME} %h \\n #x: [y]",
    "expression": "{{ lookup('pipe', 'touch evaluated; echo y') }}",
    "statement": "{% if true %}a",
    "comment": "{# b",
    "inside": "a {{ inventory_hostname }} b",
    "tag": "!unsafe a",
    "vault": "$ANSIBLE_VAULT;1.1;AES256",
    "lines": "\n a\r\n\tb \n\n",
    "number": "0123",
    "boolean": "yes",
    "yaml": "{a: 1}",
    "beyond": "\u00fc \u2028 \U0001f511 \x1b[31m \x7f",
}
"""What Ansible, YAML, a shell, systemd and Compose could read as something else."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a play of the role, which reads the variables as the playbooks do."""
    if os.geteuid() != 0:
        pytest.skip("needs root: files get the owner root")
    (tmp_path / "lookup_plugins").symlink_to(PLAYBOOKS / "lookup_plugins")
    variables = {"sparkiac": {"secrets": list(VALUES)}}
    written = {"hosts": "all", "gather_facts": False, "vars": variables}
    written |= {"vars_files": [str(PLAYBOOKS / "vars/main.yml")], "roles": [str(PLAYBOOKS / "roles/secrets")]}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([written], sort_keys=False))
    return tmp_path


def pass_secrets(folder: Path, text: str, *words: str) -> Played:
    (folder / "secrets.yml").write_text(text)
    return play(folder, "-e", "@secrets.yml", "-e", f"sparkiac_root={folder}/host", *words)


def test_each_value_is_written_as_it_is(folder: Path) -> None:
    """From JSON, and from a vault: then nothing changes."""
    passed = {"sparkiac_secrets": VALUES | {"other": "not of this host"}}
    done = pass_secrets(folder, json.dumps(passed))
    assert (done.code, done.changed) == (0, {"here": 2}), done.said
    again = pass_secrets(folder, encrypted(folder, yaml.safe_dump(passed)), "--vault-password-file", "password")
    assert (again.code, again.changed) == (0, {"here": 0}), again.said
    place = folder / "host/etc/sparkiac/secrets"
    assert {path.name: path.read_bytes().decode() for path in place.iterdir()} == VALUES
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o600}
    assert VALUES["quotes"] not in done.said + again.said
    assert not (folder / "evaluated").exists()


def encrypted(folder: Path, text: str) -> str:
    """Return a text as a vault of a password, which is in a file of the folder."""
    (folder / "password").write_text("vault password\n")
    program = Path(sys.executable).with_name("ansible-vault")
    words = [program, "encrypt", "--vault-password-file", "password"]
    return subprocess.run(words, cwd=folder, input=text, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("7", "the secret quotes is not text: put its value in quotes"),
        ("[hunter22]", "the secret quotes is not text: put its value in quotes"),
        (r'"hunter22\0"', "the secret quotes contains a NUL character, which no environment variable can contain"),
    ],
)
def test_what_is_no_text_is_refused_by_its_name(folder: Path, value: str, sentence: str) -> None:
    done = pass_secrets(folder, f"sparkiac_secrets: {{quotes: {value}}}")
    assert done.code != 0
    assert sentence in done.sentence
    assert "hunter22" not in done.said
    assert not (folder / "host/etc/sparkiac/secrets/quotes").exists()


def test_another_form_is_named(folder: Path) -> None:
    done = pass_secrets(folder, 'sparkiac_secrets: \'{{ lookup("pipe", "touch evaluated") }}\'')
    assert done.code != 0
    assert "sparkiac_secrets must be a mapping of names to values, sparkiac_secrets: {NAME: VALUE}" in done.sentence
    assert not (folder / "evaluated").exists()
