"""Errors about tagged unions, whose members differ in one key, such as `kind` of a service.

An error about a tag becomes an ordinary error: the value must be one of these, or the key is missing. So its position
is the key itself, and the hint can name the nearest word.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails


def at_key(detail: ErrorDetails) -> ErrorDetails:
    """Return an error about a tag as an error about the key that contains it, and any other error unchanged."""
    if detail["type"] not in {"union_tag_invalid", "union_tag_not_found"}:
        return detail
    key = detail["ctx"]["discriminator"].strip("'")
    at_key = detail | {"loc": (*detail["loc"], key)}
    if detail["type"] == "union_tag_not_found":
        return typing.cast("ErrorDetails", at_key | {"type": "missing"})
    expected = " or ".join(detail["ctx"]["expected_tags"].rsplit(", ", 1))
    wrong = {"type": "literal_error", "input": detail["input"][key], "ctx": {"expected": expected}}
    return typing.cast("ErrorDetails", at_key | wrong)


def selected(models: Iterable[type[BaseModel]], data: object) -> tuple[type[BaseModel], ...]:
    """Return the members of a union that the tags in `data` select; all of them if these select none."""
    members = tuple(models)
    chosen = tuple(each for each in members if isinstance(data, dict) and _matches(each, data))
    return chosen or members


def tags(models: Iterable[type[BaseModel]], key: str) -> tuple[str, ...]:
    """Return all values that `key` can have in these models, if it distinguishes them."""
    fields = [each.model_fields[key] for each in models if key in each.model_fields]
    return tuple(str(word) for field in fields for word in _words(field.annotation)) if len(fields) > 1 else ()


def _matches(model: type[BaseModel], data: dict[str, Any]) -> bool:
    """Return whether the data has an allowed word for each key that the model limits to certain words."""
    required = {name: _words(field.annotation) for name, field in model.model_fields.items() if field.is_required()}
    return all(data.get(name) in words for name, words in required.items() if words)


def _words(annotation: object) -> tuple[object, ...]:
    return typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()
