"""Files, commands and units of this host."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from . import durable
from .contract import validated

REDACTED = "***"
SECRET = re.compile(r"\b(?:hf_|nvapi-|sk-|ghp_)[\w-]{8,}|(?<=Bearer )\S+|(?<=://)[^/\s@]+(?=@)")
WIDTH = 200
COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SECRETS = "/etc/sparkiac/secrets"
SHORTEST_PART = 4
"""A shorter line of a secret, such as a bracket, is no secret by itself."""
SHORTEST_SECRET = 8
"""A shorter secret could be a part of a name by chance, which data about this host need."""
FILES = "/var/lib/sparkiac/files"
PROPERTIES = (
    "LoadState", "ActiveState", "SubState", "UnitFileState", "InvocationID", "DropInPaths", "NeedDaemonReload",
    "NRestarts", "ActiveEnterTimestampMonotonic", "ActiveExitTimestampMonotonic", "StatusText",
)  # fmt: skip


class CommandResult(NamedTuple):
    """Exit status and output of a command."""

    code: int
    output: str
    errors: str


class LocalHost:
    """Access to files and commands of this host."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Store the root directory; tests use another one."""
        self.root = root

    def path(self, name: str) -> Path:
        """Return a path of the host below `root`."""
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str:
        """Return the text of a file."""
        return self.path(name).read_text(encoding="utf-8")

    def lines(self, name: str) -> list[str]:
        """Return the lines of a file; none if it cannot be read as text."""
        try:
            return self.read(name).splitlines()
        except (OSError, ValueError):
            return []

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file, or an empty text if it cannot be read."""
        try:
            return hashlib.sha256(self.path(name).read_bytes()).hexdigest()
        except OSError:
            return ""

    def run(self, *argv: str) -> CommandResult:
        """Run a command without a timeout; for a restart, systemd applies the timeouts of the unit."""
        env = {**os.environ, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False, env=env)  # noqa: S603
        return CommandResult(done.returncode, done.stdout, done.stderr)


def launcher(name: str) -> Path:
    """Return the path of a program of this installation."""
    return Path(__file__).resolve().parents[1] / name


def free_bytes(path: Path) -> int:
    """Return the free space on the file system of a file or directory, which need not exist yet."""
    status = os.statvfs(next(each for each in (path, *path.parents) if each.exists()))
    return status.f_bavail * status.f_frsize


def number(text: str) -> float | None:
    """Return a number of nvidia-smi; None for [N/A]."""
    try:
        return float(text)
    except ValueError:
        return None


def secret_values(directory: Path) -> list[str]:
    """Return the secrets in a directory, the longest first, so that no text quotes them."""
    paths = sorted(directory.iterdir()) if directory.is_dir() else []
    values = {path.read_text(encoding="utf-8", errors="replace").strip() for path in paths if path.is_file()}
    return sorted(values - {""}, key=len, reverse=True)


def secret_parts(directory: Path) -> list[str]:
    """Return the secrets in a directory and their lines, the longest first."""
    values = secret_values(directory)
    parts = {part.strip() for value in values for part in value.splitlines() if len(part.strip()) >= SHORTEST_PART}
    return sorted(parts.union(values), key=len, reverse=True)


def starred(machine: LocalHost, data: Any) -> Any:  # noqa: ANN401 - plain data
    """Return data without the secrets of this host, as far as they can be read; names in it are no secrets."""
    try:
        secrets = [each for each in secret_parts(machine.path(SECRETS)) if len(each) >= SHORTEST_SECRET]
    except PermissionError:
        secrets = []

    def star(value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, str):
            return redacted(value, secrets)
        if isinstance(value, dict):
            return {key: star(each) for key, each in value.items()}
        return [star(each) for each in value] if isinstance(value, (list, tuple)) else value

    return star(data)


def redacted(text: str, secrets: list[str]) -> str:
    """Return the text without the secrets of this host and without what looks like a token."""
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return SECRET.sub(REDACTED, text)


def clean(line: str, width: int = WIDTH) -> str:
    """Remove colours, escape other control characters, and cut a long line."""
    plain = COLOUR.sub("", line).rstrip()
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in plain)
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def say(text: str) -> None:
    """Write a line to the journal."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def notify(message: str) -> None:
    """Send a message to systemd if there is a notification socket."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.connect("\0" + address[1:] if address.startswith("@") else address)
            channel.send(message.encode())


def launch(machine: LocalHost, unit: str, *argv: str, properties: Iterable[str] = ()) -> None:
    """Start a command in a unit of its own, which outlives the one that starts it."""
    options = ("--quiet", "--collect", f"--unit={unit}", "--setenv=LC_ALL=C.UTF-8", *properties)
    done = machine.run("systemd-run", *options, *argv)
    if done.code:
        raise OSError(f"systemd-run: {done.errors.strip()}")


def read_record(
    machine: LocalHost,
    name: str,
    shape: Any,  # noqa: ANN401 - a type
    added: Mapping[str, Any] | None = None,
) -> dict[str, Any] | None:
    """Return a file of this package; None if it is missing, may not be read, or was written by another version.

    `added` has the values of keys that former versions did not write.
    """
    try:
        found = json.loads(machine.read(name))
        whole = {**(added or {}), **found} if isinstance(found, dict) else found
        return dict(validated("program", name, whole, shape))
    except (OSError, ValueError):
        return None


def write(machine: LocalHost, name: str, text: str) -> None:
    """Replace a file atomically, readable only by root."""
    path = machine.path(name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, new = tempfile.mkstemp(dir=str(path.parent))
    with durable.naming(path), os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(new).replace(path)


def unit_file(name: str) -> str:
    """Return the name of a unit with its suffix; the plan has no suffix for services."""
    return name if name.endswith(".timer") else f"{name}.service"


def planned_name(file: str) -> str:
    """Return the name that a unit with this full name has in the plan."""
    name, _, kind = file.rpartition(".")
    return name if kind == "service" else file


def states(machine: LocalHost, names: list[str]) -> dict[str, dict[str, str]]:
    """Return the state of each unit, with one call of systemctl for all."""
    if not names:
        return {}
    done = machine.run("systemctl", "show", "--property=" + ",".join(PROPERTIES), *map(unit_file, names))
    found = blocks(done.output)
    if done.code or len(found) != len(names):
        raise RuntimeError(f"unexpected output of systemctl show: {(done.errors or done.output).strip()!r}")
    return dict(zip(names, found, strict=True))


def blocks(output: str) -> list[dict[str, str]]:
    """Return the properties of each unit from the output of `systemctl show`."""
    texts = [block for block in output.split("\n\n") if block.strip()]
    return [dict(line.split("=", 1) for line in text.splitlines() if "=" in line) for text in texts]


def shown(
    machine: LocalHost, names: list[str], properties: Iterable[str], *, within_s: int
) -> tuple[CommandResult, dict[str, dict[str, str]]]:
    """Ask systemd once for properties of units, within a time; return the command's result, and unit → properties."""
    argv = ("timeout", str(within_s), "systemctl", "show", "--property=" + ",".join(["Id", *properties]))
    done = machine.run(*argv, *map(unit_file, names))
    return done, {planned_name(block["Id"]): block for block in blocks(done.output) if "Id" in block}
