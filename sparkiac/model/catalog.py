"""Catalog entries: recipes and image families."""

from __future__ import annotations

from typing import Literal

from sparkiac.model.base import (
    AbsolutePath,
    Gib,
    ImageReference,
    Line,
    Model,
    ModelHandle,
    Name,
    ShortText,
    Version,
)
from sparkiac.model.settings import Settings


class Measurement(Model):
    """A figure that a source printed. It is that source's measurement, never ours."""

    what: ShortText
    """What was measured."""
    value: ShortText
    """The figure with its unit."""
    source: ShortText
    """Where it stands."""


class Correction(Model):
    """A difference between this recipe and the command that its source printed."""

    what: ShortText
    """What differs."""
    why: ShortText
    """Why it must."""


class Recipe(Settings):
    """A model served by an engine in an image with known-good options, with its sources."""

    title: ShortText
    """One line."""
    engine: Literal["vllm"]
    """The serving engine."""
    sources: tuple[ShortText, ...]
    """Documents that the recipe is taken from."""
    model: ModelHandle | None = None
    """Model handle; a template leaves it open."""
    needs_models: tuple[ModelHandle, ...] = ()
    """Other repositories that must be in the model store: tokenizer, drafter."""
    weights_gib: Gib | None = None
    """Size of the weights once loaded."""
    variants: dict[Name, Settings] = {}
    """Named edits of the whole recipe."""
    measured: tuple[Measurement, ...] = ()
    """Figures of the sources."""
    corrections: tuple[Correction, ...] = ()
    """Differences from the sources."""
    not_verified: tuple[ShortText, ...] = ()
    """What only a real machine can show."""


class ImageTag(Model):
    """What is known about one tag."""

    vllm: Version | None = None
    """vLLM release inside."""
    cuda: Version | None = None
    """CUDA release inside."""
    notes: tuple[ShortText, ...] = ()
    """What to know before using it."""
    moving: bool = False
    """Whether the tag is moved to newer builds."""


class ImageFamily(Model):
    """Images that are built and started alike."""

    repository: ImageReference
    """Repository without tag."""
    title: ShortText
    """What it is."""
    entrypoint: tuple[Line, ...]
    """The image's own entrypoint; the lock's record of the pinned image takes precedence."""
    home: AbsolutePath
    """Home directory of the user inside."""
    tags: dict[str, ImageTag]
    """Known tags."""
    sources: tuple[ShortText, ...]
    """Where these facts come from."""
