"""Recorded starts of the catalog: one file each, in a folder for its model, with the source of its figures."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from sparkiac.model.records import StartRecord

_ROOT: Final = Path(__file__).parent / "measurements"


def records() -> tuple[StartRecord, ...]:
    """Return all recorded starts, sorted by file name."""
    return _read(path for folder in _ROOT.iterdir() for path in folder.glob("*.json"))


def of_model(model: str, platform: str) -> tuple[StartRecord, ...]:
    """Return the recorded starts of a model on a platform, sorted by file name."""
    return tuple(each for each in _of_model(model) if each.subject.platform == platform)


@cache
def _of_model(model: str) -> tuple[StartRecord, ...]:
    """Read the folder of a model: a plan needs the records of its own models only."""
    folder = _folders().get("--".join(model.replace("/", " ").split()))
    return tuple(each for each in _read(folder.glob("*.json")) if each.subject.model == model) if folder else ()


@cache
def _folders() -> dict[str, Path]:
    return {path.name: path for path in _ROOT.iterdir()}


def _read(paths: Iterable[Path]) -> tuple[StartRecord, ...]:
    ordered = sorted(paths, key=lambda path: path.name)
    return tuple(StartRecord.model_validate_json(path.read_bytes()) for path in ordered)
