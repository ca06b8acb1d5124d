"""Where the programs of this installation lie."""

from __future__ import annotations

from pathlib import Path


def launcher(name: str) -> Path:
    """Return the path of a program of this installation."""
    return Path(__file__).resolve().parents[1] / name
