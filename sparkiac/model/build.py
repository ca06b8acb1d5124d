"""Images that are built from source: what goes into them, each part at a full commit or an exact version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field, field_validator

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

if TYPE_CHECKING:
    from pydantic import ValidationInfo

IMAGE: Final = "{image}"
"""Stands in a program's words for the name that it must give to its image."""


class CherryPick(Model):
    """A commit that is put on top of the build's own."""

    commit: Commit
    """The commit, in full."""
    subject: ShortText | None = None
    """First line of its message, by which it is looked for when a rebase gave it another name."""


class PullRequest(Model):
    """A pull request as it was when somebody read it."""

    number: Annotated[int, Field(ge=1)]
    """Its number."""
    commit: Commit
    """Head of the pull request, in full. A head that has moved since is refused."""
    repository: GitAddress | None = None
    """Repository that it was made to, if not the build's own."""
    base: Commit | None = None
    """Commit that its branch starts from; where it leaves the build's own history unless said otherwise."""


class Mod(Model):
    """A change to the finished image: a directory with a script that runs inside it, or one such script."""

    path: InsidePath
    """Directory or file in the repository."""
    run: FileName | None = None
    """Script of the directory to run; run.sh unless said otherwise."""
    commit: Commit | None = None
    """Commit of the other repository, in full."""
    repository: GitAddress | None = None
    """Repository that has it, if not the build's own checkout."""

    @field_validator("repository")
    @classmethod
    def _at_a_commit(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("commit", "") is None:
            message = "a repository moves: write the full commit of the mod beside it"
            raise ValueError(message)
        return value


class Build(Model):
    """How one image is built from source; the inventory's keys are laid over those of the catalog."""

    why: ShortText | None = None
    """Why no released image does."""
    base: ImageReference | None = None
    """Image to start from, pinned by the lock like any other."""
    repository: GitAddress | None = None
    """Git repository of the source."""
    commit: Commit | None = None
    """Commit to build, in full: 40 hex digits."""
    fetch: GitRef | None = None
    """Branch or tag that holds the commit, for servers that do not hand out single commits."""
    cherry_picks: tuple[CherryPick, ...] | None = None
    """Commits to put on top, in this order."""
    pull_requests: tuple[PullRequest, ...] | None = None
    """Pull requests whose commits are put on top; with `program` they are only seen not to have moved."""
    allow_subject_match: bool | None = None
    """Whether a commit with the same subject may stand in for one that is gone."""
    pip: tuple[Pin, ...] | None = None
    """Python packages to install last, each at one version."""
    mods: tuple[Mod, ...] | None = None
    """Changes to the finished image, in this order."""
    arguments: dict[VariableName, Line | int | None] | None = None
    """Arguments of `docker build`. Never a secret: they stay in the image's history."""
    environment: dict[VariableName, Line | int | None] | None = None
    """Variables of the build, which stay set in the image. Never a secret."""
    install: Annotated[tuple[Line, ...], Field(min_length=1)] | None = None
    """Words of the command that installs the checkout; it runs in the checkout's directory, in the image."""
    program: Annotated[tuple[Line, ...], Field(min_length=1)] | None = None
    """The repository's own build program and its words; `{image}` is the name that it must give to its image."""
    check: Line | None = None
    """Python statement that must run in the finished image, such as `from cutlass.cute.arch import fmin`."""

    @field_validator("fetch")
    @classmethod
    def _never_enough(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("commit", "") is None:
            message = "a branch or tag moves: write the full commit beside it"
            raise ValueError(message)
        return value

    @field_validator("program")
    @classmethod
    def _names_its_image(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and not any(IMAGE in word for word in value[1:]):
            message = f"one word must hold {IMAGE}, the name that the program gives to its image"
            raise ValueError(message)
        return value


class CatalogBuild(Build):
    """A build of the catalog, with its sources."""

    title: ShortText
    """What it is."""
    asks: dict[OptionName, ShortText] = {}
    """Keys that the inventory must give, each with what is known of them."""
    not_verified: tuple[ShortText, ...] = ()
    """What only a real machine can show."""
    notes: tuple[ShortText, ...] = ()
    """What to know before using it."""
    sources: tuple[ShortText, ...]
    """Where these facts come from."""
