"""Convert typed values to JSON. Every field becomes a key, even if it is empty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def plain(value: object) -> Any:  # noqa: ANN401  JSON
    """Convert named tuples to objects and other tuples to lists, at any depth."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: plain(each) for key, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value


def dump(value: object) -> bytes:
    """Return JSON for a file that people review: sorted keys, one value per line."""
    return (json.dumps(plain(value), indent=1, sort_keys=True) + "\n").encode()
