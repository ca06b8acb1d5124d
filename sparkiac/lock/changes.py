"""Compare two locks: which pins are added, removed or changed, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from sparkiac.lock.merge import SECTIONS
from sparkiac.lock.required import Kind

State: TypeAlias = Literal["new", "moved", "completed", "gone"]
_PIN: Final[dict[str, str]] = {"image": "digest", "model": "commit", "file": "sha256"}
"""Key by which hosts fetch; a pin has changed if its value differs."""
_PLAIN: Final = {
    "image": ("digest", "created", "size_bytes", "manifest", "config", "entrypoint", "command", "signature"),
    "model": ("commit", "revision", "licence", "gated", "remote_code", "left_out", "tensor_bytes"),
    "file": ("sha256", "commit", "revision", "size_bytes"),
}
_BY_NAME: Final = {"image": "versions", "model": "config"}
"""Key of a mapping whose values are compared one by one."""


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
