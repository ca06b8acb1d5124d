"""Refuse redirects to this machine, to link-local addresses, and from HTTPS to HTTP."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import httpx2

_METADATA: Final = frozenset({"metadata", "metadata.google.internal", "instance-data"})
"""Names under which clouds serve credentials to their machines."""
_MAPPED: Final = "::ffff:"


def problem(current: httpx2.URL, target: httpx2.URL, *, first: httpx2.URL) -> str:
    """Return what is wrong with a redirect, or an empty text. `first` is the URL that the user chose."""
    if not target.host or target.scheme not in {"http", "https"} or target.userinfo:
        return "an invalid address"
    leaves = is_local(first.host) and not is_local(target.host)
    if target.scheme == "http" and (current.scheme == "https" or leaves):
        return "an address without TLS"
    if target.host != first.host and is_local(target.host) and not is_local(first.host):
        return "an address of this machine or a link-local address"
    return ""


def is_local(host: str) -> bool:
    """Return whether a host is this machine, link-local, or a cloud's metadata server. Names are not resolved."""
    name = host.strip("[]").rstrip(".").lower()
    if name in _METADATA or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        found = socket.getaddrinfo(name, None, flags=socket.AI_NUMERICHOST)  # 2130706433 and 0x7f.1 are 127.0.0.1
    except (OSError, UnicodeError):
        return False
    return any(_is_local_address(str(each[4][0])) for each in found)


def _is_local_address(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0].removeprefix(_MAPPED))
    return address.is_loopback or address.is_link_local or address.is_unspecified or address.is_multicast
