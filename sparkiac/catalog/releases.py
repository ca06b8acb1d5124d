"""Which vLLM release an image holds, as far as its tag says it.

Upstream names its tags after its releases: v0.24.0, v0.25.1-aarch64, v0.20.0-aarch64-cu130, v0.22.0rc1. The catalog
states the release of other tags. A tag that moves, such as nightly, names no release.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sparkiac.model.images import ImageFamily

_UPSTREAM: Final = re.compile(r"v(\d+(?:\.\d+)+(?:\.?(?:rc|post|dev)\d+)*)(?:-.+)?")


def of_tag(family: ImageFamily, tag: str) -> str | None:
    """Give the vLLM release that a tag of a family stands for, or None if it is unknown."""
    known = family.tags.get(tag or "latest")
    if known is not None and (known.moving or known.vllm is not None):
        return None if known.moving else known.vllm
    if family.provenance == "upstream":
        named = _UPSTREAM.fullmatch(tag)
        return named[1] if named else None
    begun = (each.vllm for start, each in family.series.items() if tag.startswith((f"{start}-", f"{start}.")))
    return next(begun, None)
