"""Sources under a finding are titles of documents, each once and without line numbers."""

from __future__ import annotations

import pytest

from sparkiac import rules
from sparkiac.formats.findings import TITLES, titles

GUIDE, POST = TITLES["Spark guide"], TITLES["dual-Spark post"]


@pytest.mark.parametrize(
    ("sources", "shown"),
    [
        ("", ""),
        ("Spark guide L29", GUIDE),
        ("Spark guide L3, L105-107, L112; dual-Spark post L3", f"{GUIDE}; {POST}"),
        ("Spark guide L3; Spark guide L105", GUIDE),
        ("Spark guide L16-23: four engines run on a Spark", f"{GUIDE}: four engines run on a Spark"),
        ("https://example.org/vllm#L29; https://example.org/vllm#L29", "https://example.org/vllm#L29"),
    ],
)
def test_titles(sources: str, shown: str) -> None:
    assert titles(sources) == shown


def test_no_rule_shows_a_line_number_of_these_documents() -> None:
    shown = [titles(source) for check in rules.checks() for source in check.rule.sources]
    assert shown
    assert not [text for text in shown if any(f"{name} L" in text for name in TITLES)]
