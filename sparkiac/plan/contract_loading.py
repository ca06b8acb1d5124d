"""What a host changes while a unit loads its model, as `load_memory` reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sparkiac.plan.contract import Sysctl


class LoadGuard(NamedTuple):
    """Changes to the host during the load of a unit: etc/sparkiac/NAME/load-memory.json."""

    drop_every_s: float | None
    """Seconds between two drops of the page cache; None drops it only once, before the start."""
    drop_for_s: int
    """Seconds after which the drops end even if the unit is not ready."""
    read_ahead_kib: int | None
    """Read-ahead of the disk that contains `store`; None does not change it."""
    read_ahead_for_s: int
    """Seconds after which the read-ahead is restored even if the unit is not ready."""
    store: str | None
    """The model store."""
    sysctls: tuple[Sysctl, ...]
    for_s: int
    """Seconds after which everything is undone even if nothing else does so."""
