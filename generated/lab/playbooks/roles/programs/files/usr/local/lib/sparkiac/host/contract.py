"""Read JSON of other hosts, and check that a value has exactly the keys and types that a program reads.

A shape is the type of the value: a record, or {"key": shape}, is an object with these keys, Mapping[str, shape] an
object with any keys, tuple[shape, ...] or list[shape] a list, and shape | None a value that may be null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

AGAIN = "generate and apply again"
DEPTH = 64
"""The deepest nesting that is accepted: more than any message has, and far less than Python itself can handle."""
UNKNOWN, MISSING, OTHER = "unknown", "missing", "other"
JSON_TYPES = {tuple: list, list: list, Mapping: dict, dict: dict}
"""Type of the record → type of its JSON."""


class ContractError(ValueError):
    """A file or argument was written for another version of the program."""


def parsed(text: str | bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the value of JSON that another host or a server sent; raise ValueError if it is malformed or too deep."""
    message = f"JSON with more than {DEPTH} levels"
    try:
        level = [value := json.loads(text)]
    except RecursionError:
        raise ValueError(message) from None
    for _ in range(DEPTH + 1):
        nested = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list))]
        level = [each for values in nested for each in values]
    if nested:
        raise ValueError(message)
    return value


def decoded(name: str, text: str | bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the value of a file of this host; raise ContractError with its name if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ContractError(f"{name} is not JSON ({error}): move it away, and apply again") from None


def validated(program: str, name: str, value: Any, shape: Any) -> Any:  # noqa: ANN401 - JSON
    """Return the value, or raise ContractError with its unknown and missing keys; `name` is the name of the file."""
    found = list(differences(value, shape, ""))
    if found:
        raise ContractError(f"{name}: {message_for(program, found)}: {AGAIN}")
    return value


def message_for(program: str, found: list[tuple[str, str]]) -> str:
    """Return the message. A renamed key is both unknown and missing; only the unknown key is reported."""
    places = {kind: ", ".join(place for each, place in found if each == kind) for kind, _ in found}
    if UNKNOWN in places:
        return f"this {program} does not know {places[UNKNOWN]}"
    if MISSING in places:
        return f"{places[MISSING]} {'are' if ', ' in places[MISSING] else 'is'} missing"
    return f"this {program} expects another type for {places[OTHER]}"


def differences(value: Any, shape: Any, place: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - JSON
    """Return the kind and the place of each difference between a value and its shape."""
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is UnionType:
        if value is not None:
            yield from differences(value, arguments[0], place)
        return
    is_record = origin is None and hasattr(shape, "__annotations__")
    keys = get_type_hints(shape) if is_record else shape if isinstance(shape, dict) else None
    kind = JSON_TYPES.get(origin, shape) if keys is None else dict
    if type(value) is not kind:  # isinstance(True, int) is true, but True is not a number here
        yield OTHER, place or "the value"
    elif kind is list:
        for number, each in enumerate(value):
            yield from differences(each, arguments[0], f"{place}[{number}]")
    elif kind is dict:
        keys = dict.fromkeys(value, arguments[1]) if keys is None else keys
        yield from ((UNKNOWN, key_path(place, key)) for key in value if key not in keys)
        yield from ((MISSING, key_path(place, key)) for key in keys if key not in value)
        for key in [key for key in keys if key in value]:
            yield from differences(value[key], keys[key], key_path(place, key))


def key_path(place: str, key: str) -> str:
    """Return the dotted path of a key in the object at `place`, with control characters as escapes."""
    shown = key.encode("unicode_escape").decode("ascii")
    return f"{place}.{shown}" if place else shown
