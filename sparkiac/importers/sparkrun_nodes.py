"""How many machines a sparkrun recipe is for: its topology keys, its parallel sizes, and where they contradict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.importers import world
from sparkiac.importers.sheet import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.importers.sheet import Sheet

_MODES: Final = frozenset({"auto", "solo", "cluster"})


class Topology:
    """What the keys say. `mode: solo`, `solo_only` and `max_nodes: 1` mean one machine."""

    def __init__(self, sheet: Sheet) -> None:
        """Take the keys."""
        self.sheet = sheet
        mode = sheet.word("mode")
        if mode not in {*_MODES, None}:
            sheet.lost(sheet.line("mode"), f"mode: {mode}", "neither solo nor cluster")
        self.least, self.most = sheet.count("min_nodes") or 1, sheet.count("max_nodes")
        solo = {"solo_only": sheet.truth("solo_only"), "mode": mode == "solo", "max_nodes": self.most == 1}
        cluster = {"cluster_only": sheet.truth("cluster_only"), "mode": mode == "cluster"}
        self.solo = next((key for key, said in solo.items() if said), None)
        self.cluster = next((key for key, said in cluster.items() if said), None)
        defaults = sheet.data.get("defaults")
        self.settings: dict[str, object] = defaults if isinstance(defaults, dict) else {}
        self.alone = self._alone() if self.solo else {}

    def _alone(self) -> dict[str, object]:
        """Give the parallel sizes that one machine can have, where the recipe has larger ones."""
        larger = [key for key in world.KEYS if (whole(self.settings.get(key)) or 1) > 1]
        for key in larger:
            why = f"1, for {self.solo} says one machine, which has one GPU; the recipe contradicts itself"
            self.sheet.corrected(self.sheet.line("defaults", key), f"{key}: {self.settings[key]}", why)
        return dict.fromkeys(larger, 1)

    def nodes(self, argv: Sequence[str]) -> int:
        """Count the machines: one if the recipe says so, else what the command wants, else the defaults, else a key."""
        settings = world.of_settings(self.settings | self.alone)
        said = world.of_argv(argv) or settings
        if self.solo:
            if (said or 1) > 1:
                self._contradicted(self.solo, said or 1)
            return 1
        if said is None:
            return max(self.least, 2 if self.cluster else 1)
        if said == 1 and self.cluster:
            self._contradicted(self.cluster, said)
        if said < self.least:
            self._contradicted("min_nodes", said)
        if self.most is not None and said > self.most:
            self._contradicted("max_nodes", said)
        elif self.most is not None and said < self.most:
            why = f"{said} machines are taken, as its parallel sizes want; more need larger ones"
            self.sheet.corrected(self.sheet.line("max_nodes"), f"max_nodes: {self.most}", why)
        if settings not in {said, None}:
            why = f"the defaults want {settings} machines and the command {said}; the command counts"
            self.sheet.corrected(self.sheet.line("defaults"), "parallel sizes", why)
        return said

    def _contradicted(self, key: str, wanted: int) -> None:
        why = f"contradicts the parallel sizes, which want {wanted} {'machine' if wanted == 1 else 'machines'}"
        self.sheet.lost(self.sheet.line(key), f"{key}: {self.sheet.data.get(key)}", why)
