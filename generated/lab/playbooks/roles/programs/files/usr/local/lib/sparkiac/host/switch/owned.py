"""What sparkiac put on this host: its generations, the files and units that are installed, and data of services."""

from __future__ import annotations

import json
import re
from typing import Any

from .. import state
from ..local import LocalHost, unit_file
from . import drift
from .store import FORMER_LIST, GENERATIONS, HOME

OWN = ("generations", "state.json", "originals.json", "saved", "files", "metrics", "network", "programs")
"""What sparkiac itself keeps in its directory; the rest is data of services."""
PATH = re.compile(r"(?:etc/systemd/system|etc/sysctl\.d|etc/sparkiac|usr/local/lib/sparkiac)/[^\0]+")
UNIT = re.compile(r"etc/systemd/system/(sparkiac-[a-z0-9-]+\.(?:service|timer))")


def current_generation(machine: LocalHost) -> str | None:
    """Return the current generation, if its list of files exists."""
    current = state.readable(machine).current
    return current if current and machine.path(f"{GENERATIONS}/{current}/files.json").is_file() else None


def kept(machine: LocalHost) -> dict[str, str]:
    """Return what stays of an uninstall of sparkiac's own directory, with the reason."""
    found = {}
    if keeps_saved(machine):
        found[drift.SAVED] = "it is for files that were edited by hand"
    if there(machine, f"{HOME}/network"):
        found[f"{HOME}/network"] = "it is the former network configuration; /etc/netplan/60-sparkiac.yaml stays too"
    return found


def keeps_saved(machine: LocalHost) -> bool:
    """Return whether there are saved files, or edited files that an uninstall saves."""
    path, current = machine.path(drift.SAVED), current_generation(machine)
    files = drift.files_of(machine, current) if current else []
    return (path.is_dir() and any(path.iterdir())) or any(drift.is_edited(machine, file) for file in files)


def read_json(machine: LocalHost, name: str, empty: Any) -> Any:  # noqa: ANN401 - JSON
    """Return the content of a JSON file; `empty` if it is missing, damaged or of another type."""
    try:
        found = json.loads(machine.read(name))
    except (OSError, ValueError):
        return empty
    return found if isinstance(found, type(empty)) else empty


def installed(machine: LocalHost) -> list[str]:
    """Return the paths of all generations, and of an older sparkiac, that exist on this host."""
    listed = [
        file.get("path", "")
        for path in sorted(machine.path(GENERATIONS).glob("*/files.json"))
        for file in read_json(machine, str(path.relative_to(machine.root)), [])
    ]
    listed += read_json(machine, FORMER_LIST, {}).get("files", [])
    ours = [path for path in dict.fromkeys(listed) if PATH.fullmatch(path) and ".." not in path.split("/")]
    return sorted(path for path in ours if there(machine, path))


def plan_files(machine: LocalHost) -> list[str]:
    """Return the plans of all generations; the last one is the current one."""
    paths = sorted(machine.path(GENERATIONS).glob("*/files/etc/sparkiac/generation.json"))
    kept = [str(path.relative_to(machine.root)) for path in paths]
    return [*kept, "/etc/sparkiac/units.json", "/etc/sparkiac/generation.json"]


def units(machine: LocalHost, found: list[str]) -> list[str]:
    """Return the units that are installed: those of the plans in reverse start order, then the others."""
    ordered: dict[str, None] = {}
    for name in plan_files(machine):
        for unit in read_json(machine, name, {}).get("units", []):
            ordered.pop(unit_file(unit["name"]), None)
            ordered[unit_file(unit["name"])] = None
    present = [match[1] for path in found if (match := UNIT.fullmatch(path))]
    first = [name for name in reversed(list(ordered)) if name in present]
    return [*first, *(name for name in present if name not in first)]


def data(machine: LocalHost) -> list[str]:
    """Return the directories with data of services."""
    path = machine.path(HOME)
    found = [each.name for each in path.iterdir() if each.is_dir() and not each.is_symlink()] if path.is_dir() else []
    return sorted(name for name in found if name not in OWN)


def there(machine: LocalHost, name: str) -> bool:
    """Return whether there is a file, directory or link, also a broken one."""
    path = machine.path(name)
    return path.is_symlink() or path.exists()
