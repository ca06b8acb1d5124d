"""Compares an edited text with the data that it must have, so that no edit changes other values."""

from __future__ import annotations

import json
from typing import Any

from sparkiac.fix.nodes import CannotEdit, read


def mutable(data: object) -> Any:  # noqa: ANN401  a document's data
    """Copy data so that it can be changed."""
    if isinstance(data, dict):
        return {key: mutable(value) for key, value in data.items()}
    return [mutable(value) for value in data] if isinstance(data, (tuple, list)) else data


def require_data(text: str, wanted: object) -> str:
    """Return the text if its data equal `wanted`. Raises CannotEdit."""
    if json.dumps(mutable(read(text)[0]), sort_keys=True) != json.dumps(wanted, sort_keys=True):
        message = "because of the file's layout, the edit would change other values"
        raise CannotEdit(message)
    return text
