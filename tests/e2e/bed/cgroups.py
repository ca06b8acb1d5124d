"""A cgroup of its own for each host, in every hierarchy of a machine with cgroup v1.

Without one, every systemd-nspawn that is started by hand shares its starter's cgroup, and two hosts
share one `system.slice`: each stops the other's units.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from tests.e2e.bed.shell import wait_for

MOUNT = Path("/sys/fs/cgroup")


def hierarchies() -> list[Path]:
    """Return the mounted hierarchies: v1 controllers, systemd's own and the empty v2."""
    # `cpu,cpuacct` is mounted once and linked twice on some machines: take each mount once.
    return sorted({path.resolve() for path in MOUNT.iterdir() if (path / "cgroup.procs").exists()})


def make(name: str) -> list[Path]:
    """Make the cgroup `name` in every hierarchy and return the files that move a process into it."""
    doors = []
    for hierarchy in hierarchies():
        group = hierarchy / name
        group.mkdir()
        if (group / "cpuset.cpus").exists():
            # A v1 cpuset starts empty, and nothing may be moved into it until it has both.
            for setting in ("cpuset.cpus", "cpuset.mems"):
                (group / setting).write_text((hierarchy / setting).read_text())
            (group / "cgroup.clone_children").write_text("1")
        doors.append(group / "cgroup.procs")
    return doors


def prefer(name: str) -> None:
    """Give the cgroup `name` as much processor time as eight processes outside of it."""
    (MOUNT / "cpu" / name / "cpu.shares").write_text(str(8 * 1024))


def processes(name: str) -> set[int]:
    """Return the processes in the cgroup `name` and below it, in any hierarchy."""
    found: set[int] = set()
    for hierarchy in hierarchies():
        for members in (hierarchy / name).rglob("cgroup.procs"):
            with contextlib.suppress(FileNotFoundError, OSError):
                found.update(int(word) for word in members.read_text().split())
    return found


def end(name: str) -> None:
    """Kill what is in the cgroup `name` and remove it: no process is looked for by its name."""

    def empty() -> bool:
        members = processes(name)
        for process in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return not members

    wait_for(empty, f"the processes in cgroup {name} to end", timeout=300)
    for hierarchy in hierarchies():
        _remove(hierarchy / name)


def _remove(group: Path) -> None:
    if not group.exists():
        return
    for directory, _, _ in os.walk(group, topdown=False):
        # The kernel lets a cgroup go a moment after its last process.
        wait_for(lambda path=Path(directory): _rmdir(path), f"{directory} to be free", timeout=300)  # type: ignore[misc]


def _rmdir(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
