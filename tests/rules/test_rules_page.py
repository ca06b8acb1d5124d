"""The page of all rules that `make docs` writes."""

from __future__ import annotations

import re

from sparkiac.rules.pages import BASES, pages
from tests.conftest import generator


def test_each_code_is_listed_and_explained_once_with_its_examples_and_sources() -> None:
    module = generator("rules")
    text: str = module.text()
    headings = re.findall(r"^### (\S+) (\S+)$", text, re.MULTILINE)
    assert sorted(headings) == sorted((page.rule.code, page.rule.slug) for page in pages().values())
    links = re.findall(r"^- \[(\S+)\]\(#(\S+)\)", text, re.MULTILINE)
    assert sorted(links) == sorted((code, f"{code}-{slug}".lower()) for code, slug in headings)
    for page in pages().values():
        assert all(line in text.splitlines() for each in (*page.bad, *page.good) for line in each.splitlines())
        assert all(module.plain_text(source) in text for source in page.rule.sources)
        assert page.why in text


def test_each_family_has_its_title() -> None:
    module = generator("rules")
    assert {module.family(code) for code in pages()} <= set(module.FAMILIES)


def test_a_shown_base_and_an_example_below_it_are_the_inventory_that_runs_as_a_test() -> None:
    continued = 0
    for page in pages().values():
        bases: dict[str, str] = {}
        shown: dict[str, list[str]] = {"bad": [], "good": [], "the lock": []}
        for label, block in re.findall(r"^(\S[^\n]*):\n\n```yaml\n(.*?)^```$", page.text, re.MULTILINE | re.DOTALL):
            name, more, *_ = [*label.lower().split(", "), ""]
            if more.startswith("the first lines"):
                bases[f"on {name}"] = block
            else:
                assert not block.startswith(tuple(BASES.values())), f"{page.rule.code}: `{label}, on …:` is shorter"
                shown[name.removesuffix(" of both examples")].append(bases.get(more, "") + block)
                continued += more in bases
        assert (tuple(shown["bad"]), tuple(shown["good"])) == (page.bad, page.good)
    assert continued > 200
