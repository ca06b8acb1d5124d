"""How a node of a group finds the others, as `group` reads it."""

from __future__ import annotations

from typing import NamedTuple


class GroupNode(NamedTuple):
    """A node of a group: etc/sparkiac/NAME/group.json, read by `group`, which connects the workers to the leader."""

    host: str
    """Name of the host, as are those below."""
    leader: str
    address: str
    """Address at which the leader listens, and its port."""
    port: int
    workers: tuple[str, ...]
    version: str
    """Hash of what all nodes of the group run; a group starts only if it is the same on all of them."""
