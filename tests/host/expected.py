"""Whole values from what a test is about: every other key of a program's file, with nothing in it."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints


def complete(shape: Any, value: Any = None) -> Any:  # noqa: ANN401  JSON
    """Return a value with all keys that its record has, at any depth."""
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is UnionType:
        return None if value is None else complete(arguments[0], value)
    if origin is tuple:
        return [complete(arguments[0], each) for each in value or []]
    given = value or {}
    if origin is Mapping:
        return {key: complete(arguments[1], each) for key, each in given.items()}
    if hasattr(shape, "_fields"):
        return {**given, **{key: complete(each, given.get(key)) for key, each in get_type_hints(shape).items()}}
    return shape() if value is None else value
