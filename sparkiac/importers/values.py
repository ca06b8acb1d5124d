"""Words of a command line → values as an inventory has them under `set`."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

from sparkiac.engines.vllm_check import values as of_vllm
from sparkiac.source.text import FORBIDDEN

if TYPE_CHECKING:
    from collections.abc import Callable

_CURLY: Final = str.maketrans("\u201c\u201d\u201e\u2018\u2019", '"""\'\'')
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9]\d{0,17})")
_NUMBER: Final = re.compile(r"[-+]?\d{1,18}(\.\d{0,18})?([eE][-+]?\d{1,2})?|[-+]?\.\d{1,18}")
_UNKNOWN: Final = re.compile(r"\$[A-Za-z_{(]|<[A-Za-z][\w ./-]*>|\{\{|^\{[A-Za-z_]\w*\}$")
CALLERS: Final = "its value is the caller's, and not in this file"
_DEEP: Final = 8
_LONGEST: Final = 60_000


def unknown(word: str) -> bool:
    """Whether a word is not its own value: a variable of the caller's, or a placeholder."""
    return _UNKNOWN.search(word) is not None and not word.lstrip().startswith(('{"', "{'", "[", "{%"))


def read(kind: str | None, word: str) -> Any:  # noqa: ANN401  any option value
    """Read one word as an option of this type takes it; the word itself where it is none."""
    reader = _READERS.get(kind or "")
    try:
        value = word if reader is None else reader(word)
    except (ValueError, OverflowError, RecursionError):
        return word
    return value if value is not None and sayable(value) else word


def guessed(words: tuple[str, ...]) -> Any:  # noqa: ANN401
    """Read the words of an option that nothing is known of."""
    if not words:
        return True
    if len(words) > 1:
        return tuple(_scalar(word) for word in words)
    return _scalar(words[0])


def sayable(value: object, depth: int = 0) -> bool:
    """Whether an inventory can hold a value."""
    if isinstance(value, str):
        return FORBIDDEN.search(value) is None and len(value) <= _LONGEST
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return abs(value) < 10**18  # more digits are not read alike everywhere
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return depth < _DEEP and all(sayable(each, depth + 1) for pair in value.items() for each in pair)
    return isinstance(value, tuple) and depth < _DEEP and all(sayable(each, depth + 1) for each in value)


def loaded(word: str) -> Any:  # noqa: ANN401
    """Read JSON as people paste it: with typographic quotes."""
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
    if word in {"true", "false", "True", "False"}:
        return word.lower() == "true"
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
