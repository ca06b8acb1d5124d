"""A rule's page, cut into its examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkiac import rules
from sparkiac.rules.pages import pages
from tests.plan.fleets import LOCK

if TYPE_CHECKING:
    from sparkiac.rules import Check

CHECKS = rules.checks()
CODES = [check.rule.code for check in CHECKS]


def named(code: str) -> Check:
    """Return the rule with this code."""
    return CHECKS[CODES.index(code)]


@dataclass(frozen=True)
class Case:
    """An inventory beside those of the page, and what the rule says of it (`CODE line:column message`)."""

    text: str
    said: tuple[str, ...] = ()
    locked: str | None = LOCK


def examples(check: Check, kind: str) -> list[str]:
    """Return the page's Bad or Good inventories, with their bases."""
    page = pages()[check.rule.code]
    return list(page.bad if kind == "Bad" else page.good)


def lock(check: Check) -> str | None:
    """Return the lock that the page's examples have, if it shows one."""
    return pages()[check.rule.code].lock or None
