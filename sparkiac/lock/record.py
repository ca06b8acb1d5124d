"""The record of a finished build, which builds/<name>/build writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sparkiac.hints import nearest
from sparkiac.model.base import Commit, Digest, Line, Model, Name
from sparkiac.source import wording

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sparkiac.plan import PlannedBuild


class Refused(Exception):  # noqa: N818  the word that the exit code and the guides use
    """The record cannot be added to the lock; the text says why."""


class Picked(Model):
    """One commit that was applied on top."""

    asked: Line
    """Entry in the build: a commit, or # and the number of a pull request."""
    picked: Commit
    """The commit that was applied."""


class Record(Model):
    """The result of a build."""

    name: Name
    """Name of the build."""
    id: Digest
    """ID of the image."""
    spec: Digest
    """Hash of what it was built from."""
    commit: Commit
    """Commit that was built, with everything on top of it."""
    tree: Commit
    """Git's hash of its files."""
    picked: tuple[Picked, ...]
    """What was put on top of the build's own commit."""
    entrypoint: tuple[Line, ...] | None
    """Entrypoint of the image."""
    command: tuple[Line, ...] | None
    """Default command of the image."""

    def entry(self) -> dict[str, Any]:
        """Return the entry for the lock."""
        wanted = {"id": self.id, "spec": self.spec, "entrypoint": self.entrypoint, "command": self.command}
        return {key: value for key, value in wanted.items() if value is not None}


def read(raw: bytes, builds: Iterable[PlannedBuild]) -> Record:
    """Read a record of one of these builds as they are now.

    Raises `Refused` if it is none.
    """
    try:
        data = _tupled(json.loads(raw))
    except (ValueError, RecursionError) as error:
        message = f"not a record of a build: invalid JSON: {error}"
        raise Refused(message) from None
    try:
        record = Record.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = wording.dotted(first["loc"])
        message = f"not a record of a build: {f'{where}: ' if where else ''}{wording.reason([first])}"
        raise Refused(message) from None
    known = {build.name: build for build in builds}
    if record.name not in known:
        message = f"it belongs to the build {record.name!r}, which this inventory does not use"
        raise Refused("; ".join(filter(None, (message, nearest(record.name, known)))))
    if record.spec != known[record.name].digest:
        message = f"the build {record.name} has changed since; build it again or revert the change"
        raise Refused(message)
    return record


def _tupled(value: Any) -> Any:  # noqa: ANN401  plain JSON data
    """Convert lists to tuples, as in a document."""
    if isinstance(value, dict):
        return {key: _tupled(inner) for key, inner in value.items()}
    return tuple(map(_tupled, value)) if isinstance(value, list) else value
