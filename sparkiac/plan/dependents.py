"""Programs and configuration files on a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sparkiac.model.resolved import ResolvedTimeouts
from sparkiac.plan.container import Checks, ContainerNetwork, ModelServer
from sparkiac.plan.parts import INVENTORY, Dependency, Export, Secret
from sparkiac.report import Path


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
