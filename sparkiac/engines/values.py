"""Check whether a server accepts the value of an option, as sparkiac writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from sparkiac.engines.tables import Kind, Option
from sparkiac.report.hints import nearest

_INTEGER: Final = re.compile(r"\s*[-+]?\d+\s*")
_NUMBER: Final = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
_FORMS: Final[Mapping[Kind, re.Pattern[str]]] = {
    "integer": _INTEGER,
    "size": re.compile(rf"{_INTEGER.pattern}|\s*(\d+(Ki|Mi|Gi|Ti)|\d+(\.\d+)?[kMGT])\s*"),
    "number": _NUMBER,
}
_WANTED: Final[Mapping[Kind, str]] = {
    "integer": "a whole number",
    "size": "a whole number, or one with a letter such as 8k",
    "number": "a number",
    "text": "a text",
    "commas": "a text with commas",
    "optional": "a text",
    "switch": "true or false",
    "json": "a mapping",
    "words": "a list",
    "many": "a list",
}


def problem(option: Option, value: object) -> str | None:
    """Return what to write instead of a value that an option does not accept; None if it accepts the value."""
    if not _fits(option, value):
        return f"write {_WANTED[option.kind]}" + (f": {', '.join(option.choices)}" if option.choices else "")
    words = tuple(map(str, value)) if isinstance(value, tuple) else (str(value),)
    if option.kind == "commas":
        words = tuple(part for word in words for part in word.split(","))
    unknown = next((word for word in words if word not in option.choices), None) if option.choices else None
    return None if unknown is None else nearest(unknown, option.choices)


def _fits(option: Option, value: object) -> bool:
    only = value[0] if isinstance(value, tuple) and len(value) == 1 else value
    if isinstance(only, bool) or option.kind == "switch":
        return isinstance(only, bool) and option.kind in {"switch", "optional", "many"}
    if isinstance(only, tuple):
        return option.kind in {"words", "many"}
    form = _FORMS.get(option.kind)
    return form.fullmatch(str(only)) is not None if form else not (isinstance(only, dict) and option.choices)


def begins(option: Option, value: object) -> bool:
    """Return whether a text begins with a number that the option accepts: some servers ignore the rest."""
    return (
        option.kind in {"integer", "number"} and _NUMBER.match(str(value)) is not None and not isinstance(value, bool)
    )
