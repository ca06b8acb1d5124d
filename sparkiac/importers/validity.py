"""What the inventory's own models refuse of an entry: it is taken out, so that every draft can be checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError

from sparkiac.importers import hiding, values
from sparkiac.importers.launch import Note
from sparkiac.model.catalog import Recipe
from sparkiac.model.inventory import Deployment
from sparkiac.model.services import Service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.report import Path

_MODELS: Final[dict[str, TypeAdapter[Any]]] = {
    "deployment": TypeAdapter(Deployment),
    "service": TypeAdapter(Service),
    "recipe": TypeAdapter(Recipe),
}
_ROUNDS: Final = 9
_BESIDE: Final = {"deployment": {"on": "spark-01"}, "service": {"on": "spark-01"}, "recipe": {}}
"""What an entry still lacks."""


def without_refused(data: dict[str, Any], kind: str, line: int) -> tuple[dict[str, Any], list[Note]]:
    """Give an entry without the values that no inventory takes, and a note for each."""
    notes: list[Note] = []
    for path in [*_unsayable(data, ())]:
        notes.append(
            Note("lost", line, ".".join(map(str, path[:1])), "it has characters or a size that no file may carry")
        )
        data = _without(data, path)
    for _ in range(_ROUNDS):
        try:
            _MODELS[kind].validate_python(data | _BESIDE[kind])
        except ValidationError as error:
            for path in dict.fromkeys(_within(data, each["loc"]) for each in error.errors()):
                notes.append(_note(data, path, line))
                data = _without(data, path)
        else:
            break
    return data, notes


def _unsayable(data: dict[str, Any], path: Path) -> Iterator[Path]:
    """Find what YAML cannot carry for every reader, in keys and in values."""
    for key, value in data.items():
        if not values.sayable(key) or (not isinstance(value, dict) and not values.sayable(value)):
            yield (*path, key)
        elif isinstance(value, dict):
            yield from _unsayable(value, (*path, key))


def _within(data: dict[str, Any], loc: tuple[int | str, ...]) -> Path:
    """Find the value that a place of the model is about: names of alternatives are no keys."""
    path: Path = ()
    inner: Any = data
    for part in loc:
        if isinstance(inner, dict) and part in inner:
            path, inner = (*path, part), inner[part]
    return path


def _note(data: Any, path: Path, line: int) -> Note:  # noqa: ANN401  any plain data
    for part in path:
        data = data[part] if isinstance(data, dict) and part in data else ""
    return Note("lost", line, hiding.shown(f"{'.'.join(map(str, path))}: {data}"), "an inventory cannot say this")


def _without(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """Copy the mapping without one value, and without mappings that are empty then."""
    if not path or path[0] not in data:
        return data
    first = str(path[0])
    inner = _without(data[first], path[1:]) if len(path) > 1 else None
    rest = {key: value for key, value in data.items() if key != first}
    return {key: inner if key == first else value for key, value in data.items()} if inner else rest
