"""Compare the fetched recipes of an inventory's sources with the lock, and the lock with itself."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from sparkiac.catalog import interfaces
from sparkiac.catalog.library import IMAGES, INTERFACES, RecipeText
from sparkiac.model import forms
from sparkiac.model.inventory import Inventory
from sparkiac.model.lock import Lock, LockedSource, RecipeSource
from sparkiac.report import Finding
from sparkiac.resolve.references import error, mapping
from sparkiac.source import Source
from sparkiac.source.document import Document
from sparkiac.source.gate import read

_MISSING: Final = ("RCP004", "source-not-fetched")
_CHANGED: Final = ("RCP005", "source-changed")
_CONTRADICTS: Final = ("LCK035", "lock-contradicts-itself")
EXAMPLE: Final = ("LCK033", "example-lock")
_KEY: Final = "sources"


def names(document: Document) -> tuple[str, ...]:
    """Return the names of an inventory's sources, also of an invalid one."""
    return tuple(mapping(document.data, _KEY))


def check(
    inventory: Source[Inventory], lock: Lock | None, fetched: Mapping[str, tuple[RecipeText, ...]]
) -> Iterator[Finding]:
    """Return a finding for each source that the lock does not pin, and for each file that it does not contain."""
    document = inventory.document
    for name, source in inventory.valid.sources.items():
        locked = lock.sources.get(name) if lock else None
        hint = f"run `sparkiac recipes fetch {document.name}`"
        if locked is None or not is_of(locked, source):
            state = "is not fetched" if locked is None else "is fetched from another place"
            revision = f" at {source.revision}" if source.git else ""
            keys = f", signed by {', '.join(source.signed_by)}" if source.signed_by else ""
            wanted = f"{source.address}{revision}, folder {source.path}, format {source.format}{keys}"
            message = f"source {name} {state}: the inventory names {wanted}"
            yield error(_MISSING, message, document.at_key((_KEY, name)), hint)
            continue
        for message in differences(locked, fetched.get(name, ())):
            loc = document.at_key((_KEY, name))
            yield error(_CHANGED, f"source {name}: {message}", loc, f"{hint}: it restores the files")


def check_lock(lock: Source[Lock], inventory: str) -> Iterator[Finding]:
    """Return a finding for an example lock, or for each pin of another lock that contradicts itself."""
    if lock.valid.example:
        message = "this lock is an example with invented digests, commits and hashes"
        hint = f"run `sparkiac lock {inventory}`: it replaces all of them"
        yield error(EXAMPLE, message, lock.document.at_key(("example",)), hint)
        return
    for found in lock.valid.contradictions():
        *entry, field = found.path
        message = f"{field} of {'.'.join(map(str, entry))} is {found.pinned}, but {found.where} names {found.named}"
        hint = f"find out who changed it; then remove the entry and run `sparkiac lock {inventory}`"
        yield error(_CONTRADICTS, message, lock.document.at_value(found.path), hint)


def is_of(locked: LockedSource, source: RecipeSource) -> bool:
    """Return whether an entry of the lock was made for this source, at the commit or digest that it names."""
    _, _, digest = (source.oci or "").partition("@")
    named = digest or (source.revision if re.fullmatch(forms.COMMIT, source.revision) else "")
    same = all(getattr(locked, key) == getattr(source, key) for key in RecipeSource.model_fields)
    return same and named in {"", locked.pin}


def older(locked: LockedSource, pin: str, created: str | None) -> str:
    """Return that a state is older than that of the lock; empty if it is not. It lacks what was mended since."""
    if locked.created is None or (created or "") >= locked.created:
        return ""
    now = f"{pin} of {created or 'an unknown time'}, which is older than {locked.pin} of {locked.created} in the lock"
    return f"{now}; to go back to it, name {'it as revision' if locked.git else 'the digest'} in the inventory"


def differences(locked: LockedSource, files: tuple[RecipeText, ...]) -> Iterator[str]:
    """Return what differs between the files of a source and their hashes in the lock."""
    present = {file.below: file for file in files}
    for path, file in present.items():
        if path not in locked.files:
            yield f"{file.path} is not in the lock"
        elif hashlib.sha256(file.raw).hexdigest() != locked.files[path]:
            yield f"{file.path} differs from its hash in the lock"
    for path in sorted(locked.files.keys() - present.keys()):
        yield f"{path} is in the lock, but the file does not exist"


def powers(path: str, raw: bytes) -> set[str]:
    """Return what a file does that a reader must not miss: code of others, files of the host, images it decides on."""
    if path.startswith(f"{INTERFACES}/"):
        with suppress(ValueError, RecursionError):  # a former file may have been changed by hand
            image = interfaces.captured(raw)
            return {f"decides the options of {image.reference} ({', '.join(image.digests)})"}
        return set()
    data = read(raw, name="")[0].data
    if path.startswith(f"{IMAGES}/"):
        repository = mapping({"": data}, "").get("repository")
        return {f"decides how images of {repository} start"} if repository else set()
    container = mapping(data, "container")
    remote = ["set.trust_remote_code"] if mapping(data, "set").get("trust_remote_code") else []
    prelude = (" ".join(map(str, words)) for words in container.get("prelude") or ())
    mounts = ((path, mapping({"": each}, "").get("source")) for path, each in mapping(container, "mounts").items())
    files = (f"container.files: {path}" for path in mapping(container, "files"))
    own = (f"container.mounts: {path} from {source}" for path, source in mounts if source != "model_store")
    return {f"allows {each}" for each in (*remote, *(f"container.prelude: {words}" for words in prelude), *files, *own)}
