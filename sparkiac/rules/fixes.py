"""Decide which fixes to offer: a rule sees the resolved values, not the layer in which each was written."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from sparkiac.report import REMOVE, Edit, Path
from sparkiac.resolve import Resolved
from sparkiac.rules.rule import Hit


def offered(hit: Hit, resolved: Resolved) -> tuple[Edit, ...]:
    """Return the fix of a hit; empty if the value comes from another layer.

    The user cannot edit a value of the recipe, and a value of the defaults also applies to other deployments. If two
    layers of the inventory set it, removing one would only reveal the other. A value that no layer sets may be added.
    """
    present = hit.leaf in resolved.leaves
    values = resolved.inventory.document.values
    for edit in hit.fix:
        if (present or edit.value is REMOVE) and not _alone(edit.path, hit.host, values.keys()):
            return ()
    return hit.fix


def _alone(path: Path, host: str | None, known: AbstractSet[Path]) -> bool:
    """Return whether a value is set at this path of a deployment or service and in no other layer of the inventory."""
    entry, rest = path[:2], path[2:]
    return path in known and ("defaults", *rest) not in known and (*entry, "per_host", host, *rest) not in known
