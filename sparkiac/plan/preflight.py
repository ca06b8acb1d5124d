"""Build the expectations that preflight compares a host with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sparkiac import catalog
from sparkiac.catalog.evidence import sheets
from sparkiac.host.conditions import HostFact
from sparkiac.host.preflight.expectations import (
    Disk,
    DockerAccess,
    DoubtedDriver,
    Expectations,
    ExpectedGpu,
    ExpectedLink,
    ExpectedParameters,
    ExpectedSecret,
    FreePort,
    ImageDriver,
    KnownSoftware,
    NodeWeights,
    RegistryLogin,
    StoreExpectation,
    UnitExpectation,
    UnpinnableMemory,
    Versions,
)
from sparkiac.memory.values import GIB
from sparkiac.plan import links, weights
from sparkiac.plan.topology import LOOPBACK
from sparkiac.resolve.fabric import links_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.container import Container, Program
    from sparkiac.plan.parts import ModelStore
    from sparkiac.plan.placement import PlacedHost

_MACHINES: Final = {"arm64": "aarch64", "amd64": "x86_64"}
_NVIDIA: Final = "nvcr.io"
_RUNS_AS: Final = DockerAccess(user="sparkiac", group="docker")
"""User and group that start the containers; they must match those in the template of the unit."""
_LOAD_TUNING: Final = ("vm.min_free_kbytes", "vm.vfs_cache_pressure", "vm.dirty_ratio", "vm.dirty_background_ratio")
"""Kernel settings that one source recommends if memory runs out while a model loads."""
_IDLE_SHARE: Final = 0.75
"""Share of the memory that must be available while no container runs. After a clean boot, far more is available."""


def expectations(
    host: PlacedHost,
    *,
    stores: tuple[ModelStore, ...],
    secrets: Mapping[str, bool],
    unpinned: tuple[str, ...],
    helps: bool,
) -> Expectations:
    """Return the expectations for one host; None and empty values are not checked.

    `helps`: whether an apply opens ports on it for other hosts, which vote or copy from it.
    """
    values, containers, lowest = host.values, host.containers, host.values.requires
    return Expectations(
        host=host.name,
        architecture=_MACHINES[values.architecture],
        gpu=ExpectedGpu(values.gpu.name, values.gpu.compute_capability) if values.gpu else None,
        driver=values.driver,
        doubted_drivers=_doubted(values, containers),
        image_drivers=image_drivers(containers),
        kernel_parameters=values.kernel_parameters,
        versions=Versions(lowest.docker, lowest.compose, lowest.container_toolkit, lowest.systemd),
        docker_access=_RUNS_AS if containers else None,
        memory_bytes=host.memory_bytes,
        idle_memory_bytes=_idle_bytes(containers, host.memory_bytes),
        load_tuning={key: str(values.sysctl[key]) for key in _LOAD_TUNING if key in values.sysctl},
        headless=values.address if values.headless else None,
        earlyoom=values.earlyoom_floor_gib is not None,
        parameters=ExpectedParameters(values.boot_words),
        unpinnable=_unpinnable(containers),
        host_facts=_host_facts(values, containers),
        disk=_disk(values.docker_free_gib),
        links=group_links(host),
        ports=_ports(host),
        nft=values.nft == "required" and (helps or any(map(_filtered, host.units))),
        secrets=tuple(ExpectedSecret(name, "0600", header) for name, header in secrets.items()),
        logins=_logins(containers),
        store=expected_stores(containers, staged=stores, unpinned=unpinned),
        units={container.name: _unit(container, stores) for container in containers},
    )


def _disk(free_gib: float | None) -> tuple[Disk, ...]:
    return () if free_gib is None else (Disk("/var/lib/docker", int(free_gib * GIB)),)


def _filtered(unit: Container | Program) -> bool:
    """Return whether other hosts reach a unit, or it may not connect to everything."""
    network = unit.network
    return (
        network.group_ports is not None
        or network.egress is not None
        or (network.listen is not None and network.listen[0] != LOOPBACK)
    )


def expected_stores(
    containers: Iterable[Container], *, staged: Iterable[ModelStore] = (), unpinned: Collection[str] = ()
) -> tuple[StoreExpectation, ...]:
    """Return the expected content of each model store.

    Models that the playbooks download are not checked, because they may not be there yet. The commit of an unpinned
    model is not checked, because preflight would suggest to download a commit that does not exist.
    """
    downloaded = {(store.path, stored.repository.model) for store in staged for stored in store.models}
    by_path: dict[str, dict[str, list[Container]]] = {}
    for container in containers:
        path = container.weights.store
        found = {} if path is None else by_path.setdefault(path, {})
        for entry, model in _entries(container, unpinned):
            if path is not None and (path, model) not in downloaded:
                found.setdefault(entry, []).append(container)
    return tuple(_store(path, found) for path, found in sorted(by_path.items()))


def _store(path: str, entries: dict[str, list[Container]]) -> StoreExpectation:
    dated = {_cached(pair.drafter): pair.not_before for pair in catalog.drafters() if pair.drafter and pair.not_before}
    groups = {entry: tuple(each.name for each in users if each.server.node) for entry, users in entries.items()}
    gated = (_name(entry) for entry, users in entries.items() if any(_gated(user, entry) for user in users))
    return StoreExpectation(
        path=path,
        models=tuple(sorted(entries)),
        gated=tuple(sorted(gated)),
        not_before={_name(entry): dated[_name(entry)] for entry in sorted(entries) if _name(entry) in dated},
        compared={_name(entry): names for entry, names in groups.items() if names},
    )


def _gated(container: Container, entry: str) -> bool:
    """Return whether the lock, or for a model that it does not pin the recipe, states that a repository is gated."""
    server, pinned = container.server, container.weights
    stated = server.facts is not None and server.facts.gated and server.model and server.model not in pinned.commits
    gated = (*pinned.gated, *((server.model,) if stated and server.model else ()))
    return any(_name(entry) in {name, _cached(name)} for name in gated)


def _entries(container: Container, unpinned: Collection[str]) -> Iterator[tuple[str, str]]:
    """Return the directory of each model in the Hugging Face cache, with the pinned commit, or its plain directory."""
    for model in container.weights.models:
        commit = None if model in unpinned else container.weights.commits.get(model)
        yield f"{_cached(model)}{f'@{commit}' if commit else ''}", model
    yield from ((name, name) for name in (weights.handle(each) or each for each in container.weights.directories))


def _name(entry: str) -> str:
    return entry.partition("@")[0]


def _cached(model: str) -> str:
    return f"models--{model.replace('/', '--')}"


def image_drivers(containers: Iterable[Container]) -> tuple[ImageDriver, ...]:
    """Return the oldest driver of each unit whose image is known to require one."""
    return tuple(
        ImageDriver(container.name, tag.min_driver, tag.forward_compat)
        for container in containers
        if (tag := container.image.tag or container.image.base) is not None and tag.min_driver is not None
    )


def _doubted(host: ResolvedHost, containers: tuple[Container, ...]) -> tuple[DoubtedDriver, ...]:
    """Return the driver series that sources disagree on for this host; the inventory may still name one of them."""
    if host.gpu is None or not any(container.confinement.gpu for container in containers):
        return ()
    return tuple(
        DoubtedDriver(each.series, each.why)
        for each in catalog.doubted_drivers()
        if each.compute_capability == host.gpu.compute_capability
    )


def _unpinnable(containers: tuple[Container, ...]) -> UnpinnableMemory | None:
    """Return which units cannot work with memory that cannot be pinned; None on a host whose units use no GPU."""
    if not any(container.confinement.gpu for container in containers):
        return None
    known = catalog.symptom("LOG149-memory-cannot-be-pinned")
    units = tuple(container.name for container in containers if links.RDMA in container.confinement.devices)
    failing = f"{', '.join(units)} cannot register memory for RDMA. " if units else ""
    return UnpinnableMemory(units, f"{failing}{known.cause} {known.remedy[0]}", known.code)


def _host_facts(host: ResolvedHost, containers: tuple[Container, ...]) -> KnownSoftware | None:
    """Return what is known about the software of hosts with this GPU; None without a container that uses it."""
    if host.gpu is None or not any(container.confinement.gpu for container in containers):
        return None
    of_spark = catalog.gpu().compute_capability
    found = (
        HostFact(sheet.code, json.dumps(fact.when), fact.message, fact.hint, fact.severity.name.lower())
        for sheet in sheets()
        for fact in sheet.facts
        if sheet.of_hosts and host.gpu.compute_capability == (fact.hardware or of_spark)
    )
    return KnownSoftware(any(links.RDMA in container.confinement.devices for container in containers), tuple(found))


def group_links(host: PlacedHost) -> tuple[ExpectedLink, ...]:
    """Return the links of a host that runs nodes of groups; other hosts work without theirs."""
    if not any(container.server.node for container in host.containers):
        return ()
    return tuple(
        ExpectedLink(link.interface, link.address, link.mtu, link.speed_gbit) for link in links_of(host.values)
    )


def _ports(host: PlacedHost) -> tuple[FreePort, ...]:
    return tuple(
        FreePort(*each.network.listen, unit=each.unit)
        for each in sorted(host.units, key=lambda each: each.name)
        if each.network.listen is not None
    )


def _logins(containers: tuple[Container, ...]) -> tuple[RegistryLogin, ...]:
    images = sorted({container.image.pull for container in containers})
    return tuple(RegistryLogin(_NVIDIA, image) for image in images if image.startswith(f"{_NVIDIA}/"))


def _idle_bytes(containers: tuple[Container, ...], memory_bytes: int | None) -> int | None:
    """Return the memory that must be available while no container runs; a GPU driver may fail to release some."""
    if memory_bytes is None or not any(container.confinement.gpu for container in containers):
        return None
    return int(memory_bytes * _IDLE_SHARE)


def secrets_of(units: Iterable[Container | Program]) -> tuple[str, ...]:
    """Return the names of the secrets that these units read, sorted."""
    mounted = {secret.name for each in units for secret in each.secrets}
    return tuple(sorted(mounted.union(*(each.reloaded for each in units))))


def _unit(container: Container, stores: tuple[ModelStore, ...]) -> UnitExpectation:
    return UnitExpectation(
        image=container.image.pull,
        memory_bytes=container.memory_bytes,
        secrets=(*(secret.name for secret in container.secrets), *container.reloaded),
        cache=cache_path(container),
        files=tuple(file.path for file in container.storage.files),
        weights=tuple(_weights(container, stores)) if container.server.node else (),
        fabric=container.network.fabric,
        group_ports=container.network.group_ports,
        gpu=container.confinement.gpu,
    )


def _weights(container: Container, stores: tuple[ModelStore, ...]) -> Iterator[NodeWeights]:
    """Yield the pinned models that a container loads, in the order of the stores."""
    wanted = {*weights.with_layout(container)}
    for store in stores:
        for model, layout in store.models:
            if store.path == container.weights.store and (model.model, layout) in wanted:
                snapshot = f"hub/models--{model.slug}/snapshots/{model.commit}"
                place = snapshot if layout == "hub" else model.model
                yield NodeWeights(f"{store.path}/{place}", model.commit, model.manifest)


def fabric_variables_path(container: Container) -> str | None:
    """Return the file in which preflight writes what it looked up about the links of a container's host."""
    return None if container.network.fabric is None else f"/run/sparkiac/fabric/{container.name}.env"


def cache_path(container: Container) -> str | None:
    """Return the directory on the host with the container's compile cache."""
    return (
        None
        if container.storage.cache_key is None
        else f"/var/cache/sparkiac/{container.name}/{container.storage.cache_key}"
    )
