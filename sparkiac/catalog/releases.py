"""vLLM release of an image, from its tag.

Upstream tags contain the release: v0.24.0, v0.25.1-aarch64, v0.20.0-aarch64-cu130, v0.22.0rc1. The catalog has the
release of other tags. A moving tag, such as nightly, has no release.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sparkiac.model.images import ImageFamily

_UPSTREAM: Final = re.compile(r"v(\d+(?:\.\d+)+(?:\.?(?:rc|post|dev)\d+)*)(?:-.+)?")


def of_tag(family: ImageFamily, tag: str) -> str | None:
    """Return the vLLM release of a tag of a family, or None if it is unknown."""
    known = family.tags.get(tag or "latest")
    if known is not None and (known.moving or known.vllm is not None):
        return None if known.moving else known.vllm
    if family.provenance == "upstream":
        named = _UPSTREAM.fullmatch(tag)
        return named[1] if named else None
    begun = (each.vllm for start, each in family.series.items() if tag.startswith((f"{start}-", f"{start}.")))
    return next(begun, None)
