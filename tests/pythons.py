"""Other versions of Python, each with packages of its own, made once and kept between runs."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

KEPT = Path("/var/tmp/sparkiac-pythons")  # noqa: S108  kept between runs


def environment(version: str, *packages: str) -> Path:
    """Return the bin/ of a virtual environment of this Python with these packages; skip where it cannot be had."""
    KEPT.mkdir(exist_ok=True)
    folder = KEPT / f"{version}-{hashlib.sha256(repr(sorted(packages)).encode()).hexdigest()[:12]}"
    done = folder / ".done"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            subprocess.run([interpreter(version), "-m", "venv", "--clear", folder], check=True)
            install = [folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            installed = subprocess.run(install, capture_output=True, text=True, check=False)
            if installed.returncode:
                pytest.skip(f"needs packages for Python {version}: {installed.stderr[-300:]}")
            done.touch()
    return folder / "bin"


def interpreter(version: str) -> str:
    """Return a Python of this version; skip where there is none."""
    found = [*Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"), shutil.which(f"python{version}")]
    if found[0] is None:
        pytest.skip(f"needs Python {version}")
    return str(found[0])
