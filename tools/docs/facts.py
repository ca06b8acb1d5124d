"""Writes sparkiac/catalog/facts/index.json from the front matter of the facts. Run it after a change of a fact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from sparkiac.catalog import evidence

ROOT = Path(evidence.__file__).parent / "facts"
PAGE = ROOT / "index.json"


def text() -> str:
    """Return the index: one line for each file of facts."""
    lines = (f"{json.dumps(path.stem)}: {json.dumps(front_matter(path))}" for path in sorted(ROOT.glob("*.md")))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def front_matter(path: Path) -> dict[str, Any]:
    """Return the front matter of a file as data."""
    return dict(yaml.safe_load(evidence.split(path.read_text("utf-8"))[0]))


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8", newline="\n")
