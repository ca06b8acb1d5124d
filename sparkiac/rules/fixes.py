"""Which fixes may be offered: a rule sees what would run, and not in which layer each value was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.report import REMOVE

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from sparkiac.report import Edit, Path
    from sparkiac.resolve import Resolved
    from sparkiac.rules.rule import Hit


def offered(hit: Hit, resolved: Resolved) -> tuple[Edit, ...]:
    """Give the fix of a hit, unless what it changes or removes stands elsewhere.

    A value of the recipe is not the user's to edit, and one of the defaults is for other deployments as well. Where
    two layers of the inventory have it, taking one away would only show the other. What stands nowhere may be added.
    """
    stands = hit.leaf in resolved.leaves
    values = resolved.inventory.document.values
    for edit in hit.fix:
        if (stands or edit.value is REMOVE) and not _alone(edit.path, hit.host, values.keys()):
            return ()
    return hit.fix


def _alone(path: Path, host: str | None, known: AbstractSet[Path]) -> bool:
    """Whether a value stands at this path of a deployment or service, and in no other layer of the inventory."""
    entry, rest = path[:2], path[2:]
    return path in known and ("defaults", *rest) not in known and (*entry, "per_host", host, *rest) not in known
