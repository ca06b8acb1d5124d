"""Hosts that an older sparkiac has applied: the lab as a commit of it generates and applies it."""

from __future__ import annotations

import io
import subprocess
import tarfile
from typing import TYPE_CHECKING

import pytest

from tests.e2e.lab import ROOT, Lab

if TYPE_CHECKING:
    from tests.e2e.bed import Bed


def applied(commit: str, bed: Bed, folders: pytest.TempPathFactory) -> Lab:
    """Return the lab as this commit generated and applied it; skip where the clone does not have the commit."""
    archived = subprocess.run(["git", "-C", ROOT, "archive", commit], capture_output=True, check=False)
    if archived.returncode:
        pytest.skip(f"needs the commit {commit} in the clone: {archived.stderr.decode().strip()}")
    checkout = folders.mktemp("checkout")
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as tree:
        tree.extractall(checkout)  # noqa: S202  an archive of ours; Python 3.11.2 has no filter
    found = Lab(bed, folders.mktemp("older"))
    found.write()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(checkout))
        found.generate()
    found.stage()
    recap = found.apply()
    assert recap.code == 0, recap.output
    return found
