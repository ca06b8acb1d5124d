"""Options of one node of a group: an inventory says them by its hosts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_RENDEZVOUS: Final = frozenset({"nnodes", "node_rank", "master_addr", "master_port", "headless", "dist_init_addr"})
_WIDE: Final = frozenset({"tensor_parallel_size", "tp_size"})
_GIVEN: Final = {"distributed_executor_backend": ("mp", "ray"), "pipeline_parallel_size": (1,)}
"""What a group is given anyhow, or is started without."""
_MOST: Final = 64


def says(name: str, value: object, nodes: int) -> bool:
    """Whether an option says only what follows from the hosts of a group of this many machines."""
    if name in _RENDEZVOUS:
        return True
    return nodes > 1 and value in _GIVEN.get(name, (nodes,) if name in _WIDE else ())


def nodes(said: Mapping[str, Any]) -> int:
    """Count the machines that options tell of: each has one GPU, and Ray is what joins several."""
    names = ("tensor_parallel_size", "pipeline_parallel_size")
    by_ray = said.get("distributed_executor_backend") == "ray"
    sizes = [said.get(name, 1) for name in (names if by_ray else ("nnodes",))]
    return min(math.prod(size for size in sizes if type(size) is int and size > 0), _MOST)
