"""Images: families that are built and started alike, and what is known of each tag."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sparkiac.model.base import (
    AbsolutePath,
    ImageReference,
    Line,
    Model,
    Name,
    OptionName,
    ShortText,
    VariableName,
    Version,
    Word,
)

Style = Literal["vllm-serve", "pass-through", "environment", "unknown"]


class Additions(Model):
    """What an image takes beside what its release of vLLM does: patches, plugins, a fork."""

    options: tuple[OptionName, ...] = ()
    """Options, in snake_case."""
    variables: tuple[VariableName, ...] = ()
    """Environment variables."""
    parsers: tuple[Word, ...] = ()
    """Tool call parsers and reasoning parsers."""


class ImageTag(Model):
    """What is known about one tag."""

    vllm: Version | None = None
    """vLLM release inside; of a moving tag, the one that a source saw, which says nothing about today's."""
    vllm_at_least: Version | None = None
    """Oldest vLLM release that it can hold, where the source says no more."""
    cuda: Version | None = None
    """CUDA release inside."""
    torch: Version | None = None
    """PyTorch release inside."""
    transformers: Version | None = None
    """Oldest Transformers release inside."""
    min_driver: Version | None = None
    """Oldest driver that it runs on by itself."""
    forward_compat: Version | None = None
    """Older driver series that it runs on through CUDA's forward compatibility."""
    lacks: tuple[
        Literal["ray", "audio", "fastsafetensors", "dflash", "mxfp4", "mixed-precision", "gemma4-nvfp4"], ...
    ] = ()
    """What it does not have, or what fails in it."""
    failed_on: dict[Name, ShortText] = {}
    """Platform → what a source saw fail there."""
    adds: Additions | None = None
    """What it takes beside what its release of vLLM does."""
    moving: bool = False
    """Whether the tag is moved to newer builds."""
    notes: tuple[ShortText, ...] = ()
    """What to know before using it."""
    sources: tuple[ShortText, ...] = ()
    """Where these facts come from."""


class TagSeries(Model):
    """What is known about all tags that begin alike."""

    vllm: Version
    """vLLM release that they are built from."""
    sources: tuple[ShortText, ...]
    """Who says so."""


class ImageFamily(Model):
    """Images that are built and started alike."""

    title: ShortText
    """What it is."""
    kind: Literal["registry", "local-build", "repository"] = "registry"
    """An image of a registry, one that is built locally, or a source repository that builds images."""
    provenance: Literal["vendor", "upstream", "community"]
    """Who stands behind it."""
    repository: ImageReference | None = None
    """Repository without tag; nothing where the source's reference is incomplete, and the user must name it."""
    incomplete: ShortText | None = None
    """What is missing from the source's reference."""
    style: Style
    """How it takes its command: `vllm serve` built in, passed through, or from its environment."""
    entrypoint: tuple[Line, ...] | None = None
    """The image's own entrypoint, if it is known; the lock's record of the pinned image takes precedence."""
    home: AbsolutePath | None = None
    """Home directory of the user inside."""
    tags: dict[str, ImageTag] = Field(default_factory=dict)
    """Known tags."""
    series: dict[str, TagSeries] = Field(default_factory=dict)
    """Start of a tag, up to a dot or hyphen → what is known about all such tags: 26.05 for 26.05.post1-py3."""
    notes: tuple[ShortText, ...] = ()
    """What to know before using it."""
    sources: tuple[ShortText, ...]
    """Where these facts come from."""
