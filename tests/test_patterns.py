"""No regular expression takes more than linear time, whatever text it meets.

Each pattern meets texts made of itself, by the methods that the package calls of it: what it begins with, then
thousands of what one of its repetitions takes, then what it does not end with. A pattern that backtracks over such a
text needs much processor time, any other one milliseconds. The limit is on the processor's time: load changes little.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
import signal
from collections import defaultdict
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final

import pytest

import sparkiac
from sparkiac.memory import startup
from sparkiac.model.forms import FORMS
from tests.every import every

if TYPE_CHECKING:
    from collections.abc import Iterator

LENGTH: Final = 30_000
SECONDS: Final = 0.2
"""Of the processor. The slowest pattern takes less than half of it, a quadratic one at least twice as much."""
ALPHABET: Final = "aA0_- .:/=#'\"\t\n{}[]()<>,;@$%*!~`|&?+\\^x\u00e9"
REPEATS: Final = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}
MANY: Final = 50
OF_PACKAGE_DATA: Final = {"sparkiac.rules.pages._BLOCK"}
"""They read docstrings of the package."""
USE: Final = re.compile(r"\b([A-Z_]{2,})\.(search|match|fullmatch|sub|finditer|findall|split)\(")


class Slow(Exception):  # noqa: N818  raised by the timer
    """A pattern used up its time."""


@contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """End what takes more of the processor's time: `re` looks for signals while it matches."""

    def end(*_: object) -> None:
        raise Slow

    gc.disable()  # its time is not the pattern's
    former = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)
        gc.enable()


def patterns() -> dict[str, re.Pattern[Any]]:
    """Return the patterns of all modules, and those that are kept as texts."""
    found = {}
    for module in pkgutil.walk_packages(sparkiac.__path__, "sparkiac."):
        if not module.name.endswith("__main__"):
            held = vars(importlib.import_module(module.name))
            found |= {f"{module.name}.{name}": each for name, each in held.items() if isinstance(each, re.Pattern)}
    texts = {f"startup.{name}": text for name, text in (startup._SIZES | startup._COUNTS).items()}  # noqa: SLF001
    texts |= {f"forms.{text}": text for text in FORMS}
    found |= {name: re.compile(text) for name, text in texts.items()}
    once = {pattern: name for name, pattern in found.items() if name not in OF_PACKAGE_DATA}
    return {name: pattern for pattern, name in once.items()}


def used() -> dict[str, set[str]]:
    """Return the methods that are called of a pattern: in its own module, or else of its name in any."""
    found = defaultdict(set)
    root = Path(sparkiac.__path__[0])
    for path in root.rglob("*.py"):
        module = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
        for name, method in USE.findall(path.read_text()):
            found[name].add(method)
            found[f"{module}.{name}"].add(method)
    return found


PATTERNS: Final = patterns()
USED: Final = used()


def methods(name: str) -> set[str]:
    """Return the methods by which a pattern is asked."""
    if name.startswith("forms."):
        return {"fullmatch"}
    return USED.get(name) or USED.get(name.rpartition(".")[2]) or {"search"}


def sample(sequence: Any, groups: dict[int, str]) -> str:  # noqa: ANN401  the parser's own types
    """Return a short text that a part of a pattern matches, as far as that is easy."""
    return "".join(_sample(code, value, groups) for code, value in sequence)


def _sample(code: Any, value: Any, groups: dict[int, str]) -> str:  # noqa: ANN401
    if code in {codes.LITERAL, codes.NOT_LITERAL, codes.ANY}:
        return chr(value) if code is codes.LITERAL else "a"
    if code is codes.IN:
        return next(iter(taken(value)), "a")
    if code is codes.BRANCH:
        return sample(value[1][0], groups)
    if code is codes.SUBPATTERN:
        groups[value[0]] = sample(value[3], groups)
        return groups[value[0]]
    if code in REPEATS:
        return sample(value[2], groups) * value[0]
    return groups.get(value, "") if code is codes.GROUPREF else ""


def taken(members: Any) -> list[str]:  # noqa: ANN401
    """Return the characters of the alphabet that a set takes."""
    return [each for each in ALPHABET if _takes(members, each)]


def _takes(members: Any, character: str) -> bool:  # noqa: ANN401
    hit = negated = False
    for code, value in members:
        negated |= code is codes.NEGATE
        hit |= code is codes.LITERAL and ord(character) == value
        hit |= code is codes.RANGE and value[0] <= ord(character) <= value[1]
        hit |= code is codes.CATEGORY and CATEGORIES[value](character)
    return hit != negated


CATEGORIES: Final = {
    codes.CATEGORY_DIGIT: str.isdigit,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda each: each.isalnum() or each == "_",
    codes.CATEGORY_NOT_DIGIT: lambda each: not each.isdigit(),
    codes.CATEGORY_NOT_SPACE: lambda each: not each.isspace(),
    codes.CATEGORY_NOT_WORD: lambda each: not (each.isalnum() or each == "_"),
}


def repeated(sequence: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield texts that the long repetitions of a pattern take."""
    for code, value in sequence:
        if code in REPEATS:
            if value[1] is codes.MAXREPEAT or value[1] > MANY:
                inner = value[2]
                yield from taken(inner[0][1])[:12] if len(inner) == 1 and inner[0][0] is codes.IN else ()
                yield sample(inner, {})
            yield from repeated(value[2])
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from repeated(branch)
                yield sample(branch, {})
        elif code is codes.SUBPATTERN:
            yield from repeated(value[3])
        elif code in {codes.ASSERT, codes.ASSERT_NOT}:
            yield from repeated(value[1])


def attacks(pattern: re.Pattern[Any]) -> Iterator[str]:
    """Yield texts over which a pattern of this form may backtrack."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    begun = [sample(tree[:length], {}) for length in range(len(tree) + 1)]
    often = dict.fromkeys(each for each in (*repeated(tree), "a", "A_", " ", "\n", *begun) if each)
    for many, first, last in product(often, dict.fromkeys(begun[:8]), ("\x01", "")):
        yield first + many * (LENGTH // len(many)) + last


def ask(pattern: re.Pattern[Any], method: str, text: Any) -> None:  # noqa: ANN401  text or bytes
    """Call a method of a pattern, and take all that it gives."""
    if method == "sub":
        pattern.sub(lambda _: text[:0], text)
    elif method == "finditer":
        list(pattern.finditer(text))
    else:
        getattr(pattern, method)(text)


def is_slow(pattern: re.Pattern[Any], method: str) -> str | None:
    """Return a text that a pattern is slow with."""
    for text in attacks(pattern):
        given = text if isinstance(pattern.pattern, str) else text.encode()
        if not (_is_done(pattern, method, given) or _is_done(pattern, method, given)):
            return f"{text[:30]!r} … {text[-30:]!r}"
    return None


def _is_done(pattern: re.Pattern[Any], method: str, text: Any) -> bool:  # noqa: ANN401
    try:
        with limited():
            ask(pattern, method, text)
    except Slow:
        return False
    return True


@pytest.mark.parametrize("name", PATTERNS)
def test_each_pattern_takes_linear_time(name: str) -> None:
    for method in sorted(methods(name)):
        assert is_slow(PATTERNS[name], method) is None, method


@pytest.mark.parametrize(
    "text",
    [r"(?<![A-Z0-9])(?:[A-Z0-9]+_)*(?:KEY|TOKEN)(?![A-Z0-9_])", r" *- +", r"^(\s*)\$", r".*/mods/.+\.\w+", r"x{3,}$"],
)
def test_a_pattern_that_backtracks_is_found(text: str) -> None:
    assert is_slow(re.compile(text, re.MULTILINE), "search")


def possessive(sequence: Any) -> Iterator[Any]:  # noqa: ANN401  the parser's own types
    """Yield what the possessive repetitions and atomic groups of a pattern contain."""
    for code, value in sequence:
        if code is codes.ATOMIC_GROUP:
            yield value
        elif code in REPEATS:
            yield from [value[2]] if code is codes.POSSESSIVE_REPEAT else possessive(value[2])
        elif code is codes.BRANCH:
            yield from (each for branch in value[1] for each in possessive(branch))
        elif code is codes.SUBPATTERN:
            yield from possessive(value[3])
        elif code in {codes.ASSERT, codes.ASSERT_NOT}:
            yield from possessive(value[1])


@every(PATTERNS)
def test_possessive_repetitions_are_of_single_characters(name: str) -> None:
    """Python 3.11.2 of Debian 12 continues a possessive repetition of a group in the middle of it."""
    tree = parser.parse(PATTERNS[name].pattern, PATTERNS[name].flags & ~re.UNICODE)
    simple = {codes.IN, codes.LITERAL, codes.NOT_LITERAL, codes.ANY}
    assert [each for each in possessive(tree) if len(each) != 1 or each[0][0] not in simple] == []
