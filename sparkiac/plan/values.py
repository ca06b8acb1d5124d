"""The plan: containers, hosts, builds. Sizes are in bytes, times in seconds, commands are tuples of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sparkiac.host.generation import PARAMETER
from sparkiac.memory.budget import HostBudget
from sparkiac.model.references import HUB
from sparkiac.plan.rollout import RolloutPlan
from sparkiac.plan.weights import needed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.host.generation import ChangeGroup, OwnFolder, Promise
    from sparkiac.host.preflight.expectations import Expectations
    from sparkiac.model.catalog import Gpu
    from sparkiac.model.inventory import FabricLink
    from sparkiac.model.lock import HostSet
    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.agents import ConfigFile
    from sparkiac.plan.container import Container, Program
    from sparkiac.plan.fleet_timer import PlannedFleetTimer
    from sparkiac.plan.image import PlannedBuild
    from sparkiac.plan.monitoring.prometheus import ScrapeTarget
    from sparkiac.plan.order import PlannedTurn
    from sparkiac.plan.parts import ModelRepository, ModelStore, Peer, PortClients, Proof
    from sparkiac.report import Path


class PlannedSetting(NamedTuple):
    """A setting of a host that its owner declares."""

    key: str
    value: str
    shown: str
    """The value with its unit, and what sources measured with the setting."""


class HostPlan(NamedTuple):
    """One host and everything that runs on it."""

    name: str
    address: str
    user: str | None
    ssh_port: int | None
    values: ResolvedHost
    """Its values in the inventory and its platform."""
    memory_bytes: int | None
    sysctls: Mapping[str, str]
    settings: tuple[PlannedSetting, ...]
    """Settings that only a command reads and sets, and kernel parameters."""
    containers: tuple[Container, ...]
    preflight: Expectations
    """Expectations that preflight compares the host with."""
    programs: tuple[Program, ...] = ()
    config_files: tuple[ConfigFile, ...] = ()
    start_order: tuple[str, ...] = ()
    """Its units in start order."""
    platform_name: str = ""
    """Name of its hardware profile, such as dgx-spark."""
    gpu: Gpu | None = None
    """Its GPU."""
    links: tuple[FabricLink, ...] = ()
    """Its high-speed links."""
    ethernets: Mapping[str, Mapping[str, Any]] = {}
    """Interfaces that netplan sets, with their settings; empty if the inventory does not use netplan."""
    stores: tuple[ModelStore, ...] = ()
    """Models that its model stores must contain, for models whose files are in the lock."""
    secrets: tuple[str, ...] = ()
    """Secrets that must exist on it, sorted."""
    reserve_bytes: int | None = None
    """Memory reserved for the system and the page cache, if the inventory sets it."""
    budget: HostBudget = HostBudget(None, ())
    """Its memory budget, with everything that it runs; of a host with turns, see `views`."""
    proofs: Mapping[str, Proof] = {}
    """Deployment → its memory calculation."""
    promises: Mapping[str, Promise] = {}
    """Unit → its API checks, for units that listen on a port and for workers of a group."""
    fleet_timer: PlannedFleetTimer | None = None
    """Fleet timer, if it runs on this host."""
    weights_from: tuple[Peer, ...] = ()
    """Hosts that it can copy weights from over a direct link."""
    images_from: Peer | None = None
    """Host that it copies images from."""
    copied_by: tuple[str, ...] = ()
    """Addresses of the hosts that copy images or weights from it; empty if one is a name."""
    clients: Mapping[str, PortClients] = {}
    """Unit → who may connect to its port, for units with a list of clients that other machines would reach."""
    group: ChangeGroup | None = None
    """Hosts that change together with it; None if it changes alone."""
    unpinned: tuple[str, ...] = ()
    """Images, models and files whose pins are examples or missing; the host cannot be applied until they are pinned."""
    turns: tuple[PlannedTurn, ...] = ()
    """Its turns in the order of the inventory; empty if none of its units takes turns."""
    pins: HostSet | None = None
    """Its pinned software; None if the lock does not pin it."""
    pins_name: str = ""
    """Name of that set in the lock."""
    turn: str | None = None
    """Name of the turn if this is a view of the host in one turn."""

    @property
    def views(self) -> tuple[HostPlan, ...]:
        """Return the host in each of its turns, with only what runs together; the host itself if it has no turns."""
        return tuple(map(self._in, self.turns)) or (self,)

    def _in(self, turn: PlannedTurn) -> HostPlan:
        return self._replace(
            containers=tuple(each for each in self.containers if each.name in turn.units),
            programs=tuple(each for each in self.programs if each.name in turn.units),
            budget=turn.budget,
            turns=(),
            turn=turn.name,
        )

    def turns_of(self, unit: Container | Program) -> tuple[str, ...]:
        """Return the names of the turns in which a unit runs; empty if it always runs."""
        found = tuple(turn.name for turn in self.turns if unit.name in turn.units)
        return () if len(found) == len(self.turns) else found

    @property
    def starting(self) -> tuple[Container, ...]:
        """Return its deployments in start order."""
        deployed = {each.unit: each for each in self.containers if each.kind == "deployment"}
        return tuple(deployed[unit] for unit in self.start_order if unit in deployed)

    @property
    def units(self) -> tuple[Container | Program, ...]:
        """Return everything that has a systemd unit, sorted by name."""
        return tuple(sorted((*self.containers, *self.programs), key=lambda each: each.name))

    @property
    def link_addresses(self) -> frozenset[str]:
        """Return its addresses on its links."""
        return frozenset(link.address.partition("/")[0] for link in self.links)

    @property
    def own_folders(self) -> tuple[OwnFolder, ...]:
        """Return where the user's own models lie that this host stores."""
        return tuple(own for store in self.stores for each in store.models if (own := each.repository.own))

    @property
    def is_measured(self) -> bool:
        """Return whether sparkiac writes metrics of the host for its node_exporter."""
        return any(each.path == ("monitoring", "exporters", "node") for each in self.containers)

    @property
    def is_watched(self) -> bool:
        """Return whether a timer keeps its settings and recognises a sick machine."""
        return any(each.key != PARAMETER for each in self.settings) or self.is_measured

    @property
    def dependents(self) -> tuple[Container | Program | ConfigFile, ...]:
        """Return everything that can have dependencies."""
        return (*self.containers, *self.programs, *self.config_files)


class PlannedRetirement(NamedTuple):
    """A former host that is cleaned after the rollout."""

    name: str
    address: str
    user: str | None
    ssh_port: int | None


class HubEndpoint(NamedTuple):
    """URL and token of the model hub that hosts download from."""

    url: str
    secret: str | None = None
    """Name of the secret that holds the token for gated repositories."""

    @property
    def lacks_token(self) -> bool:
        """Whether hosts cannot download what is gated. What a mirror of the hub demands is unknown."""
        return self.url == HUB and self.secret is None


class PlannedWaiver(NamedTuple):
    """A waiver of the inventory."""

    path: Path
    """Its position, which ends in ("allow", index)."""
    code: str
    reason: str
    release: str | None = None
    """First release of the engine for which it does not hold."""
    image_after: str | None = None
    """Last month in which the image may have been built."""


class RestrictedModel(NamedTuple):
    """A gated or private repository, and what loads it."""

    repository: ModelRepository
    users: tuple[tuple[HostPlan, Container], ...]

    @property
    def demand(self) -> str:
        """Return which token the hub demands, and from which hosts."""
        name, hosts = self.repository.model, ", ".join(dict.fromkeys(host.name for host, _ in self.users))
        gated = self.repository.gated
        kind, account = ("gated", "that accepted the terms on") if gated else ("private", "with access to")
        return f"{name} is {kind}: to download it, {hosts} must send the token of an account {account} {HUB}/{name}"


class Plan(NamedTuple):
    """Plan of the whole fleet."""

    name: str
    hosts: tuple[HostPlan, ...]
    builds: tuple[PlannedBuild, ...] = ()
    repositories: tuple[ModelRepository, ...] = ()
    """Repositories that hosts download from the model hub."""
    hub: HubEndpoint = HubEndpoint("")
    batches: tuple[tuple[str, ...], ...] = ()
    """Batches of hosts that change at the same time, in the order of the rollout."""
    rollout: RolloutPlan = RolloutPlan()
    """How an apply changes them."""
    retired: tuple[PlannedRetirement, ...] = ()
    """Former hosts, sorted by name."""
    unwatched: tuple[ScrapeTarget, ...] = ()
    """Units whose metrics Prometheus cannot reach."""
    is_watched: bool = False
    """Whether the failure of a server causes a message, from the fleet timer or from Prometheus."""
    waivers: tuple[PlannedWaiver, ...] = ()
    """Waivers in the order of the model: of the fleet, its monitoring, hosts, deployments and services."""
    method_defaults: tuple[tuple[str, str], ...] = ()
    """Deployment, and a setting that its speculative method adds, with the reason."""

    @property
    def containers(self) -> Iterator[tuple[HostPlan, Container]]:
        """Return every container with its host."""
        return ((host, container) for host in self.hosts for container in host.containers)

    @property
    def restricted(self) -> Iterator[RestrictedModel]:
        """Yield the gated and private repositories that hosts download; what a mirror of the hub demands is unknown."""
        for each in self.repositories if self.hub.url == HUB else ():
            loaded = ((host, one) for host, one in self.containers if one.weights.store and each.model in needed(one))
            if (each.gated or each.private) and (users := tuple(loaded)):
                yield RestrictedModel(each, users)

    @property
    def unpinned(self) -> tuple[str, ...]:
        """Return the images, models and files without a real pin on any host, sorted."""
        return tuple(sorted({name for host in self.hosts for name in host.unpinned}))
