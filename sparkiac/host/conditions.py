"""Conditions of facts: sparkiac evaluates them on a plan and on the lock, and preflight on this host.

A condition is a mapping from names to required values. It is true if all its entries are. `any: [condition, …]` is true
if one of them is, `none: […]` if none is. A required value is a number, a switch, a pattern (`*` and `?`, letter case
ignored), null for "not set", a list of these, or a mapping of operators. An operand such as `set.max_num_seqs` stands
for the value of that name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from string import Formatter
from typing import Any, NamedTuple, Protocol

REMEMBERED = 1 << 14
"""Comparisons of a value with a pattern that are kept: the hosts of a fleet repeat them."""
COUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmM]?)")
UNITS = {"": 1, "k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2}
SETTING = "setting"


class Values(Protocol):
    """The values that conditions read."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - plain data
        """Return a value by its dotted name; None where it is not set or unknown."""


class HostFact(NamedTuple):
    """A fact about the software of a host."""

    code: str
    when: str
    """Its condition, as JSON."""
    message: str
    hint: str
    severity: str
    """`error`, `warning` or `info`."""


def applying(facts: Iterable[HostFact], values: Values) -> Iterator[tuple[HostFact, str]]:
    """Return the facts whose condition is true, each with its message."""
    return ((fact, text(fact.message, values)) for fact in facts if holds(json.loads(fact.when), values))


def holds(when: Mapping[str, Any], values: Values) -> bool:
    """Return whether a condition is true."""
    return all(entry(name, wanted, values) for name, wanted in when.items())


def entry(name: str, wanted: Any, values: Values) -> bool:  # noqa: ANN401 - plain data
    """Return whether one entry of a condition is true."""
    if name == "any":
        return any(holds(each, values) for each in wanted)
    if name == "none":
        return not any(holds(each, values) for each in wanted)
    return matches(values[name], wanted, values)


def matches(value: Any, wanted: Any, values: Values) -> bool:  # noqa: ANN401 - plain data
    """Return whether a value is as required."""
    match wanted:
        case dict():
            return all(OPERATORS[name](value, operand, values) for name, operand in wanted.items())
        case list():
            return any(matches(value, each, values) for each in wanted)
        case str():
            texts = value if isinstance(value, tuple) else (value,)
            return any(isinstance(each, str) and like(each.casefold(), wanted.casefold()) for each in texts)
        case _:
            return type(value) is type(wanted) and bool(value == wanted)


@lru_cache(maxsize=REMEMBERED)
def like(text: str, pattern: str) -> bool:
    """Return whether a text matches a pattern. A search for its parts comes first, because it is faster."""
    return all(part in text for part in pattern.replace("?", "*").split("*")) and fnmatchcase(text, pattern)


def negated(value: Any, operand: Any, values: Values) -> bool:  # noqa: ANN401 - plain data
    """Return whether a value is not as required."""
    return not matches(value, operand, values)


def search(value: Any, operand: str, _values: Values) -> bool:  # noqa: ANN401 - plain data
    """Return whether a regular expression is found in a value."""
    return value is not None and re.search(operand, str(value), re.IGNORECASE) is not None


def without(value: Any, operand: str, values: Values) -> bool:  # noqa: ANN401 - plain data
    """Return whether a list lacks the value of another name."""
    return isinstance(value, (list, tuple)) and values[operand] is not None and values[operand] not in value


def compare(test: Callable[[float, float], bool]) -> Callable[[Any, Any, Values], bool]:
    """Return an operator on numbers, which is false where one of them is not set."""

    def compared(value: Any, operand: Any, values: Values) -> bool:  # noqa: ANN401 - plain data
        first, second = quantity(value), quantity(values[operand] if isinstance(operand, str) else operand)
        return first is not None and second is not None and test(first, second)

    return compared


def quantity(value: object) -> float | None:
    """Parse a number with an optional suffix, as vLLM does: 64k is 64000, 64K is 65536. None for other text."""
    found = COUNT.fullmatch(str(value))
    return float(found[1]) * UNITS[found[2]] if found else None


OPERATORS: dict[str, Callable[[Any, Any, Values], bool]] = {
    "not": negated,
    "search": search,
    "without": without,
    "over": compare(lambda value, operand: value > operand),
    "under": compare(lambda value, operand: value < operand),
    "indivisible_by": compare(lambda value, operand: operand > 0 and value % operand != 0),
}


def text(template: str, values: Values) -> str:
    """Fill in the placeholders of a message, such as `{name}`.

    `{set.moe_backend:setting}` becomes `moe_backend: marlin`, or `no moe_backend` if the option is not set.
    """
    return MessageFormatter(values).format(template)


class MessageFormatter(Formatter):
    """Fills dotted names into a template."""

    def __init__(self, values: Values) -> None:
        """Store the values."""
        self._values = values

    def get_field(self, field_name: str, _args: Sequence[Any], _kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        """Return the value of a dotted name, with the name."""
        return (field_name, self._values[field_name]), field_name

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - plain data
        """Return a value as text; with the format `setting`, the name and the value."""
        name, found = value
        key = name.rpartition(".")[2]
        shown = str(found).lower() if isinstance(found, bool) else str(found)
        if format_spec != SETTING:
            return shown
        return f"no {key}" if found is None else f"{key}: {shown}"
