"""Secrets from a vault reach their files unchanged, by Ansible on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.host.plays import play

TASKS = Path(__file__).parents[2] / "playbooks/roles/secrets/tasks/main.yml"
VALUE = "p\"a's $1 ${HOME} %h \\n #x: [y]"
"""What YAML, a shell, systemd and Compose could read as something else."""


def test_a_value_from_a_vault_is_written_as_it_is(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: files get the owner root")
    (tmp_path / "password").write_text("vault password\n")
    secrets = tmp_path / "secrets.yml"
    secrets.write_text(yaml.safe_dump({"sparkiac_secrets": {"key": VALUE, "other": "not of this host"}}))
    vault = [Path(sys.executable).with_name("ansible-vault"), "encrypt", "--vault-password-file", "password", secrets]
    subprocess.run(vault, cwd=tmp_path, capture_output=True, check=True)
    assert secrets.read_text().startswith("$ANSIBLE_VAULT;")
    variables = {"sparkiac": {"secrets": ["key"]}, "sparkiac_at": str(tmp_path / "host")}
    tasks = yaml.safe_load(TASKS.read_text())
    written = {"hosts": "all", "gather_facts": False, "vars": variables, "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([written], sort_keys=False))
    words = ("-e", "@secrets.yml", "--vault-password-file", "password")
    code, changed, said = play(tmp_path, *words)
    assert (code, changed) == (0, {"here": 2}), said
    folder = tmp_path / "host/etc/sparkiac/secrets"
    assert [path.name for path in folder.iterdir()] == ["key"]
    assert (folder / "key").read_text() == VALUE
    assert VALUE not in said
    assert play(tmp_path, *words)[:2] == (0, {"here": 0})
