"""Hosts that change together: who collects their votes, and at which address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.plan.addresses import address_towards
from sparkiac.plan.contract import ChangeGroup

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
    address = address_towards(hosts[coordinator], [hosts[name] for name in members])
    return ChangeGroup(members, coordinator, address, _PORT)
