"""The lock: what every moving name resolved to."""

from __future__ import annotations

from typing import Literal

from sparkiac.model.base import Digest, ImageReference, Line, Model


class LockedImage(Model):
    """One pinned image."""

    digest: Digest
    """Digest of the index or manifest that hosts pull."""
    entrypoint: tuple[Line, ...] | None = None
    """Entrypoint of the pinned image, which decides how its command is written."""


class Lock(Model):
    """Everything that an inventory's moving names resolved to."""

    version: Literal[1]
    """Version of this format."""
    example: bool = False
    """True for shipped examples, whose digests name no real image."""
    images: dict[ImageReference, LockedImage]
    """Image reference as the inventory or recipe writes it → what it resolved to."""
