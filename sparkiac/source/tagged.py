"""The models of the value at a path, also in tagged unions, whose members differ in one key: `kind` of a service.

An error about a tag becomes an ordinary error: the value must be one of these, or the key is missing. So its position
is the key itself, and the hint can name the nearest word.
"""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic_core import ErrorDetails

    from sparkiac.report import Path


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


def models_at(model: type[BaseModel], path: Path, data: Any) -> tuple[type[BaseModel], ...]:  # noqa: ANN401
    """Return the models for the mapping at `path`; of a union, those that match the tag in `data`."""
    found: tuple[Any, ...] = (model,)
    for part in path:
        found = tuple(inner for each in _chosen(found, data) for step in _step(each, part) for inner in _models(step))
        data = _inside(data, part)
    return _selected(filter(_is_model, found), data)


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


def _selected(models: Iterable[type[BaseModel]], data: object) -> tuple[type[BaseModel], ...]:
    """Return the members of a union that the tags in `data` select; all of them if these select none."""
    members = tuple(models)
    chosen = tuple(each for each in members if isinstance(data, dict) and _matches(each, data))
    return chosen or members


def _inside(data: Any, part: str | int) -> object:  # noqa: ANN401
    try:
        return data[part]
    except (LookupError, TypeError):
        return None


def _chosen(alternatives: tuple[Any, ...], data: object) -> tuple[Any, ...]:
    """Return the models of a union that the tag in the data selects."""
    models = _selected(filter(_is_model, alternatives), data)
    return tuple(each for each in alternatives if not _is_model(each) or each in models)


def _models(annotation: object) -> Iterator[Any]:
    """Return the alternatives of a union, without the metadata of Annotated."""
    if typing.get_origin(annotation) is typing.Annotated:
        yield from _models(typing.get_args(annotation)[0])
    elif typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        for inner in typing.get_args(annotation):
            yield from _models(inner)
    else:
        yield annotation


def _step(annotation: Any, part: str | int) -> tuple[object, ...]:  # noqa: ANN401
    if _is_model(annotation):
        field = annotation.model_fields.get(part)
        return () if field is None else (field.annotation,)
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is dict:
        return (arguments[1],)
    if typing.get_origin(annotation) is tuple and isinstance(part, int):
        return (arguments[0],)
    return ()


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
