"""Measured speeds of links, in a small JSON file beside the inventory: the best and the latest of each tool."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field

from sparkiac.model.base import Model

SLOWER: Final = 0.9
"""Share of the best speed below which a later one is reported; two runs over one cable differ by a few percent."""

Gbit = Annotated[float, Field(gt=0, le=100_000)]


class MeasuredSpeed(NamedTuple):
    """A speed that was measured now."""

    source: str
    target: str
    interface: str
    """Interface of the source."""
    tool: str
    gbit: float


class LinkSpeed(Model):
    """What a tool measured between two hosts."""

    source: str
    """Host that sent."""
    target: str
    """Host that received."""
    interface: str
    """Interface of the source."""
    tool: str
    """Program that measured."""
    best_gbit: Gbit
    """Highest speed so far, in Gbit/s."""
    latest_gbit: Gbit
    """Speed of the last run, in Gbit/s."""

    @property
    def slower(self) -> bool:
        """Return whether the last run was slower than the best one by more than runs usually differ."""
        return self.latest_gbit < SLOWER * self.best_gbit


class LinkRecord(Model):
    """The file `<inventory>.links.json`."""

    version: Literal[1] = 1
    """Format of the file."""
    links: tuple[LinkSpeed, ...] = ()
    """Speeds, sorted by hosts, interface and tool."""


def text(record: LinkRecord) -> str:
    """Return the text of a record; the same speeds give the same bytes."""
    return json.dumps(record.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def updated(record: LinkRecord, measured: Iterable[MeasuredSpeed]) -> LinkRecord:
    """Return the record with new speeds; those of links that were not measured now stay."""
    known = {_key(each): each for each in record.links}
    for speed in measured:
        gbit = round(speed.gbit, 2)
        former = known.get(speed[:4])
        best = max(gbit, former.best_gbit) if former else gbit
        known[speed[:4]] = LinkSpeed(
            source=speed.source,
            target=speed.target,
            interface=speed.interface,
            tool=speed.tool,
            best_gbit=best,
            latest_gbit=gbit,
        )
    return LinkRecord(links=tuple(known[key] for key in sorted(known)))


def _key(link: LinkSpeed) -> tuple[str, str, str, str]:
    return link.source, link.target, link.interface, link.tool
