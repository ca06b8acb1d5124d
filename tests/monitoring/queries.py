"""The names of metrics in PromQL."""

from __future__ import annotations

import re
from typing import Final

_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*"' + r"|'[^']*'")
_MATCHERS: Final = re.compile(r"\{[^}]*\}")
_RANGE: Final = re.compile(r"\[[^\]]*\]")
_LABELS: Final = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)")
_OFFSET: Final = re.compile(r"\boffset\s+\w+")
_NAME: Final = re.compile(r"(?<![\w.:])([A-Za-z_:][\w:]*)(?!\s*\(|[\w:])")
_WORDS: Final = frozenset({"and", "or", "unless", "by", "on", "bool", "offset"})


def names(expr: str) -> set[str]:
    """Return the metrics that an expression asks for."""
    for pattern in (_TEXT, _MATCHERS, _RANGE, _LABELS, _OFFSET):
        expr = pattern.sub(" ", expr)
    return set(_NAME.findall(expr)) - _WORDS
