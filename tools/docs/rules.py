"""Writes docs/rules.md, the page of every code that a finding can have: `make docs`. The file is not committed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkiac.rules.pages import BASES, pages
from sparkiac.words import rules as words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Data = dict[str, Any]

PAGE = Path(__file__).parents[2] / "docs/rules.md"
HEAD = """\
# Rules

Written by `make docs` from the files of `sparkiac/rules`. `sparkiac rules explain CODE` prints one page.
[checks.md](checks.md) explains profiles and waivers; [sources.md](sources.md) lists the documents behind the sources.
Both examples of a rule run as tests: the bad one triggers the rule, the good one does not.

Findings are errors, warnings or notes (info). A profile shows its own findings and those of the smaller ones:
`minimal`, `recommended`, `strict`. Findings of `preflight` are made on a host, before anything is changed there.

An example on one Spark or on two Sparks continues one of these inventories:
"""
FAMILIES = {
    "YML": "Text of the file",
    "INV": "Keys and values",
    "REF": "Names",
    "RCP": "Recipes of the repository",
    "FCT": "Facts of a fleet",
    "WVR": "Waivers",
    "IMP": "Files of other tools",
    "OPN": "Placeholders",
    "INT": "Defects of sparkiac",
    "CAT": "Entries of the catalog",
    "LCK": "The lock",
    "IMG": "Images",
    "MDL": "Models",
    "FIL": "Extra files",
    "ENT": "Entrypoints of images",
    "ENG": "Engines",
    "FLG": "Options",
    "ENV": "Environment variables",
    "QNT": "Quantization",
    "MOE": "Mixtures of experts",
    "ATT": "Attention backends",
    "SPD": "Speculative decoding",
    "VAL": "Combinations that vLLM refuses",
    "API": "What clients need",
    "MEM": "Memory",
    "HST": "Hosts and their containers",
    "DRV": "Drivers",
    "SYS": "Units and the system",
    "NET": "Addresses and ports",
    "MN": "Groups over several machines",
    "SEC": "Keys, secrets and trust",
    "MON": "Monitoring",
}
"""Letters of a code → the title of its family, in the order of the page."""


def text() -> str:
    """Return the page."""
    found = [words.explained(page) for page in pages().values()]
    families = {letters: [each for each in found if family(each["code"]) == letters] for letters in FAMILIES}
    contents = (part for letters, rules in families.items() if rules for part in listed(letters, rules))
    chapters = (part for letters, rules in families.items() if rules for part in chapter(letters, rules))
    bases = (block(name, lines) for name, lines in BASES.items())
    return "\n".join([HEAD, *bases, f"{len(found)} codes:\n", *contents, *chapters])


def family(code: str) -> str:
    """Return the letters of a code."""
    return code.rstrip("0123456789")


def listed(letters: str, rules: Iterable[Data]) -> Iterator[str]:
    """List the codes of a family."""
    yield f"**{FAMILIES[letters]}** (`{letters}`)\n"
    for each in rules:
        anchor = f"{each['code']}-{each['slug']}".lower()
        yield f"- [{each['code']}](#{anchor}) ({each['severity']}) {each['title']}"
    yield ""


def chapter(letters: str, rules: Iterable[Data]) -> Iterator[str]:
    """Write the pages of a family."""
    yield f"## {FAMILIES[letters]}\n"
    for each in rules:
        yield from page(each)


def page(rule: Data) -> Iterator[str]:
    """Write one page; its examples are folded."""
    found = f"profile `{rule['profile']}`" if rule["profile"] else words.FOUND[rule["phase"]]
    waived = "may be waived" if rule["waivable"] else "cannot be waived"
    yield f"### {rule['code']} {rule['slug']}\n"
    yield f"**{rule['title']}** {rule['severity'].capitalize()}; {found}; {waived}; since {rule['since']}.\n"
    if rule["why"]:
        yield f"{rule['why']}\n"
    for name, blocks in (("Bad", rule["bad"]), ("Good", rule["good"]), ("Their lock", [rule["lock"]])):
        for text in filter(None, blocks):
            base = next((each for each in BASES if text.startswith(BASES[each])), None)
            yield block(f"{name}, on {base}", text.removeprefix(BASES[base])) if base else block(name, text)
    yield from ("Sources:\n", *(f"- {plain_text(words.source_line(each))}" for each in rule["evidence"]), "")


def block(title: str, text: str) -> str:
    """Write a folded block of YAML."""
    return f"<details><summary>{title}</summary>\n\n```yaml\n{text.rstrip()}\n```\n\n</details>\n"


def plain_text(given: str) -> str:
    """Escape characters that have a meaning in Markdown."""
    return re.sub(r"([<>*_`\[\]~\\])", r"\\\1", given)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8", newline="\n")
