"""Pages: the meaning of each code, why it matters, and an inventory with and without the finding.

A rule's page is the docstring of its module, or the body of its file of facts. The pages of findings that are made
outside the rules are in `catalog/findings`; no inventory may waive these. An example "on one Spark" or "on two Sparks"
continues the base inventory of this name.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from sparkiac import rules
from sparkiac.catalog import evidence
from sparkiac.catalog.evidence import CodePage
from sparkiac.report import Severity
from sparkiac.rules.rule import Rule

BASES: Final = {
    "one Spark": """\
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 192.168.1.11}}
""",
    "two Sparks": """\
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 192.168.1.11
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.11/24}]}
  spark-02:
    address: 192.168.1.12
    fabric: {links: [{interface: enp1s0f1np1, hca: rocep1s0f1, address: 192.168.177.12/24}]}
""",
}
"""Name → the first lines of all examples on it."""
_BLOCK: Final = re.compile(
    rf"^(Bad|Good|The lock)(?:, on ({'|'.join(BASES)}))?[^\n]*:\n\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


class Page(NamedTuple):
    """A code and its page."""

    rule: Rule
    title: str
    """What is wrong, in one sentence."""
    why: str
    """The consequences, as Markdown."""
    bad: tuple[str, ...]
    """Complete inventories, each with its base."""
    good: tuple[str, ...]
    lock: str
    """The lock of the examples; empty if they need none."""
    text: str
    """The whole page, as Markdown; bases stand before the examples that continue them."""


@cache
def pages() -> dict[str, Page]:
    """Return the page of every code that sparkiac can report, sorted by code."""
    found = (*(read(check.rule, check.page()) for check in rules.checks()), *others())
    return {page.rule.code: page for page in sorted(found, key=lambda page: page.rule.code)}


@cache
def others() -> tuple[Page, ...]:
    """Return the pages of the codes that no rule has."""
    return tuple(map(_other, evidence.code_pages()))


def _other(found: CodePage) -> Page:
    code, _, slug = found.name.partition("_")
    severity = Severity[found.severity.upper()]
    rule = Rule(code.upper(), slug, severity, found.sources, "0.1.0", waivable=False, phase=found.phase)
    return read(rule, found.page())


def read(rule: Rule, text: str) -> Page:
    """Split a page into its parts."""
    text = text.strip()
    title, _, rest = text.partition("\n\n")
    found = list(_BLOCK.finditer(rest))
    start = found[0].start() if found else len(rest)
    shown = {
        kind: tuple(BASES.get(each[2], "") + each[3] for each in found if each[1] == kind)
        for kind in ("Bad", "Good", "The lock")
    }
    bases = (_base(name) for name in BASES if any(each[2] == name for each in found))
    # Bases go between the text and the first example: whoever copies the example has read past them.
    whole = text[: len(text) - len(rest) + start] + "".join(bases) + rest[start:]
    return Page(rule, title, rest[:start].strip(), shown["Bad"], shown["Good"], "".join(shown["The lock"]), whole)


def _base(name: str) -> str:
    return f"{name[0].upper()}{name[1:]}, the first lines of each example on it:\n\n```yaml\n{BASES[name]}```\n\n"
