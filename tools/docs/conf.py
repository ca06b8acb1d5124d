"""Settings of Sphinx, which builds the site from the pages of docs/: `make docs`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from sparkiac import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

    Data = dict[str, Any]

project = "sparkiac"
version = release = __version__
extensions = ["myst_parser"]
myst_heading_anchors = 4
smartquotes = False  # it turns the two hyphens of an option into one dash
pygments_style = "default"
html_theme = "furo"
html_title = f"sparkiac {version}"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_last_updated_fmt = None

SECTION: Final = re.compile(r"^## (.+)\n", re.MULTILINE)
PAGE: Final = re.compile(r"\]\(([\w/-]+)\.md\)")


def setup(app: Sphinx) -> Data:
    """Build the menu from the sections of index.md and their links."""
    app.connect("source-read", add_menu)
    return {"parallel_read_safe": True}


def add_menu(app: Sphinx, name: str, source: list[str]) -> None:
    """Append the menu to the first page, and to the lists of tasks and decisions; it is not in the Markdown."""
    if name == "index":
        source[0] += "".join(menu(source[0], app.env.found_docs))
    elif name == "tasks":
        source[0] += toctree("Tasks", *PAGE.findall(source[0]))
    elif name == "adr/README":
        source[0] += toctree("Decisions", *sorted(each[4:] for each in app.env.found_docs if each.startswith("adr/0")))


def menu(text: str, found: set[str]) -> Iterator[str]:
    """Write a part of the menu for each section, with the pages in the order of their links; then the other pages."""
    _, *parts = SECTION.split(text)
    listed = {"index", *(each for each in found if each.startswith(("adr/", "tasks/")))}
    for title, section in zip(parts[::2], parts[1::2], strict=True):
        pages = [each for each in dict.fromkeys(PAGE.findall(section)) if each not in listed - {"adr/README"}]
        listed.update(pages)
        if pages:
            yield toctree(title, *pages)
    if others := sorted(found - listed):
        yield toctree("More", *others)


def toctree(title: str, *pages: str) -> str:
    """Write one part of the menu."""
    return "\n\n```{toctree}\n" + f":hidden:\n:caption: {title}\n\n" + "\n".join(pages) + "\n```\n"
