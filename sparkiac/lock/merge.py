"""Old lock and wants → what to ask; old lock, wants and answers → new lock. Pins move only where they are told to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from sparkiac.model.lock import Lock, LockedFile, LockedImage, LockedModel

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from sparkiac.lock.wanted import Kind, Want

Entry: TypeAlias = LockedImage | LockedModel | LockedFile
Reason: TypeAlias = Literal["missing", "example", "incomplete", "revision", "commit", "digest", "upgrade"]
Key: TypeAlias = "tuple[Kind, str]"
SECTIONS: Final[dict[Kind, str]] = {"image": "images", "model": "models", "file": "files"}
"""Kind → its key in the lock."""
_TAG: Final = re.compile(r"[:@][^/]*$")
_ORDER: Final = tuple(Lock.model_fields)
_ALWAYS: Final = ("version", "images")


class Ask(NamedTuple):
    """One request to send upstream."""

    want: Want
    reason: Reason
    pin: str | None = None
    """Digest, commit or sha256 of an incomplete pin, which must stay the same."""
    commit: str | None = None
    """Commit that the lock pins for the same repository; all its files must have it."""

    @property
    def source(self) -> str:
        """Reference of an image at the requested registry; a pin replaces the tag."""
        return f"{_TAG.sub('', self.want.source)}@{self.pin}" if self.pin else self.want.source


class Gone(NamedTuple):
    """A pin that is no longer used."""

    kind: Kind
    name: str


def asks(lock: Lock | None, wants: Iterable[Want], *, upgraded: Collection[Key] = ()) -> tuple[Ask, ...]:
    """Return the requests to send. The pins of an example lock are invented, so none of them is kept.

    All of one repository has one commit: what lies in the repository of something that is upgraded moves with it.
    """
    each = tuple(wants)
    together = {want.repository for want in each if want.key in upgraded} - {None}
    moving = {want.key for want in each if want.key in upgraded or want.repository in together}
    pins = {want.key: pin for want in each if (pin := _pin(lock, want)) and want.key not in moving}
    commits = _commits(each, pins)
    asked = (ask for want in each for ask in _ask(lock, want, upgraded=moving, commits=commits))
    return tuple(ask._replace(commit=commits.get(ask.want.repository or "")) for ask in asked)


def gone(lock: Lock | None, wants: Iterable[Want]) -> tuple[Gone, ...]:
    """Return the pins that are no longer used."""
    kept = {want.key for want in wants}
    found = ((kind, name) for kind, section in SECTIONS.items() for name in (getattr(lock, section) if lock else ()))
    return tuple(Gone(*key) for key in sorted(found) if key not in kept)


def merged(data: Mapping[str, Any] | None, wants: Iterable[Want], answers: Mapping[Key, Entry]) -> dict[str, Any]:
    """Return the data of the new lock: responses override former pins, unused pins are dropped.

    What is kept stays as it was written. `data` is that of the former lock; an example keeps nothing.
    """
    former = {} if data is None or data.get("example") else data
    new: dict[str, Any] = {"version": 1, **{section: {} for section in SECTIONS.values()}}
    for want in sorted(wants, key=lambda each: each.key):
        section, answer = SECTIONS[want.kind], answers.get(want.key)
        old = former.get(section, {}).get(want.name, {})
        new[section][want.name] = old if answer is None else entry(_finished(answer, want, old))
    new["builds"] = dict(sorted(former.get("builds", {}).items()))
    return {key: new[key] for key in _ORDER if new.get(key) or key in _ALWAYS}


def entry(answer: Entry) -> dict[str, Any]:
    """Return an entry as plain data, without fields that have their default value."""
    plain: dict[str, Any] = _tupled(answer.model_dump(mode="json", exclude_defaults=True))
    return {key: dict(sorted(value.items())) if isinstance(value, dict) else value for key, value in plain.items()}


def _finished(answer: Entry, want: Want, old: Mapping[str, Any]) -> Entry:
    """Keep what was found of a signature while the digest is the one that it was found of; name what was asked for."""
    if isinstance(answer, LockedModel | LockedFile):
        return answer.model_copy(update={"revision": want.revision})
    if isinstance(answer, LockedImage) and answer.signature is None and old.get("digest") == answer.digest:
        return answer.model_copy(update={"signature": old.get("signature")})
    return answer


def _pin(lock: Lock | None, want: Want) -> Entry | None:
    """Return the entry of the lock, or None if there is none or the lock is an example."""
    return getattr(lock, SECTIONS[want.kind]).get(want.name) if lock and not lock.example else None


def _commits(wants: Iterable[Want], pins: Mapping[Key, Entry]) -> dict[str, str]:
    """Give the commits that the lock has of repositories at their revisions; what it has of a model comes first."""
    found: dict[str, str] = {}
    for want in sorted(wants, key=lambda each: each.kind != "model"):
        pin = pins.get(want.key)
        at = pin.commit if isinstance(pin, LockedModel | LockedFile) and pin.revision == want.revision else None
        if want.repository and at:
            found.setdefault(want.repository, at)
    return found


def _ask(lock: Lock | None, want: Want, *, upgraded: Collection[Key], commits: Mapping[str, str]) -> Iterator[Ask]:
    locked = _pin(lock, want)
    if locked is None:
        there = lock is not None and want.name in getattr(lock, SECTIONS[want.kind])
        yield Ask(want, "example" if there else "missing")
    elif want.key in upgraded:
        yield Ask(want, "upgrade")
    elif isinstance(locked, LockedImage):
        yield from _ask_image(locked, want)
    elif isinstance(locked, LockedModel):
        yield from _ask_model(locked, want)
    elif want.repository is not None:
        yield from _ask_file(locked, want, commits.get(want.repository))


def _ask_image(locked: LockedImage, want: Want) -> Iterator[Ask]:
    _, _, inline = want.name.partition("@")
    if inline and inline != locked.digest:
        yield Ask(want, "digest")
    elif None in (locked.manifest, locked.config, locked.size_bytes):
        yield Ask(want, "incomplete", locked.digest)


def _ask_model(locked: LockedModel, want: Want) -> Iterator[Ask]:
    if want.revision != locked.revision:
        yield Ask(want, "revision")
    elif not _has(locked, want):
        yield Ask(want, "incomplete", locked.commit)


def _has(locked: LockedModel, want: Want) -> bool:
    """Return whether the lock lists every file that the model needs."""
    single = all(file in locked.files for file in want.files if file is not None)
    return bool(locked.files) and single and not set(want.forms) & set(locked.left_out)


def _ask_file(locked: LockedFile, want: Want, commit: str | None) -> Iterator[Ask]:
    if want.revision != locked.revision:
        yield Ask(want, "revision")
    elif locked.commit is None:
        yield Ask(want, "incomplete", locked.sha256)
    elif locked.commit != commit:
        yield Ask(want, "commit")


def _tupled(value: Any) -> Any:  # noqa: ANN401  plain JSON data
    """Convert lists to tuples, as in a document."""
    if isinstance(value, dict):
        return {key: _tupled(inner) for key, inner in value.items()}
    return tuple(map(_tupled, value)) if isinstance(value, list | tuple) else value
