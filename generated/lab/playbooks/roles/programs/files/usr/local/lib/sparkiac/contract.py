"""See that a JSON value has exactly the keys and types that a program reads. Python 3.8 or newer, no other modules.

A shape is written like the value: {"key": shape} is an object with these keys, {str: shape} an object with any keys,
[shape] a list, (shape, None) a value that may be null; the rest is a type.
"""

from __future__ import annotations

from typing import Any, Iterator  # noqa: UP035 - Python 3.8

AGAIN = "generate and apply again"
UNKNOWN, MISSING, OTHER = "unknown", "missing", "other"


class ContractError(ValueError):
    """What is read was not written for this version of the program."""


def agreed(program: str, name: str, value: Any, shape: Any) -> Any:  # noqa: ANN401 - JSON
    """Return the value as it is, or raise which keys the program does not know or lacks; `name` is that of the file."""
    found = list(differences(value, shape, ""))
    if found:
        message = f"{name}: {sentence(program, found)}: {AGAIN}"
        raise ContractError(message)
    return value


def sentence(program: str, found: list[tuple[str, str]]) -> str:
    """Say what differs. A key with another name is both unknown and missing: the unknown one is the one to look for."""
    places = {kind: ", ".join(place for each, place in found if each == kind) for kind, _ in found}
    if UNKNOWN in places:
        return f"this {program} does not know {places[UNKNOWN]}"
    if MISSING in places:
        return f"{places[MISSING]} {'are' if ', ' in places[MISSING] else 'is'} missing"
    return f"this {program} reads another type of {places[OTHER]}"


def differences(value: Any, shape: Any, place: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - JSON
    """Give each difference between a value and its shape, with its place."""
    if isinstance(shape, tuple):
        if value is not None:
            yield from differences(value, shape[0], place)
    elif isinstance(shape, type):
        if type(value) is not shape:  # True is no number
            yield OTHER, place or "the value"
    elif not isinstance(value, type(shape)):
        yield OTHER, place or "the value"
    elif isinstance(shape, list):
        for number, each in enumerate(value):
            yield from differences(each, shape[0], f"{place}[{number}]")
    else:
        keys = dict.fromkeys(value, shape[str]) if str in shape else shape
        yield from ((UNKNOWN, below(place, key)) for key in value if key not in keys)
        yield from ((MISSING, below(place, key)) for key in keys if key not in value)
        for key in [key for key in keys if key in value]:
            yield from differences(value[key], keys[key], below(place, key))


def below(place: str, key: str) -> str:
    """Name a key of an object, below the place of the object; what is not printable is shown as an escape."""
    shown = key.encode("unicode_escape").decode("ascii")
    return f"{place}.{shown}" if place else shown
