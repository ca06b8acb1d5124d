"""The data of a code that is not a rule."""

from __future__ import annotations

from typing import NamedTuple

from sparkiac.report import Severity
from sparkiac.rules.rule import Rule


class Other(NamedTuple):
    """A code and its page."""

    rule: Rule
    page: str


def other(code: str, slug: str, page: str, *sources: str, severity: Severity = Severity.ERROR) -> Other:
    """Return the rule and page of a finding that does not come from a check of the plan."""
    return Other(Rule(code, slug, severity, sources, "0.1.0", waivable=False), page)


def on_host(code: str, slug: str, page: str, *sources: str, severity: Severity = Severity.ERROR) -> Other:
    """Return the rule and page of a finding of the preflight; `severity` is the highest that it can have."""
    return Other(Rule(code, slug, severity, sources, "0.1.0", waivable=False, phase="preflight"), page)
