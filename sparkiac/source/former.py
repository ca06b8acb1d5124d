"""Former names of keys, which inventories may use forever. Every later stage sees the present name."""

from __future__ import annotations

from typing import Final

from sparkiac.model.base import FORMER_HOSTS
from sparkiac.report import Path

HOSTS: Final = "hosts"
ON: Final = FORMER_HOSTS
"""The former name of `hosts`. YAML 1.1 reads it as a boolean; sparkiac reads it as a key."""
RENAMED: Final = f"`{ON}` is the former name of `{HOSTS}`"
_SECTIONS: Final = frozenset({"deployments", "services"})
_OF_MONITORING: Final = frozenset({"grafana", "prometheus", "timer"})


def present(path: Path, key: str) -> str:
    """Return the present name of a key in the mapping at `path`."""
    return HOSTS if key == ON and _runs_on_hosts(path) else key


def _runs_on_hosts(path: Path) -> bool:
    match path:
        case (section, _):
            return section in _SECTIONS or (section == "monitoring" and path[1] in _OF_MONITORING)
    return False
