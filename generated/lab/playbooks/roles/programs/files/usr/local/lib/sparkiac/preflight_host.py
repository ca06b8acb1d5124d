"""What every check of preflight is made of: the machine, what it says, and a line for what was found."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

EXPECTATIONS = "/etc/sparkiac/preflight.json"
GIB = 1 << 30
COMMAND_TIMEOUT_S = 60
# Pages of single names, where a check is made for each of many.
CODES = {"nvidia_drm.modeset": "MEM009", "container_toolkit": "HST002", "vm.min_free_kbytes": "MEM012"}


class Line(NamedTuple):
    """One result."""

    state: str
    check: str
    found: str
    wanted: str = ""
    hint: str = ""
    code: str = ""


class Check(NamedTuple):
    """What a key of the expectations is checked by, what to do when it fails, and whose page says why."""

    run: Any
    hint: str = ""
    code: str = ""


class Host:
    """All contact with the machine. Tests give it another root and other commands."""

    root = Path("/")
    root_uid = 0
    machine = os.uname().machine
    provided_secrets: tuple[str, ...] = ()

    def path(self, name: str) -> Path:
        """Return where an absolute path of the host is."""
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str:
        """Return the text of a file."""
        return self.path(name).read_text(encoding="utf-8", errors="replace")

    def run(self, *argv: str) -> str:
        """Return what a command prints; when it fails, what it says is the error."""
        pipe, env = subprocess.PIPE, {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(argv, stdout=pipe, stderr=pipe, timeout=COMMAND_TIMEOUT_S, check=False, env=env)  # noqa: S603
        if done.returncode:
            said = b" ".join((done.stdout + b" " + done.stderr).split()).decode("utf-8", "replace")
            raise RuntimeError(said or f"{argv[0]} ended with {done.returncode}")
        return done.stdout.decode("utf-8", "replace")


def parse_version(text: str) -> tuple[int, ...]:
    """Return the first version number in a text."""
    for number in re.findall(r"\d+(?:\.\d+)*", text):
        return tuple(int(part) for part in number.split("."))
    raise RuntimeError(f"no version in {text!r}")  # noqa: EM102, TRY003


def parse_gpus(text: str) -> list[list[str]]:
    """Read name, compute capability and driver of each GPU; never memory, GB10 says [N/A]."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    if not rows or any(len(row) != 3 for row in rows):  # noqa: PLR2004
        raise RuntimeError(f"nvidia-smi said {text!r}")  # noqa: EM102, TRY003
    return rows


def parse_meminfo(text: str) -> dict[str, int]:
    """Read /proc/meminfo into bytes."""
    return {m[1]: int(m[2]) * 1024 for m in re.finditer(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}


def gib(size_bytes: float) -> str:
    """Write a size for people."""
    return f"{size_bytes / GIB:.1f} GiB"


def judge(good: bool, check: str, found: str, wanted: str, hint: str = "", code: str = "") -> Line:  # noqa: FBT001, PLR0913, PLR0917
    """Make the line of a comparison."""
    return Line("ok" if good else "FAIL", check, found, wanted, hint, code)


def guarded(key: str, check: Check, wanted: object, host: Host) -> list[Line]:
    """Run a check. One that cannot be made has failed."""
    lines = []
    try:
        lines += check.run(wanted, host)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other checks go on
        reason = f"{error.filename or key}: {error.strerror}" if isinstance(error, OSError) else str(error)
        label = wanted[0] if isinstance(wanted, tuple) else key
        shown = {key: value for key, value in wanted.items() if value} if isinstance(wanted, dict) else wanted
        lines.append(Line("FAIL", label, reason, json.dumps(shown), code=check.code or CODES.get(label, "")))
    return [line._replace(hint=line.hint or check.hint) if line.state == "FAIL" else line for line in lines]
