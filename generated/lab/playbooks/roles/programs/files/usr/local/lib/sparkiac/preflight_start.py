"""What precedes the start of one unit: room is made, and all that it needs is looked for."""

from __future__ import annotations

import os
import time
from typing import Any, Iterator  # noqa: UP035 - Python 3.8

import preflight_needs
from preflight_host import Check, Host, Line, gib, guarded, judge, parse_meminfo

MEMORY_WAIT_S = 60  # the driver gives a stopped container's memory back some seconds after it has gone


def check_start(wanted: dict[str, Any], host: Host) -> Iterator[Line]:
    """Make room for a unit that is about to start, and see that it has all it needs."""
    # What a killed supervisor left running holds the memory that is asked for next.
    project = f"label=com.docker.compose.project=sparkiac-{wanted['name']}"
    if leftovers := host.run("docker", "ps", "-aq", "--filter", project).split():
        host.run("docker", "rm", "--force", *leftovers)
    yield drop_caches(host)
    yield memory(wanted["memory_bytes"] or 0, host)
    if wanted["cache"]:  # /var/cache may be emptied at any time
        host.path(wanted["cache"]).mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in wanted["secrets"]:
        yield from guarded("secrets", preflight_needs.CHECKS["secrets"], {"name": name, "mode": "0600"}, host)
    for path in wanted["files"]:
        there = host.path(path).is_file()
        yield judge(there, "extra file", "present" if there else "missing", path, code="HST014")
    host.run("docker", "image", "inspect", wanted["image"])
    yield Line("ok", "image", "present", wanted["image"])


def drop_caches(host: Host) -> Line:
    """Give clean pages back: on unified memory the page cache competes with CUDA."""
    os.sync()
    try:
        host.path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")
    except OSError as error:
        return Line("FAIL", "page cache", str(error.strerror), "dropped", "the start step must run as root", "MEM002")
    return Line("ok", "page cache", "dropped", "dropped", code="MEM002")


def memory(need: int, host: Host) -> Line:
    """Wait for memory that comes back late; what does not come while nothing runs needs a reboot."""
    deadline = time.monotonic() + MEMORY_WAIT_S
    while (found := parse_meminfo(host.read("/proc/meminfo"))["MemAvailable"]) < need:
        if time.monotonic() >= deadline:
            break
        time.sleep(1)
    hint = ""
    if found < need and not host.run("docker", "ps", "-q").split():
        hint = "no container runs: if no other program holds it, it is stuck in the driver, so reboot the host"
    return judge(found >= need, "available memory", gib(found), f">= {gib(need)}", hint, "MEM017")


EXPECTED = {"image": str, "memory_bytes": (int, None), "secrets": [str], "cache": (str, None), "files": [str]}
CHECKS = {"start": Check(check_start, "run the playbooks again; if memory is short, see what else runs, or reboot")}
