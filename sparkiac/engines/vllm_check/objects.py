"""Check JSON values: their keys, and the type of each value.

vLLM reads them with pydantic, which takes "3" for 3 and 1 for true, and its classes take the names of enumerations in
any case. Where a class has another reading of its own, any text is let through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sparkiac.catalog.interfaces import Interface, KeySpec, release
from sparkiac.engines.vllm_check import values
from sparkiac.engines.vllm_check.values import lowered, outside
from sparkiac.engines.vllm_check.words import Fault, FaultKind

_NUMBER: Final = re.compile(r"\s*[+-]?([\d_.]+([eE][+-]?\d+)?[kKmMgGtT]?|inf(inity)?|nan)\s*", re.IGNORECASE)
_TRUE_OR_FALSE: Final = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0"})
_CLOSED: Final = frozenset({"SpeculativeConfig", "CompilationConfig"})
"""Classes that refused an unknown key from the first known release on."""
_ALL_CLOSED: Final = release("0.16.0")
"""First release in which every class refuses unknown keys; earlier releases ignore them silently."""


def faults(option: str, value: object, name: str, interface: Interface) -> Iterator[Fault]:
    """Find keys that the class `name` does not have, and values that its keys do not accept."""
    if isinstance(value, dict):
        yield from _keys(option, (), value, name, interface)
    elif value is not None and not (isinstance(value, int) and name == "CompilationConfig"):
        # Releases before 0.12 accepted a level instead of the compilation settings.
        yield Fault("value", option, "takes a mapping of keys")


def _keys(
    option: str, path: tuple[str, ...], value: Mapping[str, Any], name: str, interface: Interface
) -> Iterator[Fault]:
    keys = interface.objects[name]
    for key, inner in value.items():
        if key in keys:
            yield from _of_key(option, (*path, key), inner, name, interface)
        else:
            kind: FaultKind = "key" if name in _CLOSED or _closed(interface) else "ignored"
            yield Fault(kind, option, f"has no key {key}", (*path, key), key, tuple(keys), name)


def _of_key(option: str, path: tuple[str, ...], value: object, name: str, interface: Interface) -> Iterator[Fault]:
    key = interface.objects[name][path[-1]]
    named = values.of_key(name, path[-1], value, interface)
    nested = next((each for each in _alternatives(key.type) if each in interface.objects), None)
    if named is not None:
        yield Fault("name", option, named.problem, path, str(value), named.known, named.registry)
    elif nested is not None and isinstance(value, dict):
        yield from _keys(option, path, value, nested, interface)
    elif wanted := _wanted(value, key, interface):
        yield Fault("value", option, wanted, path, str(value), key.choices, name)
    elif limit := outside(value, key.bounds, value):
        yield Fault("range", option, limit, path, str(value))


def _closed(interface: Interface) -> bool:
    """Return whether every class refuses unknown keys; a build without a release number counts as new."""
    return interface.release is None or release(interface.release) >= _ALL_CLOSED


def _wanted(value: object, key: KeySpec, interface: Interface) -> str:
    """Return what a key requires instead of this value; nothing if the value is valid."""
    if _accepts(value, key.type, key.choices, interface):
        return ""
    return f"{_described(key)}, not {'null' if value is None else repr(value)}"


def _accepts(value: object, kind: str, choices: tuple[str, ...], interface: Interface) -> bool:
    """Return whether one of the alternatives of a type accepts a value; an unknown type accepts any."""
    return any(_is(value, each, choices, interface) for each in _alternatives(kind))


def _alternatives(kind: str) -> list[str]:
    """Return the alternatives of a type; those inside brackets belong to its items."""
    found: list[str] = []
    for part in kind.split(" | "):
        if found and found[-1].count("[") > found[-1].count("]"):
            found[-1] += f" | {part}"
        else:
            found.append(part)
    return found


def _is(value: object, kind: str, choices: tuple[str, ...], interface: Interface) -> bool:
    head, inside = _split(kind)
    if head in {"list", "tuple", "dict"}:
        items = _items(value, head, inside)
        return items is not None and all(_accepts(item, of_item, choices, interface) for item, of_item in items)
    if head in _PLAIN:
        return _PLAIN[head].holds(value)
    if head in interface.objects:
        return isinstance(value, dict)
    if head in {"Literal", "lowered"}:
        return (str(value) if head == "Literal" else lowered(str(value))) in choices
    return not choices or isinstance(value, int) or str(value) in choices or str(value).upper() in choices


def _split(kind: str) -> tuple[str, str]:
    head, _, inside = kind.removesuffix("]").partition("[")
    return head, inside


def _items(value: object, head: str, inside: str) -> Sequence[tuple[object, str]] | None:
    """Return the items of a collection with the type that each must have; None if it is no such collection."""
    if head == "dict":
        of_value = inside.partition(", ")[2]
        return [(item, of_value) for item in value.values()] if isinstance(value, dict) else None
    if not isinstance(value, list):
        return None
    kinds = inside.split(", ") if head == "tuple" else [inside] * len(value)
    return [*zip(value, kinds, strict=True)] if len(kinds) == len(value) else None


def _described(key: KeySpec) -> str:
    """Return which values a key accepts, apart from null, as the rest of a sentence."""
    head, inside = _split(next(each for each in _alternatives(key.type) if each != "None"))
    if head == "list":
        return f"takes a list of {_PLAIN[inside].several}" if inside in _PLAIN else "takes a list"
    if head in _PLAIN:
        return f"takes {_PLAIN[head].one}"
    return f"is one of {', '.join(key.choices)}" if key.choices and head != "dict" else "takes a mapping of keys"


def _is_whole(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer()) or _is_numeric(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or _is_numeric(value)


def _is_numeric(value: object) -> bool:
    return isinstance(value, str) and _NUMBER.fullmatch(value) is not None


def _is_switch(value: object) -> bool:
    return str(value).lower().removesuffix(".0") in _TRUE_OR_FALSE


def _is_text(value: object) -> bool:
    return isinstance(value, str)


class _Kind(NamedTuple):
    """A type of single values: what it accepts, and how messages call one and several of them."""

    holds: Callable[[object], bool]
    one: str
    several: str


_TEXT: Final = _Kind(_is_text, "a text", "texts")
_PLAIN: Final = {
    "None": _Kind(lambda value: value is None, "null", "nulls"),
    "int": _Kind(_is_whole, "a whole number", "whole numbers"),
    "float": _Kind(_is_number, "a number", "numbers"),
    "bool": _Kind(_is_switch, "true or false", "true or false"),
    "str": _TEXT,
    "Path": _TEXT,
    "AttentionBackendEnum": _TEXT,  # its names are checked as such
}
