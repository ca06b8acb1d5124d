"""The plan's values. Sizes are bytes, times are seconds, commands are tuples of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.report import Path

GIB: Final = 1 << 30
"""Bytes in a GiB."""


class Image(NamedTuple):
    """An image to run. Without a digest it must not be deployed."""

    reference: str
    """As the inventory or recipe writes it."""
    repository: str
    """Where hosts pull from: the reference's repository, or its mirror."""
    digest: str | None
    entrypoint: tuple[str, ...] | None
    """The image's own entrypoint, if it is known."""
    example: bool
    """Whether the digest is only an example."""

    @property
    def pull(self) -> str:
        """The pinned reference; UNLOCKED stands where a digest is missing."""
        return f"{self.repository}@{self.digest or 'UNLOCKED'}"


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


class Health(NamedTuple):
    """How the container is asked whether it is well."""

    command: tuple[str, ...]
    interval_s: int
    timeout_s: int


class Container(NamedTuple):
    """One supervised container on one host: a deployment, a node of a group, or a service."""

    kind: str
    """`deployment` or `service`."""
    name: str
    description: str
    path: Path
    """Where it stands in the inventory."""
    image: Image
    entrypoint: tuple[str, ...] | None
    """What replaces the image's entrypoint; None leaves it."""
    command: tuple[str, ...]
    env: Mapping[str, str]
    mounts: tuple[Mount, ...]
    published: Published | None
    listen: tuple[str, int] | None
    """Address and port on the host, however the container comes by them."""
    host_network: bool
    ipc: str
    shm_size_bytes: int | None
    tmp_size_bytes: int
    ulimits: Mapping[str, int]
    read_only: bool
    gpu: bool
    devices: tuple[str, ...]
    secrets: tuple[Secret, ...]
    health: Health | None
    health_path: str | None
    ready_s: int
    stop_s: int
    restart_delay_s: int
    cache_key: str | None
    """Directory name of the compile cache: changes with image, command and environment."""
    memory_bytes: int | None
    """Memory that the engine takes at start, if its utilization and the host's total are known."""
    store: str | None
    models: tuple[str, ...]
    """Repositories that the model store must hold."""
    served: tuple[str, ...]
    node: tuple[int, int] | None
    """Rank and size of the distributed group; None for a single host."""

    @property
    def unit(self) -> str:
        """Name of its systemd unit, without suffix."""
        return f"sparkiac-{self.name}"

    @property
    def argv(self) -> tuple[str, ...]:
        """The words that run in the container, as far as the image's entrypoint is known."""
        return (*(self.entrypoint or self.image.entrypoint or ()), *self.command)


class HostPlan(NamedTuple):
    """One machine and all that it runs."""

    name: str
    address: str
    user: str | None
    ssh_port: int | None
    platform: str
    architecture: str
    driver: str | None
    memory_bytes: int | None
    sysctls: Mapping[str, str]
    containers: tuple[Container, ...]
    preflight: Mapping[str, Any]
    """What the preflight script expects, as it is written to its file."""


class Plan(NamedTuple):
    """The whole fleet."""

    name: str
    hosts: tuple[HostPlan, ...]
