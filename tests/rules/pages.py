"""A rule's page, cut into its examples."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkiac import rules
from tests.plan.fleets import LOCK

if TYPE_CHECKING:
    from sparkiac.rules import Check

_LOCK = re.compile(r"^The lock of both examples:\n\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"^(Bad|Good)[^\n]*:\n\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
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
    """Return the page's Bad or Good inventories."""
    return [text for found, text in _EXAMPLE.findall(check.page()) if found == kind]


def lock(check: Check) -> str | None:
    """Return the lock that the page's examples have, if it shows one."""
    found = _LOCK.search(check.page())
    return found[1] if found else None
