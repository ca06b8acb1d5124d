"""The number of machines of a sparkrun recipe: its topology keys, its parallel sizes, and their contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sparkiac.foreign import machines
from sparkiac.foreign.recipe_file import RecipeFile, positive_int

_MODES: Final = frozenset({"auto", "solo", "cluster"})


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
        larger = [key for key in machines.KEYS if (positive_int(self.settings.get(key)) or 1) > 1]
        for key in larger:
            why = f"set to 1, because {self.solo} means one machine with one GPU; the recipe contradicts itself"
            self.file.corrected(self.file.line("defaults", key), f"{key}: {self.settings[key]}", why)
        return dict.fromkeys(larger, 1)

    def nodes(self, argv: Sequence[str]) -> int:
        """Return the number of machines: one if the recipe says so, else from the command, the defaults or a key."""
        settings = machines.from_settings(self.settings | self.solo_sizes)
        needed = machines.from_argv(argv) or settings
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
