"""Prompts for measurements: unique, of a chosen length, and of three kinds of content.

Each prompt begins with a number that is used once, so that a prefix cache cannot help. The kinds differ in how well a
drafter predicts their continuation: code, structured data (JSON), and filler (prose of random words).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, Literal, NamedTuple

Kind = Literal["filler", "code", "structured"]
KINDS: Final[tuple[Kind, ...]] = ("code", "structured", "filler")
_WORDS: Final = """
the a memory model host time water line number light house river small large quick early open green
table paper street answer market winter music person reason window garden letter island summer
office bridge morning story engine signal copper valley season corner metal forest travel
""".split()  # noqa: SIM905  a list of 40 lines is no clearer
CALIBRATION: Final = (len(_WORDS), 2 * len(_WORDS))
"""Lengths of the two prompts that calibrate the tokens of a unit; each contains all words equally often."""
_TASKS: Final[dict[Kind, str]] = {
    "filler": "Continue this text in the same style:",
    "code": "Continue this Python module with more functions of the same form:",
    "structured": "Continue this list of JSON records, one per line:",
}


class Length(NamedTuple):
    """How many tokens a prompt of a kind has: `base` and `per_unit` for each unit of its content."""

    base: float
    per_unit: float

    def units(self, tokens: int) -> int:
        """Return how many units of text make a prompt of about this many tokens."""
        return max(1, round((tokens - self.base) / self.per_unit))


class Prompts:
    """A source of prompts."""

    def __init__(self, seed: str) -> None:
        """Use this seed: another seed gives other prompts."""
        self._random = random.Random(seed)  # noqa: S311  text, no secret

    def text(self, kind: Kind, units: int) -> str:
        """Return a new prompt with this many units: words, lines of code, or records."""
        made, joint = _FORMS[kind]
        content = joint.join(made(word, self._random) for word in islice(self._words(), units))
        return f"{self._random.getrandbits(40):010x} {_TASKS[kind]}\n{content}"

    def _words(self) -> Iterator[str]:
        """Yield all words in random order, again and again.

        Prompts of the same length then have nearly the same number of tokens, although words differ in theirs.
        """
        while True:
            yield from self._random.sample(_WORDS, len(_WORDS))


def length(tokens: tuple[int, int]) -> Length:
    """Return the length from the tokens of the two prompts of CALIBRATION."""
    few, many = CALIBRATION
    per_unit = max((tokens[1] - tokens[0]) / (many - few), 0.1)
    return Length(tokens[0] - few * per_unit, per_unit)


def _code(name: str, source: random.Random) -> str:
    value = source.randrange(100, 1000)
    return f"def {name}_{value}(value: int) -> int:\n    return value * {value} + {source.randrange(10)}\n"


def _structured(name: str, source: random.Random) -> str:
    number = source.randrange(1000, 10_000)
    return f'{{"id": {number}, "name": "{name}", "active": true, "size": {source.randrange(100)}}}'


_FORMS: Final[dict[Kind, tuple[Callable[[str, random.Random], str], str]]] = {
    "filler": (lambda word, _: word, " "),
    "code": (_code, "\n"),
    "structured": (_structured, "\n"),
}
