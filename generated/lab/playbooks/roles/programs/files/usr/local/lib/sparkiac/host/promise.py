"""What a unit promises: the format of `promise` in generation.json and of promise.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .contract import validated

PROMISE = {
    "unit": str,
    "kind": str,
    "url": (str, None),
    "health": (str, None),
    "models": [str],
    "api_key": (str, None),
    "clients": [str],
    "reasoning": bool,
    "structured": bool,
    "vision": bool,
    "max_model_len": (int, None),
    "dimensions": (int, None),
    "speculative": bool,
    "metrics": (str, None),
    "answer_s": int,
    "store": (str, None),
    "workers": int,
}
GENERATES = ("chat", "generate")
"""Kinds of servers that generate text."""


def read(path: Path) -> dict[str, Any]:
    """Read promise.json; raise ContractError if another version of sparkiac wrote it."""
    return checked(str(path), json.loads(path.read_text(encoding="utf-8")))


def checked(name: str, value: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return a promise; raise ContractError if another version of sparkiac wrote it."""
    return dict(validated("probe", name, value, PROMISE))


def of_unit(path: Path, unit: str) -> dict[str, Any] | None:
    """Return the promise of a unit in generation.json; None if it has none. Raises LookupError for an unknown unit."""
    units = {each["name"]: each for each in json.loads(path.read_text(encoding="utf-8"))["units"]}
    if unit not in units:
        message = f"{path} has no unit {unit}; it has {', '.join(sorted(units)) or 'none'}"
        raise LookupError(message)
    found = units[unit]["promise"]
    return None if found is None else checked(f"{path}: {unit}", found)
