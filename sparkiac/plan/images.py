"""Image references: repository, mirror, digest, entrypoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac import catalog
from sparkiac.plan.values import Image

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.lock import Lock


def image(reference: str, *, lock: Lock | None, mirrors: Mapping[str, str]) -> Image:
    """Give what is known of an image. An inline digest holds without a lock."""
    repository, _, inline = reference.partition("@")
    repository = _without_tag(repository)
    locked = lock.images.get(reference) if lock else None
    family = catalog.image_family(repository)
    entrypoint = locked.entrypoint if locked else None
    if entrypoint is None and family is not None and family.value is not None:
        entrypoint = family.value.entrypoint
    return Image(
        reference=reference,
        repository=_mirrored(repository, mirrors),
        digest=inline or (locked.digest if locked else None),
        entrypoint=entrypoint,
        example=bool(lock and lock.example and locked and not inline),
    )


def _without_tag(repository: str) -> str:
    head, colon, tag = repository.rpartition(":")
    return head if colon and "/" not in tag else repository


def _mirrored(repository: str, mirrors: Mapping[str, str]) -> str:
    """Replace the longest mirrored prefix.

    `vllm/vllm-openai` is docker.io/vllm/vllm-openai, and `nginx` is docker.io/library/nginx.
    """
    first = repository.split("/", 1)[0]
    has_registry = "/" in repository and ("." in first or ":" in first or first == "localhost")
    full = repository if has_registry else f"docker.io/{'' if '/' in repository else 'library/'}{repository}"
    parts = full.split("/")
    for length in range(len(parts), 0, -1):
        mirror = mirrors.get("/".join(parts[:length]))
        if mirror is not None:
            return "/".join([mirror, *parts[length:]])
    return repository
