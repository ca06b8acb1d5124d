"""docs/catalog.md: it is what the catalog says today."""

from __future__ import annotations

from sparkiac import catalog, engines
from sparkiac.resolve import catalogued
from tests.conftest import ROOT, generator


def test_the_page_is_up_to_date() -> None:
    stored = (ROOT / "docs/catalog.md").read_text()
    assert generator("catalog").text() == stored, (
        "docs/catalog.md is out of date; write it anew: python tools/docs/catalog.py"
    )


def test_the_page_names_every_entry_and_every_figure_with_its_source() -> None:
    page = generator("catalog").text()
    unescaped = page.replace("\\", "")
    for name in (*catalogued.names(), *catalog.fragment_names()):
        assert f"`{name}`" in page
    for found in catalogued.everything():
        for figure in found.entry.measured:
            assert f"| {figure.what} | {figure.value} | {figure.source} |" in unescaped
        assert all(source in unescaped for source in found.entry.sources)
    for pair in catalog.drafters():
        assert f"`{pair.target}`" in page


def test_the_page_says_what_each_engine_is_for() -> None:
    page, module = generator("catalog").text(), generator("catalog")
    names = {path.stem for path in (ROOT / "sparkiac/engines/records").glob("*.py")}
    assert {name.replace("-", "_") for name in module.ENGINES} == names - {"__init__"}
    for name in module.ENGINES:
        assert f"| {engines.named(name).title}, `{name}` | {engines.named(name).suits} |" in page.replace("\\", "")
