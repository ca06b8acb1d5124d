"""The number of machines of a launch, with one GPU each as in a DGX Spark: parallel sizes, and keys of recipes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sparkiac.foreign.recipe_file import RecipeFile, positive_int

KEYS: Final = ("tensor_parallel", "pipeline_parallel", "data_parallel")
"""The keys of recipes for the three parallel sizes."""
_EXPERTS: Final = "ep_size"
_FLAGS: Final = {
    flag: key
    for short, key in zip(("tp", "pp", "dp"), KEYS, strict=True)
    for flag in (short, f"{short}-size", f"{key.replace('_', '-')}-size")
}
_DP_ATTENTION: Final = "--enable-dp-attention"
"""With it SGLang's replicas are part of the tensor-parallel group."""
_RENDEZVOUS: Final = frozenset({"nnodes", "node_rank", "master_addr", "master_port", "headless", "dist_init_addr"})
_TENSOR_SIZES: Final = frozenset({"tensor_parallel_size", "tp_size"})
PIPELINE: Final = "pipeline_parallel_size"
"""The option for pipeline stages; without it there is one."""
_SET_BY_GROUP: Final = {"distributed_executor_backend": ("mp", "ray"), PIPELINE: (1,)}
"""Options that sparkiac sets for a group, or that are not needed."""
_MAX: Final = 64
_MODES: Final = frozenset({"auto", "solo", "cluster"})


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
    names = ("tensor_parallel_size", PIPELINE)
    # `--nnodes` is the number of machines, except with Ray, where it follows from the parallel sizes.
    by_ray = options.get("distributed_executor_backend") == "ray"
    sizes = [options.get(name, 1) for name in (names if by_ray else ("nnodes",))]
    return min(math.prod(size for size in sizes if type(size) is int and size > 0), _MAX)


class Topology:
    """The topology keys. `mode: solo`, `solo_only` and `max_nodes: 1` mean one machine."""

    def __init__(self, file: RecipeFile) -> None:
        """Read the topology keys of a recipe."""
        self.file = file
        mode = file.text("mode")
        if mode not in {*_MODES, None}:
            file.lost(file.line("mode"), f"mode: {mode}", "must be solo or cluster")
        self.min_nodes, self.max_nodes = file.count("min_nodes") or 1, file.count("max_nodes")
        solo = {"solo_only": file.boolean("solo_only"), "mode": mode == "solo", "max_nodes": self.max_nodes == 1}
        cluster = {"cluster_only": file.boolean("cluster_only"), "mode": mode == "cluster"}
        self.solo = next((key for key, needed in solo.items() if needed), None)
        self.cluster = next((key for key, needed in cluster.items() if needed), None)
        defaults = file.data.get("defaults")
        self.settings: dict[str, object] = defaults if isinstance(defaults, dict) else {}
        self.solo_sizes = self._solo_sizes() if self.solo else {}

    def _solo_sizes(self) -> dict[str, object]:
        """Return the parallel sizes for one machine, if the recipe has larger ones."""
        larger = [key for key in KEYS if (positive_int(self.settings.get(key)) or 1) > 1]
        for key in larger:
            why = f"set to 1, because {self.solo} means one machine with one GPU; the recipe contradicts itself"
            self.file.corrected(self.file.line("defaults", key), f"{key}: {self.settings[key]}", why)
        return dict.fromkeys(larger, 1)

    def nodes(self, argv: Sequence[str]) -> int:
        """Return the number of machines: one if the recipe says so, else from the command, the defaults or a key."""
        settings = from_settings(self.settings | self.solo_sizes)
        needed = from_argv(argv) or settings
        if self.solo:
            if (needed or 1) > 1:
                self._note_contradiction(self.solo, needed or 1)
            return 1
        if needed is None:
            return max(self.min_nodes, 2 if self.cluster else 1)
        if needed == 1 and self.cluster:
            self._note_contradiction(self.cluster, needed)
        if needed < self.min_nodes:
            self._note_contradiction("min_nodes", needed)
        if self.max_nodes is not None and needed > self.max_nodes:
            self._note_contradiction("max_nodes", needed)
        elif self.max_nodes is not None and needed < self.max_nodes:
            why = f"imported for {needed} machines, the product of its parallel sizes; more machines need larger sizes"
            self.file.corrected(self.file.line("max_nodes"), f"max_nodes: {self.max_nodes}", why)
        if settings not in {needed, None}:
            why = f"the defaults need {settings} machines and the command {needed}; the command's number is used"
            self.file.corrected(self.file.line("defaults"), "parallel sizes", why)
        return needed

    def _note_contradiction(self, key: str, needed: int) -> None:
        why = f"contradicts the parallel sizes, which need {needed} {'machine' if needed == 1 else 'machines'}"
        self.file.lost(self.file.line(key), f"{key}: {self.file.data.get(key)}", why)
