"""Basics for the checks of preflight: access to the host, parsers of command output, and the result of a check."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

EXPECTATIONS = "/etc/sparkiac/preflight.json"
GIB = 1 << 30
COMMAND_TIMEOUT_S = 60
# Codes of checks that run once for each of several names.
CODES = {"nvidia_drm.modeset": "MEM009", "container_toolkit": "HST002", "vm.min_free_kbytes": "MEM012"}


class CheckResult(NamedTuple):
    """Result of one check; preflight prints it as one line."""

    state: str
    check: str
    found: str
    wanted: str = ""
    hint: str = ""
    code: str = ""


class Check(NamedTuple):
    """The function that checks a key of the expectations, the hint if it fails, and the code of its page."""

    run: Any
    hint: str = ""
    code: str = ""


class LocalHost:
    """Access to files and commands of this host. Tests replace the root directory and the commands."""

    root = Path("/")
    root_uid = 0
    machine = os.uname().machine
    provided_secrets: tuple[str, ...] = ()

    def path(self, name: str) -> Path:
        """Return an absolute path of the host below `root`."""
        return self.root / name.lstrip("/")

    def read(self, name: str) -> str:
        """Return the text of a file."""
        return self.path(name).read_text(encoding="utf-8", errors="replace")

    def run(self, *argv: str) -> str:
        """Return the output of a command; if it fails, raise an error with its output."""
        pipe, env = subprocess.PIPE, {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(argv, stdout=pipe, stderr=pipe, timeout=COMMAND_TIMEOUT_S, check=False, env=env)  # noqa: S603
        if done.returncode:
            output = b" ".join((done.stdout + b" " + done.stderr).split()).decode("utf-8", "replace")
            raise RuntimeError(output or f"{argv[0]} failed with exit status {done.returncode}")
        return done.stdout.decode("utf-8", "replace")


def parse_version(text: str) -> tuple[int, ...]:
    """Return the first version number in a text."""
    for number in re.findall(r"\d+(?:\.\d+)*", text):
        return tuple(int(part) for part in number.split("."))
    raise RuntimeError(f"no version in {text!r}")


def parse_gpus(text: str) -> list[list[str]]:
    """Read name, compute capability and driver version of each GPU. Memory is not read: GB10 reports [N/A]."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip()]
    if not rows or any(len(row) != 3 for row in rows):  # noqa: PLR2004
        raise RuntimeError(f"unexpected output of nvidia-smi: {text!r}")
    return rows


def gpus(host: LocalHost) -> list[list[str]]:
    """Return name, compute capability and driver version of each GPU."""
    return parse_gpus(host.run("nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"))


def parse_meminfo(text: str) -> dict[str, int]:
    """Read /proc/meminfo into bytes."""
    return {m[1]: int(m[2]) * 1024 for m in re.finditer(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}


def gib(size_bytes: float) -> str:
    """Format a size in GiB."""
    return f"{size_bytes / GIB:.1f} GiB"


def readable(key: str, value: Any) -> str:  # noqa: ANN401 - JSON
    """Return an expectation as text, with sizes in GiB and without empty values."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {readable(name, each)}" for name, each in value.items() if each)
    if isinstance(value, (list, tuple)):
        return ", ".join(readable(key, each) for each in value)
    return gib(value) if key.endswith("_bytes") else str(value)


def compare(good: bool, check: str, found: str, wanted: str, hint: str = "", code: str = "") -> CheckResult:  # noqa: FBT001, PLR0913, PLR0917
    """Return the result of a comparison: ok or FAIL."""
    return CheckResult("ok" if good else "FAIL", check, found, wanted, hint, code)


def run_check(key: str, check: Check, wanted: object, host: LocalHost) -> list[CheckResult]:
    """Run a check. An exception counts as a failure."""
    lines = []
    try:
        lines += check.run(wanted, host)
    except Exception as error:  # noqa: BLE001 - an error in one check must not stop the others
        reason = f"{error.filename or key}: {error.strerror}" if isinstance(error, OSError) else str(error)
        label = wanted[0] if isinstance(wanted, tuple) else key
        code = check.code or CODES.get(label, "")
        lines.append(CheckResult("FAIL", label, reason, readable(key, wanted), code=code))
    return [line._replace(hint=line.hint or check.hint) if line.state == "FAIL" else line for line in lines]
