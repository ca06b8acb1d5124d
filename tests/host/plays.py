"""A play of some role, run by the real Ansible for hosts that are all this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Played(NamedTuple):
    """What Ansible did: its exit code, the changed tasks of each host, and all that it said."""

    code: int
    changed: dict[str, int]
    said: str

    @property
    def sentence(self) -> str:
        """What it said, on one line: Ansible breaks its lines where it likes."""
        return re.sub(r"\s+", " ", self.said)


def play(
    folder: Path, *words: str, playbook: str = "play.yml", inventory: str = "here,", connection: str = "local"
) -> Played:
    """Run a playbook of a folder, whose `bin` comes first in PATH and which stand-ins know as $STUB."""
    env = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "STUB": str(folder),
        "HOME": str(folder / "home"),
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PIPELINING": "1",  # as the generated ansible.cfg has it
    }
    here = ["-i", inventory, "-c", connection, "-e", f"ansible_python_interpreter={sys.executable}"]
    # Another version of Ansible: ANSIBLE_PLAYBOOK=/path/to/ansible-playbook pytest tests/host
    program = os.environ.get("ANSIBLE_PLAYBOOK", Path(sys.executable).with_name("ansible-playbook"))
    argv = [program, *here, playbook, *words]
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    found = re.findall(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", done.stdout, re.MULTILINE)
    return Played(done.returncode, {name: int(count) for name, count in found}, done.stdout + done.stderr)
