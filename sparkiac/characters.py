"""Characters that no file of an inventory and no generated file may carry, and how a message shows them."""

from __future__ import annotations

import re
from typing import Final

_NONCHARACTERS: Final = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))

REFUSED: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufeff" + _NONCHARACTERS
)
"""Body of a regular expression's set: C0, DEL and C1 controls but tab and line ends; the line separators, of which
some YAML readers make new lines; bidirectional overrides, which show a reviewer another text; the byte order mark;
noncharacters, for which systemd drops a whole line; halves of surrogate pairs, which UTF-8 lacks."""

_UNSHOWN: Final = re.compile(rf"[{REFUSED}\r\u061c\u200e\u200f]")
"""Also the marks that change the direction of a text, and the carriage return."""


def escaped(text: str) -> str:
    r"""Write what a terminal would obey, hide or turn round as escapes: `\x1b`, `\u202e`. Line ends and tabs stay.

    All text that is not sparkiac's own passes here before it is shown.
    """
    return _UNSHOWN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def escaped_line(text: str) -> str:
    """Show a text in one line: its line ends are escapes as well."""
    return escaped(text).replace("\n", "\\n")
