"""Images: what the catalog records about families and tags, and builds from source, whose inputs are all pinned."""

from typing import Annotated, Final, Literal

from pydantic import Field, ValidationInfo, field_validator

from sparkiac.model.base import (
    AbsolutePath,
    BuildVersion,
    Commit,
    CommitStart,
    FileName,
    GitAddress,
    GitRef,
    ImageReference,
    InsidePath,
    Line,
    Model,
    Name,
    OptionName,
    Pin,
    ShortText,
    VariableName,
    Version,
    Word,
)

Style = Literal["vllm-serve", "pass-through", "environment", "unknown"]
IMAGE: Final = "{image}"
"""Placeholder in `program` for the name that the program must give to its image."""


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


class CherryPick(Model):
    """A commit that is cherry-picked onto the commit of the build."""

    commit: Commit
    """Commit, in full: 40 hex digits."""
    subject: ShortText | None = None
    """First line of the commit message; used to find the commit after a rebase changed its hash."""


class PullRequest(Model):
    """A pull request at the commit that was reviewed."""

    number: Annotated[int, Field(ge=1)]
    """Number of the pull request."""
    commit: Commit
    """Head commit of the pull request, in full. The build stops if the head has moved since."""
    repository: GitAddress | None = None
    """Repository of the pull request; the repository of the build if omitted."""
    base: Commit | None = None
    """Commit that the branch starts from; by default the merge base with the commit of the build."""


class Mod(Model):
    """A change to the finished image: a script that runs inside the image, alone or in a directory with its files."""

    path: InsidePath
    """Path of the directory or script in the repository."""
    run: FileName | None = None
    """Script in the directory to run; default run.sh."""
    commit: Commit | None = None
    """Commit in `repository`, in full; required if `repository` is set."""
    repository: GitAddress | None = None
    """Repository that contains the mod; the checkout of the build if omitted."""

    @field_validator("repository")
    @classmethod
    def _mod_requires_commit(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("commit", "") is None:
            raise ValueError("a repository changes over time: add the full commit of the mod")
        return value


class Build(Model):
    """How one image is built from source; keys in the inventory override those of the catalog."""

    why: ShortText | None = None
    """Why no released image can be used."""
    base: ImageReference | None = None
    """Base image, pinned by the lock like any other image."""
    repository: GitAddress | None = None
    """Git repository of the source code."""
    commit: Commit | None = None
    """Commit to build, in full: 40 hex digits."""
    fetch: GitRef | None = None
    """Branch or tag that contains the commit, for Git servers that refuse to send single commits."""
    cherry_picks: tuple[CherryPick, ...] | None = None
    """Commits to cherry-pick, in this order."""
    pull_requests: tuple[PullRequest, ...] | None = None
    """Pull requests to cherry-pick; with `program`, the build only checks that their heads have not moved."""
    allow_subject_match: bool | None = None
    """Whether a commit with the same subject may replace a commit that no longer exists."""
    pip: tuple[Pin, ...] | None = None
    """Python packages to install last, each with an exact version."""
    mods: tuple[Mod, ...] | None = None
    """Changes to the finished image, in this order."""
    arguments: dict[VariableName, Line | int | None] | None = None
    """Arguments of `docker build`. Never a secret: they stay in the history of the image."""
    environment: dict[VariableName, Line | int | None] | None = None
    """Environment variables of the build; they stay set in the image. Never a secret."""
    install: Annotated[tuple[Line, ...], Field(min_length=1)] | None = None
    """Command that installs the source, as a list of words; it runs in the image, in the directory of the checkout."""
    program: Annotated[tuple[Line, ...], Field(min_length=1)] | None = None
    """Build program of the repository with its arguments; `{image}` becomes the name of the image to create."""
    check: Line | None = None
    """Python statement that must succeed in the finished image, such as `from cutlass.cute.arch import fmin`."""

    @field_validator("fetch")
    @classmethod
    def _requires_commit(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("commit", "") is None:
            raise ValueError("a branch or tag changes over time: add the full commit")
        return value

    @field_validator("program")
    @classmethod
    def _requires_image_placeholder(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and not any(IMAGE in word for word in value[1:]):
            raise ValueError(f"one argument must contain {IMAGE}, for the name of the built image")
        return value


class CatalogBuild(Build):
    """A build that ships with the catalog, with its sources."""

    title: ShortText
    """Title, in one line."""
    asks: dict[OptionName, ShortText] = {}
    """Keys that the inventory must set, each with the known facts about its value."""
    not_verified: tuple[ShortText, ...] = ()
    """Claims that only a test on real hardware can verify."""
    notes: tuple[ShortText, ...] = ()
    """Notes to read before use."""
    sources: tuple[ShortText, ...]
    """Sources of these facts."""
