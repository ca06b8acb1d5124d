"""What each unit of this host runs from, and what was recorded of it when it started.

A record lies in /run, which is empty after a boot, and names the start that it is of (systemd's InvocationID). So a
crash, a reboot or a restart by hand never leaves a record that is taken for that of the running process.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from contract import agreed

PLAN = "/etc/sparkiac/units.json"
STARTED = "/run/sparkiac/started"
SECRETS = "/etc/sparkiac/secrets"
PROPERTIES = (
    "LoadState", "ActiveState", "SubState", "UnitFileState", "InvocationID", "DropInPaths", "NeedDaemonReload",
)  # fmt: skip


UNIT = {"name": str, "files": [str], "secrets": [str], "memory_bytes": (int, None), "listen": (str, None)}
UNITS = {"memory_bytes": (int, None), "units": [UNIT]}
RECORD = {"invocation": str, "content": {str: str}, "memory_bytes": (int, None), "listen": (str, None)}


class Done(NamedTuple):
    """What a command did."""

    code: int
    output: str
    errors: str


class Machine:
    """All contact with the host."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Take the directory that stands for the root directory."""
        self.root = root

    def path(self, name: str) -> Path:
        """Return where a path of the host is."""
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str:
        """Return the text of a file."""
        return self.path(name).read_text(encoding="utf-8")

    def sha256(self, name: str) -> str:
        """Return the hash of a file's content, or nothing where there is no file."""
        try:
            return hashlib.sha256(self.path(name).read_bytes()).hexdigest()
        except OSError:
            return ""

    def run(self, *argv: str) -> Done:
        """Run a command to its end; systemd bounds a restart by the timeouts of the unit."""
        env = {**os.environ, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False, env=env)  # noqa: S603
        return Done(done.returncode, done.stdout, done.stderr)


def plan(machine: Machine) -> dict[str, Any]:
    """Return what the generated tree says about the units of this host."""
    return dict(agreed("program", PLAN, json.loads(machine.read(PLAN)), UNITS))


def write(machine: Machine, name: str, text: str) -> None:
    """Write a file as a whole or not at all, readable by root alone."""
    path = machine.path(name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, new = tempfile.mkstemp(dir=str(path.parent))
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(new).replace(path)


def states(machine: Machine, names: list[str]) -> dict[str, dict[str, str]]:
    """Ask systemd for the state of each unit: one call for all."""
    if not names:
        return {}
    done = machine.run(
        "systemctl", "show", "--property=" + ",".join(PROPERTIES), *[f"{name}.service" for name in names]
    )
    blocks = [block for block in done.output.split("\n\n") if block.strip()]
    if done.code or len(blocks) != len(names):
        raise RuntimeError(f"systemctl show said {(done.errors or done.output).strip()!r}")  # noqa: EM102, TRY003
    found = [dict(line.split("=", 1) for line in block.strip().splitlines()) for block in blocks]
    return dict(zip(names, found))  # noqa: B905 - Python 3.8


def content(machine: Machine, unit: dict[str, Any], state: dict[str, str], tree: dict[str, str]) -> dict[str, str]:
    """Return the hash of everything that a unit runs from; `tree` holds the hashes of files that are about to come."""
    drop_ins = state["DropInPaths"].split()
    secrets = [f"{SECRETS}/{name}" for name in unit["secrets"]]
    paths = [path.lstrip("/") for path in [*unit["files"], *drop_ins, *secrets]]
    return {path: tree.get(path) or machine.sha256(path) for path in paths}


def record(machine: Machine, planned: dict[str, Any], name: str) -> None:
    """Record what a unit starts from: ExecStartPre, in the process tree of that start."""
    unit = next(each for each in planned["units"] if each["name"] == name)
    state = states(machine, [name])[name]
    found = content(machine, unit, state, {})
    if state["NeedDaemonReload"] == "yes":  # systemd runs what it read before: not what the files say now
        found = {path: "" if path.startswith("etc/systemd/") else digest for path, digest in found.items()}
    kept = {key: unit[key] for key in ("memory_bytes", "listen")}
    text = json.dumps({"invocation": os.environ.get("INVOCATION_ID", ""), "content": found, **kept})
    write(machine, f"{STARTED}/{name}.json", text)


def recorded(machine: Machine, name: str, state: dict[str, str]) -> dict[str, Any] | None:
    """Return the record of the start that runs now, if there is one."""
    try:
        found = agreed("program", name, json.loads(machine.read(f"{STARTED}/{name}.json")), RECORD)
    except (OSError, ValueError):  # one of another version is none
        return None
    return dict(found) if found["invocation"] and found["invocation"] == state["InvocationID"] else None
