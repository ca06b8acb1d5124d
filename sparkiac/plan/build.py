"""Build the plan from the resolved values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import catalog
from sparkiac.host.generation import CLOCK_CAP, EARLYOOM, PARAMETER, TARGET
from sparkiac.memory.values import GIB
from sparkiac.plan import exposure, fleet_timer, order, placement, promise, proof, weights
from sparkiac.plan.image import Images
from sparkiac.plan.links import ethernets, every_address
from sparkiac.plan.order import change_groups, changes, start_order
from sparkiac.plan.parts import UNLOCKED, Peer, stated_bytes
from sparkiac.plan.preflight import expectations, secrets_of
from sparkiac.plan.rollout import rollout, served_names
from sparkiac.plan.topology import address_towards
from sparkiac.plan.values import HostPlan, HubEndpoint, Plan, PlannedRetirement, PlannedSetting, PlannedWaiver
from sparkiac.resolve.catalogued import of_method
from sparkiac.resolve.fabric import links_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.host.generation import ChangeGroup, Promise
    from sparkiac.model.base import Waiver
    from sparkiac.model.inventory import Inventory
    from sparkiac.model.lock import Lock
    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.container import Container
    from sparkiac.plan.fleet_timer import PlannedFleetTimer
    from sparkiac.plan.parts import ModelStore, Proof
    from sparkiac.report import Path
    from sparkiac.resolve import Resolved


_UNITS: Final = {CLOCK_CAP: " MHz"}
_AVOIDED: Final = "^(VLLM::|vllm|sglang::|python|llama-|ollama|trtllm-|ray|docker|containerd|sshd|systemd)"
"""Names of processes that earlyoom ends last: engines, and what is needed to reach the host."""
_EARLYOOM: Final = ("-r", "3600", "-s", "100,100", "--avoid", _AVOIDED, "-M")
"""Arguments of earlyoom before the floor. Without `-s` it would wait until the swap is full, too."""


class _FleetValues(NamedTuple):
    """Values of all hosts that the plan of one host needs."""

    hosts: Mapping[str, placement.PlacedHost]
    stores: Mapping[str, tuple[ModelStore, ...]]
    start_order: Mapping[str, tuple[str, ...]]
    weight_peers: Mapping[str, tuple[Peer, ...]]
    copies: Mapping[str | None, list[str]]
    proofs: Mapping[str, Mapping[str, Proof]]
    groups: Mapping[str, ChangeGroup | None]
    promises: Mapping[str, Mapping[str, Promise]]
    timer: PlannedFleetTimer | None
    hub: HubEndpoint
    lock: Lock | None

    def timer_of(self, host: str) -> PlannedFleetTimer | None:
        """Return the fleet timer if it runs on this host."""
        return self.timer if self.timer and self.timer.check.host == host else None

    def helps(self, host: str) -> bool:
        """Return whether other hosts copy from a host or vote on it."""
        group = self.groups[host]
        return bool(self.copies.get(host)) or (group is not None and group.coordinator == host)


def build(resolved: Resolved) -> Plan:
    """Build the plan of the whole fleet."""
    written, pinned = resolved.written, _pinned(resolved)
    placed, unwatched = placement.place_all(written, resolved.fleet, resolved.leaves, pinned)
    containers = (each for host in placed for each in host.containers)
    known = weights.repositories(pinned.pins.models, written.own_models, containers)
    units = {host.name: host.units for host in placed}
    needs = changes(units)
    values = {host.name: host.values for host in placed}
    stores = weights.with_owners(values, {host.name: weights.stores(host.containers, known) for host in placed})
    platforms = {name: host.platform or catalog.DEFAULT_PLATFORM for name, host in written.hosts.items()}
    proofs = proof.proofs(placed, pinned.pins.models, platforms=platforms, records=resolved.records)
    promises = {host.name: _promises(host, proofs.get(host.name, {})) for host in placed}
    peers = weights.weight_peers(values, stores)
    whole = _FleetValues(
        hosts={host.name: host for host in placed},
        stores=stores,
        start_order=start_order(units),
        weight_peers=peers,
        copies=_copies(written, peers),
        proofs=proofs,
        groups=change_groups(needs, values),
        promises=promises,
        timer=fleet_timer.fleet_timer(written, placed, promises),
        hub=HubEndpoint(written.hub.url, written.hub.api_key.secret if written.hub.api_key else None),
        lock=resolved.lock,
    )
    return Plan(
        written.name,
        tuple(_host(written, host, whole) for host in placed),
        tuple(pinned.images.used_builds(resolved.leaves)),
        tuple(known.values()),
        whole.hub,
        *rollout(written.rollout, needs, served_names(placed)),
        _retired(written),
        unwatched,
        is_watched=fleet_timer.is_watched(written.monitoring),
        waivers=tuple(_waivers(written)),
        method_defaults=tuple(dict.fromkeys((str(path[1]), text) for path, text in of_method(resolved.leaves))),
    )


def _pinned(resolved: Resolved) -> placement.Pinned:
    written, lock = resolved.written, resolved.lock
    copying = frozenset(name for name, host in written.hosts.items() if host.images_from is not None)
    mirrors, library = written.registries.mirrors, resolved.library
    images = Images(resolved.fleet.builds, lock, mirrors, resolved.interfaces, copying, library)
    return placement.Pinned(images, weights.pins(lock, written), library)


def _retired(written: Inventory) -> tuple[PlannedRetirement, ...]:
    found = sorted(written.retired.items())
    return tuple(
        PlannedRetirement(name, host.address, host.user or written.defaults.user, host.port) for name, host in found
    )


def _waivers(written: Inventory) -> Iterator[PlannedWaiver]:
    allowed: dict[Path, tuple[Waiver, ...]] = {(): written.allow, ("monitoring",): written.monitoring.allow}
    allowed |= {("hosts", name): host.allow for name, host in written.hosts.items()}
    allowed |= {("deployments", name): each.allow for name, each in written.deployments.items()}
    allowed |= {("services", name): each.allow for name, each in written.services.items()}
    for path, waivers in allowed.items():
        for index, each in enumerate(waivers):
            until = dict(each.until or ())
            yield PlannedWaiver((*path, "allow", index), each.code, each.reason, **until)


def _host(inventory: Inventory, placed: placement.PlacedHost, whole: _FleetValues) -> HostPlan:
    name, values, written, timer = placed.name, placed.values, inventory.hosts[placed.name], whole.timer_of(placed.name)
    stores, proofs, group = whole.stores[name], whole.proofs.get(name, {}), whole.groups[name]
    secrets = _secrets(placed, whole, timer)
    unpinned = _unpinned(placed, example=whole.lock is not None and whole.lock.example)
    return HostPlan(
        name=name,
        address=values.address,
        user=values.ssh.user,
        ssh_port=values.ssh.port,
        values=values,
        memory_bytes=placed.memory_bytes,
        sysctls={key: str(value) for key, value in sorted(values.sysctl.items())},
        settings=tuple(_planned_setting(*each) for each in _settings(values)),
        containers=placed.containers,
        preflight=expectations(placed, stores=stores, secrets=secrets, unpinned=unpinned, helps=whole.helps(name)),
        programs=placed.programs,
        config_files=placed.config_files,
        start_order=whole.start_order[name],
        platform_name=written.platform or catalog.DEFAULT_PLATFORM,
        gpu=values.gpu,
        links=links_of(values),
        ethernets=ethernets(values),
        stores=stores,
        secrets=tuple(secrets),
        reserve_bytes=stated_bytes(values.reserve_gib),
        budget=proof.host_budget(placed, proofs),
        proofs=proofs,
        promises=whole.promises[name],
        fleet_timer=timer,
        weights_from=whole.weight_peers[name],
        images_from=_images_from(written.images_from, placed, whole),
        copied_by=every_address(whole.hosts[other].values for other in whole.copies.get(name, ())),
        clients=exposure.clients(placed, whole.hosts.values(), inventory.monitoring),
        group=group,
        unpinned=unpinned,
        turns=_turns(inventory, placed, proofs),
        pins=whole.lock.hosts.of(name) if whole.lock and whole.lock.hosts else None,
        pins_name=whole.lock.hosts.members.get(name, "") if whole.lock and whole.lock.hosts else "",
    )


def _settings(values: ResolvedHost) -> Iterator[tuple[str, str]]:
    """Yield the settings of a host that only a command reads and sets, and its kernel parameters."""
    yield from ((PARAMETER, each) for each in values.boot_words)
    if values.max_gpu_clock_mhz is not None:
        yield CLOCK_CAP, str(values.max_gpu_clock_mhz)
    if values.headless is not None:
        yield TARGET, "multi-user.target" if values.headless else "graphical.target"
    if values.earlyoom_floor_gib is not None:
        floor_kib = int(values.earlyoom_floor_gib * GIB) // 1024
        yield EARLYOOM, " ".join((*_EARLYOOM, f"{floor_kib},{floor_kib // 2}"))


def _planned_setting(key: str, value: str) -> PlannedSetting:
    measured = [
        f"; {each.says} ({each.source})"
        for each in catalog.measured_settings()
        if each.setting in {key, f"{key} {value}"}
    ]
    return PlannedSetting(key, value, f"{value}{_UNITS.get(key, '')}{''.join(measured)}")


def _turns(
    written: Inventory, placed: placement.PlacedHost, proofs: Mapping[str, Proof]
) -> tuple[order.PlannedTurn, ...]:
    """Return the turns of a host, each with its own memory calculation."""
    found = order.of_host(order.turns(written), (each.name for each in placed.units))
    return tuple(
        order.PlannedTurn(turn.name, turn.at, names, proof.host_budget(placed, proofs, names)) for turn, names in found
    )


def _secrets(placed: placement.PlacedHost, whole: _FleetValues, timer: PlannedFleetTimer | None) -> dict[str, bool]:
    """Return the secrets that must exist on a host, sorted, and whether HTTP headers carry them."""
    files = (file for each in placed.containers for file in each.storage.files)
    token = whole.hub.secret if whole.stores[placed.name] or any(file.on_hub for file in files) else None
    headers = {token, *(promise.api_key for promise in whole.promises[placed.name].values())}
    names = {*secrets_of(placed.units), *((token,) if token else ()), *(timer.secrets if timer else ())}
    return {name: name in headers for name in sorted(names)}


def _promises(placed: placement.PlacedHost, proofs: Mapping[str, Proof]) -> dict[str, Promise]:
    configs = {name: found.config for name, found in proofs.items()}
    return {
        unit.unit: found
        for unit in placed.units
        if (found := promise.promise(unit, configs.get(unit.name, {}))) is not None
    }


def _images_from(name: str | None, placed: placement.PlacedHost, whole: _FleetValues) -> Peer | None:
    if name is None:
        return None
    return Peer(name, address_towards(whole.hosts[name].values, [placed.values]))


def _copies(written: Inventory, peers: Mapping[str, tuple[Peer, ...]]) -> dict[str | None, list[str]]:
    """Return host → the hosts that copy images or weights from it."""
    found: dict[str | None, list[str]] = {}
    for name, host in written.hosts.items():
        for source in (host.images_from, *(peer.host for peer in peers[name])):
            found.setdefault(source, []).append(name)
    return found


def _unpinned(placed: placement.PlacedHost, *, example: bool) -> tuple[str, ...]:
    return tuple(sorted({pin for each in placed.containers for pin in _without_pin(each, example=example)}))


def _without_pin(container: Container, *, example: bool) -> Iterator[str]:
    """Yield the images, models and files without a real pin; `example`: the lock is an example."""
    image = container.image
    inline = "@" in image.reference and not image.copied  # a copied image runs by its ID, which only the lock knows
    if image.pull.endswith(UNLOCKED) or (example and not inline):
        yield image.reference
    yield from (name for name in weights.needed(container) if example or name not in container.weights.commits)
    yield from (file.url for file in container.storage.files if example or file.sha256 is None)
