"""Who runs Ansible: what the leases of the hosts are told."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

PROGRAM = ROOT / "playbooks/controller.py"
MACOS = """\
import controller, os, pathlib, sys
controller.PROC = pathlib.Path("/nonexistent")
controller.output = lambda *words: "boot" if words[0] == "sysctl" else (
    "    1     0 Mon Nov 23 08:00:01 2026\\n"
    " 4711     1 Tue Nov 24 15:02:08 2026\\n"
    " 4712  4711 Tue Nov 24 15:02:09 2026\\n"
)
controller.main(4712)
"""


def asked(*words: str) -> dict[str, Any]:
    """Return what the program prints if this process is the worker of Ansible."""
    argv = [sys.executable, "-I", PROGRAM, str(os.getpid()), *words]
    found: dict[str, Any] = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)
    return found


def test_the_owner_is_the_parent_with_its_start() -> None:
    first, second = asked(), asked()
    parent = os.getppid()
    start = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[19]
    who, _, identity = first["owner"].partition(" [")
    assert who.endswith(f"@{platform.node()}, pid {parent}")
    assert identity.endswith(f"/{parent}-{start}]")
    assert second["owner"] == first["owner"]
    assert f"{parent}-{start}" in first["running"]
    assert first["take_over"] is False
    assert asked("--take-over")["take_over"] is True


def test_a_process_that_has_ended_is_not_listed_although_nobody_has_read_its_status() -> None:
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert not [each for each in asked()["running"] if each.startswith(f"{ended.pid}-")]


def test_without_proc_ps_is_asked() -> None:
    env = {**os.environ, "TZ": "UTC", "PYTHONPATH": str(PROGRAM.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", MACOS], env=env, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["owner"].endswith("/4711-1795532528]")
    assert found["running"] == ["1-1795420801", "4711-1795532528", "4712-1795532529"]
