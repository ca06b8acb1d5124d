"""Programs and configuration files on a host, and their dependencies on deployments and services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.plan.container import Checks, ContainerNetwork, ModelServer
from sparkiac.plan.parts import INVENTORY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.resolved import ResolvedTimeouts
    from sparkiac.plan.parts import Export, Secret
    from sparkiac.report import Path


class Dependency(NamedTuple):
    """A deployment or service of the fleet, or a URL in the inventory, that a service sends requests to."""

    path: Path
    """Path in the inventory that names it."""
    name: str
    """Name of the deployment or service, or the URL."""
    target: Path | None
    """Path of its definition in the inventory; None for a URL."""
    host: str | None
    """Host that it runs on."""
    listen: tuple[str, int] | None
    """Address and port that it listens on, on that host."""
    url: str | None
    """Base URL; None if it cannot be reached."""
    obstacle: str | None = None
    """Why it cannot be reached: it listens on `loopback`, or on a `fabric` that the other host does not have."""
    api: str = "openai"
    """API that is used: `openai` (the URL ends in /v1) or `ollama`."""
    secret: str | None = None
    """Name of the secret with its API key."""
    model: str | None = None
    """Served name of the model that is used."""
    network: bool = False
    """Whether both run in containers on one host, which then share a Docker network."""
    gateway: bool = False
    """Whether the URL is that of the host itself, as containers see it."""

    @property
    def hostname(self) -> str | None:
        """Return the host name in the URL."""
        return self.url.split("/")[2].partition(":")[0].lower() if self.url else None

    @property
    def unit(self) -> str | None:
        """Return the name of the systemd unit that runs it, without suffix."""
        return None if self.target is None else f"sparkiac-{self.name}"


class Program(NamedTuple):
    """A program that runs on the host without a container, with its own systemd unit."""

    name: str
    description: str
    path: Path
    """Path in the inventory."""
    argv: tuple[str, ...]
    user: str
    state: str
    """Directory on the host with its state."""
    env: Mapping[str, str]
    config: Mapping[str, Any]
    """Content of its configuration file, without secrets."""
    exports: tuple[Export, ...]
    """Environment variables that are read from secrets when it starts."""
    secrets: tuple[Secret, ...]
    """Secrets and their files; the first one is its own API key."""
    listen: tuple[str, int]
    health_path: str
    server: ModelServer
    """Model names that it serves."""
    timeouts: ResolvedTimeouts
    dependencies: tuple[Dependency, ...]
    memory_bytes: int | None = None
    """Memory that it uses, from the inventory."""
    memory_source: str = INVENTORY

    @property
    def unit(self) -> str:
        """Return the name of its systemd unit, without suffix."""
        return f"sparkiac-{self.name}"

    @property
    def network(self) -> ContainerNetwork:
        """Return its network settings, in the same form as for a container."""
        return ContainerNetwork(listen=self.listen)

    @property
    def checks(self) -> Checks:
        """Return its health checks, in the same form as for a container."""
        return Checks(path=self.health_path)


class ConfigFile(NamedTuple):
    """A configuration file for a program that sparkiac does not start."""

    name: str
    description: str
    path: Path
    """Path in the inventory."""
    file: str
    """Path on the host, without the leading slash."""
    content: Mapping[str, Any]
    dependencies: tuple[Dependency, ...]
