"""A play of some role, run by the real Ansible for hosts that are all this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.callback import LESS_WORK
from tests.forked_python import interpreter


class Played(NamedTuple):
    """What Ansible did: its exit code, the changed tasks of each host, and all that it said."""

    code: int
    changed: dict[str, int]
    said: str

    @property
    def sentence(self) -> str:
        """What it said, on one line: Ansible breaks its lines where it likes."""
        return re.sub(r"\s+", " ", self.said)


def started(
    folder: Path, *words: str, playbook: str = "play.yml", inventory: str = "here,", connection: str = "local"
) -> subprocess.Popen[str]:
    """Start a playbook of a folder, whose `bin` comes first in PATH and which stand-ins know as $STUB."""
    # Without a virtual environment that is active, `python3` could be a script that looks for one.
    env = {
        "PATH": f"{folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "STUB": str(folder),
        "SYSTEMD_CREDENTIAL_SECRET": str(folder / "host.secret"),  # the key of the host, not of this machine
        "HOME": str(folder / "home"),
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PIPELINING": "1",  # as the generated ansible.cfg has it
        **{key: value for key, value in os.environ.items() if key.startswith("SPARKIAC_SECRET_")},
        **LESS_WORK,
    }
    here = ["-i", inventory, "-c", connection, "-e", f"ansible_python_interpreter={interpreter()}"]
    # Another version of Ansible: ANSIBLE_PLAYBOOK=/path/to/ansible-playbook pytest tests/host
    program = os.environ.get("ANSIBLE_PLAYBOOK", Path(sys.executable).with_name("ansible-playbook"))
    argv = [program, *here, playbook, *words]
    return subprocess.Popen(argv, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def play(
    folder: Path, *words: str, playbook: str = "play.yml", inventory: str = "here,", connection: str = "local"
) -> Played:
    """Run a playbook to its end."""
    with started(folder, *words, playbook=playbook, inventory=inventory, connection=connection) as running:
        said, _ = running.communicate()
    found = re.findall(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", said, re.MULTILINE)
    return Played(running.returncode, {name: int(count) for name, count in found}, said)
