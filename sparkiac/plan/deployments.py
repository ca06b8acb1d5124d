"""A deployment's container on one of its hosts."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from sparkiac import catalog, engines
from sparkiac.catalog import interfaces
from sparkiac.engines import vllm
from sparkiac.memory.fit import Workload
from sparkiac.memory.options import default_utilization
from sparkiac.memory.values import GIB
from sparkiac.plan import command
from sparkiac.plan.addresses import bind_address, fabric_address
from sparkiac.plan.builds import image_of
from sparkiac.plan.facts import facts
from sparkiac.plan.image import Added
from sparkiac.plan.parts import Caution, Export, Health, Mount, Published, Secret, stated_bytes
from sparkiac.plan.settings import files, source, waits
from sparkiac.plan.values import Container
from sparkiac.plan.weights import commits, handle
from sparkiac.resolve import hosts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.engines import Engine
    from sparkiac.model.catalog import Entry
    from sparkiac.model.inventory import Deployment
    from sparkiac.plan.image import Image
    from sparkiac.resolve import Resolved

PROBE: Final = "/usr/local/lib/sparkiac/probe.py"
PROBE_FILES: Final = (PROBE, "/usr/local/lib/sparkiac/probe_answers.py")
"""The program and its other part, which lies beside it."""
_INSIDE: Final = "/run/sparkiac"
_KEY_FILE: Final = "/run/secrets/vllm_api_key"

_SILENT: Final[dict[str, Any]] = {"listen": None, "health": None, "health_path": None, "served": ()}
"""A node of a group that does not lead answers nobody."""


def container(resolved: Resolved, *, name: str, host: str) -> Container:
    """Decide how `name` runs on `host`."""
    fleet = resolved.inventory.value
    assert fleet is not None  # noqa: S101
    values = resolved.values["deployments"][name][host]
    machine = resolved.values["hosts"][host]
    group = hosts_of(fleet.deployments[name])
    node = (group.index(host), len(group)) if len(group) > 1 else None
    leads = node is None or node[0] == 0
    engine = engines.named(values["engine"])
    address = bind_address(machine, values["bind"])
    options = _options(resolved, values, group=group, node=node, address=address)
    started = _started(resolved, values, engine, options, own=_node_env(machine) if node else {})
    tools = "tools" in fleet.deployments[name].clients
    return Container(
        kind="deployment",
        name=name,
        description=values.get("description", values["model"]),
        path=("deployments", name),
        mounts=_mounts(values, probed=leads and engine.python),
        files=files(values["container"].get("files", {}), resolved=resolved),
        published=Published(address, values["port"], options["port"]) if node is None else None,
        host_network=node is not None,
        gpu=machine.get("gpu") is not None,
        devices=("/dev/infiniband",) if node is not None and _has_rdma(machine) else (),
        engine=engine.name,
        options=options,
        speculative=values.get("speculative"),
        memory_bytes=_memory(engine, options, machine, started["image"]),
        node=node,
        **started,
        **_served(values),
        workload=Workload(**values["workload"]) if "workload" in values else None,
        measured=values.get("measured", {}),
        **_catalogued(fleet.deployments[name], name, values),
        **(_answers(values, engine, (address, options["port"]), alone=node is None, tools=tools) if leads else _SILENT),
        **_key(values, engine),
        **_confinement(values["container"]),
        **waits(values),
    )


def _started(
    resolved: Resolved, values: dict[str, Any], engine: Engine, options: dict[str, Any], *, own: dict[str, str]
) -> dict[str, Any]:
    """Give image, words and variables, the commits that they name, and the cache that belongs to them."""
    image = image_of(resolved, values["image"])
    pins = commits(resolved, {*_models(values), *filter(None, map(handle, _directories(values)))})
    start = command.start(engine, values, options, commits=pins)
    words = command.words(image, engine, start)
    env = own | {name: str(value) for name, value in values.get("env", {}).items()} | dict(start.env)
    return {
        "image": image,
        "command": words,
        "env": dict(sorted(env.items())),
        "prelude": values["container"].get("prelude", ()),
        "commits": pins,
        "cache_key": _cache_key(image, words, env, pins),
    }


def _served(values: dict[str, Any]) -> dict[str, Any]:
    """Give the model, and what the store must hold."""
    return {
        "model": values["model"],
        "store": values.get("model_store"),
        "models": _models(values),
        "directories": tuple(_directories(values)),
    }


def _directories(values: dict[str, Any]) -> Iterator[str]:
    """Name the models that the store must hold as plain directories: one served from a path, a drafter given by one."""
    if "model_path" in values:
        yield values["model"]
    drafter = values.get("speculative", {}).get("model") or ""
    for target, mount in values["container"].get("mounts", {}).items():
        if mount["source"] == "model_store" and drafter.startswith(f"{target}/"):
            yield drafter.removeprefix(f"{target}/")


def _catalogued(deployment: Deployment, name: str, values: dict[str, Any]) -> dict[str, Any]:
    """Give what the catalog says of recipe and model."""
    variant = f"#{deployment.variant}" if deployment.variant else ""
    extra = values.get("extra_flags", {})
    return {
        "recipe": f"{deployment.recipe}{variant}" if deployment.recipe else None,
        "facts": facts(deployment.recipe, deployment.variant, model=values["model"]),
        "cautions": tuple(_cautions(deployment, name)),
        "clients": deployment.clients,
        "extra": Added(extra.get("options", ()), extra.get("variables", ())),
    }


def _key(values: dict[str, Any], engine: Engine) -> dict[str, Any]:
    """Give the API key's secret, and the variable that the engine reads it from, if it has one."""
    if "api_key" not in values:
        return {}
    secret = values["api_key"]["secret"]
    exports = (Export(engine.key_variable, (secret,)),) if engine.key_variable is not None else ()
    return {"secrets": (Secret(secret, _KEY_FILE),), "exports": exports}


def _confinement(settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "ipc": settings["ipc"],
        "shm_size_bytes": stated_bytes(settings.get("shm_size_gib")),
        "tmp_size_bytes": int(settings["tmp_size_gib"] * GIB),
        "ulimits": settings.get("ulimits", {}),
        "read_only": settings["read_only"],
    }


def _options(
    resolved: Resolved,
    values: dict[str, Any],
    *,
    group: tuple[str, ...],
    node: tuple[int, int] | None,
    address: str,
) -> dict[str, Any]:
    options = dict(values["set"])
    if node is None:
        return options
    rank, size = node
    master = fabric_address(resolved.values["hosts"][group[0]])
    parallel = {"tensor_parallel_size": size} if "pipeline_parallel_size" not in options else {}
    return (
        parallel
        | options
        | {"host": address, "port": values["port"]}
        | vllm.group_options(rank=rank, size=size, master=master)
    )


def _node_env(machine: dict[str, Any]) -> dict[str, str]:
    """Bind the traffic of a group to the machine's own links: NCCL's to their RDMA devices, rendezvous to the first."""
    links = machine["fabric"]["links"]
    devices = ",".join(link["hca"] for link in links if "hca" in link)
    first = links[0]["interface"]
    return {
        "VLLM_HOST_IP": fabric_address(machine),
        "NCCL_SOCKET_IFNAME": first,
        "GLOO_SOCKET_IFNAME": first,
        **({"NCCL_IB_HCA": devices} if devices else {}),
    }


def _mounts(values: dict[str, Any], *, probed: bool) -> tuple[Mount, ...]:
    found = [
        Mount(source(values, mount), target, mount.get("read_only", True))
        for target, mount in values["container"].get("mounts", {}).items()
    ]
    if "model_path" in values:
        found.append(Mount(f"{values['model_store']}/{values['model']}", values["model_path"], read_only=True))
    if probed:
        found += (Mount(file, f"{_INSIDE}/{file.rpartition('/')[2]}", read_only=True) for file in PROBE_FILES)
    return tuple(sorted(found, key=lambda mount: mount.target))


def _answers(
    values: dict[str, Any], engine: Engine, listen: tuple[str, int], *, alone: bool, tools: bool
) -> dict[str, Any]:
    """Give where clients and the probe find the server, and under which names.

    The probe asks for health, models and now and then an answer: its timeout covers the first, slow answer. An image
    without Python is asked for health alone; the playbook asks for the rest, from the host. A group's server listens
    on one address of the host's own network, and not on loopback.
    """
    address, port = listen
    served = command.names(values) or (values["model"],)
    reached = "127.0.0.1" if alone or address == "0.0.0.0" else address  # noqa: S104  compared
    asked = _asked(engine, f"http://{reached}:{port}", served, tools=tools)
    return {
        "listen": (address, values["port"]),
        "health": Health(asked, interval_s=15, timeout_s=150),
        "health_path": engine.health,
        "served": served,
    }


def _asked(engine: Engine, url: str, served: tuple[str, ...], *, tools: bool) -> tuple[str, ...]:
    if not engine.python:
        return ("CMD", "curl", "-fsS", "-m", "4", "-o", "/dev/null", f"{url}{engine.health}")
    path = () if engine.health == "/health" else ("--health", engine.health)
    return ("CMD", "python3", f"{_INSIDE}/probe.py", *path, *(["--tools"] if tools else ()), url, *served)


def _has_rdma(machine: dict[str, Any]) -> bool:
    return any("hca" in link for link in machine["fabric"]["links"])


def _cache_key(pinned: Image, words: tuple[str, ...], env: dict[str, str], pins: dict[str, str]) -> str:
    """Name the cache after all that compiled code depends on, so that an upgrade never meets old artifacts."""
    parts = [pinned.digest, words, dict(sorted(env.items())), pins]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _memory(engine: Engine, options: dict[str, Any], machine: dict[str, Any], image: Image) -> int | None:
    share, total_gib = options.get(engine.memory_share or ""), machine.get("memory_gib")
    if share is None and engine.name == "vllm" and options.get("kv_cache_memory_bytes") is None:
        share = default_utilization(interfaces.assumed(image.vllm))
    if share is None or total_gib is None:
        return None
    return int(share * total_gib * GIB)


def _models(values: dict[str, Any]) -> tuple[str, ...]:
    """Name every repository that the store must hold in the hub's layout, which the drafter may be one of."""
    model = None if "model_path" in values else values["model"]
    drafter = values.get("speculative", {}).get("model")
    named = (model, *values.get("needs_models", ()), drafter)
    return tuple(dict.fromkeys(each for each in named if each is not None and not each.startswith("/")))


def _cautions(deployment: Deployment, name: str) -> Iterator[Caution]:
    """Name the catalog entries in use that must not be used as they were printed."""
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
        entry: Entry = found.value
        if entry.status == "superseded":
            yield Caution(path, label, entry.why or "", entry.instead)
