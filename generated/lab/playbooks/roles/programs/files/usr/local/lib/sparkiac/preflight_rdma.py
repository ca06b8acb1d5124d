"""Find the RoCE addresses (GIDs) of the RDMA devices that a unit uses, just before it starts."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Any, Iterator  # noqa: UP035 - Python 3.8

from preflight_host import CheckResult, compare

if TYPE_CHECKING:
    from pathlib import Path

    from preflight_host import LocalHost

DEVICES = "/sys/class/infiniband"
PORT = "ports/1"
KIND = "RoCE v2"
VARIABLES = "/run/sparkiac/fabric"
"""Directory with a file of environment variables for each unit; its compose file reads it."""


def check_rdma(unit: str, links: list[dict[str, Any]], host: LocalHost) -> Iterator[CheckResult]:
    """Check the device of each link, and write the GID index for NCCL if it is the same for all devices.

    Otherwise NCCL (2.21 or newer) finds the GID of each device itself. That happens if a twin has no IP address.
    """
    found = []
    for link in links:
        state = interface_of(link["device"], host)
        yield compare(state == link["interface"], "RDMA device", f"{link['device']} on {state}", link["interface"])
        index = None if link["address"] is None else gid_index(link, host)
        if link["address"] is not None:
            said = "none" if index is None else f"index {index}"
            yield compare(index is not None, f"GID of {link['device']}", said, f"{KIND} for {link['address']}")
        found.append(index)
    same = len(set(found)) == 1 and found[0] is not None
    write(host, unit, f"NCCL_IB_GID_INDEX={found[0]}\n" if same else "")


def interface_of(device: str, host: LocalHost) -> str:
    """Return the network interface of an RDMA device, as `ibdev2netdev` does."""
    base = host.path(f"{DEVICES}/{device}")
    if not base.exists():
        known = ", ".join(sorted(each.name for each in base.parent.iterdir())) if base.parent.exists() else ""
        return f"no interface; this host has {known or 'no RDMA device'}"
    names = {read(each) for each in (base / PORT / "gid_attrs/ndevs").iterdir()} - {""}
    return ", ".join(sorted(names)) or "no interface"


def gid_index(link: dict[str, Any], host: LocalHost) -> int | None:
    """Return the index of the RoCE v2 GID with the address of the link."""
    base = host.path(f"{DEVICES}/{link['device']}/{PORT}")
    wanted = as_gid(link["address"])
    indexes = sorted(int(each.name) for each in (base / "gids").iterdir()) if base.exists() else []
    for index in indexes:
        text, kind = read(base / f"gids/{index}"), read(base / f"gid_attrs/types/{index}")
        if text and kind == KIND and IPv6Address(text) == wanted:
            return index
    return None


def as_gid(address: str) -> IPv6Address:
    """Return an IP address as a GID: IPv4 as ::ffff:a.b.c.d."""
    found = ip_address(address)
    return found if isinstance(found, IPv6Address) else IPv6Address(f"::ffff:{found}")


def read(path: Path) -> str:
    """Return the text of a file; an unused entry of the GID table cannot be read."""
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def write(host: LocalHost, unit: str, text: str) -> None:
    """Write the variables of a unit, readable for the user who starts the container."""
    directory = host.path(VARIABLES)
    directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    temporary = directory / f".{unit}.new"
    temporary.write_text(text, encoding="ascii")
    temporary.chmod(0o644)
    temporary.replace(directory / f"{unit}.env")
