"""Send a program of hosts to a Python that does not have it: `playbooks/bundle.py` imports it from standard input."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from sparkiac.report.assets import directory


class Bundle(NamedTuple):
    """Arguments of a Python, and its standard input."""

    words: tuple[str, ...]
    text: str


def of(program: str, files: Iterable[str], *arguments: str, text: str = "") -> Bundle:
    """Return the bundle that runs `main` of a module of the package `host`, which imports these files of it."""
    host = directory("sparkiac/host")
    modules = {f"host/{file}": (host / file).read_text(encoding="utf-8") for file in files}
    lines = (json.dumps(f"host.{program}"), json.dumps(modules), json.dumps(arguments), text)
    return Bundle(("-c", (directory("playbooks") / "bundle.py").read_text(encoding="utf-8")), "\n".join(lines))
