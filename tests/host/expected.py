"""Whole values from what a test is about: every other key of a program's file, with nothing in it."""

from __future__ import annotations

from typing import Any


def complete(shape: Any, value: Any = None) -> Any:  # noqa: ANN401  JSON
    """Return a value with all keys that its shape has, at any depth."""
    if isinstance(shape, tuple):
        return None if value is None else complete(shape[0], value)
    if isinstance(shape, list):
        return [complete(shape[0], each) for each in value or []]
    if isinstance(shape, type):
        return shape() if value is None else value
    given = value or {}
    if str in shape:
        return {key: complete(shape[str], each) for key, each in given.items()}
    return {**given, **{key: complete(each, given.get(key)) for key, each in shape.items()}}
