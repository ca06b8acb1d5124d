"""Images that are built from source. Every input has a full commit or an exact version."""

from typing import Annotated, Final

from pydantic import Field, ValidationInfo, field_validator

from sparkiac.model.base import (
    Commit,
    FileName,
    GitAddress,
    GitRef,
    ImageReference,
    InsidePath,
    Line,
    Model,
    OptionName,
    Pin,
    ShortText,
    VariableName,
)

IMAGE: Final = "{image}"
"""Placeholder in `program` for the name that the program must give to its image."""


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
