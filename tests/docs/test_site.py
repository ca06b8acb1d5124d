"""The documentation as a site: it builds without a warning, and a page loads nothing from other servers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT, generator

if TYPE_CHECKING:
    from pathlib import Path

PAGES = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
LOADED = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=["']?((?:https?:)?//[^"'>\s]*)""")
DASH = re.compile(r"[\u2013\u2014]")
STYLED = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]*)""")


def build(pages: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build a site as `make docs` does."""
    words = ("--quiet", "--fail-on-warning", "--keep-going", "-c", "tools/docs")
    command = [sys.executable, "-m", "sphinx", *words, str(pages), str(site)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site from a copy of the pages, with that of the rules."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "docs", folder / "pages")
    (folder / "pages/rules.md").write_text(generator("rules").text())
    done = build(folder / "pages", folder / "site")
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_it_has_every_page_and_the_menu_leads_to_each(site: Path) -> None:
    menu = (site / "index.html").read_text()
    for page in PAGES | {"rules"}:
        assert (site / f"{page}.html").is_file()
        assert page == "index" or page.startswith("adr/0") or f'href="{page}.html"' in menu, page


def test_every_guide_is_in_a_section_of_the_first_page() -> None:
    text = "".join((ROOT / f"docs/{page}.md").read_text() for page in ("index", "tasks"))
    listed = set(re.findall(r"\]\(([\w/-]+)\.md", text))
    assert {page for page in PAGES if not page.startswith("adr/0")} - listed <= {"index", "rules"}
    assert listed <= PAGES


def test_no_page_loads_anything_from_another_server(site: Path) -> None:
    pages = [path.read_text() for path in site.rglob("*.html")]
    styles = [path.read_text() for path in site.rglob("*.css")]
    assert len(pages) > len(PAGES)
    assert styles
    assert [url for text in pages for url in LOADED.findall(text)] == []
    assert [url for text in styles for url in STYLED.findall(text)] == []


def test_the_hyphens_of_an_option_are_not_a_dash(site: Path) -> None:
    options = 0
    for source in (site.parent / "pages").rglob("*.md"):
        page = (site / source.relative_to(site.parent / "pages")).with_suffix(".html")
        written, shown = source.read_text(), page.read_text()
        options += len(re.findall(r" --[a-z]", re.sub(r"<[^>]*>", "", shown)))
        assert len(DASH.findall(shown)) == len(DASH.findall(written)), page
    assert options > 500


def test_a_broken_link_and_a_broken_anchor_end_the_build(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/index.md").write_text(
        "# First\n\n[a](missing.md) [b](#nowhere)\n\n## More\n\n[c](other.md#gone)\n"
    )
    (tmp_path / "pages/other.md").write_text("# Other\n")
    done = build(tmp_path / "pages", tmp_path / "site")
    assert done.returncode == 1
    for target in ("missing.md", "nowhere", "gone"):
        assert target in done.stderr


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_link_of_a_page_outside_leads_to_a_file_and_a_heading(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / page).read_text()):
        if not target.startswith("https://"):
            path, _, anchor = target.partition("#")
            assert (ROOT / path).exists(), target
            headings = re.findall(r"^#+ (.+)$", (ROOT / (path or page)).read_text(), re.MULTILINE) if anchor else []
            assert not anchor or f"#{anchor}" in {generator("reference").anchor(each) for each in headings}, target
