"""Entries of the lock for repositories of recipes, and what differs between lock, inventory and fetched files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from sparkiac.lock.merge import ORDER, former
from sparkiac.model.sources import LockedSource, RecipeSource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.source.document import Document


def locked_source(source: RecipeSource, pin: str, files: Mapping[str, bytes]) -> LockedSource:
    """Return the entry of a source whose files were read at `pin`: a commit, or the digest of an artifact."""
    hashes = {path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)}
    kept = source.model_dump(exclude_unset=True)
    commit, digest = (pin, None) if source.git else (None, pin)
    return LockedSource(**kept, commit=commit, digest=digest, files=hashes)


def with_sources(document: Document | None, sources: Mapping[str, LockedSource]) -> dict[str, Any]:
    """Return the data of the lock with exactly these sources."""
    entries = {name: sources[name].model_dump(exclude_defaults=True) for name in sorted(sources)}
    new = {**former(document), "sources": entries}
    return {key: new[key] for key in ORDER if key in new and (key != "sources" or entries)}
