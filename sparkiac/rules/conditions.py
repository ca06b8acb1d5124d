"""Conditions of facts: mappings from names of a deployment's values to required values.

A condition is true if all its entries are. `any: [condition, …]` is true if one of them is, `none: […]` if none is.
A required value is a number, a switch, a pattern (`*` and `?`, letter case ignored), null for "not set", a list of
these, or a mapping of operators. An operand such as `set.max_num_seqs` stands for that value of the same deployment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final, Protocol

from sparkiac.rules.readings import quantity

_REMEMBERED: Final = 1 << 14
"""Comparisons of a value with a pattern that are kept: the hosts of a fleet repeat them."""


class Values(Protocol):
    """The values that conditions read."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  plain data
        """Return a value by its dotted name; None where it is not set or unknown."""


def holds(when: Mapping[str, Any], values: Values) -> bool:
    """Return whether a condition is true."""
    return all(_entry(name, wanted, values) for name, wanted in when.items())


def _entry(name: str, wanted: Any, values: Values) -> bool:  # noqa: ANN401  plain data
    if name == "any":
        return any(holds(each, values) for each in wanted)
    if name == "none":
        return not any(holds(each, values) for each in wanted)
    return _matches(values[name], wanted, values)


def _matches(value: Any, wanted: Any, values: Values) -> bool:  # noqa: ANN401  plain data
    match wanted:
        case dict():
            return all(_OPERATORS[name](value, operand, values) for name, operand in wanted.items())
        case list():
            return any(_matches(value, each, values) for each in wanted)
        case str():
            texts = value if isinstance(value, tuple) else (value,)
            return any(isinstance(each, str) and _like(each.casefold(), wanted.casefold()) for each in texts)
        case _:
            return type(value) is type(wanted) and bool(value == wanted)


@lru_cache(maxsize=_REMEMBERED)
def _like(text: str, pattern: str) -> bool:
    """Return whether a text matches a pattern. A search for its parts comes first, because it is faster."""
    return all(part in text for part in pattern.replace("?", "*").split("*")) and fnmatchcase(text, pattern)


def _not(value: Any, operand: Any, values: Values) -> bool:  # noqa: ANN401  plain data
    return not _matches(value, operand, values)


def _search(value: Any, operand: str, _values: Values) -> bool:  # noqa: ANN401  plain data
    return value is not None and re.search(operand, str(value), re.IGNORECASE) is not None


def _compare(test: Callable[[float, float], bool]) -> Callable[[Any, Any, Values], bool]:
    """Return an operator on numbers, which is false where one of them is not set."""

    def compare(value: Any, operand: Any, values: Values) -> bool:  # noqa: ANN401  plain data
        first, second = quantity(value), quantity(values[operand] if isinstance(operand, str) else operand)
        return first is not None and second is not None and test(first, second)

    return compare


_OPERATORS: Final[dict[str, Callable[[Any, Any, Values], bool]]] = {
    "not": _not,
    "search": _search,
    "over": _compare(lambda value, operand: value > operand),
    "under": _compare(lambda value, operand: value < operand),
    "indivisible_by": _compare(lambda value, operand: operand > 0 and value % operand != 0),
}
