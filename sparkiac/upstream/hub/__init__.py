"""What the model hub says of a repository: its commit, what a host has to download, and what the memory proof needs.

No weights are read: a file in LFS has its sha256 in the hub's listing, and of a safetensors file the header is enough.
A small file lies in Git, whose hash is no sha256; it is read at that commit, compared with Git's hash, and hashed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkiac.upstream.hub.client import Hub
from sparkiac.upstream.hub.reading import locked
from sparkiac.upstream.hub.several import Wanted, several

if TYPE_CHECKING:
    from sparkiac.model.lock import LoadedFormat, LockedModel

__all__ = ["Hub", "Wanted", "resolve", "several"]


def resolve(
    handle: str, *, hub: Hub, revision: str = "main", file: str | None = None, form: LoadedFormat = "shards"
) -> LockedModel:
    """Ask what a repository holds at this revision; with `file`, only that and the other parts of a split GGUF.

    Of weights in two forms only `form` is listed.

    Raises `Refusal`: LCK010 if there is none or it is private, LCK011 if its terms were not accepted, LCK012 if there
    is no such revision, LCK013 if the hub does not answer, LCK014 if something is not what the hub says of it, LCK015
    if it has no such file.
    """
    files, forms = ({file}, ()) if file else ((), (form,))
    return locked(handle, revision=revision, files=files, forms=forms, hub=hub)
