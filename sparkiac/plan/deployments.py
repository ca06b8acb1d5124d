"""Plan the container of a deployment on one of its hosts."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import catalog, engines
from sparkiac.catalog import interfaces
from sparkiac.engines import vllm
from sparkiac.memory.options import default_utilization
from sparkiac.memory.values import GIB
from sparkiac.model.speculative import Ngram, Suffix
from sparkiac.plan import command, links, settings
from sparkiac.plan.addresses import bind_address, fabric_address
from sparkiac.plan.builds import image_of
from sparkiac.plan.container import (
    Checks,
    Confinement,
    ContainerCommand,
    ContainerNetwork,
    ModelServer,
    RequiredWeights,
    Storage,
)
from sparkiac.plan.facts import facts
from sparkiac.plan.image import AddedNames
from sparkiac.plan.parts import BindMount, Export, Health, Published, Secret, SupersededEntry, stated_bytes
from sparkiac.plan.values import Container
from sparkiac.plan.weights import commits, handle
from sparkiac.resolve import fabric, hosts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.engines import Engine
    from sparkiac.model.catalog import CatalogEntry
    from sparkiac.model.inventory import Deployment
    from sparkiac.model.resolved import ResolvedDeployment, ResolvedHost
    from sparkiac.plan.image import Image
    from sparkiac.resolve import Resolved

PROGRAMS: Final = "/usr/local/lib/sparkiac"
"""Directory on the host with the probe."""
_INSIDE: Final = "/run/sparkiac"
_KEY_FILE: Final = "/run/secrets/vllm_api_key"


class _Node(NamedTuple):
    """One deployment on one of its hosts."""

    name: str
    written: Deployment
    values: ResolvedDeployment
    host: ResolvedHost
    leader: ResolvedHost
    """Leader of the group; the host itself if there is only one."""
    mesh: bool
    """Whether no network reaches all hosts of the group."""
    others: tuple[ResolvedHost, ...]
    """The hosts of the group but the leader."""
    rank: int
    size: int
    """Number of hosts of the group."""
    engine: Engine
    address: str
    """Address of the host that its port is published on."""

    @property
    def alone(self) -> bool:
        """Return whether the deployment runs on one host only."""
        return self.size == 1

    @property
    def leads(self) -> bool:
        """Return whether this host accepts the requests of clients."""
        return self.rank == 0


def container(resolved: Resolved, *, name: str, host: str, shared: str | None) -> Container:
    """Plan the container of deployment `name` on `host`; `shared` is the Docker network that it shares with clients."""
    node = _node(resolved, name, host)
    values, options = node.values, _options(node)
    image = image_of(resolved, values.image, host=host)
    weights = _weights(resolved, values)
    words = _command(node, image, options, weights)
    return Container(
        kind="deployment",
        name=name,
        description=values.description or values.model,
        path=("deployments", name),
        image=image,
        command=words,
        network=_network(node, options, shared=shared),
        confinement=_confinement(node),
        storage=_storage(resolved, node, cache_key=_cache_key(image, words, weights.commits)),
        checks=_checks(node, options),
        timeouts=settings.timeouts(values.timeouts),
        server=_server(node, options),
        weights=weights,
        secrets=() if values.api_key is None else (Secret(values.api_key.secret, _KEY_FILE),),
        memory_bytes=_memory_bytes(node, options, image),
    )


def _node(resolved: Resolved, name: str, host: str) -> _Node:
    written, machines = resolved.written.deployments[name], resolved.fleet.hosts
    values, group = resolved.fleet.deployments[name][host], hosts_of(written)
    return _Node(
        name=name,
        written=written,
        values=values,
        host=machines[host],
        leader=machines[group[0]],
        mesh=len(group) > 1 and fabric.is_mesh([fabric.links_of(machines[each]) for each in group]),
        others=tuple(machines[each] for each in group[1:]),
        rank=group.index(host),
        size=len(group),
        engine=engines.named(values.engine),
        address=bind_address(machines[host], values.bind),
    )


def _options(node: _Node) -> dict[str, Any]:
    """Return the engine options, including those that connect the hosts of a group."""
    options: dict[str, Any] = dict(node.values.set)
    if node.alone:
        return options
    parallel = {} if "pipeline_parallel_size" in options else {"tensor_parallel_size": node.size}
    listen = {"host": node.address, "port": node.values.port}
    master = node.leader.address if node.mesh else fabric_address(node.leader)
    group = vllm.group_options(rank=node.rank, size=node.size, master=master)
    return parallel | options | listen | group


def _command(node: _Node, image: Image, options: Mapping[str, Any], weights: RequiredWeights) -> ContainerCommand:
    values, engine = node.values, node.engine
    start = command.start(engine, values, options, commits=weights.commits)
    env = {name: str(value) for name, value in values.env.items()} | dict(start.env)
    key = values.api_key if engine.key_variable is not None else None
    return ContainerCommand(
        words=command.words(image, engine, start),
        env=dict(sorted(env.items())),
        exports=() if key is None else (Export(str(engine.key_variable), (key.secret,)),),
        pre_start=values.container.prelude,
    )


def _network(node: _Node, options: Mapping[str, Any], *, shared: str | None) -> ContainerNetwork:
    port = node.values.port
    return ContainerNetwork(
        listen=(node.address, port) if node.leads else None,
        published=Published(node.address, port, options["port"]) if node.alone else None,
        host=not node.alone,
        shared=shared,
        fabric=None if node.alone else links.lookup(node.host, node.values.env, mesh=node.mesh),
        store=links.store(node.host, node.others, options, mesh=node.mesh) if node.leads else None,
    )


def _confinement(node: _Node) -> Confinement:
    container_settings = node.values.container
    limits = container_settings.ulimits or ()
    return Confinement(
        read_only=container_settings.read_only,
        gpu=node.host.gpu is not None,
        ipc=container_settings.ipc,
        shm_size_bytes=stated_bytes(container_settings.shm_size_gib),
        tmp_size_bytes=int(container_settings.tmp_size_gib * GIB),
        ulimits={name: limit for name, limit in limits if limit is not None},
        devices=() if node.alone else links.device_files(node.host, node.values.env),
    )


def _storage(resolved: Resolved, node: _Node, *, cache_key: str) -> Storage:
    files = settings.files(node.values.container.files, resolved=resolved)
    return Storage(mounts=_mounts(node), files=files, cache_key=cache_key)


def _mounts(node: _Node) -> tuple[BindMount, ...]:
    values = node.values
    found = settings.mounts(values.container.mounts, store=values.model_store)
    if values.model_path is not None:
        found.append(BindMount(f"{values.model_store}/{values.model}", values.model_path, read_only=True))
    if node.engine.python:
        found.append(BindMount(PROGRAMS, f"{_INSIDE}/lib", read_only=True))
        found.append(BindMount(promise_file(node.name), f"{_INSIDE}/promise.json", read_only=True))
    return tuple(sorted(found, key=lambda mount: mount.target))


def _weights(resolved: Resolved, values: ResolvedDeployment) -> RequiredWeights:
    models, directories = _models(values), tuple(_directories(values))
    pins = commits(resolved, {*models, *filter(None, map(handle, directories))})
    return RequiredWeights(values.model_store, models, directories, pins)


def _models(values: ResolvedDeployment) -> tuple[str, ...]:
    """Return the repositories that the store must contain in the layout of the Hugging Face cache."""
    model = None if values.model_path is not None else values.model
    named = (model, *values.needs_models, _drafter(values))
    return tuple(dict.fromkeys(each for each in named if each is not None and not each.startswith("/")))


def _directories(values: ResolvedDeployment) -> Iterator[str]:
    """Return the models that the store must contain as plain directories: those that the engine loads from a path."""
    if values.model_path is not None:
        yield values.model
    drafter = _drafter(values) or ""
    for target, mount in values.container.mounts.items():
        if mount.source == "model_store" and drafter.startswith(f"{target}/"):
            yield drafter.removeprefix(f"{target}/")


def _drafter(values: ResolvedDeployment) -> str | None:
    match values.speculative:
        case None | Ngram() | Suffix():
            return None
        case method:
            return method.model


def _server(node: _Node, options: Mapping[str, Any]) -> ModelServer:
    values, written, extra = node.values, node.written, node.values.extra_flags
    variant = f"#{written.variant}" if written.variant else ""
    return ModelServer(
        engine=node.engine.name,
        options=options,
        model=values.model,
        served=command.served(values) if node.leads else (),
        facts=facts(written.recipe, written.variant, model=values.model),
        speculative=command.speculative(values),
        node=None if node.alone else (node.rank, node.size),
        clients=written.clients,
        extra=AddedNames(extra.options or (), extra.variables or ()) if extra else AddedNames(),
        workload=values.workload,
        measured=values.measured,
        recipe=f"{written.recipe}{variant}" if written.recipe else None,
        superseded=tuple(_superseded(written, node.name)),
    )


def promise_file(name: str) -> str:
    """Return the path on the host of what a container promises."""
    return f"/etc/sparkiac/{name}/promise.json"


def _checks(node: _Node, options: Mapping[str, Any]) -> Checks:
    """Return the health checks of the server.

    The probe checks what the unit promises; its timeout is long enough for the first, slow answer. An image without
    Python gets a check of the health endpoint only, and the playbook checks the rest from the host. With host
    networking, the server of a group may not listen on loopback. A worker of a group serves no HTTP.
    """
    address = "127.0.0.1" if node.alone or node.address == "0.0.0.0" else node.address  # noqa: S104  compared
    probe = _probe_command(node.engine, f"http://{address}:{options['port']}" if node.leads else None)
    return Checks(Health(probe, interval_s=15, timeout_s=150), node.engine.health if node.leads else None)


def _probe_command(engine: Engine, url: str | None) -> tuple[str, ...]:
    if not engine.python:
        return ("CMD", "curl", "-fsS", "-m", "4", "-o", "/dev/null", f"{url}{engine.health}")
    watch = ("CMD", "python3", f"{_INSIDE}/lib/probe.py", "watch", f"{_INSIDE}/promise.json")
    return watch if url is None else (*watch, "--at", url)


def _cache_key(pinned: Image, words: ContainerCommand, pins: Mapping[str, str]) -> str:
    """Return a hash of everything that compiled code depends on, so that an upgrade starts with an empty cache."""
    parts = [pinned.digest, words.words, words.env, pins]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _memory_bytes(node: _Node, options: Mapping[str, Any], image: Image) -> int | None:
    share, total_gib = options.get(node.engine.memory_share or ""), node.host.memory_gib
    if share is None and node.engine.name == "vllm" and options.get("kv_cache_memory_bytes") is None:
        share = default_utilization(interfaces.assumed(image.vllm))
    return None if share is None or total_gib is None else int(share * total_gib * GIB)


def _superseded(deployment: Deployment, name: str) -> Iterator[SupersededEntry]:
    """Return the catalog entries in use whose status is `superseded`."""
    base = ("deployments", name)
    entries: list[tuple[str, Any, tuple[str | int, ...]]] = []
    if deployment.recipe:
        entries.append((deployment.recipe, catalog.recipe(deployment.recipe), (*base, "recipe")))
    if deployment.recipe and deployment.variant:
        found = catalog.variant(deployment.recipe, deployment.variant)
        entries.append((f"{deployment.recipe}#{deployment.variant}", found, (*base, "variant")))
    for index, chosen in enumerate(deployment.fragments):
        entries.append((f"fragment {chosen}", catalog.fragment(chosen), (*base, "fragments", index)))
    for label, found, path in entries:
        entry: CatalogEntry = found.value
        if entry.status == "superseded":
            yield SupersededEntry(path, label, entry.why or "", entry.instead)
