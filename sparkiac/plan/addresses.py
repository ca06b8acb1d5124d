"""Which address of a host a port is published on."""

from __future__ import annotations

from ipaddress import ip_interface
from typing import Any


def bind_address(values: dict[str, Any], bind: str) -> str:
    """Give the address that a port is published on."""
    match bind:
        case "loopback":
            return "127.0.0.1"
        case "lan":
            return str(values["address"])
        case "fabric":
            return fabric_address(values)
        case _:
            return "0.0.0.0"  # noqa: S104  the user wrote `bind: any`


def fabric_address(values: dict[str, Any]) -> str:
    """Give the address of a host's first high-speed link."""
    return str(ip_interface(values["fabric"]["links"][0]["address"]).ip)
