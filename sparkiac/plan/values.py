"""The plan as a whole: containers, hosts, builds. Sizes are bytes, times are seconds, commands are tuples of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.memory.budget import HostBudget
from sparkiac.plan.container import (
    Checks,
    Confinement,
    ContainerCommand,
    ContainerNetwork,
    ModelServer,
    RequiredWeights,
    Storage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.model.inventory import FabricLink
    from sparkiac.model.platform import Gpu
    from sparkiac.plan.contract import Expectations
    from sparkiac.plan.dependents import ConfigFile, Dependency, Program
    from sparkiac.plan.image import Image
    from sparkiac.plan.parts import (
        ModelRepository,
        ModelStore,
        Peer,
        Proof,
        Secret,
        UnitTimeouts,
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
    command: ContainerCommand
    network: ContainerNetwork
    confinement: Confinement
    storage: Storage
    checks: Checks
    timeouts: UnitTimeouts
    server: ModelServer = ModelServer()
    """What a deployment serves, and how; empty for most services."""
    weights: RequiredWeights = RequiredWeights()
    secrets: tuple[Secret, ...] = ()
    """Secrets and their files in the container; the first one is the key of its own API, if it has one."""
    dependencies: tuple[Dependency, ...] = ()
    """What it asks."""
    memory_bytes: int | None = None
    """Memory that an engine takes at start, if its utilization and the host's total are known; of a service, what the
    inventory states."""

    @property
    def unit(self) -> str:
        """Name of its systemd unit, without suffix."""
        return f"sparkiac-{self.name}"

    @property
    def argv(self) -> tuple[str, ...]:
        """The words that start the server, as far as the image's entrypoint is known."""
        return (*(self.image.entrypoint or ()), *(self.command.words or self.image.command or ()))


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
    preflight: Expectations
    """What the host is checked for."""
    programs: tuple[Program, ...] = ()
    config_files: tuple[ConfigFile, ...] = ()
    start_order: tuple[str, ...] = ()
    """Its units in the order in which they start."""
    platform_name: str = ""
    """Name of its hardware profile, such as dgx-spark."""
    gpu: Gpu | None = None
    """Its GPU."""
    links: tuple[FabricLink, ...] = ()
    """Its high-speed links."""
    stores: tuple[ModelStore, ...] = ()
    """What its model stores must hold, as far as the lock knows the files."""
    secrets: tuple[str, ...] = ()
    """Secrets that it must hold, sorted."""
    reserve_bytes: int | None = None
    """Memory that the inventory keeps for the system and the page cache."""
    budget: HostBudget = HostBudget(None, ())
    """Where its memory goes."""
    proofs: Mapping[str, Proof] = {}
    """The memory of each deployment on it, by name."""
    weights_from: tuple[Peer, ...] = ()
    """Hosts that can give it weights over a direct link."""
    images_from: Peer | None = None
    """Host that gives it images."""
    unpinned: tuple[str, ...] = ()
    """Images, models and files whose pins are examples or missing: nothing of it may be applied."""

    @property
    def units(self) -> tuple[Container | Program, ...]:
        """Everything that systemd runs, sorted by name."""
        return tuple(sorted((*self.containers, *self.programs), key=lambda each: each.name))

    @property
    def dependents(self) -> tuple[Container | Program | ConfigFile, ...]:
        """Everything that may ask others."""
        return (*self.containers, *self.programs, *self.config_files)


class PlannedBuild(NamedTuple):
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


class HubEndpoint(NamedTuple):
    """Where hosts download models from."""

    url: str
    secret: str | None = None
    """Name of the secret that holds the token for gated repositories."""


class Plan(NamedTuple):
    """The whole fleet."""

    name: str
    hosts: tuple[HostPlan, ...]
    builds: tuple[PlannedBuild, ...] = ()
    repositories: tuple[ModelRepository, ...] = ()
    """What is downloaded from the model hub."""
    hub: HubEndpoint = HubEndpoint("")
    batches: tuple[tuple[str, ...], ...] = ()
    """Hosts that change together, in the order in which they change."""

    @property
    def unpinned(self) -> tuple[str, ...]:
        """Name what is unpinned on any host, sorted."""
        return tuple(sorted({name for host in self.hosts for name in host.unpinned}))
