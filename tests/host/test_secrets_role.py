"""Secrets reach their files unchanged and are never evaluated, by Ansible on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.host import programs
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
    for name in ("lookup_plugins", "bundle.py", "vars"):
        (tmp_path / name).symlink_to(PLAYBOOKS / name)
    programs.write(tmp_path / "roles/programs/files")
    (tmp_path / "bin").mkdir()
    variables = {"sparkiac": {"secrets": list(VALUES)}}
    written = {"hosts": "all", "gather_facts": False, "vars": variables}
    written |= {"vars_files": ["vars/main.yml"], "roles": [str(PLAYBOOKS / "roles/secrets")]}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([written], sort_keys=False))
    return tmp_path


def pass_secrets(folder: Path, text: str, *words: str) -> Played:
    (folder / "secrets.yml").write_text(text)
    return play(folder, "-e", "@secrets.yml", "-e", f"sparkiac_root={folder}/host", *words)


def test_each_value_is_written_as_it_is(folder: Path) -> None:
    """From JSON, and from a vault: then nothing changes."""
    previous = {"number.previous": "0122"}
    passed = {"sparkiac_secrets": VALUES | previous | {"other": "not of this host", "other.previous": "neither"}}
    done = pass_secrets(folder, json.dumps(passed))
    assert (done.code, done.changed) == (0, {"here": 1}), done.said
    again = pass_secrets(folder, encrypted(folder, yaml.safe_dump(passed)), "--vault-password-file", "password")
    assert (again.code, again.changed) == (0, {"here": 0}), again.said
    place = folder / "host/etc/sparkiac/secrets"
    assert read(place) == VALUES | previous
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o600}
    assert place.readlink().as_posix() == "../../run/sparkiac/secrets"
    assert place.stat().st_mode & 0o777 == 0o700
    assert on_disk(folder) == []
    assert VALUES["quotes"] not in done.said + again.said
    assert not (folder / "evaluated").exists()


def read(place: Path) -> dict[str, str]:
    """Return the secrets as what reads them finds them."""
    return {path.name: path.read_bytes().decode() for path in place.iterdir()}


def on_disk(folder: Path) -> list[str]:
    """Return the files of the disk of the host that contain a value; /run is memory."""
    files = [path for path in (folder / "host/etc").rglob("*") if path.is_file()]
    values = [value.encode() for value in VALUES.values() if len(value) > len("boolean")]
    return [str(path) for path in files for value in values if value in path.read_bytes()]


def decrypt(folder: Path, name: str, key: str) -> subprocess.CompletedProcess[bytes]:
    """Decrypt the file of a secret on the host with this key."""
    path = folder / "host/etc/sparkiac/secrets.encrypted" / name
    env = {**os.environ, "SYSTEMD_CREDENTIAL_SECRET": str(folder / key)}
    words = ["systemd-creds", "decrypt", f"--name={path.name}", str(path), "-"]
    return subprocess.run(words, env=env, capture_output=True, check=False)


def test_a_copied_file_opens_on_its_host_alone(folder: Path) -> None:
    assert pass_secrets(folder, json.dumps({"sparkiac_secrets": VALUES})).code == 0
    assert decrypt(folder, "quotes", "host.secret").stdout.decode() == VALUES["quotes"]
    words = ["systemd-creds", "encrypt", "--with-key=host", "-", "-"]  # another host, which has a key too
    env = {**os.environ, "SYSTEMD_CREDENTIAL_SECRET": str(folder / "other.secret")}
    subprocess.run(words, env=env, input=b"", capture_output=True, check=True)
    there = decrypt(folder, "quotes", "other.secret")
    assert there.returncode != 0
    assert there.stdout == b""


def test_plain_files_of_former_versions_are_encrypted_and_what_reads_them_notices_nothing(folder: Path) -> None:
    place = folder / "host/etc/sparkiac/secrets"
    place.mkdir(parents=True)
    for name, value in VALUES.items():
        (place / name).write_bytes(value.encode())
    done = pass_secrets(folder, "{}")
    assert (done.code, done.changed) == (0, {"here": 1}), done.said
    assert read(place) == VALUES
    assert place.is_symlink()
    assert on_disk(folder) == []
    enabled = folder / "host/etc/systemd/system/multi-user.target.wants/sparkiac-secrets.service"
    assert "systemd-creds decrypt" in enabled.read_text()
    assert pass_secrets(folder, "{}").changed == {"here": 0}


def test_a_host_without_the_program_is_told_so(folder: Path) -> None:
    (folder / "bin/python3").write_text(f'#!/bin/sh\nPATH=/nowhere exec {sys.executable} "$@"\n')
    (folder / "bin/python3").chmod(0o755)
    done = pass_secrets(folder, json.dumps({"sparkiac_secrets": VALUES}))
    assert done.code != 0
    assert "systemd-creds, with which secrets are encrypted, is missing: it belongs to systemd 250" in done.sentence
    assert VALUES["quotes"] not in done.said


def test_a_value_may_be_in_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKIAC_SECRET_QUOTES", "{{ 'evaluated' }}")
    monkeypatch.setenv("SPARKIAC_SECRET_OTHER", "not of this host")
    monkeypatch.setenv("SPARKIAC_SECRET_LINES", "the file comes first")
    done = pass_secrets(folder, json.dumps({"sparkiac_secrets": {"lines": "x"}}))
    assert done.code == 0, done.said
    assert read(folder / "host/etc/sparkiac/secrets") == {"quotes": "{{ 'evaluated' }}", "lines": "x"}


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
