"""Plan the container of a deployment on one of its hosts."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import engines
from sparkiac.catalog import interfaces
from sparkiac.engines import Member, Part
from sparkiac.host.generation import Sysctl
from sparkiac.host.preflight.expectations import LoadGuard
from sparkiac.memory.options import default_utilization
from sparkiac.memory.values import GIB
from sparkiac.model.catalog import is_discrete
from sparkiac.plan import command, facts, links, parts, promise
from sparkiac.plan.confinement import confinement
from sparkiac.plan.container import (
    Checks,
    Container,
    ContainerCommand,
    ContainerNetwork,
    ModelServer,
    RequiredWeights,
    Storage,
)
from sparkiac.plan.image import AddedNames
from sparkiac.plan.parts import BindMount, Export, Published, Secret
from sparkiac.plan.topology import LOOPBACK, bind_address, locally
from sparkiac.plan.weights import handle
from sparkiac.resolve import fabric, hosts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.engines import Engine
    from sparkiac.model.inventory import Deployment
    from sparkiac.model.resolved import ResolvedDeployment, ResolvedFleet, ResolvedHost
    from sparkiac.plan.facts import UsedRecipe
    from sparkiac.plan.image import Image, Images
    from sparkiac.plan.weights import Pins

PROGRAMS: Final = "/usr/local/lib/sparkiac"
"""Directory on the host with the probe."""
_KEY_FILE: Final = "/run/secrets/vllm_api_key"


class DeploymentNode(NamedTuple):
    """One deployment on one of its hosts."""

    name: str
    written: Deployment
    values: ResolvedDeployment
    host: ResolvedHost
    mesh: bool
    """Whether no network reaches all hosts of the group."""
    group: tuple[ResolvedHost, ...]
    """The hosts of the group, the leader first; the host itself if there is only one."""
    names: tuple[str, ...]
    """Their names."""
    rank: int
    number: int
    engine: Engine
    address: str
    """Address of the host that its port is published on."""

    @property
    def alone(self) -> bool:
        """Return whether the deployment runs on one host only."""
        return len(self.group) == 1

    @property
    def executor(self) -> str | None:
        """Return how the nodes of its group run; None for a single host."""
        groups = self.engine.groups
        return None if self.alone or groups is None else engines.executor(groups, self.values.executor)

    @property
    def nccl(self) -> bool:
        """Return whether it exchanges data with other nodes through NCCL."""
        return not self.alone and self.engine.groups is not None and self.engine.groups.nccl

    @property
    def leads(self) -> bool:
        """Return whether this host accepts the requests of clients."""
        return self.rank == 0


def container(node: DeploymentNode, recipe: UsedRecipe, images: Images, pins: Pins) -> Container:
    """Plan the container of a deployment on one host."""
    part, values, name = _part(node), node.values, node.name
    options = _options(node, part)
    image = images.find(values.image, host=node.names[node.rank])
    weights = _weights(values, pins) if part.loads else RequiredWeights()
    words = _command(node, part, image, options, weights)
    return Container(
        kind="deployment",
        name=name,
        description=values.description or values.model,
        path=("deployments", name),
        image=image,
        command=words,
        network=_network(node, part, options),
        confinement=confinement(
            values.container,
            gpu=node.host.gpu is not None,
            devices=links.device_files(node.host, values.env) if node.nccl else (),
        ),
        storage=Storage(
            mounts=_mounts(node),
            files=parts.files(values.container.files, pins.files),
            cache_key=_cache_key(image, words, weights.commits),
        ),
        checks=_checks(node, part, options),
        timeouts=values.timeouts,
        load_memory=values.load_memory if part.loads else None,
        load_guard=_load_guard(values) if part.loads else None,
        server=_server(node, recipe, part, options),
        weights=weights,
        secrets=() if values.api_key is None or part.program else (Secret(values.api_key.secret, _KEY_FILE),),
        memory_bytes=_memory_bytes(node, options, image),
    )


def node_of(fleet: ResolvedFleet, written: Deployment, *, name: str, host: str, number: int) -> DeploymentNode:
    """Return deployment `name` on one of its hosts; `number` is that of its group."""
    machines, values, group = fleet.hosts, fleet.deployments[name][host], hosts_of(written)
    return DeploymentNode(
        name=name,
        written=written,
        values=values,
        host=machines[host],
        mesh=len(group) > 1 and fabric.is_mesh([fabric.links_of(machines[each]) for each in group]),
        group=tuple(machines[each] for each in group),
        names=group,
        rank=group.index(host),
        number=number,
        engine=engines.named(values.engine),
        address=bind_address(machines[host], values.bind),
    )


def _part(node: DeploymentNode) -> Part:
    """Return the command parts of a node of a group; empty for a single host and for engines without groups."""
    groups = node.engine.groups
    if node.executor is None or groups is None:
        return Part()
    addresses = links.addresses(node.group, mesh=node.mesh, pairs=groups.pairs)
    return groups.part(Member(node.rank, addresses, node.executor, node.values.set, node.number))


def _options(node: DeploymentNode, part: Part) -> dict[str, Any]:
    """Return the engine options, including those that connect the hosts of a group. Sizes in the inventory are kept."""
    options, engine = dict(node.values.set), node.engine
    if node.alone:
        return options
    computed = engine.groups.computed if engine.groups else ()
    decided = {name: value for name, value in part.options.items() if name in computed}
    return dict(part.options) | options | {engine.host: node.address, engine.port: node.values.port} | decided


def _command(
    node: DeploymentNode, part: Part, image: Image, options: Mapping[str, Any], weights: RequiredWeights
) -> ContainerCommand:
    values, engine = node.values, node.engine
    start = command.start(engine, values, options, commits=weights.commits)
    env = {name: str(value) for name, value in values.env.items()} | dict(start.env)
    key = values.api_key if engine.key_variable is not None else None
    exports = () if key is None else (Export(str(engine.key_variable), (key.secret,)),)
    return ContainerCommand(
        words=part.program[1:] or command.words(image, engine, start),
        env=dict(sorted(env.items())),
        exports=() if part.program else exports,
        pre_start=(*values.container.prelude, *part.before),
        entrypoint=(*command.launcher(image, engine), part.program[0]) if part.program else None,
    )


def _network(node: DeploymentNode, part: Part, options: Mapping[str, Any]) -> ContainerNetwork:
    port, groups = node.values.port, node.engine.groups
    others = tuple(host for host in node.group if host is not node.host)
    pairs = groups is not None and groups.pairs and not node.leads
    link = links.link(node.names, node.group, mesh=node.mesh, number=node.number)
    leads = (str(link.port),) if link is not None and node.leads else ()
    ports = (*part.ports, *leads)
    return ContainerNetwork(
        listen=(node.address, port) if node.leads else None,
        clients=node.values.reachable_from,
        egress=(node.values.egress or ()) if node.alone else None,
        published=Published(node.address, port, options[node.engine.port]) if node.alone else None,
        host=not node.alone,
        fabric=None if not node.nccl else links.lookup(node.host, node.values.env, mesh=node.mesh),
        opened=(*((part.listen, port) for port in part.ports), *((link.address, port) for port in leads if link)),
        group_ports=links.group_ports(ports, node.host, others, mesh=node.mesh, pairs=pairs),
        link=link,
    )


def _mounts(node: DeploymentNode) -> tuple[BindMount, ...]:
    values = node.values
    found = parts.mounts(values.container.mounts, store=values.model_store)
    if values.model_path is not None:
        found.append(BindMount(f"{values.model_store}/{values.model}", values.model_path, read_only=True))
    if node.engine.python:
        found.append(BindMount(PROGRAMS, f"{promise.INSIDE}/lib", read_only=True))
        found.append(BindMount(promise.promise_file(node.name), f"{promise.INSIDE}/promise.json", read_only=True))
    return tuple(sorted(found, key=lambda mount: mount.target))


def _weights(values: ResolvedDeployment, pins: Pins) -> RequiredWeights:
    models, directories = _models(values), tuple(_directories(values))
    commits = pins.commits({*models, *filter(None, map(handle, directories))})
    gated = tuple(name for name in commits if pins.models[name].gated)
    return RequiredWeights(values.model_store, models, directories, commits, gated)


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
    return values.speculative.model if values.speculative else None


def _server(node: DeploymentNode, recipe: UsedRecipe, part: Part, options: Mapping[str, Any]) -> ModelServer:
    values, written, extra = node.values, node.written, node.values.extra_flags
    return ModelServer(
        engine=node.engine.name,
        options=options,
        model=values.model,
        served=command.served(values) if node.leads else (),
        facts=facts.facts(recipe.entries, model=values.model),
        speculative=command.speculative(values),
        node=None if node.alone else (node.rank, len(node.group)),
        executor=node.executor,
        store=part.store,
        clients=written.clients,
        extra=AddedNames(extra.options or (), extra.variables or ()) if extra else AddedNames(),
        workload=values.workload,
        measured=values.measured,
        recipe=recipe.name,
        recipe_options=recipe.options,
        published=next((each.measured for each in reversed(recipe.entries) if each.measured), ()),
        superseded=tuple(facts.superseded(node.name, written.fragments, recipe)),
    )


def _checks(node: DeploymentNode, part: Part, options: Mapping[str, Any]) -> Checks:
    """Return the health checks of the server. With host networking, it may not listen on loopback."""
    address = LOOPBACK if node.alone else locally(node.address)
    return promise.checks(node.engine, part, f"http://{address}:{options[node.engine.port]}" if node.leads else None)


def _cache_key(pinned: Image, words: ContainerCommand, pins: Mapping[str, str]) -> str:
    """Return a hash of everything that compiled code depends on, so that an upgrade starts with an empty cache."""
    parts = [pinned.digest, words.words, words.env, pins]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _memory_bytes(node: DeploymentNode, options: Mapping[str, Any], image: Image) -> int | None:
    """Return the share of the host's memory that the engine uses; None if it is unknown, or for a discrete GPU."""
    share, total_gib = options.get(node.engine.memory_share or ""), node.host.memory_gib
    if share is None and node.engine.interfaces and options.get("kv_cache_memory_bytes") is None:
        share = default_utilization(interfaces.assumed(image.vllm))
    if share is None or total_gib is None or is_discrete(node.host.gpu):
        return None
    return int(share * total_gib * GIB)


def _load_guard(values: ResolvedDeployment) -> LoadGuard | None:
    """Return what changes on the host while the deployment loads its model; None if nothing does."""
    wanted, ready_s = values.load_memory, values.timeouts.ready_s
    if wanted is None:
        return None
    sysctls = {key: str(value) for key, value in (wanted.sysctl or {}).items() if value is not None}
    return LoadGuard(
        drop_every_s=wanted.drop_caches_every_s,
        drop_for_s=wanted.drop_caches_for_s or ready_s,
        read_ahead_kib=wanted.read_ahead_kib,
        read_ahead_for_s=wanted.read_ahead_for_s or ready_s,
        store=values.model_store,
        sysctls=tuple(Sysctl(key, value) for key, value in sorted(sysctls.items())),
        for_s=ready_s,
    )
