"""The inputs of each unit of this host (files, drop-ins, secrets), and the record of what counted in them at its start.

Records are in /run, which is empty after a boot, and contain systemd's InvocationID of the start. Therefore the record
of an earlier start is never mistaken for that of the running process after a crash, a reboot or a manual restart.
"""

from __future__ import annotations

import json
from typing import Any

from .. import local
from ..local import SECRETS, LocalHost
from . import effective, store

STARTED = "/run/sparkiac/started"
RECORD = {"invocation": str, "content": dict[str, str], "memory_bytes": int | None, "listen": str | None}


def content(machine: LocalHost, unit: dict[str, Any], state: dict[str, str], tree: dict[str, str]) -> dict[str, str]:
    """Return path → digest of what counts in each input of a unit; `tree` has those of files that will be copied."""
    drop_ins = state["DropInPaths"].split()
    secrets = [f"{SECRETS}/{name}" for name in unit["secrets"]]
    paths = [path.lstrip("/") for path in [*unit["files"], *drop_ins, *secrets]]
    return {path: tree.get(path) or digest(machine, path) for path in paths}


def digest(machine: LocalHost, path: str) -> str:
    """Return the digest of what counts in a file of this host, or an empty text if it cannot be read."""
    try:
        return effective.digest(path, machine.path(path).read_bytes())
    except OSError:
        return ""


def record(machine: LocalHost, planned: dict[str, Any], name: str, invocation: str) -> None:
    """Record the inputs of a unit at its start, with systemd's ID of this start."""
    unit = next((each for each in planned["units"] if each["name"] == name), None)
    if unit is None:
        raise ValueError(f"the installed generation has no unit {name}")
    state = local.states(machine, [name])[name]
    found = content(machine, unit, state, {})
    if state["NeedDaemonReload"] == "yes":  # systemd uses an older version of the unit file than the one on disk
        found = {path: "" if path.startswith("etc/systemd/") else kept for path, kept in found.items()}
    kept = {key: unit[key] for key in ("memory_bytes", "listen")}
    text = json.dumps({"invocation": invocation, "content": found, **kept})
    local.write(machine, f"{STARTED}/{name}.json", text)


def recorded(machine: LocalHost, name: str, state: dict[str, str]) -> dict[str, Any] | None:
    """Return the record of the current start, if there is one."""
    found = local.read_record(machine, f"{STARTED}/{name}.json", RECORD)
    return found if found and found["invocation"] and found["invocation"] == state["InvocationID"] else None


def changed(machine: LocalHost, before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the paths at which something that counts has changed.

    Older versions of sparkiac recorded the hash of a whole file; what counted in it is found in a generation.
    """
    found = (path for path in sorted({*before, *now}) if before.get(path) != now.get(path))
    return [path for path in found if store.digest_of(machine, path, before.get(path)) != now.get(path)]
