"""Many images at once: each is asked for once, and all that fails is reported together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac.upstream.refusal import Refusal
from sparkiac.upstream.registry.images import resolve
from sparkiac.upstream.registry.transport import CONNECTIONS
from sparkiac.upstream.together import together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sparkiac.model.lock import LockedImage
    from sparkiac.upstream.registry.client import Client


class Wanted(NamedTuple):
    """An image to resolve."""

    reference: str
    """As the inventory or recipe writes it."""
    source: str | None = None
    """The reference at a mirror to ask instead."""
    architecture: str = "arm64"
    """As OCI names it."""


def several(
    wanted: Iterable[Wanted],
    *,
    client: Client,
    progress: Callable[[str, int, int], object],
) -> dict[Wanted, LockedImage | Refusal]:
    """Resolve images, eight at a time, and give for each what it is or why not, in the order asked.

    `progress` hears, in the caller's thread, of each reference that is through, and how many of how many are.
    """
    each = list(dict.fromkeys(wanted))
    found: dict[Wanted, LockedImage | Refusal] = {}
    for one, outcome in together(each, lambda one: _one(one, client), at_once=CONNECTIONS):
        found[one] = outcome
        progress(one.reference, len(found), len(each))
    return {one: found[one] for one in each}


def _one(wanted: Wanted, client: Client) -> LockedImage | Refusal:
    try:
        return resolve(wanted.reference, client=client, source=wanted.source, architecture=wanted.architecture)
    except Refusal as refusal:
        return refusal
