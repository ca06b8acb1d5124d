"""Characters that inventories and generated files must not contain, and how messages show them."""

from __future__ import annotations

import re
from typing import Final

_NONCHARACTERS: Final = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))

REFUSED: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufeff" + _NONCHARACTERS
)
"""Refused characters, as the body of a regular expression's character set: C0, DEL and C1 controls except tab and line
ends; line separators, which some YAML readers treat as line ends; bidirectional overrides, which make a text look
different from what it is; the byte order mark; noncharacters, for which systemd drops the whole line; surrogates, which
UTF-8 cannot encode."""

_ESCAPED: Final = re.compile(rf"[{REFUSED}\r\u061c\u200e\u200f]")
"""The refused characters, direction marks and the carriage return: messages show them as escapes."""


def escaped(text: str) -> str:
    r"""Replace control characters and direction marks with escapes such as `\x1b`; keep line ends and tabs.

    All text from users, files and servers passes through this function before it is printed, because a terminal
    would execute or hide such characters.
    """
    return _ESCAPED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def escaped_line(text: str) -> str:
    """Replace control characters and line ends with escapes, so that the result is one line."""
    return escaped(text).replace("\n", "\\n")
