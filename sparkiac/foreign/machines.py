"""The number of machines that parallel sizes need, with one GPU each as in a DGX Spark, and the options of a group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sparkiac.foreign.recipe_file import positive_int

KEYS: Final = ("tensor_parallel", "pipeline_parallel", "data_parallel")
"""The keys of recipes for the three parallel sizes."""
_EXPERTS: Final = "ep_size"
_FLAGS: Final = {
    "tp": "tensor_parallel",
    "tp-size": "tensor_parallel",
    "tensor-parallel-size": "tensor_parallel",
    "pp": "pipeline_parallel",
    "pp-size": "pipeline_parallel",
    "pipeline-parallel-size": "pipeline_parallel",
    "dp": "data_parallel",
    "dp-size": "data_parallel",
    "data-parallel-size": "data_parallel",
}
_DP_ATTENTION: Final = "--enable-dp-attention"
"""With it SGLang's replicas are part of the tensor-parallel group."""
_RENDEZVOUS: Final = frozenset({"nnodes", "node_rank", "master_addr", "master_port", "headless", "dist_init_addr"})
_TENSOR_SIZES: Final = frozenset({"tensor_parallel_size", "tp_size"})
_SET_BY_GROUP: Final = {"distributed_executor_backend": ("mp", "ray"), "pipeline_parallel_size": (1,)}
"""Options that sparkiac sets for a group, or that are not needed."""
_MAX: Final = 64


def from_argv(argv: Sequence[str]) -> int | None:
    """Return the product of the parallel sizes in a command, or None without any; the last of a repeated flag wins."""
    sizes = dict(_sizes(argv))
    if _DP_ATTENTION in argv:
        sizes.pop("data_parallel", None)
    return _product(sizes)


def from_settings(settings: Mapping[str, object]) -> int | None:
    """Return the product of the parallel sizes in a recipe's settings, or None without any."""
    sizes = {key: size for key in KEYS if (size := positive_int(settings.get(key))) is not None}
    experts = positive_int(settings.get(_EXPERTS))
    if experts is not None and experts != sizes.get("tensor_parallel"):
        sizes[_EXPERTS] = experts
    return _product(sizes)


def _sizes(argv: Sequence[str]) -> Iterator[tuple[str, int]]:
    for index, word in enumerate(argv):
        flag, _, value = word.partition("=")
        key = _FLAGS.get(flag.lstrip("-").replace("_", "-")) if flag.startswith("-") else None
        size = positive_int(value or next(iter(argv[index + 1 : index + 2]), None))
        if key is not None and size is not None:
            yield key, size


def _product(sizes: Mapping[str, int]) -> int | None:
    return math.prod(sizes.values()) if sizes else None


def is_implied(name: str, value: object, nodes: int) -> bool:
    """Return whether the number of machines of the group already implies this option."""
    if name in _RENDEZVOUS:
        return True
    return nodes > 1 and value in _SET_BY_GROUP.get(name, (nodes,) if name in _TENSOR_SIZES else ())


def from_options(options: Mapping[str, Any]) -> int:
    """Return the number of machines that the options imply, with one GPU each."""
    names = ("tensor_parallel_size", "pipeline_parallel_size")
    # `--nnodes` is the number of machines, except with Ray, where it follows from the parallel sizes.
    by_ray = options.get("distributed_executor_backend") == "ray"
    sizes = [options.get(name, 1) for name in (names if by_ray else ("nnodes",))]
    return min(math.prod(size for size in sizes if type(size) is int and size > 0), _MAX)
