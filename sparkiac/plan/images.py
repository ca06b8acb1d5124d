"""Image references: repository, mirror, digest, entrypoint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from sparkiac import catalog
from sparkiac.model import references
from sparkiac.plan.image import Added, Image, Tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.images import ImageFamily
    from sparkiac.model.lock import Lock

_OF_TAG: Final = (
    *("vllm", "vllm_at_least", "transformers", "min_driver", "forward_compat", "lacks", "forbidden_on", "moving"),
    "validated_for",
)
_RELEASE: Final = re.compile(r"(latest|v\d+(\.\d+)+)(-.+)?")


def image(reference: str, *, lock: Lock | None, mirrors: Mapping[str, str]) -> Image:
    """Give what is known of an image. An inline digest holds without a lock."""
    tagged, _, inline = reference.partition("@")
    repository, tag = references.split(tagged)
    locked = lock.images.get(reference) if lock else None
    found = catalog.image_family(repository)
    family = found.value if found else None
    entrypoint = locked.entrypoint if locked else None
    if entrypoint is None and family is not None:
        entrypoint = family.entrypoint
    return Image(
        reference=reference,
        repository=_mirrored(repository, mirrors),
        digest=inline or (locked.digest if locked else None),
        entrypoint=entrypoint,
        command=locked.command if locked else None,
        tag=_tag(family, tag) if family else None,
        id=locked.config if locked else None,
    )


def _tag(family: ImageFamily, tag: str) -> Tag:
    known = family.tags.get(tag or "latest")
    facts: dict[str, Any] = {} if known is None else {name: getattr(known, name) for name in _OF_TAG}
    if _RELEASE.fullmatch(tag):
        facts["forbidden_on"] = family.releases_forbidden_on | facts.get("forbidden_on", {})
    if known is not None and known.adds is not None:
        facts["added"] = Added(known.adds.options, known.adds.variables, known.adds.parsers)
    return Tag(family.title, family.style, provenance=family.provenance, **facts)


def _mirrored(repository: str, mirrors: Mapping[str, str]) -> str:
    """Replace the longest mirrored prefix, also of what a short name stands for."""
    parts = references.full(repository).split("/")
    for length in range(len(parts), 0, -1):
        mirror = mirrors.get("/".join(parts[:length]))
        if mirror is not None:
            return "/".join([mirror, *parts[length:]])
    return repository
