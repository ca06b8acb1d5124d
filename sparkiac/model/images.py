"""What the catalog records about images: families with the same build and start, and facts about each tag."""

from typing import Literal

from pydantic import Field

from sparkiac.model.base import (
    AbsolutePath,
    BuildVersion,
    CommitStart,
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
    """Names that an image accepts in addition to its vLLM release, because of patches, plugins or a fork."""

    options: tuple[OptionName, ...] = ()
    """Options, in snake_case."""
    variables: tuple[VariableName, ...] = ()
    """Environment variables."""
    parsers: tuple[Word, ...] = ()
    """Tool call parsers and reasoning parsers."""


class ImageTag(Model):
    """Facts about one image tag."""

    vllm: BuildVersion | None = None
    """vLLM release in the image; for a moving tag, the release that a source saw, which may have changed since."""
    vllm_at_least: Version | None = None
    """Oldest vLLM release that it can contain, if the source does not name the exact one."""
    cuda: Version | None = None
    """CUDA release in the image."""
    torch: Version | None = None
    """PyTorch release in the image."""
    transformers: Version | None = None
    """Oldest Transformers release that the image can contain."""
    min_driver: Version | None = None
    """Oldest driver that runs the image without CUDA forward compatibility."""
    forward_compat: Version | None = None
    """Older driver series that runs the image with CUDA forward compatibility."""
    lacks: tuple[
        Literal["ray", "audio", "fastsafetensors", "dflash", "mxfp4", "mixed-precision", "gemma4-nvfp4"], ...
    ] = ()
    """Features that the image does not have, or that fail in it."""
    failed_on: dict[Name, ShortText] = {}
    """Failures that sources saw, by platform."""
    adds: Additions | None = None
    """Names that it accepts in addition to its vLLM release."""
    moving: bool = False
    """Whether the publisher moves the tag to newer builds."""
    notes: tuple[ShortText, ...] = ()
    """Notes to read before use."""
    sources: tuple[ShortText, ...] = ()
    """Sources of these facts."""


class TagSeries(Model):
    """Facts about all tags with a common prefix, about one digest or about one commit."""

    vllm: BuildVersion
    """vLLM release that they are built from."""
    sources: tuple[ShortText, ...]
    """Sources of this fact."""


class ImageFamily(Model):
    """Images of one repository or build, which start in the same way."""

    title: ShortText
    """Title, in one line."""
    kind: Literal["registry", "local-build", "repository"] = "registry"
    """`registry`: pulled from a registry; `local-build`: built locally; `repository`: built from a Git repository."""
    provenance: Literal["vendor", "upstream", "community"]
    """Who publishes it."""
    repository: ImageReference | None = None
    """Repository without tag; omitted if the source's reference is incomplete and the user must set the image."""
    incomplete: ShortText | None = None
    """What is missing in the reference that the source gives."""
    style: Style
    """How it starts: its entrypoint contains `vllm serve`, runs the given command, or reads environment variables."""
    entrypoint: tuple[Line, ...] | None = None
    """Entrypoint of the image, if it is known; the entrypoint in the lock takes precedence."""
    home: AbsolutePath | None = None
    """Home directory of the user in the image."""
    tags: dict[str, ImageTag] = Field(default_factory=dict)
    """Facts about known tags, by tag."""
    series: dict[str, TagSeries] = Field(default_factory=dict)
    """Facts about all tags with a prefix that ends before a dot or hyphen: 26.05 covers 26.05.post1-py3."""
    dated: bool = False
    """Whether a tag such as 20260705 or nightly-20260705 is a build of vLLM's main branch of that day."""
    commits: dict[CommitStart, TagSeries] = Field(default_factory=dict)
    """Facts about tags that name a commit of vLLM, such as nightly-07351e0883470724dd5a7e9730ed10e01fc99d08."""
    digests: dict[str, TagSeries] = Field(default_factory=dict)
    """Facts about images by digest, whatever their tag is."""
    notes: tuple[ShortText, ...] = ()
    """Notes to read before use."""
    sources: tuple[ShortText, ...]
    """Sources of these facts."""
