"""The only way from a typed value to JSON: every field becomes a key, also one that is empty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def plain(value: object) -> Any:  # noqa: ANN401  JSON
    """Turn named tuples into objects and other tuples into lists, at any depth."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: plain(each) for key, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value


def dump(value: object) -> bytes:
    """Write a file that people compare: sorted keys, one value on each line."""
    return (json.dumps(plain(value), indent=1, sort_keys=True) + "\n").encode()
