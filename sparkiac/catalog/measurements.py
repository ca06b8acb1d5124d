"""Recorded starts of the catalog: one file each in `measurements/`, with the source of its figures."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from sparkiac.model.records import StartRecord

_ROOT: Final = Path(__file__).parent / "measurements"


@cache
def records() -> tuple[StartRecord, ...]:
    """Return all recorded starts, sorted by file name."""
    return tuple(StartRecord.model_validate_json(path.read_bytes()) for path in sorted(_ROOT.glob("*.json")))


@cache
def of_model(model: str, platform: str) -> tuple[StartRecord, ...]:
    """Return the recorded starts of a model on a platform."""
    return tuple(each for each in records() if (each.subject.model, each.subject.platform) == (model, platform))
