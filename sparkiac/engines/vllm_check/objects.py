"""Check JSON values: their keys, and the type of each value.

vLLM reads them with pydantic, which takes "3" for 3 and 1 for true. Where a class has a reading of its own, as
enumerations have, anything is let through.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sparkiac.catalog.interfaces import Interface, KeySpec, release
from sparkiac.engines.vllm_check import names
from sparkiac.engines.vllm_check.words import Fault, FaultKind

_NUMBER: Final = re.compile(r"\s*[+-]?([\d_.]+([eE][+-]?\d+)?[kKmMgGtT]?|inf(inity)?|nan)\s*", re.IGNORECASE)
_ITEMS: Final = {
    "list[int]": ("a whole number", "a list of whole numbers"),
    "list[float]": ("a number", "a list of numbers"),
    "list[str]": ("a text", "a list of texts"),
}
"""Type of a list → type of its items, and its name in messages."""
_NUMBERS: Final = frozenset({"list[int]", "list[float]"})
"""List types that must be written as lists: no class splits a string into them."""
_PLAIN: Final = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "Literal | str": "a text",
    "Path": "a text",
    "AttentionBackendEnum": "a text",
    "MLAPrefillBackendEnum": "a text",
}
"""Type → description of the values that it accepts."""
_NULL_IS_UNSET: Final = frozenset({"CompilationConfig", "PassConfig", "KernelConfig"})
"""Classes in which some keys accept null although their types do not: `_skip_none_validation` in vllm/config."""
_CLOSED: Final = frozenset({"SpeculativeConfig", "CompilationConfig"})
"""Classes that refused an unknown key from the first known release on."""
_ALL_CLOSED: Final = release("0.16.0")
"""First release in which every class refuses unknown keys; earlier releases ignore them silently."""
_TRUE_OR_FALSE: Final = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n", "on", "off", "1", "0"})


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
        here = (*path, key)
        if key not in keys:
            kind: FaultKind = "key" if name in _CLOSED or _closed(interface) else "ignored"
            yield Fault(kind, option, f"has no key {key}", here, key, tuple(keys))
            continue
        named = names.of_key(name, key, inner, interface)
        if named is not None:
            yield Fault("name", option, named.problem, here, str(inner), named.known, named.registry)
        elif keys[key].type.removesuffix(" | None") in interface.objects and isinstance(inner, dict):
            yield from _keys(option, here, inner, keys[key].type.removesuffix(" | None"), interface)
        else:
            problem = "" if inner is None and name in _NULL_IS_UNSET else _wanted(inner, keys[key], interface)
            if problem:
                yield Fault("value", option, problem, here, str(inner), keys[key].choices)


def _closed(interface: Interface) -> bool:
    """Return whether every class refuses unknown keys; a build without a release number counts as new."""
    return interface.release is None or release(interface.release) >= _ALL_CLOSED


def _wanted(value: object, key: KeySpec, interface: Interface) -> str:
    """Return what a key requires instead of this value; nothing if the value is valid."""
    base = key.type.removesuffix(" | None")
    shown = "null" if value is None else repr(value)
    if value is None and key.type != base:
        return ""
    if base == "Literal":
        listed = ", ".join(key.choices)
        return "" if _among(value, key.choices) else f"is one of {listed}, not {shown}"
    wanted = _PLAIN.get(base)
    if base in interface.objects or base == "dict" or (base.startswith("dict[") and "|" not in base):
        wanted = "a mapping of keys"
    elif base.startswith("list[") and base.endswith("]"):
        wanted = "a list"
    inner = _ITEMS.get(base)
    if base in _NUMBERS and isinstance(value, str):
        return f"takes {_ITEMS[base][1]}, not {shown}"
    if inner is not None and isinstance(value, list | tuple) and not all(_is(item, inner[0]) for item in value):
        return f"takes {inner[1]}, not {shown}"
    return "" if wanted is None or _is(value, wanted) else f"takes {wanted}, not {shown}"


def _among(value: object, choices: tuple[str, ...]) -> bool:
    return str(value) in choices or str(value).lower().replace("-", "_") in choices


def _is(value: object, wanted: str) -> bool:
    match wanted:
        case "a mapping of keys":
            return isinstance(value, dict)
        case "a list":
            return isinstance(value, list | tuple | str)  # some classes split a string
        case "a text":
            return isinstance(value, str)
        case "true or false":
            return str(value).lower().removesuffix(".0") in _TRUE_OR_FALSE
        case "a whole number":
            return isinstance(value, int) or (isinstance(value, float) and value.is_integer()) or _numeric(value)
        case _:
            return isinstance(value, int | float) or _numeric(value)


def _numeric(value: object) -> bool:
    return isinstance(value, str) and _NUMBER.fullmatch(value) is not None
