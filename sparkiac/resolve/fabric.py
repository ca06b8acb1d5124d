"""What every node of a group needs on its host, by one decision table.

The values are the layer above the engine's defaults, so that a recipe, the inventory's defaults and a deployment can
change or remove each of them. `sparkiac plan --explain` prints the reason and the source with the value.

The first links of most groups are in one network: a cable between two hosts, or a switch. In a *mesh*, each cable has a
network of its own, as with three hosts without a switch. A *ring* is a mesh of four or more hosts, each cabled to the
one before and the one after it in the list under `hosts`.
"""

from __future__ import annotations

from ipaddress import ip_interface
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.report import Finding, Origin, Path, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from ipaddress import IPv4Network, IPv6Network

    from sparkiac.model.inventory import FabricLink, Host
    from sparkiac.model.link_record import LinkRecord
    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.resolve.leaves import Leaves
    from sparkiac.source.document import Document

    Links = tuple[FabricLink, ...]

_SLOWER_HINT: Final = "check the cable and both ports, then run `sparkiac fabric verify` again"
_STACK_BYTES: Final = 64 << 20
_MESH_SOURCE: Final = (
    "[three Sparks without a switch](https://forums.developer.nvidia.com/t/"
    "three-node-spark-clusters-without-a-switch-are-now-supported-in-spark-vllm-docker-and-sparkrun/365296)"
)


NCCL: Final = ("mp", "ray", "sglang")
"""Executors whose nodes exchange data through NCCL; llama.cpp uses plain TCP and reads none of the variables."""
_VLLM: Final = ("mp", "ray")
_RAY: Final = ("ray",)
_ONLY: Final = {_VLLM: "vLLM", _RAY: "Ray"}


class Decision(NamedTuple):
    """A setting of each node of a group, and when and why it is made."""

    path: Path
    value: Callable[[Host], str | int]
    """The value on a host."""
    when: str
    """`always`; `rdma` if a link of the host has an RDMA device, or `no rdma`; `one network` or `mesh`; `ring`."""
    shown: str
    """The value in words, for the documentation."""
    reason: str
    source: str
    executors: tuple[str, ...] = NCCL
    """Executors whose nodes get it, as the engines name them."""

    @property
    def condition(self) -> str:
        """Return when the setting is made, as the documentation prints it."""
        return ", ".join(each for each in (_ONLY.get(self.executors, ""), self.when) if each not in {"", "always"})


def links_of(host: Host | ResolvedHost) -> Links:
    """Return the high-speed links of a host; the first one carries the traffic of most groups."""
    return host.fabric.links if host.fabric else ()


def is_mesh(members: Sequence[Links]) -> bool:
    """Return whether the first links are in several networks, and each host shares one with the next in the list."""
    first = {ip_interface(links[0].address).network for links in members}
    return len(first) > 1 and not unlinked(members)


def is_ring(members: Sequence[Links]) -> bool:
    """Return whether the hosts are a mesh in which not every pair has a cable."""
    networks = [networks_of(links) for links in members]
    return is_mesh(members) and not all(one & other for one, other in combinations(networks, 2))


def unlinked(members: Sequence[Links]) -> list[tuple[int, int]]:
    """Return the neighbours in the list that share no network; the first host is the neighbour of the last one."""
    networks = [networks_of(links) for links in members]
    pairs = sorted({tuple(sorted((index, (index + 1) % len(members)))) for index in range(len(members))})
    return [(one, other) for one, other in pairs if not networks[one] & networks[other]]


def networks_of(links: Links) -> set[IPv4Network | IPv6Network]:
    """Return the networks of the links."""
    return {ip_interface(link.address).network for link in links}


def devices(links: Links) -> tuple[str, ...]:
    """Return the RDMA devices of the links, each followed by that of its twin."""
    named = (device for link in links for device in (link.hca, link.twin.hca if link.twin else None))
    return tuple(device for device in named if device is not None)


def layer(host: Host, members: Sequence[Links], executor: str) -> Leaves:
    """Return the settings of a node; `members` are the links of all hosts of its group."""
    known = {"always", "rdma" if devices(links_of(host)) else "no rdma", "mesh" if is_mesh(members) else "one network"}
    known |= {"ring"} if is_ring(members) else set()
    return {
        each.path: (each.value(host), Origin(f"group: {each.reason} ({each.source})"))
        for each in TABLE
        if each.when in known and executor in each.executors
    }


def _interface(host: Host) -> str:
    return links_of(host)[0].interface


def link_address(host: Host | ResolvedHost) -> str:
    """Return the address of a host's first link. The host must have one."""
    return str(ip_interface(links_of(host)[0].address).ip)


def _address(host: Host) -> str:
    return host.address


def _devices(host: Host) -> str:
    return ",".join(devices(links_of(host)))


def _always(value: str | int) -> Callable[[Host], str | int]:
    return lambda _: value


_STEP_S: Final = 900
"""Seconds that a step of the model may take. A load with compilation takes up to 15 minutes."""

TABLE: Final = (
    Decision(
        ("env", "VLLM_HOST_IP"),
        link_address,
        "one network",
        "address of the first link",
        "vLLM announces this address to the other nodes; otherwise it takes the one of the default route",
        "vLLM, get_ip in vllm/utils",
        _VLLM,
    ),
    Decision(
        ("env", "VLLM_HOST_IP"),
        _address,
        "mesh",
        "address of the host",
        "no link reaches all hosts of a mesh, so they connect over the LAN and only NCCL's data uses the links",
        _MESH_SOURCE,
        _VLLM,
    ),
    Decision(
        ("env", "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS"),
        _always(_STEP_S),
        "always",
        f"{_STEP_S}",
        "a step that takes longer ends the group: vLLM's 300 s also count the compilation in the first step of a large "
        "model, and the health check finds a server that hangs after 60 s",
        "vLLM, vllm/envs.py",
        _VLLM,
    ),
    Decision(
        ("env", "NCCL_SOCKET_IFNAME"),
        _interface,
        "one network",
        "interface of the first link",
        "NCCL connects the nodes over it; over Ethernet, a group is 10 to 20 times slower",
        "Spark guide L659-660",
    ),
    Decision(
        ("env", "GLOO_SOCKET_IFNAME"),
        _interface,
        "one network",
        "interface of the first link",
        "Gloo otherwise takes the interface of the host's name, which the other nodes may not reach",
        "SM121 reference L53-54",
    ),
    Decision(
        ("env", "NCCL_IB_HCA"),
        _devices,
        "rdma",
        "RDMA devices of all links and their twins",
        "without it, NCCL tries every device and can hang without an error",
        "SM121 reference L40-41",
    ),
    Decision(
        ("env", "NCCL_NET_PLUGIN"),
        _always("none"),
        "rdma",
        "none",
        "a network plugin in the image can make NCCL fall back to TCP",
        "SM121 reference L44",
    ),
    Decision(
        ("env", "NCCL_IB_TIMEOUT"),
        _always(22),
        "rdma",
        "22",
        "a host that is short of memory answers late: 22 is 17 s (4.096 µs x 2^22), NCCL's default of 20 is 4 s",
        "SM121 reference L46; NCCL documentation",
    ),
    Decision(
        ("env", "NCCL_IB_SUBNET_AWARE_ROUTING"),
        _always(1),
        "mesh",
        "1",
        "NCCL (2.30 or newer) must choose the device that is cabled to the peer; otherwise the connection times out",
        _MESH_SOURCE,
    ),
    Decision(
        ("env", "NCCL_IB_MERGE_NICS"),
        _always(0),
        "mesh",
        "0",
        "the two ports of a host lead to different hosts, so NCCL must not use them as one",
        _MESH_SOURCE,
    ),
    Decision(
        ("env", "NCCL_ALGO"),
        _always("Ring"),
        "ring",
        "Ring",
        "NCCL's other algorithms connect hosts without a cable between them; its ring follows the order of the ranks",
        "NCCL documentation",
    ),
    Decision(
        ("container", "ulimits", "memlock"),
        _always(-1),
        "rdma",
        "unlimited",
        "RDMA locks the buffers that it registers, and a container cannot lock more than its limit",
        "dual-Spark post L37; Spark guide L725",
    ),
    Decision(
        ("container", "ulimits", "stack"),
        _always(_STACK_BYTES),
        "rdma",
        "64 MiB",
        "NVIDIA's images require this stack limit together with the limit on locked memory",
        "dual-Spark post L38",
    ),
    Decision(
        ("env", "NCCL_IB_DISABLE"),
        _always(1),
        "no rdma",
        "1",
        "no link names an RDMA device, so NCCL uses TCP over the first link and does not try the devices of the host",
        "NCCL documentation",
    ),
    Decision(
        ("env", "RAY_memory_monitor_refresh_ms"),
        _always(0),
        "always",
        "0",
        "Ray's memory monitor counts the weights as used memory of the host and ends vLLM's workers",
        "SM121 reference L47",
        _RAY,
    ),
    Decision(
        ("env", "RAY_ROTATION_MAX_BYTES"),
        _always(16 << 20),
        "always",
        "16 MiB",
        "Ray keeps six files of each log, of up to 512 MiB each, in /tmp, which is memory and has 1 GiB",
        "docs.ray.io, Configuring Logging",
        _RAY,
    ),
    Decision(
        ("env", "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S"),
        _always(0),
        "always",
        "0",
        "a worker of Ray 2.60 otherwise waits 30 s at its end for actors to move or for the head, which has often gone",
        "Ray, _private/node.py",
        _RAY,
    ),
)
"""In the order of docs/cluster.md. `preflight` looks up what only the host knows, each time a node starts:
NCCL_IB_GID_INDEX, and in a mesh the interface of the host's address for NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME."""


def slower_links(document: Document, record: LinkRecord | None) -> Iterator[Finding]:
    """Report links that were slower in the last run of `sparkiac fabric verify` than in the best one."""
    for link in record.links if record else ():
        if link.slower:
            message = (
                f"{link.tool} measured {link.latest_gbit} Gbit/s from {link.source} to {link.target} over "
                f"{link.interface}, but {link.best_gbit} Gbit/s before"
            )
            loc = document.at_key(("hosts", link.source))
            yield Finding("MN104", "slower-link", Severity.WARNING, message, loc, _SLOWER_HINT)
