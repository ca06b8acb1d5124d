"""Decode the bytes of a file; refuse text that YAML parsers read in different ways.

Sources: YAML 1.2.2, 5.1 and 5.2 (characters and encodings), and Unicode 23.7 for noncharacters, for which
systemd drops the whole line of a unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from sparkiac.report import Mark
from sparkiac.report.characters import REFUSED

MAX_BYTES: Final = 4 * 1024 * 1024
START: Final = Mark(1, 1, 1, 2)

FORBIDDEN: Final = re.compile(rf"[{REFUSED}]|\r(?!\n)")
"""Characters that are not allowed, including a carriage return without a line feed."""

_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")


class TextFault(NamedTuple):
    """An error in the text of a file."""

    code: str
    mark: Mark
    message: str
    hint: str


def decode(raw: bytes) -> tuple[str, TextFault | None]:
    """Decode strict UTF-8. The text ends before the first invalid byte."""
    if len(raw) > MAX_BYTES:
        message = f"the file has {len(raw)} bytes; the limit is {MAX_BYTES}"
        return "", TextFault("YML002", START, message, "split the fleet into several inventories")
    if raw.startswith(_BYTE_ORDER_MARKS):
        message = "the file starts with a byte order mark"
        return "", TextFault("YML001", START, message, "save it as UTF-8 without a byte order mark")
    try:
        return raw.decode("utf-8"), None
    except UnicodeDecodeError as error:
        text = raw[: error.start].decode("utf-8")
        message = f"byte {raw[error.start]:#04x} is not UTF-8"
        return text, TextFault("YML001", _mark_at(text, len(text)), message, "save the file as UTF-8")


def characters(text: str) -> Iterator[TextFault]:
    """Return a fault for every character that is not allowed."""
    for found in FORBIDDEN.finditer(text):
        yield TextFault("YML003", _mark_at(text, found.start()), refusal(found.group()), "remove the character")


def refusal(character: str) -> str:
    """Return why a character is not allowed."""
    return f"character U+{ord(character):04X} is not allowed: it is invisible or changes how the text is read"


def at_end(text: str) -> tuple[int, int]:
    """Return line and column, both from 0, of the end of the last line with text."""
    shown = text.rstrip(" \r\n")
    return shown.count("\n"), len(shown) - (shown.rfind("\n") + 1)


def _mark_at(text: str, index: int) -> Mark:
    line = text.count("\n", 0, index) + 1
    column = index - text.rfind("\n", 0, index)
    return Mark(line, column, line, column + 1)
