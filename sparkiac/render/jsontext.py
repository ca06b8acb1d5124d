"""Convert typed values to JSON. Every field becomes a key, even if it is empty."""

from __future__ import annotations

from collections.abc import Mapping
from json import JSONEncoder
from typing import Any, Final

_SCALAR: Final = JSONEncoder().encode


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
    """Return JSON for a file that people review: sorted keys, one value per line.

    The bytes are those of `json.dumps(…, indent=1, sort_keys=True)`, which takes several times as long.
    """
    return (_written(value, "\n") + "\n").encode()


def _written(value: object, line: str) -> str:
    """Return a value as JSON; `line` begins a line with the indentation of the value."""
    inside = line + " "
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        entries = [f"{_SCALAR(key)}: {_written(each, inside)}" for key, each in sorted(value.items())]
        return f"{{{inside}{f',{inside}'.join(entries)}{line}}}" if entries else "{}"
    if isinstance(value, tuple | list):
        items = [_written(each, inside) for each in value]
        return f"[{inside}{f',{inside}'.join(items)}{line}]" if items else "[]"
    return _SCALAR(value)
