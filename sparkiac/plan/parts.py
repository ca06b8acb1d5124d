"""The small values that a plan is put together from. Sizes are bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.memory.values import GIB

if TYPE_CHECKING:
    from sparkiac.report import Path

FILES: Final = "/var/lib/sparkiac/files"
"""Directory on the host that keeps fetched files."""


def stated_bytes(size_gib: float | None) -> int | None:
    """Give the bytes of a size that is stated in GiB, if one is."""
    return None if size_gib is None else int(size_gib * GIB)


class Mount(NamedTuple):
    """A directory or file of the host inside the container."""

    source: str
    target: str
    read_only: bool


class Published(NamedTuple):
    """A port of the container on the host."""

    address: str
    port: int
    container_port: int


class Secret(NamedTuple):
    """A secret's name and the file that the container reads it from."""

    name: str
    target: str


class Export(NamedTuple):
    """A variable of the server whose value is put together from secrets inside the container.

    So it shows in no inspect output and in no argument list, and a server whose secret is missing does not start.
    """

    variable: str
    secrets: tuple[str | None, ...]
    """One secret for each part, joined by semicolons; None is a part that needs no key."""


class ExtraFile(NamedTuple):
    """A file that is fetched to the host, checked, and mounted."""

    url: str
    sha256: str | None
    target: str
    commit: str | None = None
    """Commit of the hub's repository that holds it."""

    @property
    def path(self) -> str:
        """Where it lies on the host: named after its content, so that a new one never meets an old name."""
        return f"{FILES}/{self.sha256 or 'UNLOCKED'}/{self.target.rpartition('/')[2]}"


class Caution(NamedTuple):
    """A catalog entry in use that its source took back."""

    path: Path
    """Where the inventory names it."""
    entry: str
    why: str
    instead: str | None


class Health(NamedTuple):
    """How the container is asked whether it is well."""

    command: tuple[str, ...]
    interval_s: int
    timeout_s: int
