"""Settings that a method of speculative decoding requires, as a layer, and the drafter for the target model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac import catalog
from sparkiac.report import Origin
from sparkiac.resolve.leaves import Leaves, constant

if TYPE_CHECKING:
    from sparkiac.engines import Engine

_METHOD = ("speculative",)


def edits(leaves: Leaves, engine: Engine) -> Leaves:
    """Return the settings that the chosen method needs; they override the catalog, the inventory overrides them."""
    method = leaves[_METHOD][0]["method"]
    return constant(engine.edits.get(method, {}), layer=f"speculative {method}")


def completed(leaves: Leaves) -> Leaves:
    """Fill in drafter and number of tokens from the catalog, as a layer above all others."""
    chosen, origin = leaves[_METHOD]
    target = leaves["model",][0] if ("model",) in leaves else None
    pair = catalog.drafter(target, method=chosen["method"])
    if pair is None:
        return {}
    known = {"model": pair.drafter, "num_speculative_tokens": pair.num_speculative_tokens}
    added = {key: value for key, value in known.items() if value is not None and chosen.get(key) is None}
    layer = f"{origin.layer}, completed from the table of drafters"
    return {_METHOD: (chosen | added, Origin(layer, origin.file, origin.mark))} if added else {}
