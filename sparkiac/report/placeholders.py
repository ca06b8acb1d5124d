"""Placeholders in drafts for values that the user must fill in.

They are reserved by a standard or cannot be real names: addresses for documentation (RFC 5737, RFC 3849) and the domain
`.invalid` (RFC 2606). A draft therefore loads and can be checked, and a rule finds the values to fill in.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from typing import Final

MODEL: Final = "placeholder/model"
MODEL_FILE: Final = "placeholder.gguf"
IMAGE: Final = "placeholder.invalid/image"
URL: Final = "https://placeholder.invalid/file"
REPOSITORY: Final = "https://placeholder.invalid/repository.git"
COMMIT: Final = "0" * 40
"""No commit has this hash: Git writes it where there is none."""
COMMAND: Final = "placeholder"
INTERFACE: Final = "placeholder"
HCA: Final = "placeholder"
HOST_NETWORK: Final = ip_network("192.0.2.0/24")
LINK_NETWORKS: Final = (ip_network("198.51.100.0/24"), ip_network("203.0.113.0/24"))
"""A network for each of two links of a host."""
FIRST_HOST: Final = 11
"""Last number of the address of the first host."""
_RESERVED: Final = (HOST_NETWORK, *LINK_NETWORKS, ip_network("2001:db8::/32"))
_NAMES: Final = frozenset({MODEL, MODEL_FILE, INTERFACE, HCA, COMMIT, COMMAND})


def host(number: int) -> str:
    """Return the placeholder address of a host; hosts count from 0."""
    return str(HOST_NETWORK[FIRST_HOST + number])


def links(number: int, names: Sequence[tuple[str, str]] = ((INTERFACE, HCA),)) -> tuple[dict[str, str], ...]:
    """Return the fabric links of a host with placeholders; hosts count from 0. `names` are interfaces and devices."""
    pairs = zip(LINK_NETWORKS, names, strict=False)
    return tuple(
        {"interface": interface, "hca": hca, "address": f"{network[FIRST_HOST + number]}/{network.prefixlen}"}
        for network, (interface, hca) in pairs
    )


def is_placeholder(value: str) -> bool:
    """Return whether a model, file, image, interface, device, address or value of a build is a placeholder."""
    return value in _NAMES or "placeholder.invalid/" in value or _is_reserved(value.partition("/")[0])


def _is_reserved(address: str) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in _RESERVED)
