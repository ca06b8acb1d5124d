"""One start of a server as a foreign file tells it: every importer gives these, and one place makes drafts of them."""

from __future__ import annotations

from typing import NamedTuple


class Note(NamedTuple):
    """One line of the loss report."""

    kind: str
    """`corrected` (meant, and written differently now), `unused` (no part of the launch: a remark, a setting without
    effect) or `lost` (not understood, or nothing in an inventory means it)."""
    line: int
    """Line of the foreign file, from 1."""
    what: str
    """The foreign file's own words; secrets starred."""
    why: str
    """What became of it, or why nothing did."""


class Variable(NamedTuple):
    """One environment variable of the container; no value where the caller's own is passed on."""

    name: str
    value: str | None
    line: int


class Volume(NamedTuple):
    """One mount: a path of the host, or the name of a volume, inside the container."""

    source: str
    target: str
    read_only: bool
    line: int


class Port(NamedTuple):
    """One published port."""

    address: str | None
    host: int | None
    container: int
    line: int


class Launch(NamedTuple):
    """One container with its server. Nothing is interpreted yet but the foreign format itself."""

    name: str | None
    """Name of the container or of the recipe."""
    line: int
    """Line at which it begins."""
    image: str | None
    entrypoint: tuple[str, ...] | None
    """Entrypoint that takes the place of the image's own."""
    argv: tuple[str, ...]
    """Words after the image. With a shell among them, they are as the shell would split them."""
    prelude: tuple[tuple[str, ...], ...] = ()
    """Commands that a shell runs before the server."""
    env: tuple[Variable, ...] = ()
    volumes: tuple[Volume, ...] = ()
    ports: tuple[Port, ...] = ()
    devices: tuple[str, ...] = ()
    gpus: bool = False
    host_network: bool = False
    ipc: str | None = None
    shm_size_bytes: int | None = None
    ulimits: tuple[tuple[str, int], ...] = ()
    """Name and soft limit: memlock -1."""
    restart: str | None = None
    model: str | None = None
    """Model where the format names it beside the command."""
    revision: str | None = None
    """Commit, branch or tag of the model, where the format names one."""
    nodes: int = 1
    """Machines that it spans."""
    description: str | None = None
    timeouts: tuple[tuple[str, int], ...] = ()
    """ready_s, stop_s, restart_delay_s as far as the format (a unit) tells."""
    requires: tuple[str, ...] = ()
    """Files that exist only through a patch or a mod of the foreign tool."""
    notes: tuple[Note, ...] = ()
    """What the importer corrected or lost on the way here."""
    lines: tuple[int, ...] = ()
    """Line of each word of `argv`; the launch's own where there are none."""
    read_only: bool = False
    """Whether its root file system is."""
    once: bool = False
    """Whether it ends by itself: a test, a download."""
    inside: str | None = None
    """Name of the container that it is started in, if another command makes that one."""
