"""Errors of the GPU in the kernel log since the boot. The counts are there from the start, as zeros."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..local import LocalHost

KINDS = {"xid": re.compile(r"NVRM: Xid \("), "no_memory": re.compile(r"NV_ERR_NO_MEMORY")}
"""Kind of message → what its lines contain; see the symptoms MON009, HST010 and LOG116."""
JOURNAL = ("timeout", "20", "journalctl", "--dmesg", "--boot", "--quiet", "--no-pager", "--output=cat")


def samples(machine: LocalHost) -> Iterator[tuple[str, dict[str, str], float]]:
    """Return how many lines of each kind the kernel has logged."""
    done = machine.run(*JOURNAL)
    if done.code:
        raise RuntimeError(f"the kernel log cannot be read: {done.errors.strip()[:200]}")
    for kind, pattern in KINDS.items():
        yield "sparkiac_kernel_messages_total", {"kind": kind}, sum(1 for _ in pattern.finditer(done.output))
