"""What a host runs: containers with their components, programs, and configuration files of other programs.

Sizes are in bytes, times in seconds, commands are tuples of words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.model.resolved import ResolvedTimeouts
from sparkiac.plan.image import AddedNames
from sparkiac.plan.parts import INVENTORY, Dependency, Export, Secret
from sparkiac.report import Path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.host.preflight.expectations import FabricLookup, GroupPorts, LoadGuard
    from sparkiac.model.catalog import Measurement
    from sparkiac.model.facts import ModelFacts
    from sparkiac.model.inventory import Measured, Workload
    from sparkiac.model.resolved import ResolvedTimeouts
    from sparkiac.model.settings import LoadMemory
    from sparkiac.plan.confinement import Confinement
    from sparkiac.plan.image import Image
    from sparkiac.plan.parts import (
        BindMount,
        ConfigDocument,
        Dependency,
        Export,
        FetchedFile,
        Health,
        Published,
        Secret,
        SupersededEntry,
    )
    from sparkiac.report import Path


class ContainerCommand(NamedTuple):
    """Command and environment of a container."""

    words: tuple[str, ...]
    """Words after the image's entrypoint; empty if the container runs the command of the image."""
    env: Mapping[str, str]
    """Environment variables, sorted by name."""
    exports: tuple[Export, ...] = ()
    """Environment variables that are read from secrets in the container."""
    pre_start: tuple[tuple[str, ...], ...] = ()
    """Pre-start commands, which run before the server."""
    entrypoint: tuple[str, ...] | None = None
    """Entrypoint instead of the image's, which would start another program."""

    @property
    def needs_shell(self) -> bool:
        """Return whether a shell runs first; it replaces the image's entrypoint and must then run that entrypoint."""
        return bool(self.pre_start or self.exports)


class GroupLink(NamedTuple):
    """Where the workers of a group keep a connection to the leader while they run."""

    leader: str
    """Name of its host."""
    address: str
    port: int
    workers: tuple[str, ...]
    """Names of their hosts."""


class ContainerNetwork(NamedTuple):
    """Network settings of a container."""

    listen: tuple[str, int] | None = None
    """Address and port on the host; None if it accepts no requests."""
    clients: tuple[str, ...] | None = None
    """Networks and addresses that may connect there; None is everybody who reaches it."""
    egress: tuple[str, ...] | None = None
    """Networks and addresses that the container may connect to; None is everything."""
    published: Published | None = None
    """Port that Docker publishes; None with host networking."""
    host: bool = False
    """Whether it uses host networking."""
    shared: str | None = None
    """Docker network that it shares with other containers of the host; its name there is that of the container."""
    extra_hosts: tuple[str, ...] = ()
    """Entries for its /etc/hosts, as name:address."""
    fabric: FabricLookup | None = None
    """Facts about the links of the host that the unit reads at each start; None if it needs none."""
    opened: tuple[tuple[str, str], ...] = ()
    """Addresses and ports on which the container listens for the other nodes of its group; a port is a number, or a
    range such as 29510-29599."""
    group_ports: GroupPorts | None = None
    """The same ports with the addresses of those nodes; None if nothing can be filtered."""
    link: GroupLink | None = None
    """How the nodes of its group find out that all start the same version, and that one has ended."""


class Storage(NamedTuple):
    """Files and directories of the host in the container."""

    mounts: tuple[BindMount, ...] = ()
    files: tuple[FetchedFile, ...] = ()
    data: str | None = None
    """Directory on the host for data that must survive a restart."""
    cache_key: str | None = None
    """Directory name of the compile cache; it changes with image, command, environment and model commits."""


class RequiredWeights(NamedTuple):
    """Repositories that the model store of the host must contain for a container."""

    store: str | None = None
    """Directory of the model store on the host."""
    models: tuple[str, ...] = ()
    """Repositories in the layout of the Hugging Face cache."""
    directories: tuple[str, ...] = ()
    """Repositories as plain directories."""
    commits: Mapping[str, str] = {}
    """Repository → commit, for those that the lock pins."""
    gated: tuple[str, ...] = ()
    """Those of them that are gated."""


class ModelServer(NamedTuple):
    """Model and engine settings of a container that serves a model."""

    engine: str | None = None
    """Serving engine."""
    options: Mapping[str, Any] = {}
    """Engine options, with the names of the inventory."""
    model: str | None = None
    """Model handle."""
    served: tuple[str, ...] = ()
    """Model names that clients use; empty for the workers of a group."""
    facts: ModelFacts | None = None
    """Facts of the catalog about the model; None if the model is not that of the recipe."""
    speculative: Mapping[str, Any] | None = None
    """Settings of speculative decoding, with the keys of the inventory."""
    node: tuple[int, int] | None = None
    """Rank and number of hosts of the group; None for a single host."""
    executor: str | None = None
    """How the nodes of the group run: one of the executors of the engine; None for a single host."""
    store: str | None = None
    """address:port to which all workers of the group keep a connection."""
    clients: tuple[str, ...] = ()
    """What clients need: `tools`, `messages`, `responses`. All of them send tool definitions."""
    extra: AddedNames = AddedNames()
    """Options and variables under `extra_flags`, which only a fork or patch of the engine accepts."""
    workload: Workload | None = None
    """Load that it must handle, from the inventory."""
    measured: Measured | None = None
    """Values that a server start measured."""
    recipe: str | None = None
    """Catalog entry: vendor/name, or vendor/name#variant."""
    recipe_options: Mapping[str, Any] = {}
    """Engine options of that entry, without those of the inventory."""
    published: tuple[Measurement, ...] = ()
    """Measurements that the sources of that entry published."""
    superseded: tuple[SupersededEntry, ...] = ()
    """Catalog entries in use that are superseded."""
    pulls: tuple[str, ...] = ()
    """Models that are pulled into a running Ollama server."""

    @property
    def leads(self) -> bool:
        """Return whether it is alone or the leader of its group."""
        return self.node is None or self.node[0] == 0


class Checks(NamedTuple):
    """Health checks of a container."""

    health: Health | None = None
    """Docker health check."""
    path: str | None = None
    """HTTP path that returns 200 when the server is healthy."""
    endpoint: str | None = None
    """What a speech service serves: `transcription` or `speech`."""


class Container(NamedTuple):
    """One supervised container on one host: a deployment, a node of a group, or a service."""

    kind: str
    """`deployment` or `service`."""
    name: str
    description: str
    path: Path
    """Path in the inventory."""
    image: Image
    command: ContainerCommand
    network: ContainerNetwork
    confinement: Confinement
    storage: Storage
    checks: Checks
    timeouts: ResolvedTimeouts
    server: ModelServer = ModelServer()
    """Model and engine settings; empty for most services."""
    weights: RequiredWeights = RequiredWeights()
    secrets: tuple[Secret, ...] = ()
    """Secrets and their files in the container; the first one is its own API key, if it has one."""
    reloaded: tuple[str, ...] = ()
    """Secrets that its unit reads when it starts or reloads, and that are not mounted; the first one is its own key."""
    certificate: str | None = None
    """The one of `reloaded` with the certificate that it serves with, which sparkiac issues."""
    dependencies: tuple[Dependency, ...] = ()
    """Deployments and services that it uses."""
    memory_bytes: int | None = None
    """For an engine, the memory that it requests at start, if utilization and memory of the host are known; for a
    service, the value in the inventory or in the catalog."""
    memory_source: str = INVENTORY
    """Source of the memory figure, for a service."""
    load_memory: LoadMemory | None = None
    """The keys of the inventory from which `load_guard` was made."""
    load_guard: LoadGuard | None = None
    """What changes on the host while it loads its model."""
    documents: tuple[ConfigDocument, ...] = ()
    """Its configuration files, which are generated."""

    @property
    def unit(self) -> str:
        """Return the name of its systemd unit, without suffix."""
        return f"sparkiac-{self.name}"

    @property
    def api_key(self) -> str | None:
        """Return the secret with the key that its clients send."""
        names = [*(secret.name for secret in self.secrets), *self.reloaded]
        return names[0] if names and self.server.served else None

    @property
    def entrypoint(self) -> tuple[str, ...]:
        """Return the entrypoint: that of the image, if it is known, or the one that replaces it."""
        own = self.command.entrypoint
        return (self.image.entrypoint or ()) if own is None else own

    @property
    def argv(self) -> tuple[str, ...]:
        """Return the full command, including the entrypoint if it is known."""
        return (*self.entrypoint, *(self.command.words or self.image.command or ()))


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
    clients: tuple[str, ...] | None = None
    """Networks and addresses that may connect to it; None is everybody who reaches it."""
    egress: tuple[str, ...] | None = None
    """Networks and addresses that it may connect to; None is everything."""
    memory_bytes: int | None = None
    """Memory that it uses, from the inventory."""
    memory_source: str = INVENTORY
    reloaded: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """Return the name of its systemd unit, without suffix."""
        return f"sparkiac-{self.name}"

    @property
    def api_key(self) -> str:
        """Return the secret with the key that its clients send."""
        return self.secrets[0].name

    @property
    def network(self) -> ContainerNetwork:
        """Return its network settings, in the same form as for a container."""
        return ContainerNetwork(listen=self.listen, clients=self.clients, egress=self.egress)

    @property
    def checks(self) -> Checks:
        """Return its health checks, in the same form as for a container."""
        return Checks(path=self.health_path)
