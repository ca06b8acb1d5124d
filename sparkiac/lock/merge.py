"""Determine the requests for a lock, and merge the responses and the records of builds into it.

A pin changes only on request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

from pydantic import ValidationError

from sparkiac.lock.required import Kind, RequiredPin
from sparkiac.model.base import Commit, Digest, Line, Model, Name
from sparkiac.model.lock import Lock, LockedFile, LockedImage, LockedModel, LockedSource, RecipeSource
from sparkiac.plan import PlannedBuild
from sparkiac.report.hints import nearest
from sparkiac.source import wording
from sparkiac.source.document import Document

LockEntry: TypeAlias = LockedImage | LockedModel | LockedFile
Reason: TypeAlias = Literal["missing", "example", "incomplete", "revision", "commit", "digest", "upgrade"]
Key: TypeAlias = "tuple[Kind, str]"
SECTIONS: Final[dict[Kind, str]] = {"image": "images", "model": "models", "file": "files"}
"""Kind → its key in the lock."""
_TAG: Final = re.compile(r"[:@][^/]*$")
ORDER: Final = tuple(Lock.model_fields)
"""Keys of a lock in the order in which they are written."""
_ALWAYS: Final = ("version", "images")


class PinRequest(NamedTuple):
    """One request to send upstream."""

    pin: RequiredPin
    reason: Reason
    pinned: str | None = None
    """Digest, commit or sha256 in the lock, if its entry is incomplete: the request must not change it."""
    commit: str | None = None
    """Commit that the lock pins for the same repository; all its files must have it."""

    @property
    def source(self) -> str:
        """Reference of an image at the requested registry; a pinned digest replaces the tag."""
        return f"{_TAG.sub('', self.pin.source)}@{self.pinned}" if self.pinned else self.pin.source


class UnusedPin(NamedTuple):
    """An entry of the lock that is no longer used."""

    kind: Kind
    name: str


def requests(
    lock: Lock | None, pins: Iterable[RequiredPin], *, upgraded: Collection[Key] = ()
) -> tuple[PinRequest, ...]:
    """Return the requests to send. The entries of an example lock are invented, so none of them is kept.

    All pins of one repository have one commit: an upgrade of one of them upgrades the others too.
    """
    required = tuple(pins)
    repositories = {pin.repository for pin in required if pin.key in upgraded} - {None}
    moving = {pin.key for pin in required if pin.key in upgraded or pin.repository in repositories}
    kept = {pin.key: entry for pin in required if (entry := locked_entry(lock, pin)) and pin.key not in moving}
    commits = _commits(required, kept)
    found = (each for pin in required for each in _request(lock, pin, upgraded=moving, commits=commits))
    return tuple(each._replace(commit=commits.get(each.pin.repository or "")) for each in found)


def unused(lock: Lock | None, pins: Iterable[RequiredPin]) -> tuple[UnusedPin, ...]:
    """Return the entries that are no longer used."""
    required = {pin.key for pin in pins}
    found = ((kind, name) for kind, section in SECTIONS.items() for name in (getattr(lock, section) if lock else ()))
    return tuple(UnusedPin(*key) for key in sorted(found) if key not in required)


def merged(
    data: Mapping[str, Any] | None, pins: Iterable[RequiredPin], responses: Mapping[Key, LockEntry]
) -> dict[str, Any]:
    """Return the data of the new lock: responses override former entries, unused entries are dropped.

    Other entries stay exactly as they are in `data`, the former lock. No entry of an example lock is kept.
    """
    kept = {} if data is None or data.get("example") else data
    new: dict[str, Any] = {"version": 1, **{section: {} for section in SECTIONS.values()}}
    for pin in sorted(pins, key=lambda each: each.key):
        section, response = SECTIONS[pin.kind], responses.get(pin.key)
        old = kept.get(section, {}).get(pin.name, {})
        new[section][pin.name] = old if response is None else entry(_finished(response, pin, old))
    for section in ("builds", "sources"):  # other commands write these
        new[section] = dict(sorted(kept.get(section, {}).items()))
    new["hosts"] = kept.get("hosts", {})  # as `lock --hosts` wrote it
    return {key: new[key] for key in ORDER if new.get(key) or key in _ALWAYS}


def former(document: Document | None) -> dict[str, Any]:
    """Return the data of a lock, or of an empty one if there is none."""
    return {"version": 1, "images": {}} if document is None else cast("dict[str, Any]", document.data)


def entry(response: LockEntry) -> dict[str, Any]:
    """Return an entry as plain data, without fields that have their default value."""
    plain: dict[str, Any] = response.model_dump(exclude_defaults=True)
    return {key: dict(sorted(value.items())) if isinstance(value, dict) else value for key, value in plain.items()}


def _finished(response: LockEntry, pin: RequiredPin, old: Mapping[str, Any]) -> LockEntry:
    """Add the requested revision, or the former signature result if the digest is still the same."""
    if isinstance(response, LockedModel | LockedFile):
        return response.model_copy(update={"revision": pin.revision})
    if isinstance(response, LockedImage) and response.signature is None and old.get("digest") == response.digest:
        return response.model_copy(update={"signature": old.get("signature")})
    return response


def locked_entry(lock: Lock | None, pin: RequiredPin) -> LockEntry | None:
    """Return the entry of the lock, or None if there is none or the lock is an example."""
    return getattr(lock, SECTIONS[pin.kind]).get(pin.name) if lock and not lock.example else None


def _commits(pins: Iterable[RequiredPin], kept: Mapping[Key, LockEntry]) -> dict[str, str]:
    """Return the commit of each repository that the lock pins at the required revision; models come first."""
    found: dict[str, str] = {}
    for pin in sorted(pins, key=lambda each: each.kind != "model"):
        locked = kept.get(pin.key)
        if not isinstance(locked, LockedModel | LockedFile) or locked.revision != pin.revision:
            continue
        if pin.repository and locked.commit:
            found.setdefault(pin.repository, locked.commit)
    return found


def _request(
    lock: Lock | None, pin: RequiredPin, *, upgraded: Collection[Key], commits: Mapping[str, str]
) -> Iterator[PinRequest]:
    locked = locked_entry(lock, pin)
    if locked is None:
        invented = lock is not None and pin.name in getattr(lock, SECTIONS[pin.kind])
        yield PinRequest(pin, "example" if invented else "missing")
    elif pin.key in upgraded:
        yield PinRequest(pin, "upgrade")
    elif isinstance(locked, LockedImage):
        yield from _request_image(locked, pin)
    elif isinstance(locked, LockedModel):
        yield from _request_model(locked, pin)
    elif pin.repository is not None:
        yield from _request_file(locked, pin, commits.get(pin.repository))


def _request_image(locked: LockedImage, pin: RequiredPin) -> Iterator[PinRequest]:
    _, _, inline = pin.name.partition("@")
    if inline and inline != locked.digest:
        yield PinRequest(pin, "digest")
    elif None in (locked.manifest, locked.config, locked.size_bytes):
        yield PinRequest(pin, "incomplete", locked.digest)


def _request_model(locked: LockedModel, pin: RequiredPin) -> Iterator[PinRequest]:
    single = all(file in locked.files for file in pin.files if file is not None)
    complete = bool(locked.files) and single and not set(pin.forms) & set(locked.left_out)
    if pin.revision != locked.revision:
        yield PinRequest(pin, "revision")
    elif not complete:
        yield PinRequest(pin, "incomplete", locked.commit)


def _request_file(locked: LockedFile, pin: RequiredPin, commit: str | None) -> Iterator[PinRequest]:
    if pin.revision != locked.revision:
        yield PinRequest(pin, "revision")
    elif locked.commit is None:
        yield PinRequest(pin, "incomplete", locked.sha256)
    elif locked.commit != commit:
        yield PinRequest(pin, "commit")


def locked_source(
    source: RecipeSource,
    pin: str,
    files: Mapping[str, bytes],
    refused: Iterable[str] = (),
    *,
    created: str | None = None,
) -> LockedSource:
    """Return the entry of a source whose files were read at `pin`: a commit, or the digest of an artifact."""
    hashes = {path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)}
    kept = source.model_dump(exclude_unset=True)
    commit, digest = (pin, None) if source.git else (None, pin)
    return LockedSource(**kept, commit=commit, digest=digest, created=created, files=hashes, refused=tuple(refused))


def with_record(document: Document | None, record: BuildRecord) -> dict[str, Any]:
    """Return the data of the lock with this record."""
    data = former(document)
    builds = {**data.get("builds", {}), record.name: record.entry()}
    return {**data, "builds": dict(sorted(builds.items()))}


def with_sources(document: Document | None, sources: Mapping[str, LockedSource]) -> dict[str, Any]:
    """Return the data of the lock with exactly these sources."""
    entries = {name: sources[name].model_dump(exclude_defaults=True) for name in sorted(sources)}
    new = {**former(document), "sources": entries}
    return {key: new[key] for key in ORDER if key in new and (key != "sources" or entries)}


class RecordError(Exception):
    """The record cannot be added to the lock; the text gives the reason."""


class AppliedCommit(Model):
    """One commit that was applied on top."""

    asked: Line
    """Entry in the build: a commit, or # and the number of a pull request."""
    picked: Commit
    """The commit that was applied."""


class BuildRecord(Model):
    """The result of a build, which builds/<name>/build writes."""

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


def read_record(raw: bytes, builds: Iterable[PlannedBuild]) -> BuildRecord:
    """Read a record, which must belong to one of these builds in its present form. Raises `RecordError`."""
    try:
        record = BuildRecord.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = wording.dotted(first["loc"])
        reason = first["msg"] if first["type"] == "json_invalid" else wording.reason([first])
        raise RecordError(f"not a record of a build: {f'{path}: ' if path else ''}{reason}") from None
    known = {build.name: build for build in builds}
    if record.name not in known:
        message = f"it belongs to the build {record.name!r}, which this inventory does not use"
        raise RecordError("; ".join(filter(None, (message, nearest(record.name, known)))))
    if record.spec != known[record.name].digest:
        raise RecordError(f"the build {record.name} has changed since; build it again or revert the change")
    return record
