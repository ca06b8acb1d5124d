"""Short ways to read a text as an inventory, for the tests of the source stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkiac.model.inventory import Inventory
from sparkiac.source import Source, load

if TYPE_CHECKING:
    from sparkiac.report import Finding

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "inventories").glob("*.yaml"))
BAD = sorted((ROOT / "tests/bad/cases").glob("*.yaml"))
FLEET = "name: lab\nhosts:\n  spark-01: {address: 192.168.1.11}\n"

PIECES = (
    *("\n", " ", "  ", "\t", ":", ": ", "- ", "[", "]", "{", "}", ",", "'", '"', "#", "&a ", "*a", "!!", "!", "|", ">"),
    *("? ", "<<", "---", "...", "%", "@", "`", "no", "1e3", "\r", "\r\n", "\0", "\x85", "\u2028", "\ufeff", "\u202e"),
    *("\\", '"\\x', "api_key: ", "hosts:", "{secret: a}", "😀", "é", "9" * 30, "x" * 200, "~", "=", "\n\n", ""),
)
"""What damages a YAML text."""


def source(text: str | bytes) -> Source[Inventory]:
    """Read a text as an inventory."""
    return load(text if isinstance(text, bytes) else text.encode(), name="lab.yaml", model=Inventory)


def findings(text: str | bytes) -> tuple[Finding, ...]:
    """Return the findings of a text."""
    return source(text).findings


def only(text: str | bytes) -> Finding:
    """Return the one finding of a text."""
    (finding,) = findings(text)
    return finding


def at(text: str, path: tuple[str | int, ...]) -> str:
    """Return the stretch of the text that is marked as the value at `path`."""
    return stretch(text, source(text).document.values[path])


def stretch(text: str, mark: Any) -> str:  # noqa: ANN401  a Mark, or None in a test that fails
    """Cut a marked stretch out of a text."""
    lines = text.split("\n")[mark.line - 1 : mark.end_line]
    lines[-1] = lines[-1][: mark.end_column - 1]
    lines[0] = lines[0][mark.column - 1 :]
    return "\n".join(lines)
