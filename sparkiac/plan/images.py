"""Look up the images of a plan: repository, mirror, digest, entrypoint, vLLM release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac import catalog
from sparkiac.catalog import interfaces, releases
from sparkiac.model import references
from sparkiac.plan.image import AddedNames, Image, TagFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.images import ImageFamily
    from sparkiac.model.lock import Lock, LockedImage

_OF_TAG: Final = (
    "vllm_at_least",
    "transformers",
    "min_driver",
    "forward_compat",
    "lacks",
    "failed_on",
)


def image(reference: str, *, lock: Lock | None, mirrors: Mapping[str, str]) -> Image:
    """Return an image with the facts from lock and catalog. A digest in the reference needs no lock."""
    tagged, _, inline = reference.partition("@")
    repository, tag = references.split(tagged)
    locked = lock.images.get(reference) if lock else None
    found = catalog.image_family(repository)
    family = found.value if found else None
    digest = inline or (locked.digest if locked else None)
    entrypoint = locked.entrypoint if locked else None
    if entrypoint is None and family is not None:
        entrypoint = family.entrypoint
    return Image(
        reference=reference,
        repository=_mirrored(repository, mirrors),
        digest=digest,
        entrypoint=entrypoint,
        command=locked.command if locked else None,
        tag=_tag(family, tag) if family else None,
        id=locked.config if locked else None,
        versions=locked.versions if locked else {},
        release=_recorded(locked) or releases.of_image(family, repository, tag=tag, digest=digest),
    )


def _recorded(locked: LockedImage | None) -> str | None:
    """Return the vLLM release that the lock has from the labels and variables of the image."""
    return interfaces.named(locked.versions["vllm"]) if locked and "vllm" in locked.versions else None


def _tag(family: ImageFamily, tag: str) -> TagFacts:
    known = family.tags.get(tag or "latest")
    facts: dict[str, Any] = {} if known is None else {name: getattr(known, name) for name in _OF_TAG}
    if known is not None and known.adds is not None:
        facts["added"] = AddedNames(known.adds.options, known.adds.variables, known.adds.parsers)
    return TagFacts(family.title, family.style, provenance=family.provenance, **facts)


def _mirrored(repository: str, mirrors: Mapping[str, str]) -> str:
    """Replace the longest prefix that has a mirror; a short name is completed with its registry first."""
    parts = references.full(repository).split("/")
    for length in range(len(parts), 0, -1):
        mirror = mirrors.get("/".join(parts[:length]))
        if mirror is not None:
            return "/".join([mirror, *parts[length:]])
    return repository
