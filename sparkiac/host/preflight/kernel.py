"""Memory of this host in which nothing can be pinned: what the kernel reserved for kexec handover (KHO)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .host import Check, CheckResult, gib, parse_meminfo

RELEASE = "/proc/sys/kernel/osrelease"
ALL = "CmaFree <= CmaTotal"


def unpinnable(machine: Any) -> str | None:  # noqa: ANN401 - `LocalHost` of preflight or of status
    """Return how much memory cannot be pinned, with the kernel and its option kho; None without a sign of it.

    CmaFree counts the free pages of all CMA blocks, CmaTotal the size of all CMA areas. Every block belongs to an area,
    except the blocks that KHO reserved, so a CmaFree above CmaTotal shows them. Used pages of such blocks are not
    counted: the size is a lower bound, and the sign can be absent while memory is full.
    """
    sizes = parse_meminfo(machine.read("/proc/meminfo"))
    free, total = sizes.get("CmaFree", 0), sizes.get("CmaTotal", 0)
    if free <= total:
        return None
    # The kernel uses the last one.
    options = re.findall(r"(?<!\S)kho=\S*", machine.read("/proc/cmdline"))
    option = options[-1] if options else "without kho="
    shown = f"CmaFree {gib(free)}, CmaTotal {gib(total)}, kernel {machine.read(RELEASE).strip()} {option}"
    return f"at least {gib(free - total)} of memory that cannot be pinned ({shown})"


def check_unpinnable(wanted: dict[str, Any], host: Any) -> Iterator[CheckResult]:  # noqa: ANN401 - as above
    """Check that all memory can be pinned. Without units that use RDMA, the memory is only lost: that is a warning."""
    found = unpinnable(host)
    state = "ok" if found is None else "FAIL" if wanted["rdma_units"] else "warn"
    hint = "" if found is None else wanted["hint"]
    kernel = f"kernel {host.read(RELEASE).strip()}"
    yield CheckResult(state, "pinnable memory", found or kernel, ALL, hint, wanted["code"])


CHECKS = {"unpinnable": Check(check_unpinnable)}
