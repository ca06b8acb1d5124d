"""Hosts that change together: who collects their votes, and at which address."""

from __future__ import annotations

from ipaddress import ip_interface
from typing import TYPE_CHECKING, Final

from sparkiac.plan.contract import ChangeGroup
from sparkiac.resolve.fabric import links_of, networks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.model.resolved import ResolvedHost

_PORT: Final = 7348
"""Port of the coordinator, open only while the hosts change; 7347 is that of copied weights."""


def change_groups(
    together: Iterable[tuple[str, ...]], hosts: Mapping[str, ResolvedHost]
) -> dict[str, ChangeGroup | None]:
    """Return for each host the group that it changes with; None if it changes alone."""
    found: dict[str, ChangeGroup | None] = {}
    for members in together:
        found |= dict.fromkeys(members, _group(members, hosts) if len(members) > 1 else None)
    return found


def _group(members: tuple[str, ...], hosts: Mapping[str, ResolvedHost]) -> ChangeGroup:
    coordinator = members[0]
    address = _shared_address(coordinator, members, hosts) or hosts[coordinator].address
    return ChangeGroup(members, coordinator, address, _PORT)


def _shared_address(coordinator: str, members: tuple[str, ...], hosts: Mapping[str, ResolvedHost]) -> str | None:
    """Return the coordinator's address on the first of its links whose network all members share."""
    shared = set.intersection(*(networks_of(links_of(hosts[name])) for name in members))
    own = (ip_interface(link.address) for link in links_of(hosts[coordinator]))
    return next((str(link.ip) for link in own if link.network in shared), None)
