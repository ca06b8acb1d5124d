"""Lines of a page in the format of Prometheus; which metrics an engine has is in its record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from sparkiac.model.base import MOST_BYTES

_LINE: Final = re.compile(r"^([A-Za-z_:][\w:]*)(\{[^}]*\})? (\S+)$", re.MULTILINE)


def samples(page: str) -> Iterator[tuple[str, str, float]]:
    """Yield name, labels and value of each series of a metrics page, without values that no metric can reach or NaN."""
    for name, labels, text in _LINE.findall(page):
        with suppress(ValueError):
            if abs(value := float(text)) <= MOST_BYTES:
                yield name, labels, value
