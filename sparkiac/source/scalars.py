"""Types of unquoted scalars: YAML 1.2's core schema without the forms that YAML 1.1 reads differently."""

from __future__ import annotations

import math
import re
from typing import Final

TRUE: Final = frozenset({"true", "True", "TRUE"})
FALSE: Final = frozenset({"false", "False", "FALSE"})
NULL: Final = frozenset({"", "null", "Null", "NULL"})
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"(\.[0-9]+|[-+]?(0|[1-9][0-9]*)\.[0-9]*)([eE][-+][0-9]+)?")
_MAX_DIGITS: Final = 18

_NUMBER_TO_SOME: Final = "a number to some YAML parsers and a text to others"
_TRAPS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"(y|n|yes|no|on|off)", re.IGNORECASE), "a boolean to some YAML parsers and a text to others"),
    (re.compile(r"~"), "null to some YAML parsers and a text to others"),
    (re.compile(r"="), "a special value in YAML 1.1"),
    (re.compile(r"<<"), "YAML 1.1's merge key"),
    (re.compile(r"[-+]?0[0-9_]+|[-+]?0o[0-7_]+"), "octal to some YAML parsers and decimal to others"),
    (re.compile(r"[-+]?0[xXbB][0-9A-Fa-f_]+"), "a number in another base"),
    (re.compile(r"[-+]?_*([0-9][0-9_]*(\.[0-9_]*)?|\._*[0-9][0-9_]*)([eE][-+]?[0-9]+)?"), _NUMBER_TO_SOME),
    (re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"), "a base-60 number to YAML 1.1: 22:22 is 1342"),
    (re.compile(r"[-+]?\.(inf|nan)", re.IGNORECASE), "not a number in JSON"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?"), "a date to YAML 1.1"),
)
_SUSPECT: Final = re.compile(r"[-+.~=<0-9yYnNoO]")


class Ambiguous(ValueError):  # noqa: N818  expected result, not an error
    """An unquoted scalar that YAML 1.1 and 1.2 read differently; the message says how."""


def resolve(text: str) -> str | int | float | bool | None:
    """Return the value of an unquoted scalar. Raises Ambiguous where YAML 1.1 and 1.2 differ."""
    if text in NULL:
        return None
    if text in TRUE or text in FALSE:
        return text in TRUE
    if not _SUSPECT.match(text):
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return _float(text)
    for pattern, reason in _TRAPS:
        if pattern.fullmatch(text):
            raise Ambiguous(reason)
    return text


def _integer(text: str) -> int:
    digits = len(text.lstrip("+-"))
    if digits > _MAX_DIGITS:
        raise Ambiguous(f"a number of {digits} digits; YAML parsers agree on at most {_MAX_DIGITS}")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Ambiguous("a number that is too large")
    return value
