"""A right and a wrong value for every key of vLLM's JSON options, made from the types of a release's interface."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sparkiac.catalog.interfaces import Interface, KeySpec

NAMES: Final = {"load_format": "load_formats", "reasoning_parser": "reasoning_parsers"}
"""Key that takes any text → the registry that has the names for it."""
ANY: Final = frozenset({"Any", "ModelConfig", "ParallelConfig", "dtype"})
"""Types of which no value is known to be wrong."""


def rights(name: str, interface: Interface) -> dict[str, Any]:
    """Return a right value for every key of a class."""
    return {key: _named(key, interface) or right(each, interface) for key, each in interface.objects[name].items()}


def wrongs(name: str, interface: Interface) -> dict[str, Any]:
    """Return a wrong value for every key of a class that has one."""
    keys = interface.objects[name].items()
    return {key: wrong(each) for key, each in keys if ANY.isdisjoint(_kinds(each.type))}


def outsides(name: str, interface: Interface) -> dict[str, Any]:
    """Return a number beyond its first bound for every key of a class that has one."""
    step = {"ge": -1, "gt": 0, "le": 1, "lt": 0}
    keys = interface.objects[name].items()
    return {key: bound + step[which] for key, each in keys for which, bound in [*each.bounds.items()][:1]}


def right(key: KeySpec, interface: Interface) -> Any:  # noqa: ANN401  any JSON
    """Return a value that the first type of a key takes."""
    return _value(_kinds(key.type)[0], key, interface)


def wrong(key: KeySpec) -> object:
    """Return a value that no type of a key takes."""
    if {"int", "float", "bool"} & {*_kinds(key.type)}:
        return "maybe"
    named = key.choices and not {"Literal", "lowered"} & {*_kinds(key.type)} and "[" not in key.type
    return "no such word" if named else 999


def _kinds(kind: str) -> list[str]:
    return re.split(r" \| (?![^\[]*\])", kind)


def _named(key: str, interface: Interface) -> str | None:
    return min(getattr(interface, NAMES[key])) if key in NAMES else None


def _value(kind: str, key: KeySpec, interface: Interface) -> Any:  # noqa: ANN401  any JSON
    head, _, inside = kind.removesuffix("]").partition("[")
    number = key.bounds.get("ge", key.bounds.get("gt", 0) + 1)
    single = {"int": number, "float": number, "bool": True, "str": "/a", "Path": "/a"}
    if head in interface.objects:
        return rights(head, interface)
    if head == "list":
        return [_value(_kinds(inside)[0], key, interface) for _ in range(2)]
    if head == "tuple":
        return [_value(each, key, interface) for each in inside.split(", ")]
    if head == "dict":
        return {"a": _value(inside.partition(", ")[2] or "Any", key, interface)}
    word = key.choices[0] if key.choices else {"a": [1, None]}
    return single.get(head, int(word) if str(word).isdigit() else word)
