"""A deployment's container on one of its hosts."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from sparkiac.engines import vllm
from sparkiac.plan.addresses import bind_address, fabric_address
from sparkiac.plan.images import image
from sparkiac.plan.settings import source, waits
from sparkiac.plan.values import GIB, Container, Health, Image, Mount, Published, Secret
from sparkiac.resolve import hosts_of

if TYPE_CHECKING:
    from sparkiac.resolve import Resolved

PROBE: Final = "/usr/local/lib/sparkiac/probe.py"
_PROBE_INSIDE: Final = "/run/sparkiac/probe.py"
_KEY_FILE: Final = "/run/secrets/vllm_api_key"
_WITH_KEY: Final = (
    f'set -eu; VLLM_API_KEY="$(cat {_KEY_FILE})"; test -n "$VLLM_API_KEY"; export VLLM_API_KEY; exec "$@"'
)
"""Entrypoint wrapper: an environment variable set here shows in no inspect output and in no argument list,
and a server whose key is missing or empty does not start."""

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
    pinned = image(values["image"], lock=resolved.lock, mirrors=fleet.registries.mirrors)
    address = bind_address(machine, values["bind"])
    options = _options(resolved, values, group=group, node=node, address=address)
    leads = node is None or node[0] == 0
    command = _command(pinned, values["model"], options)
    env = _environment(values, machine, node)
    keyed = "api_key" in values
    return Container(
        kind="deployment",
        name=name,
        description=values.get("description", values["model"]),
        path=("deployments", name),
        image=pinned,
        entrypoint=("/bin/sh", "-c", _WITH_KEY, "sh", *(pinned.entrypoint or ())) if keyed else None,
        command=command,
        env=env,
        mounts=_mounts(values, leads=leads),
        published=Published(address, values["port"], options["port"]) if node is None else None,
        host_network=node is not None,
        gpu=machine.get("gpu") is not None,
        devices=("/dev/infiniband",) if node is not None and _has_rdma(machine) else (),
        secrets=(Secret(values["api_key"]["secret"], _KEY_FILE),) if keyed else (),
        cache_key=_cache_key(pinned, command, env),
        memory_bytes=_memory(options, machine),
        store=values.get("model_store"),
        models=_models(values, options),
        node=node,
        **(_answers(values, address=address, port=options["port"], alone=node is None) if leads else _SILENT),
        **_confinement(values["container"]),
        **waits(values),
    )


def _confinement(settings: dict[str, Any]) -> dict[str, Any]:
    shm_size_gib = settings.get("shm_size_gib")
    return {
        "ipc": settings["ipc"],
        "shm_size_bytes": None if shm_size_gib is None else int(shm_size_gib * GIB),
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
    if "served_names" in values:
        options["served_model_name"] = values["served_names"]
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


def _command(pinned: Image, model: str, options: dict[str, Any]) -> tuple[str, ...]:
    """Write the command after the image's entrypoint, which may say `vllm serve` already."""
    arguments = vllm.arguments(model, options)
    if (pinned.entrypoint or ())[-2:] == vllm.SERVE_WORDS:
        return arguments
    return (*vllm.SERVE_WORDS, *arguments)


def _environment(values: dict[str, Any], machine: dict[str, Any], node: tuple[int, int] | None) -> dict[str, str]:
    env = {name: str(value) for name, value in values.get("env", {}).items()}
    if node is not None:
        env.setdefault("VLLM_HOST_IP", fabric_address(machine))
    return dict(sorted(env.items()))


def _mounts(values: dict[str, Any], *, leads: bool) -> tuple[Mount, ...]:
    found = [
        Mount(source(values, mount), target, mount.get("read_only", True))
        for target, mount in values["container"].get("mounts", {}).items()
    ]
    if leads:
        found.append(Mount(PROBE, _PROBE_INSIDE, read_only=True))
    return tuple(sorted(found, key=lambda mount: mount.target))


def _answers(values: dict[str, Any], *, address: str, port: int, alone: bool) -> dict[str, Any]:
    """Give where clients and the probe find the server, and under which names.

    The probe asks for health, models and, once, a short answer: its timeout covers that first, slow answer. A
    group's server listens on one address of the host's own network, and not on loopback.
    """
    served = tuple(values.get("served_names", (values["model"],)))
    reached = "127.0.0.1" if alone or address == "0.0.0.0" else address  # noqa: S104  compared
    command = ("CMD", "python3", _PROBE_INSIDE, f"http://{reached}:{port}", *served)
    return {
        "listen": (address, values["port"]),
        "health": Health(command, interval_s=15, timeout_s=150),
        "health_path": "/health",
        "served": served,
    }


def _has_rdma(machine: dict[str, Any]) -> bool:
    return any("hca" in link for link in machine["fabric"]["links"])


def _cache_key(pinned: Image, command: tuple[str, ...], env: dict[str, str]) -> str:
    """Name the cache after all that compiled code depends on, so that an upgrade never meets old artifacts."""
    parts = [pinned.digest, command, env]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _memory(options: dict[str, Any], machine: dict[str, Any]) -> int | None:
    utilization, total_gib = options.get("gpu_memory_utilization"), machine.get("memory_gib")
    if utilization is None or total_gib is None:
        return None
    return int(utilization * total_gib * GIB)


def _models(values: dict[str, Any], options: dict[str, Any]) -> tuple[str, ...]:
    """Name every repository that the container loads, which the recipe's drafter may be one of."""
    drafter = options.get("speculative_config", {}).get("model")
    return tuple(dict.fromkeys(filter(None, (values["model"], *values.get("needs_models", ()), drafter))))
