"""Removes values that the inventory's models reject, so that every draft can be checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from sparkiac.foreign import values
from sparkiac.foreign.launch import Note, lost
from sparkiac.model.catalog import Recipe
from sparkiac.model.inventory import Deployment
from sparkiac.model.services import Service
from sparkiac.report import Path

_MODELS: Final[dict[str, TypeAdapter[Any]]] = {
    "deployment": TypeAdapter(Deployment),
    "service": TypeAdapter(Service),
    "recipe": TypeAdapter(Recipe),
}
_ROUNDS: Final = 9
_REQUIRED: Final = {"deployment": {"hosts": "spark-01"}, "service": {"hosts": "spark-01"}, "recipe": {}}
"""Required keys that an entry does not have yet."""


def without_invalid(data: dict[str, Any], kind: str, line: int) -> tuple[dict[str, Any], list[Note]]:
    """Return an entry without the values that the models reject, and a note for each."""
    notes: list[Note] = []
    for path in [*_not_portable(data, ())]:
        notes.append(
            lost(line, ".".join(map(str, path[:1])), "it contains characters or a size that YAML files cannot hold")
        )
        data = _without(data, path)
    for _ in range(_ROUNDS):
        try:
            _MODELS[kind].validate_python(data | _REQUIRED[kind])
        except ValidationError as error:
            for path in dict.fromkeys(_path_of(data, each["loc"]) for each in error.errors()):
                notes.append(_note(data, path, line))
                data = _without(data, path)
        else:
            break
    return data, notes


def _not_portable(data: dict[str, Any], path: Path) -> Iterator[Path]:
    """Yield the paths of keys and values that YAML parsers read differently."""
    for key, value in data.items():
        if not values.is_portable(key) or (not isinstance(value, dict) and not values.is_portable(value)):
            yield (*path, key)
        elif isinstance(value, dict):
            yield from _not_portable(value, (*path, key))


def _path_of(data: dict[str, Any], loc: tuple[int | str, ...]) -> Path:
    """Return the path of the value that an error's location refers to, without names of union members."""
    path: Path = ()
    inner: Any = data
    for part in loc:
        if isinstance(inner, dict) and part in inner:
            path, inner = (*path, part), inner[part]
    return path


def _note(data: Any, path: Path, line: int) -> Note:  # noqa: ANN401  any plain data
    for part in path:
        data = data[part] if isinstance(data, dict) and part in data else ""
    return lost(line, f"{'.'.join(map(str, path))}: {data}", "an inventory cannot contain this value")


def _without(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the mapping without one value, and without mappings that become empty."""
    if not path or path[0] not in data:
        return data
    first = str(path[0])
    inner = _without(data[first], path[1:]) if len(path) > 1 else None
    rest = {key: value for key, value in data.items() if key != first}
    return {key: inner if key == first else value for key, value in data.items()} if inner else rest
