"""Names of sources for people: the title of each document once, without line numbers."""

from __future__ import annotations

import re
from typing import Final

TITLES: Final = {
    "Spark guide": "Practical guide to vLLM on DGX Spark (June 2026)",
    "vLLM blog": 'vLLM blog, "vLLM on the DGX Spark" (2026-06-01)',
    "dual-Spark post": "Account of a two-Spark production stack",
    "SM121 reference": "Notes on vLLM 0.19.0 on sm_121",
    "DeepSeek-V4 thread": "Forum thread on DeepSeek-V4-Flash on two Sparks",
}
"""Short name in a rule or recipe → title of the document; docs/sources.md describes each of them."""

_NAMED: Final = re.compile(rf"(?P<name>{'|'.join(TITLES)})(?: L[0-9]+(?:-[0-9]+)?(?:, L[0-9]+(?:-[0-9]+)?)*)?")


def titles(sources: str) -> str:
    """Replace short names by titles and drop line numbers and repeated sources; the parts are joined by `; `."""
    named = (_NAMED.sub(lambda found: TITLES[found["name"]], part) for part in sources.split("; "))
    return "; ".join(dict.fromkeys(named))
