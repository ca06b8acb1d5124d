"""Compute the pinned software of hosts from the former lock and what hosts run now.

A pin changes only on request. Hosts that are alike share a set; the names of sets follow the names of their hosts.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from sparkiac.model.lock import HostSet, LockedHosts

_DATES: Final = ("since", "review_by")


class HostChange(NamedTuple):
    """A pinned host whose pins are added, changed or removed, with name, former and new value of each."""

    host: str
    state: str
    changes: tuple[tuple[str, str, str], ...]


def merged(
    former: LockedHosts, found: Mapping[str, HostSet], hosts: Iterable[str], *, upgraded: Collection[str]
) -> LockedHosts:
    """Return the pins of `hosts`: those that the former lock has, unless they are upgraded, and otherwise as found."""
    named = sorted(hosts)
    stays = (host for host in named if host not in upgraded or host not in found)
    kept = {host: pins for host in stays if (pins := former.of(host)) is not None}
    alike = {_content(pins): pins for pins in reversed(kept.values())}
    new = (host for host in named if host not in kept and host in found)
    chosen = kept | {host: alike.setdefault(_content(found[host]), found[host]) for host in new}
    return _shared({host: chosen[host] for host in named if host in chosen})


def pinned(values: Mapping[str, Any], since: str, review_by: str) -> HostSet:
    """Return the set of a host that runs this software now. Raises ValueError for values that no host has."""
    known = {key: values[key] for key in HostSet.model_fields if key in values}
    return HostSet.model_validate({**known, "since": since, "review_by": review_by})


def _content(pins: HostSet) -> str:
    return pins.model_dump_json(exclude={*_DATES})


def _shared(chosen: Mapping[str, HostSet]) -> LockedHosts:
    sets: dict[str, HostSet] = {}
    members = {}
    names = _names()
    for host, pins in chosen.items():
        name = next((name for name, each in sets.items() if each == pins), None) or next(names)
        sets[name], members[host] = pins, name
    return LockedHosts(sets=sets, members=members)


def _names() -> Iterator[str]:
    """Yield a, b, c, and after z, aa."""
    for length in itertools.count(1):
        yield from map("".join, itertools.product(string.ascii_lowercase, repeat=length))


def plain(hosts: LockedHosts) -> dict[str, Any]:
    """Return the section of the lock."""
    sets = {name: _plain(pins) for name, pins in hosts.sets.items()}
    return {"sets": sets, "members": dict(hosts.members)} if sets else {}


def _plain(pins: HostSet) -> dict[str, Any]:
    found = pins.model_dump(exclude_defaults=True)
    return {key: dict(sorted(value.items())) if isinstance(value, dict) else value for key, value in found.items()}


def changes(old: LockedHosts, new: LockedHosts) -> Iterator[HostChange]:
    """Yield the hosts whose pins differ, sorted by name."""
    nothing = HostSet(since="2000-01-01", review_by="2000-01-01")
    for host in sorted({*old.members, *new.members}):
        before, after = old.of(host), new.of(host)
        if before != after:
            state = "new" if before is None else "gone" if after is None else "moved"
            yield HostChange(host, state, tuple((before or nothing).differing(after or nothing)))
