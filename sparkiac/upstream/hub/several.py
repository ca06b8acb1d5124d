"""Many repositories at once: each is asked for once, and all that fails is reported together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac.upstream.hub import codes
from sparkiac.upstream.hub.client import AT_ONCE
from sparkiac.upstream.hub.reading import locked
from sparkiac.upstream.refusal import Refusal
from sparkiac.upstream.together import together

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from sparkiac.model.lock import LoadedFormat, LockedModel
    from sparkiac.upstream.hub.client import Hub


class Wanted(NamedTuple):
    """A repository that something in the inventory runs."""

    handle: str
    """Organisation and name."""
    revision: str = "main"
    """Branch, tag or commit."""
    file: str | None = None
    """The one file that its engine loads, such as a GGUF of many; nothing where it needs the whole."""
    form: LoadedFormat = "shards"
    """Of the whole: in which form the weights are loaded, if there are several."""


def several(
    wanted: Iterable[Wanted],
    *,
    hub: Hub,
    progress: Callable[[str, int, int], object],
) -> dict[str, LockedModel | Refusal]:
    """Resolve repositories, and give for each handle what it is or why not, in the order asked.

    One that is wanted for several files is asked for once, for all of them. A lock holds one commit of a repository,
    so two revisions of one are a refusal, LCK012. `progress` hears, in the caller's thread, of each handle that is
    through, and how many of how many are.
    """
    grouped: dict[str, list[Wanted]] = {}
    for each in wanted:
        grouped.setdefault(each.handle, []).append(each)
    found: dict[str, LockedModel | Refusal] = {}
    for handle, outcome in together(grouped, lambda handle: _one(handle, grouped[handle], hub), at_once=AT_ONCE):
        found[handle] = outcome
        progress(handle, len(found), len(grouped))
    return {handle: found[handle] for handle in grouped}


def _one(handle: str, group: Collection[Wanted], hub: Hub) -> LockedModel | Refusal:
    revisions = list(dict.fromkeys(each.revision for each in group))
    if len(revisions) > 1:
        message = f"{handle} is wanted at {' and at '.join(revisions)}, and a lock holds one commit of a repository"
        return Refusal(codes.REVISION, message, "name one revision of it")
    try:
        files = {each.file for each in group if each.file is not None}
        forms = {each.form for each in group if each.file is None}
        return locked(handle, revision=revisions[0], files=files, forms=forms, hub=hub)
    except Refusal as refusal:
        return refusal
