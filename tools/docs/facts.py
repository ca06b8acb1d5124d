"""Writes the index.json of the facts, and that of the pages of other codes, from the front matter of the files.

Run it after a change of a fact or a page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from sparkiac.catalog import evidence

PAGES = [Path(evidence.__file__).parent / folder / "index.json" for folder in evidence.FOLDERS]


def text(page: Path) -> str:
    """Return an index: one line for each file beside it."""
    files = sorted(page.parent.glob("*.md"))
    lines = (f"{json.dumps(path.stem)}: {json.dumps(front_matter(path))}" for path in files)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def front_matter(path: Path) -> dict[str, Any]:
    """Return the front matter of a file as data."""
    return dict(yaml.safe_load(evidence.split(path.read_text("utf-8"))[0]))


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(text(page), encoding="utf-8", newline="\n")
