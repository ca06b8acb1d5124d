"""The lock: what every moving name resolved to."""

from __future__ import annotations

from typing import Literal

from sparkiac.model.base import Digest, FileSource, ImageReference, Line, Model, Name, Sha256


class LockedImage(Model):
    """One pinned image."""

    digest: Digest
    """Digest of the index or manifest that hosts pull."""
    entrypoint: tuple[Line, ...] | None = None
    """Entrypoint of the pinned image, which decides how its command is written."""
    command: tuple[Line, ...] | None = None
    """Default command of the pinned image."""


class LockedFile(Model):
    """One pinned file."""

    sha256: Sha256
    """What its bytes must hash to."""


class LockedBuild(Model):
    """One image that was built from source."""

    id: Digest
    """ID of the image, by which hosts run it: no registry has it."""
    spec: Digest
    """Hash of what it was built from."""
    entrypoint: tuple[Line, ...] | None = None
    """Entrypoint of the finished image."""
    command: tuple[Line, ...] | None = None
    """Default command of the finished image."""


class Lock(Model):
    """Everything that an inventory's moving names resolved to."""

    version: Literal[1]
    """Version of this format."""
    example: bool = False
    """True for shipped examples, whose digests name no real image."""
    images: dict[ImageReference, LockedImage]
    """Image reference as the inventory or recipe writes it → what it resolved to."""
    files: dict[FileSource, LockedFile] = {}
    """Address of an extra file as the inventory or recipe writes it → what it resolved to."""
    builds: dict[Name, LockedBuild] = {}
    """Name of a build → the image that came out of it."""
