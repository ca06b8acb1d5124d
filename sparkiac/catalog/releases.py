"""The vLLM release in an image, according to its digest or tag.

Upstream names its tags after its releases: v0.24.0, v0.25.1-aarch64, v0.20.0-aarch64-cu130, v0.22.0rc1; a nightly build
is also named after its commit, and the catalog states the version of some commits. The catalog states the release of
other tags, of series of tags, and of some digests, and which images are named after the day of their build. Of images
that are not in the catalog, a tag that starts with a release (0.24.0-cu130) is taken as that release. A tag that
moves, such as nightly, names none.
"""

from __future__ import annotations

import re
from typing import Final

from sparkiac.catalog import interfaces
from sparkiac.model.images import ImageFamily

_UPSTREAM: Final = re.compile(r"v(\d+(?:\.\d+)+(?:\.?(?:rc|post|dev)\d+)*)(?:-.+)?")
_COMMIT: Final = re.compile(r"(?:cu\d+-)?nightly-([0-9a-f]{9})[0-9a-f]{0,31}")
_DAY: Final = re.compile(r"(?:nightly-)?(20\d{6})(?:\d\d)?")
_COMMUNITY: Final = re.compile(r"v?(0\.\d{2}\.\d+(?:\.?(?:rc|post)\d+)?)(?:[-._+].+)?")
_ENGINE: Final = "vllm"


def of_image(family: ImageFamily | None, repository: str, *, tag: str, digest: str | None) -> str | None:
    """Return the vLLM release in an image, or None if it is unknown. `family` is the catalog's entry, if it has one."""
    if family is None:
        named = _COMMUNITY.fullmatch(tag) if _ENGINE in repository.rpartition("/")[2] else None
        return named[1] if named else None
    recorded = family.digests.get(digest or "")
    return recorded.vllm if recorded else of_tag(family, tag)


def of_tag(family: ImageFamily, tag: str) -> str | None:
    """Return the vLLM release in the images with this tag, or None if it is unknown."""
    known = family.tags.get(tag or "latest")
    if known is not None and (known.moving or known.vllm is not None):
        return None if known.moving else known.vllm
    if family.provenance == "upstream" and (named := _UPSTREAM.fullmatch(tag)):
        return named[1]
    if built := _COMMIT.fullmatch(tag):
        commit = family.commits.get(built[1])
        return commit.vllm if commit else None
    if family.dated and (named := _DAY.fullmatch(tag)):
        return interfaces.of_day(named[1])
    begun = (each.vllm for start, each in family.series.items() if tag.startswith((f"{start}-", f"{start}.")))
    return next(begun, None)
