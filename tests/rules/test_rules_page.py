"""The page of all rules that `make docs` writes."""

from __future__ import annotations

import re

from sparkiac.rules.pages import pages
from tests.conftest import generator


def test_each_code_is_listed_and_explained_once_with_its_examples_and_sources() -> None:
    module = generator("rules")
    text: str = module.text()
    headings = re.findall(r"^### (\S+) (\S+)$", text, re.MULTILINE)
    assert sorted(headings) == sorted((page.rule.code, page.rule.slug) for page in pages().values())
    links = re.findall(r"^- \[(\S+)\]\(#(\S+)\)", text, re.MULTILINE)
    assert sorted(links) == sorted((code, f"{code}-{slug}".lower()) for code, slug in headings)
    for page in pages().values():
        assert all(block.rstrip() in text for block in (*page.bad, *page.good))
        assert all(module.plain_text(source) in text for source in page.rule.sources)
        assert page.why in text


def test_each_family_has_its_title() -> None:
    module = generator("rules")
    assert {module.family(code) for code in pages()} <= set(module.FAMILIES)
