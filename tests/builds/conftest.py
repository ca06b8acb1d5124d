"""A toy repository and a bench for each test."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.builds.toys import Bench, Toy

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    """Return a repository with one commit."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    return Toy(tmp_path / "toy")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Return a place to build in."""
    return Bench(tmp_path / "bench")
