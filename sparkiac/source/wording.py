"""Turn pydantic's errors into messages: the expected value and the actual one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from pydantic_core import ErrorDetails

from sparkiac.model.forms import FORMS
from sparkiac.report import Path

TYPES: Final = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "none_required": "nothing",
}
"""Type of a pydantic error → the expected type of the value."""
_FORMS: Final = {"string_pattern_mismatch", "literal_error"}
_BOUNDS: Final = {
    "greater_than": "must be greater than {gt:g}, not {given}",
    "greater_than_equal": "must be at least {ge:g}, not {given}",
    "less_than_equal": "must be at most {le:g}, not {given}",
    "string_too_short": "it has {length} characters; the minimum is {min_length}",
    "string_too_long": "it has {length} characters; the maximum is {max_length}",
    "too_short": "it has {length} entries; the minimum is {min_length}",
    "value_error": "{error}",
}
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:@+-]{1,64}")
_LONGEST: Final = 60


def reason(details: Sequence[ErrorDetails]) -> str:
    """Return one clause that says why a value is invalid."""
    others = [detail for detail in details if detail["type"] not in {*TYPES, *_FORMS}]
    if others:
        return "; ".join(dict.fromkeys(_bound(detail) for detail in others))
    given = details[0]["input"]
    if any(detail["type"] == "string_pattern_mismatch" for detail in details):
        return f"{shown(given)} is not {_either(_form(detail) for detail in details if detail['type'] in _FORMS)}"
    return f"must be {_either(_form(detail) for detail in details)}, not {_typed(given)}"


def dotted(path: Path) -> str:
    """Format a path: hosts.spark-01.fabric.links[0]."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _PLAIN.fullmatch(part) else shown(part))
    return text


def is_plain(text: str) -> bool:
    """Return whether a text needs no quotes in YAML, messages and paths."""
    return _PLAIN.fullmatch(text) is not None


def shown(value: object) -> str:
    """Format a scalar so that its type is visible, shortened for a message."""
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value[:_LONGEST] if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _bound(detail: ErrorDetails) -> str:
    given = detail["input"]
    length = len(given) if hasattr(given, "__len__") else 0
    template = _BOUNDS.get(detail["type"], "{message}")
    return template.format(given=shown(given), length=length, message=detail["msg"], **detail.get("ctx", {}))


def _form(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "string_pattern_mismatch":
            return FORMS[context["pattern"]]
        case "literal_error":
            return str(context["expected"])
        case kind:
            return TYPES[kind]


def _either(words: Iterable[str]) -> str:
    """Join alternatives: a, b or c."""
    chosen = list(dict.fromkeys(words))
    if {"a number", "a whole number"} <= {*chosen}:
        chosen.remove("a whole number")
    return " or ".join(filter(None, (", ".join(chosen[:-1]), chosen[-1])))


def _typed(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, tuple | list):
        return "a list"
    if value is None:
        return "nothing"
    word = {bool: "the boolean", int: "the number", float: "the number", str: "the text"}[type(value)]
    return f"{word} {shown(value)}"
