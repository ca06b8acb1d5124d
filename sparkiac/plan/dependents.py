"""What asks others of the fleet, and how it reaches them: links, and the askers that are no containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.plan.container import Checks, ContainerNetwork, ModelServer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.plan.parts import Export, Secret, UnitTimeouts
    from sparkiac.report import Path


class Dependency(NamedTuple):
    """One thing that is asked: a deployment or service of the fleet, or an address that the user gave."""

    path: Path
    """Where the inventory names it."""
    name: str
    """Its name; the address itself where the user gave that."""
    target: Path | None
    """Where the inventory describes it; None for an address."""
    host: str | None
    """Host that it runs on."""
    listen: tuple[str, int] | None
    """Address and port that it has on that host."""
    url: str | None
    """Base URL; None where it cannot be reached."""
    obstacle: str | None = None
    """Why not: `loopback`, or `fabric` where only one of the two hosts has one."""
    api: str = "openai"
    """What it is asked for: `openai` (a URL that ends in /v1) or `ollama`."""
    secret: str | None = None
    """Its key."""
    model: str | None = None
    """The model that is wanted of it."""
    network: bool = False
    """Whether both are containers of one host, which then share a network."""
    gateway: bool = False
    """Whether the URL names the host itself, as a container sees it."""

    @property
    def hostname(self) -> str | None:
        """The host in its URL."""
        return self.url.split("/")[2].partition(":")[0].lower() if self.url else None

    @property
    def unit(self) -> str | None:
        """The unit that runs it, without suffix."""
        return None if self.target is None else f"sparkiac-{self.name}"


class Program(NamedTuple):
    """A program of the host itself, under a unit of its own."""

    name: str
    description: str
    path: Path
    """Where it stands in the inventory."""
    argv: tuple[str, ...]
    user: str
    state: str
    """Directory on the host that it keeps its state in."""
    env: Mapping[str, str]
    config: Mapping[str, Any]
    """Its configuration file, which holds no secret."""
    exports: tuple[Export, ...]
    """Variables that are read from secrets as it starts."""
    secrets: tuple[Secret, ...]
    """Secrets and their files, the key of its own API first."""
    listen: tuple[str, int]
    health_path: str
    server: ModelServer
    """The names that it serves."""
    timeouts: UnitTimeouts
    dependencies: tuple[Dependency, ...]
    memory_bytes: int | None = None
    """What it takes of the host's memory, as the inventory states."""

    @property
    def unit(self) -> str:
        """Name of its systemd unit, without suffix."""
        return f"sparkiac-{self.name}"

    @property
    def network(self) -> ContainerNetwork:
        """How it is reached, in the words that containers use."""
        return ContainerNetwork(listen=self.listen)

    @property
    def checks(self) -> Checks:
        """How it is asked, in the words that containers use."""
        return Checks(path=self.health_path)


class ConfigFile(NamedTuple):
    """A configuration file for a program that is not run by a unit of ours."""

    name: str
    description: str
    path: Path
    """Where it stands in the inventory."""
    file: str
    """Its path on the host, without the first slash."""
    content: Mapping[str, Any]
    dependencies: tuple[Dependency, ...]
