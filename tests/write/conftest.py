"""A place to generate into, with nothing else beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Name a target that does not exist yet, in a directory that does."""
    (tmp_path / "generated").mkdir()
    return tmp_path / "generated" / "lab"
