"""Pages: the meaning of each code, why it matters, and an inventory with and without the finding.

A rule's page is the docstring of its module, or the body of its file of facts. `others` contains the pages of
findings that are made outside the rules.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import rules
from sparkiac.rules import others

if TYPE_CHECKING:
    from sparkiac.rules.rule import Rule

_BLOCK: Final = re.compile(r"^(Bad|Good|The lock)([^\n]*):\n\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Page(NamedTuple):
    """A code and its page."""

    rule: Rule
    title: str
    """What is wrong, in one sentence."""
    why: str
    """The consequences, as Markdown."""
    bad: tuple[str, ...]
    good: tuple[str, ...]
    lock: str
    """The lock of the examples; empty if they need none."""
    text: str
    """The whole page, as Markdown."""


@cache
def pages() -> dict[str, Page]:
    """Return the page of every code that sparkiac can report, sorted by code."""
    found = [read(check.rule, check.page()) for check in rules.checks()]
    found += [read(*other) for other in others.OTHERS]
    return {page.rule.code: page for page in sorted(found, key=lambda page: page.rule.code)}


def read(rule: Rule, text: str) -> Page:
    """Split a page into its parts."""
    text = text.strip()
    title, _, rest = text.partition("\n\n")
    first = _BLOCK.search(rest)
    why = rest[: first.start()] if first else rest
    blocks = [(found[1], found[3]) for found in _BLOCK.finditer(rest)]
    bad, good, lock = (tuple(block for kind, block in blocks if kind == name) for name in ("Bad", "Good", "The lock"))
    return Page(rule, title, why.strip(), bad, good, "".join(lock), text)
