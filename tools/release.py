"""Builds the wheel, the source distribution and SHA256SUMS of the last commit: `make release`.

Only the commit counts, with its date in place of the time of the build: two builds of a commit are the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def release(target: Path) -> None:
    """Write the files into `target`, which is emptied first."""
    shutil.rmtree(target, ignore_errors=True)
    environment = os.environ | {"SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct").decode().strip()}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-x", "-C", folder], input=git("archive", "HEAD"), check=True)
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target.absolute()), folder]
        subprocess.run(command, env=environment, stdout=sys.stderr, check=True)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(target.iterdir())]
    (target / "SHA256SUMS").write_text("".join(sums))
    print("".join(sums), end="")


def git(*words: str) -> bytes:
    """Return the output of Git in this repository."""
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, check=True).stdout


if __name__ == "__main__":
    release(Path(sys.argv[1]))
