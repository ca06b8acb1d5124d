"""The plan as a whole: containers, hosts, builds. Sizes are bytes, times are seconds, commands are tuples of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.memory.budget import Host as Budget
from sparkiac.plan.image import Added

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.memory.fit import Workload
    from sparkiac.plan.askers import Document, Link, Program
    from sparkiac.plan.facts import Facts
    from sparkiac.plan.image import Image
    from sparkiac.plan.parts import (
        Caution,
        Export,
        ExtraFile,
        Giver,
        Health,
        Mount,
        Proof,
        Published,
        Repository,
        Secret,
        Store,
    )
    from sparkiac.report import Path


class Container(NamedTuple):
    """One supervised container on one host: a deployment, a node of a group, or a service."""

    kind: str
    """`deployment` or `service`."""
    name: str
    description: str
    path: Path
    """Where it stands in the inventory."""
    image: Image
    command: tuple[str, ...]
    """Words after the image's entrypoint; empty where the image's own command serves."""
    env: Mapping[str, str]
    mounts: tuple[Mount, ...]
    listen: tuple[str, int] | None
    """Address and port on the host, however the container comes by them."""
    published: Published | None
    read_only: bool
    gpu: bool
    health: Health | None
    health_path: str | None
    ready_s: int
    stop_s: int
    restart_delay_s: int
    host_network: bool = False
    network: str | None = None
    """Network of the host that it shares with others, under its own name."""
    extra_hosts: tuple[str, ...] = ()
    ipc: str = "private"
    shm_size_bytes: int | None = None
    tmp_size_bytes: int = 1 << 28
    ulimits: Mapping[str, int] = {}
    devices: tuple[str, ...] = ()
    secrets: tuple[Secret, ...] = ()
    exports: tuple[Export, ...] = ()
    prelude: tuple[tuple[str, ...], ...] = ()
    """Commands that run before the server."""
    files: tuple[ExtraFile, ...] = ()
    data: str | None = None
    """Directory on the host that keeps what the container must not lose."""
    served: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    """What it asks."""
    pulls: tuple[str, ...] = ()
    """Models that are pulled into an Ollama server once it runs."""
    engine: str | None = None
    """The serving engine."""
    options: Mapping[str, Any] = {}
    """The engine's options, as the inventory spells them."""
    model: str | None = None
    """Handle of the model that a deployment serves."""
    facts: Facts | None = None
    """What the catalog knows of that model; None of a model that is not its recipe's."""
    speculative: Mapping[str, Any] | None = None
    node: tuple[int, int] | None = None
    """Rank and size of the distributed group; None for a single host."""
    clients: tuple[str, ...] = ()
    """What clients of a deployment need of it: `tools`."""
    extra: Added = Added()
    """Options and variables of a fork or a patch, which the inventory gives a reason for."""
    store: str | None = None
    models: tuple[str, ...] = ()
    """Repositories that the model store must hold."""
    directories: tuple[str, ...] = ()
    """Models that the store must hold as plain directories."""
    commits: Mapping[str, str] = {}
    """Those of them that the lock pins → the commit."""
    cache_key: str | None = None
    """Directory name of the compile cache: changes with image, command and environment."""
    memory_bytes: int | None = None
    """Memory that an engine takes at start, if its utilization and the host's total are known; of a service, what the
    inventory states."""
    workload: Workload | None = None
    """What the inventory says that a deployment is for."""
    measured: Mapping[str, int] = {}
    """What a start has measured of it: weights_bytes, overhead_bytes, graphs_bytes."""
    recipe: str | None = None
    """Catalog entry of a deployment: vendor/name, or vendor/name#variant."""
    cautions: tuple[Caution, ...] = ()

    @property
    def unit(self) -> str:
        """Name of its systemd unit, without suffix."""
        return f"sparkiac-{self.name}"

    @property
    def argv(self) -> tuple[str, ...]:
        """The words that start the server, as far as the image's entrypoint is known."""
        return (*(self.image.entrypoint or ()), *(self.command or self.image.command or ()))

    @property
    def wrapped(self) -> bool:
        """Whether a shell prepares the start, which then must name the image's entrypoint."""
        return bool(self.prelude or self.exports)


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
    programs: tuple[Program, ...] = ()
    documents: tuple[Document, ...] = ()
    starts: tuple[str, ...] = ()
    """Its units in the order in which they start."""
    platform_name: str = ""
    """Name of its hardware profile, such as dgx-spark."""
    gpu: Mapping[str, str] | None = None
    """Name and compute capability of its GPU."""
    links: tuple[Mapping[str, str], ...] = ()
    """Its high-speed links: interface, address and, where it is known, hca."""
    stores: tuple[Store, ...] = ()
    """What its model stores must hold, as far as the lock knows the files."""
    secrets: tuple[str, ...] = ()
    """Secrets that it must hold, sorted."""
    reserve_bytes: int | None = None
    """Memory that the inventory keeps for the system and the page cache."""
    budget: Budget = Budget(None, ())
    """Where its memory goes."""
    proofs: Mapping[str, Proof] = {}
    """The memory of each deployment on it, by name."""
    weights_from: tuple[Giver, ...] = ()
    """Hosts that can give it weights over a direct link."""
    images_from: Giver | None = None
    """Host that gives it images."""
    unpinned: tuple[str, ...] = ()
    """Images, models and files whose pins are examples or missing: nothing of it may be applied."""

    @property
    def units(self) -> tuple[Container | Program, ...]:
        """Everything that systemd runs, sorted by name."""
        return tuple(sorted((*self.containers, *self.programs), key=lambda each: each.name))

    @property
    def askers(self) -> tuple[Container | Program | Document, ...]:
        """Everything that may ask others."""
        return (*self.containers, *self.programs, *self.documents)


class Build(NamedTuple):
    """An image that is built from source."""

    name: str
    path: Path
    """Where the inventory names it first."""
    spec: Mapping[str, Any]
    """All that decides what comes out, in the words of the inventory."""
    digest: str
    """Hash of that."""
    base: Image | None
    """Image to start from; a build that runs a program chooses its own."""


class Hub(NamedTuple):
    """Where hosts download models from."""

    url: str
    secret: str | None = None
    """Name of the secret that holds the token for gated repositories."""


class Plan(NamedTuple):
    """The whole fleet."""

    name: str
    hosts: tuple[HostPlan, ...]
    builds: tuple[Build, ...] = ()
    repositories: tuple[Repository, ...] = ()
    """What is downloaded from the model hub."""
    hub: Hub = Hub("")
    batches: tuple[tuple[str, ...], ...] = ()
    """Hosts that change together, in the order in which they change."""

    @property
    def unpinned(self) -> tuple[str, ...]:
        """Name what is unpinned on any host, sorted."""
        return tuple(sorted({name for host in self.hosts for name in host.unpinned}))
