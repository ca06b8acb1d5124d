"""Print who runs Ansible on this machine, as the leases of the hosts need it. Needs only Python 3.10 or newer.

controller.py PID [--take-over]     PID is a child of ansible-playbook

The result is JSON: "owner", such as "ada@desk, pid 4711 [3f2a1b9c/4711-88231]", and "running", each process of this
machine as PID-START. The hexadecimal number names this machine, its boot and its space of process numbers. Only root
sees all processes where /proc hides those of other users; "take_over" is then false.
"""

import hashlib
import json
import os
import platform
import pwd
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")


def linux() -> Iterator[tuple[int, int, int]]:
    """Return number, parent and start time of each process that has not ended."""
    for path in PROC.glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            yield int(path.parent.name), int(fields[1]), int(fields[19])


def output(*argv: str) -> str:
    """Return what a command prints."""
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True, env={**os.environ, "LC_ALL": "C"}).stdout.decode()  # noqa: S603


def macos() -> Iterator[tuple[int, int, int]]:
    """Return the same on macOS, which has no /proc."""
    for line in output("ps", "-A", "-o", "pid=,ppid=,lstart=").splitlines():
        pid, parent, *began = line.split()
        yield int(pid), int(parent), int(time.mktime(time.strptime(" ".join(began), "%a %b %d %H:%M:%S %Y")))


def user() -> str:
    """Return the name of the user; its number if it has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def main(child: int, *options: str) -> None:
    """Print the result."""
    if (PROC / "self/ns/pid").exists():
        boot, found = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii"), linux()
        space = str((PROC / "self/ns/pid").readlink())
    else:
        boot, found, space = output("sysctl", "-n", "kern.bootsessionuuid"), macos(), ""
    processes: dict[int, tuple[int, int]] = {pid: (parent, began) for pid, parent, began in found}
    own = processes[child][0]
    machine = hashlib.sha256(f"{boot} {space}".encode()).hexdigest()[:16]
    owner = f"{user()}@{platform.node()}, pid {own} [{machine}/{own}-{processes[own][1]}]"
    running = [f"{pid}-{began}" for pid, (_, began) in sorted(processes.items())]
    result = {"owner": owner, "running": running, "take_over": "--take-over" in options and 1 in processes}
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
