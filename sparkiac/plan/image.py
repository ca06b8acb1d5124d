"""An image of the plan, with what is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac.plan.parts import UNLOCKED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.catalog.interfaces import Interface


class AddedNames(NamedTuple):
    """What a fork or a patch takes, and its release of vLLM does not."""

    options: tuple[str, ...] = ()
    """In snake_case."""
    variables: tuple[str, ...] = ()
    parsers: tuple[str, ...] = ()


class TagFacts(NamedTuple):
    """What the catalog knows of an image: its family's facts, and those of its tag."""

    family: str
    """Title of the family."""
    style: str
    """How it takes its command: `vllm-serve`, `pass-through`, `environment` or `unknown`."""
    vllm_at_least: str | None = None
    """Oldest vLLM release that it can hold, where no more is known."""
    transformers: str | None = None
    """Oldest Transformers release inside."""
    min_driver: str | None = None
    """Oldest driver that it runs on by itself."""
    forward_compat: str | None = None
    """Older driver series that it runs on through forward compatibility."""
    lacks: tuple[str, ...] = ()
    failed_on: Mapping[str, str] = {}
    """Platform → what a source saw fail there."""
    provenance: str = "community"
    """Who stands behind it: `vendor`, `upstream` or `community`."""
    added: AddedNames = AddedNames()
    """What it takes beside what its release of vLLM does."""


class Image(NamedTuple):
    """An image to run. Without a digest it must not be deployed."""

    reference: str
    """As the inventory or recipe writes it."""
    repository: str
    """Where hosts pull from: the reference's repository, or its mirror."""
    digest: str | None
    entrypoint: tuple[str, ...] | None
    """The image's own entrypoint, if it is known."""
    command: tuple[str, ...] | None
    """The image's own command, if it is known."""
    tag: TagFacts | None
    """What the catalog knows of it."""
    build: str | None = None
    """Name of the build that makes it; its digest is the image's ID then, which no registry knows."""
    stale: bool = False
    """Whether the lock has it from a build that was changed since."""
    id: str | None = None
    """Digest of its configuration, by which Docker's own store knows it."""
    copied: bool = False
    """Whether the host gets it from another one: it has no registry's digest there, and runs by its ID."""
    interface: Interface | None = None
    """What its vLLM takes, if the image itself was asked."""
    versions: Mapping[str, str] = {}
    """Versions of its parts, as the lock records them: cuda, sglang."""
    release: str | None = None
    """The vLLM release inside, as the lock records it, or else as the tag or the catalog names it."""

    @property
    def vllm(self) -> str | None:
        """The vLLM release inside: as the image itself says, or else as it is recorded or named. None is unknown."""
        said = self.interface.release if self.interface else None
        return said or self.release

    @property
    def pull(self) -> str:
        """The pinned reference, or the ID of a built or copied image; UNLOCKED stands where it is missing."""
        if self.build is not None and self.digest is not None:
            return self.digest
        if self.copied:
            return self.id or f"sha256:{UNLOCKED}"
        return f"{self.repository}@{self.digest or UNLOCKED}"
