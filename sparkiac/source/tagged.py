"""Errors about tagged unions, whose members differ in one key such as `kind` of a service.

What it says of a tag becomes what it says of any other value: one of these is wanted, or the key is missing. So the
place is the key itself, and the hint can name the nearest word.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails


def plain(detail: ErrorDetails) -> ErrorDetails:
    """Give an error about a tag as one about the key that holds it; any other error as it is."""
    if detail["type"] not in {"union_tag_invalid", "union_tag_not_found"}:
        return detail
    key = detail["ctx"]["discriminator"].strip("'")
    at_key = detail | {"loc": (*detail["loc"], key)}
    if detail["type"] == "union_tag_not_found":
        return typing.cast("ErrorDetails", at_key | {"type": "missing"})
    expected = " or ".join(detail["ctx"]["expected_tags"].rsplit(", ", 1))
    wrong = {"type": "literal_error", "input": detail["input"][key], "ctx": {"expected": expected}}
    return typing.cast("ErrorDetails", at_key | wrong)


def fitting(models: Iterable[type[BaseModel]], data: object) -> tuple[type[BaseModel], ...]:
    """Give the members of a union that the tags in `data` choose; all of them if these choose none."""
    members = tuple(models)
    chosen = tuple(each for each in members if isinstance(data, dict) and _fits(each, data))
    return chosen or members


def tags(models: Iterable[type[BaseModel]], key: str) -> tuple[str, ...]:
    """Give every word that `key` may be in one of these models, if it tells them apart."""
    fields = [each.model_fields[key] for each in models if key in each.model_fields]
    return tuple(str(word) for field in fields for word in _words(field.annotation)) if len(fields) > 1 else ()


def _fits(model: type[BaseModel], data: dict[str, Any]) -> bool:
    """Whether each key of the model that may only be some words is one of them."""
    required = {name: _words(field.annotation) for name, field in model.model_fields.items() if field.is_required()}
    return all(data.get(name) in words for name, words in required.items() if words)


def _words(annotation: object) -> tuple[object, ...]:
    return typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()
