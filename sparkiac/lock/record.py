"""The record of a finished build, which builds/<name>/build writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from sparkiac.model.base import Commit, Digest, Line, Model, Name
from sparkiac.plan import PlannedBuild
from sparkiac.report.hints import nearest
from sparkiac.source import wording


class RecordError(Exception):
    """The record cannot be added to the lock; the text gives the reason."""


class AppliedCommit(Model):
    """One commit that was applied on top."""

    asked: Line
    """Entry in the build: a commit, or # and the number of a pull request."""
    picked: Commit
    """The commit that was applied."""


class BuildRecord(Model):
    """The result of a build."""

    name: Name
    """Name of the build."""
    id: Digest
    """ID of the image."""
    spec: Digest
    """Hash of what it was built from."""
    commit: Commit | None
    """Commit that was built, with everything on top of it; None if only packages were added to the base."""
    tree: Commit | None
    """Git's hash of its files."""
    picked: tuple[AppliedCommit, ...]
    """Commits that were applied on top of the build's own commit."""
    entrypoint: tuple[Line, ...] | None
    """Entrypoint of the image."""
    command: tuple[Line, ...] | None
    """Default command of the image."""

    def entry(self) -> dict[str, Any]:
        """Return the entry for the lock."""
        values = {"id": self.id, "spec": self.spec, "entrypoint": self.entrypoint, "command": self.command}
        return {key: value for key, value in values.items() if value is not None}


def read(raw: bytes, builds: Iterable[PlannedBuild]) -> BuildRecord:
    """Read a record, which must belong to one of these builds in its present form. Raises `RecordError`."""
    try:
        record = BuildRecord.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = wording.dotted(first["loc"])
        reason = first["msg"] if first["type"] == "json_invalid" else wording.reason([first])
        message = f"not a record of a build: {f'{path}: ' if path else ''}{reason}"
        raise RecordError(message) from None
    known = {build.name: build for build in builds}
    if record.name not in known:
        message = f"it belongs to the build {record.name!r}, which this inventory does not use"
        raise RecordError("; ".join(filter(None, (message, nearest(record.name, known)))))
    if record.spec != known[record.name].digest:
        message = f"the build {record.name} has changed since; build it again or revert the change"
        raise RecordError(message)
    return record
