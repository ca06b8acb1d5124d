"""The role that names a run: it needs no program that a small Linux system lacks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_the_process_of_a_run_is_found_without_ps(tmp_path: Path) -> None:
    """The shell's parent is this process, as it is the worker of Ansible that evaluates the task."""
    text = (ROOT / "playbooks/roles/begin/tasks/main.yml").read_text()
    task = text.partition("begin_process:")[2].partition("run_once")[0]
    command = "".join(re.findall(r"'([^']*PPID[^']*)'", task))
    sed = shutil.which("sed")
    assert sed
    (tmp_path / "sed").symlink_to(sed)
    argv, env = ["/bin/sh", "-c", command], {"PATH": str(tmp_path)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert int(done.stdout) == os.getppid()
