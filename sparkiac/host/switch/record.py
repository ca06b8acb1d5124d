"""The inputs of each unit of this host (files, drop-ins, secrets), and the record of what counted in them at its start.

Records are in /run, which is empty after a boot, and contain systemd's InvocationID of the start. Therefore the record
of an earlier start is never mistaken for that of the running process after a crash, a reboot or a manual restart.

The content that counted is the version of the unit. Those that have passed their gate on this host stay on its disk.
"""

from __future__ import annotations

import json
from typing import Any

from .. import durable, local
from ..local import SECRETS, LocalHost
from . import effective, store

STARTED = "/run/sparkiac/started"
PASSED = "/var/lib/sparkiac/passed"
VERSIONS = {"versions": list[dict[str, str]]}
MOST_VERSIONS = 20
"""Versions of a unit that are remembered, the last ones."""
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


def recorded(machine: LocalHost, name: str, invocation: str) -> dict[str, Any] | None:
    """Return the record of the start with this ID, if it was the last one."""
    found = local.read_record(machine, f"{STARTED}/{name}.json", RECORD)
    return found if found and invocation and found["invocation"] == invocation else None


def passed(machine: LocalHost, name: str) -> list[dict[str, str]]:
    """Return the versions of a unit that have passed their gate on this host, the last one at the end."""
    found = local.read_record(machine, f"{PASSED}/{name}.json", VERSIONS)
    return found["versions"] if found else []


def has_passed(machine: LocalHost, name: str, invocation: str) -> bool:
    """Return whether the version of a start has passed its gate on this host before."""
    found = recorded(machine, name, invocation)
    return found is not None and found["content"] in passed(machine, name)


def note(machine: LocalHost, name: str, invocation: str, *, good: bool) -> None:
    """Remember that the version of a start has passed its gate, or forget it; one with an unread file is unknown."""
    found, known = recorded(machine, name, invocation), passed(machine, name)
    version = found["content"] if found and all(found["content"].values()) else None
    if version is not None and (version in known) != good:
        kept = [*known, version][-MOST_VERSIONS:] if good else [each for each in known if each != version]
        durable.write(machine.path(f"{PASSED}/{name}.json"), json.dumps({"versions": kept}).encode())


def changed(machine: LocalHost, before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return the paths at which something that counts has changed.

    Older versions of sparkiac recorded the hash of a whole file; what counted in it is found in a generation.
    """
    found = (path for path in sorted({*before, *now}) if before.get(path) != now.get(path))
    return [path for path in found if store.digest_of(machine, path, before.get(path)) != now.get(path)]
