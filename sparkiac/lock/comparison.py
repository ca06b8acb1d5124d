"""Compare a lock with another one, and with the servers.

The servers are asked by name, and at the pinned version if the name now refers to another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from sparkiac.lock.merge import SECTIONS, Key, LockEntry, PinRequest, entry, locked_entry
from sparkiac.lock.required import Kind, RequiredPin
from sparkiac.model.lock import Lock, LockedFile, LockedImage, LockedModel

State: TypeAlias = Literal["new", "moved", "completed", "gone"]
_PIN: Final[dict[str, str]] = {"image": "digest", "model": "commit", "file": "sha256"}
"""Key by which hosts fetch; a pin has changed if its value differs."""
_PLAIN: Final = {
    "image": ("digest", "created", "size_bytes", "manifest", "config", "entrypoint", "command", "signature"),
    "model": ("commit", "revision", "licence", "gated", "private", "remote_code", "left_out", "tensor_bytes"),
    "file": ("sha256", "commit", "revision", "needs_token", "size_bytes"),
}
_BY_NAME: Final = {"image": "versions", "model": "config"}
"""Key of a mapping whose values are compared one by one."""
_MISSING: Final = frozenset({"LCK001", "LCK012"})
"""Codes of responses that the server has no such tag, digest, branch or commit."""
_NOT_COMPARED: Final = frozenset({"revision", "signature"})
"""Values of an entry that no server sends."""


class LockChange(NamedTuple):
    """One changed value; None for a missing value."""

    what: str
    before: Any
    after: Any


class FileChanges(NamedTuple):
    """Changes to the files of a model."""

    added: int
    changed: int
    removed: int
    fetched_bytes: int
    """Bytes that hosts have to download."""


class PinChange(NamedTuple):
    """One pin that is added, changed or removed."""

    kind: Kind
    name: str
    state: State
    changes: tuple[LockChange, ...]
    """In the order of the output."""
    files: FileChanges | None = None
    """Set for a model."""


def changes(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> tuple[PinChange, ...]:
    """Return the changed pins between the data of two locks, sorted by kind and name, without builds.

    The pins of an example lock are invented, so every pin is new compared with it.
    """
    return tuple(_pin_changes({} if old is None or old.get("example") else old, new))


def _pin_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[PinChange]:
    for kind, section in SECTIONS.items():
        before, after = old.get(section, {}), new.get(section, {})
        for name in sorted(before.keys() | after.keys()):
            if before.get(name) != after.get(name):
                yield _pin_change(kind, name, before.get(name), after.get(name))


def _pin_change(kind: Kind, name: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> PinChange:
    if new is None:
        return PinChange(kind, name, "gone", ())
    same = old is not None and old.get(_PIN[kind]) == new[_PIN[kind]]
    state: State = "new" if old is None else "completed" if same else "moved"
    changes = tuple(_value_changes(kind, old or {}, new))
    files = _files((old or {}).get("files", {}), new.get("files", {})) if kind == "model" else None
    return PinChange(kind, name, state, changes, files)


def _value_changes(kind: Kind, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[LockChange]:
    pairs: list[tuple[str, Any, Any]] = [(key, old.get(key), new.get(key)) for key in _PLAIN[kind]]
    named = _BY_NAME.get(kind, "")
    before, after = old.get(named, {}), new.get(named, {})
    pairs[1:1] = [(f"{named}.{key}", before.get(key), after.get(key)) for key in sorted(before.keys() | after.keys())]
    pairs += [("size_bytes", _total(old), _total(new))] if kind == "model" else []
    yield from (LockChange(*pair) for pair in pairs if pair[1] != pair[2])


def _total(model: Mapping[str, Any]) -> int | None:
    files = model.get("files", {})
    return sum(file["size_bytes"] for file in files.values()) if files else None


def _files(old: Mapping[str, Any], new: Mapping[str, Any]) -> FileChanges:
    added = new.keys() - old.keys()
    changed = {path for path in new.keys() & old.keys() if new[path]["sha256"] != old[path]["sha256"]}
    known = {file["sha256"] for file in old.values()}
    fetched = {file["sha256"]: file["size_bytes"] for path, file in new.items() if file["sha256"] not in known}
    return FileChanges(len(added), len(changed), len(old.keys() - new.keys()), sum(fetched.values()))


class PinFailure(NamedTuple):
    """A request that was refused or got no response."""

    code: str
    message: str
    hint: str


class RequestResults(NamedTuple):
    """Results of requests."""

    found: Mapping[Key, LockEntry]
    failed: Mapping[Key, PinFailure]


class PinDifference(NamedTuple):
    """One value of the lock that the server does not confirm."""

    pin: RequiredPin
    path: tuple[str, ...]
    """Path in the entry of the lock."""
    locked: Any
    """None if the lock has no such value."""
    upstream: Any
    """None if the server has no such value."""
    kept: bool | None = None
    """For a name that refers to another version: whether the server still has the pinned one, if that is known."""


class PinComparison(NamedTuple):
    """Results for all pins that the lock contains."""

    confirmed: tuple[RequiredPin, ...]
    differences: tuple[PinDifference, ...]
    failed: tuple[tuple[RequiredPin, PinFailure], ...]
    """Pins that were not compared, and why."""


def by_name(lock: Lock | None, pins: Iterable[RequiredPin]) -> tuple[PinRequest, ...]:
    """Return a request for each locked pin, by its tag, branch or URL."""
    found = ((pin, locked_entry(lock, pin)) for pin in pins)
    return tuple(
        PinRequest(pin if isinstance(locked, LockedImage) else pin._replace(revision=locked.revision), "upgrade")
        for pin, locked in found
        if locked
    )


def by_pin(lock: Lock | None, pins: Iterable[RequiredPin], named: RequestResults) -> tuple[PinRequest, ...]:
    """Return requests for the pinned versions of names that now refer to another version or no longer exist."""
    found = ((pin, locked_entry(lock, pin)) for pin in pins)
    return tuple(_pinned(pin, locked) for pin, locked in found if locked and _needs_second(pin, locked, named))


def compared(
    lock: Lock | None, pins: Iterable[RequiredPin], named: RequestResults, pinned: RequestResults
) -> PinComparison:
    """Compare each locked pin with the responses."""
    confirmed, differences, failed = [], [], []
    for pin in pins:
        locked = locked_entry(lock, pin)
        failure = _failure(pin, named, pinned)
        if locked is None:
            continue
        if failure is not None:
            failed.append((pin, failure))
            continue
        found = [*_differences(pin, locked, named, pinned)]
        differences += found
        confirmed += [] if found else [pin]
    return PinComparison(tuple(confirmed), tuple(differences), tuple(failed))


def _pinned(pin: RequiredPin, locked: LockEntry) -> PinRequest:
    """Return the request at the pinned digest or commit."""
    if isinstance(locked, LockedImage):
        return PinRequest(pin, "upgrade", locked.digest)
    if isinstance(locked, LockedModel):
        return PinRequest(pin, "upgrade", locked.commit)
    return PinRequest(pin, "upgrade", commit=locked.commit)


def _identity(found: LockEntry) -> tuple[str, str]:
    """Return key and value that name the version; a file outside the model hub has only its hash."""
    if isinstance(found, LockedImage):
        return "digest", found.digest
    if found.commit is not None:
        return "commit", found.commit
    assert isinstance(found, LockedFile)  # noqa: S101  a model has a commit
    return "sha256", found.sha256


def _needs_second(pin: RequiredPin, locked: LockEntry, named: RequestResults) -> bool:
    key, value = _identity(locked)
    found, failure = named.found.get(pin.key), named.failed.get(pin.key)
    other = found is not None and getattr(found, key) != value
    return key != "sha256" and pin.own is None and (other or (failure is not None and failure.code in _MISSING))


def _failure(pin: RequiredPin, named: RequestResults, pinned: RequestResults) -> PinFailure | None:
    """Return why a pin cannot be compared. A missing version is a difference."""
    for failure in (pinned.failed.get(pin.key), named.failed.get(pin.key)):
        if failure is not None and failure.code not in _MISSING:
            return failure
    return None


def _differences(
    pin: RequiredPin, locked: LockEntry, named: RequestResults, pinned: RequestResults
) -> Iterator[PinDifference]:
    key, value = _identity(locked)
    found, exact = named.found.get(pin.key), pinned.found.get(pin.key)
    now = getattr(found, key) if found is not None else None
    if now != value:
        requested = exact is not None or pin.key in pinned.failed
        yield PinDifference(pin, (key,), value, now, kept=exact is not None if requested else None)
        found = exact
    if found is not None:
        yield from _value_differences(pin, locked, found)


def _value_differences(pin: RequiredPin, locked: LockEntry, found: LockEntry) -> Iterator[PinDifference]:
    """Return the values that differ at one version. Of an incomplete entry only its own values are compared."""
    old, new = dict(_leaves(entry(locked), ())), dict(_leaves(entry(found), ()))
    complete = locked.manifest is not None if isinstance(locked, LockedImage) else _has_files(locked)
    for path in sorted(old.keys() | new.keys() if complete else old.keys()):
        if path[0] not in _NOT_COMPARED and old.get(path) != new.get(path):
            yield PinDifference(pin, path, old.get(path), new.get(path))


def _has_files(locked: LockedModel | LockedFile) -> bool:
    return bool(locked.files) if isinstance(locked, LockedModel) else locked.size_bytes is not None


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401  plain data
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    else:
        yield path, value
