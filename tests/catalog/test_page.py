"""docs/catalog.md: it is what the catalog says today."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

from sparkiac import catalog, engines
from sparkiac.resolve import catalogued
from tests.conftest import ROOT

if TYPE_CHECKING:
    from types import ModuleType


def generator() -> ModuleType:
    """Load docs/catalog.py, which is no module of the package."""
    spec = importlib.util.spec_from_file_location("docs_catalog", ROOT / "docs/catalog.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    stored = (ROOT / "docs/catalog.md").read_text()
    assert generator().text() == stored, "docs/catalog.md is out of date; write it anew: python docs/catalog.py"


def test_the_page_names_every_entry_and_every_figure_with_its_source() -> None:
    page = generator().text()
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
    """(row 1.5)."""
    page, module = generator().text(), generator()
    names = {path.stem for path in (ROOT / "sparkiac/engines").glob("*.py")}
    assert {name.replace("-", "_") for name in module.ENGINES} == {
        name for name in names if hasattr(importlib.import_module(f"sparkiac.engines.{name}"), "ENGINE")
    }
    for name in module.ENGINES:
        assert f"| {engines.named(name).title} | {engines.named(name).suits} |" in page.replace("\\", "")


def test_every_row_has_the_cells_of_its_head() -> None:
    cells = 0
    for line in generator().text().splitlines():
        count = line.replace("\\|", "").count("|")
        if line.startswith("|---"):
            assert count == cells
        assert not line.startswith("|") or not cells or count == cells, line
        cells = count if line.startswith("|") else 0
