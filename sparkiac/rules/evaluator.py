"""Applies facts to the deployments of a plan.

The condition of a fact is a mapping from names of a deployment's values to required values. It is true if all its
entries are. `any: [condition, …]` is true if one of them is, `none: […]` if none is. A required value is a number, a
switch, a pattern (`*` and `?`, letter case ignored), null for "not set", a list of these, or a mapping of operators. An
operand such as `set.max_num_seqs` stands for that value of the same deployment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final, Protocol

from sparkiac import catalog
from sparkiac.catalog import interfaces
from sparkiac.catalog.evidence import Fact
from sparkiac.report import REMOVE, Edit, Path, Severity
from sparkiac.rules.deployments import quantity
from sparkiac.rules.rule import Hit
from sparkiac.rules.subject import Subject

_REMEMBERED: Final = 1 << 14
"""Comparisons of a value with a pattern that are kept: the hosts of a fleet repeat them."""
_ANY: Final = "any"
_DEEP: Final = frozenset({"set", "env", "container"})
"""Settings whose keys are leaves of their own; of others, the whole setting is one leaf."""


def find(subjects: Iterable[Subject], facts: tuple[Fact, ...]) -> Iterator[Hit]:
    """Find the deployments that facts apply to."""
    for subject in subjects:
        yield from (_hit(fact, subject) for fact in facts if applies(fact, subject))


def applies(fact: Fact, subject: Subject) -> bool:
    """Return whether a deployment is in the scope of a fact and meets its condition."""
    gpu, hardware = subject.host.gpu, fact.hardware or catalog.gpu().compute_capability
    return (
        fact.engine in (_ANY, subject.container.server.engine)
        and (hardware == _ANY or (gpu is not None and gpu.compute_capability == hardware))
        and (fact.releases is None or fact.releases.include(subject.release))
        and holds(fact.when, subject)
    )


def _hit(fact: Fact, subject: Subject) -> Hit:
    key, inside = _split(fact.at)
    path, host = subject.container.path, subject.host.name
    fix = tuple(Edit((*path, *name.split(".")), REMOVE if to is None else to) for name, to in (fact.fix or {}).items())
    return Hit(
        (*path, *key),
        subject.text(fact.message),
        subject.text(fact.hint),
        leaf=(*path, host, *key),
        host=host,
        severity=_severity(fact, subject),
        fix=fix,
        inside=inside,
        sources=tuple(each.source for each in (*fact.evidence, *fact.against)),
    )


def _severity(fact: Fact, subject: Subject) -> Severity:
    """Return the fact's severity.

    A fact that is proven for upstream releases is only likely in builds by others, which may be patched. It does not
    apply to releases that are newer than all that were read.
    """
    if fact.releases is None or subject.release is None:
        return fact.severity
    newest = interfaces.release(interfaces.versions()[-1])
    if fact.releases.before is None and interfaces.release(subject.release) > newest:
        return Severity.INFO
    return fact.severity if subject.upstream else min(fact.severity, Severity.WARNING)


def _split(at: str) -> tuple[Path, Path]:
    """Split the position of a fact into the path of a leaf and the keys inside its value."""
    space, *rest = at.split(".")
    depth = 1 if space in _DEEP else 0
    return (space, *rest[:depth]), tuple(rest[depth:])


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


def _without(value: Any, operand: str, values: Values) -> bool:  # noqa: ANN401  plain data
    return isinstance(value, list | tuple) and values[operand] is not None and values[operand] not in value


def _compare(test: Callable[[float, float], bool]) -> Callable[[Any, Any, Values], bool]:
    """Return an operator on numbers, which is false where one of them is not set."""

    def compare(value: Any, operand: Any, values: Values) -> bool:  # noqa: ANN401  plain data
        first, second = quantity(value), quantity(values[operand] if isinstance(operand, str) else operand)
        return first is not None and second is not None and test(first, second)

    return compare


_OPERATORS: Final[dict[str, Callable[[Any, Any, Values], bool]]] = {
    "not": _not,
    "search": _search,
    "without": _without,
    "over": _compare(lambda value, operand: value > operand),
    "under": _compare(lambda value, operand: value < operand),
    "indivisible_by": _compare(lambda value, operand: operand > 0 and value % operand != 0),
}
