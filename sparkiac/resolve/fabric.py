"""What every node of a group needs on its host, by one decision table.

The values are the layer above the engine's defaults, so that a recipe, the inventory's defaults and a deployment can
change or remove each of them. `sparkiac plan --explain` prints the reason and the source with the value.
"""

from __future__ import annotations

from ipaddress import ip_interface
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.report import Origin, Path

if TYPE_CHECKING:
    from collections.abc import Callable

    from sparkiac.model.inventory import FabricLink
    from sparkiac.resolve.leaves import Leaves

    Links = tuple[FabricLink, ...]

_STACK_BYTES: Final = 64 << 20


class Decision(NamedTuple):
    """A setting of each node of a group, and when and why it is made."""

    path: Path
    value: Callable[[Links], str | int]
    """The value for the links of one host."""
    when: str
    """`always`, `rdma` if a link of the host has an RDMA device, or `no rdma`."""
    shown: str
    """The value in words, for the documentation."""
    reason: str
    source: str


def _interface(links: Links) -> str:
    return links[0].interface


def _address(links: Links) -> str:
    return str(ip_interface(links[0].address).ip)


def _devices(links: Links) -> str:
    return ",".join(devices(links))


def _always(value: str | int) -> Callable[[Links], str | int]:
    return lambda _: value


TABLE: Final = (
    Decision(
        ("env", "VLLM_HOST_IP"),
        _address,
        "always",
        "address of the first link",
        "vLLM announces this address to the other nodes; otherwise it takes the one of the default route",
        "vLLM, get_ip in vllm/utils",
    ),
    Decision(
        ("env", "NCCL_SOCKET_IFNAME"),
        _interface,
        "always",
        "interface of the first link",
        "NCCL connects the nodes over it; over Ethernet, a group is 10 to 20 times slower",
        "Spark guide L659-660",
    ),
    Decision(
        ("env", "GLOO_SOCKET_IFNAME"),
        _interface,
        "always",
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
        "NVIDIA's images ask for it beside the limit on locked memory",
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
)
"""In the order of the documentation, docs/cluster.md. NCCL_IB_GID_INDEX is looked up on the host when a node starts."""


def layer(links: Links) -> Leaves:
    """Return the settings of a node on a host with these links."""
    known = {"always", "rdma" if devices(links) else "no rdma"}
    return {
        each.path: (each.value(links), Origin(f"group: {each.reason} ({each.source})"))
        for each in TABLE
        if each.when in known
    }


def devices(links: Links) -> tuple[str, ...]:
    """Return the RDMA devices of the links, each followed by that of its twin."""
    named = (device for link in links for device in (link.hca, link.twin.hca if link.twin else None))
    return tuple(device for device in named if device is not None)
