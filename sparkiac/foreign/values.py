"""Words of a command line → typed values for `set`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

from sparkiac.engines.vllm_check import values as of_vllm
from sparkiac.model import forms
from sparkiac.source.text import FORBIDDEN

_CURLY: Final = str.maketrans("\u201c\u201d\u201e\u2018\u2019", '"""\'\'')
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9]\d{0,17})")
_NUMBER: Final = re.compile(r"[-+]?\d{1,18}(\.\d{0,18})?([eE][-+]?\d{1,2})?|[-+]?\.\d{1,18}")
_UNKNOWN: Final = re.compile(r"\$[A-Za-z_{(]|<[A-Za-z][\w ./-]*>|\{\{|^\{[A-Za-z_]\w*\}$")
CALLERS_VALUE: Final = "the caller's environment sets its value, which is not in this file"
_NEGATIVE: Final = re.compile(r"-[\d.]+")
_MAX_DEPTH: Final = 8
_MAX_LENGTH: Final = 60_000


def table(text: str) -> dict[str, str]:
    """Return a table that is written as words `key=value`."""
    return dict(pair.split("=") for pair in text.split())


def words(text: str) -> frozenset[str]:
    """Return a set that is written as words."""
    return frozenset(text.split())


def is_unknown(word: str) -> bool:
    """Return whether a word is a variable of the caller or a placeholder, so that its value is unknown."""
    return _UNKNOWN.search(word) is not None and not word.lstrip().startswith(('{"', "{'", "[", "{%"))


def is_option(word: str) -> bool:
    """Return whether a word is an option, and not a value such as `-1` or `-` for standard input."""
    return word.startswith("-") and word != "-" and _NEGATIVE.fullmatch(word) is None


def environment(name: str, value: str) -> int | str | None:
    """Return the value of a variable for `env`; None if the inventory cannot contain the variable."""
    if not re.fullmatch(forms.VARIABLE, name) or not re.fullmatch(forms.LINE, value) or not is_portable(value):
        return None
    return int(value) if re.fullmatch(r"0|-?[1-9]\d{0,17}", value) else value


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    """Return an option's value with each text, number and switch in it changed."""
    if isinstance(value, dict):
        return {key: mapped(each, change) for key, each in value.items()}
    return tuple(mapped(each, change) for each in value) if isinstance(value, tuple) else change(value)


def read(kind: str | None, word: str) -> Any:  # noqa: ANN401  any option value
    """Convert a word to the type of its option; return the word itself if that fails."""
    reader = _READERS.get(kind or "")
    try:
        value = word if reader is None else reader(word)
    except (ValueError, OverflowError, RecursionError):
        return word
    return value if value is not None and is_portable(value) else word


def guessed(words: tuple[str, ...]) -> Any:  # noqa: ANN401
    """Convert the words of an unknown option; without one it is a switch."""
    found = tuple(map(_scalar, words))
    return found if len(found) > 1 else found[0] if found else True


def is_portable(value: object, depth: int = 0) -> bool:
    """Return whether an inventory can contain a value."""
    if isinstance(value, str):
        return FORBIDDEN.search(value) is None and len(value) <= _MAX_LENGTH
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return abs(value) < 10**18  # parsers disagree on integers with more digits
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return depth < _MAX_DEPTH and all(is_portable(each, depth + 1) for pair in value.items() for each in pair)
    return isinstance(value, tuple) and depth < _MAX_DEPTH and all(is_portable(each, depth + 1) for each in value)


def loaded(word: str) -> Any:  # noqa: ANN401
    """Read JSON, also with typographic quotes, as it is often pasted."""
    try:
        return _tuples(of_vllm.loaded(word))
    except ValueError:
        return _tuples(json.loads(word.translate(_CURLY)))


def _tuples(value: object) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return tuple(map(_tuples, value))
    return {str(key): _tuples(each) for key, each in value.items()} if isinstance(value, dict) else value


def _json(word: str) -> Any:  # noqa: ANN401
    value = loaded(word)
    flat = isinstance(value, tuple) and value and all(isinstance(each, str | int | float) for each in value)
    return value if flat or isinstance(value, dict | str | int | float) else None


def _scalar(word: str) -> Any:  # noqa: ANN401
    if _INTEGER.fullmatch(word):
        return int(word)
    if _NUMBER.fullmatch(word):
        return float(word)
    return read("json", word) if word.startswith(("{", "[")) else word


def _number(word: str) -> int | float:
    return int(word) if _INTEGER.fullmatch(word) else float(word)


def _human_or_auto(word: str) -> int | str | None:
    return "auto" if word.lower() == "auto" else of_vllm.human(word)


def _flag(word: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(word.lower())


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "int": int,
    "integer": int,
    "float": _number,
    "number": _number,
    "bool": _flag,
    "json": _json,
    "json_or_str": _json,
    "human_readable_int": of_vllm.human,
    "size": int,
    "human_readable_int_or_auto": _human_or_auto,
}
