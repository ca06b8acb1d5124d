"""The data of a code that is not a rule."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from sparkiac.report import Severity
from sparkiac.rules.rule import Rule


class Other(NamedTuple):
    """A code and its page."""

    rule: Rule
    page: str


def other(
    code: str, slug: str, page: str, *sources: str, severity: Severity = Severity.ERROR, phase: str = "generate"
) -> Other:
    """Return the code and page of a finding that is not a rule's; `severity` is the highest that it can have."""
    return Other(Rule(code, slug, severity, sources, "0.1.0", waivable=False, phase=phase), page)


on_host: Final = partial(other, phase="preflight")
"""A finding of the preflight."""
