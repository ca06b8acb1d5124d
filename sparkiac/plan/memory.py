"""What the engines of a host take from its memory at start, and how a size is written. Unknown stays unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.plan.parts import GIB

if TYPE_CHECKING:
    from sparkiac.plan.values import HostPlan


def taken_bytes(host: HostPlan) -> int | None:
    """Add up what the host's engines reserve; None if one of them is not known."""
    sizes = [container.memory_bytes for container in host.containers if container.kind == "deployment"]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def left_bytes(host: HostPlan) -> int | None:
    """Give what is left for the system, the page cache and services; None if a term is not known."""
    taken = taken_bytes(host)
    return None if taken is None or host.memory_bytes is None else host.memory_bytes - taken


def gib(size_bytes: int | None) -> str:
    """Write a size for people."""
    return "unknown" if size_bytes is None else f"{size_bytes / GIB:.1f} GiB"
