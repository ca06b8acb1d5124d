"""Refuse redirects from HTTPS to HTTP, and from a public host to this machine or into a private network.

A host may redirect to where it is itself: a mirror in a private network may name others there. Names are looked up;
those that only a proxy can look up count as public. Credentials are httpx2's part: it sends them to no other origin.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import httpx2

_METADATA: Final = frozenset({"metadata", "metadata.google.internal", "instance-data"})
"""Names under which clouds serve credentials to their machines."""
_MAPPED: Final = "::ffff:"
_MACHINE: Final = 2


def problem(current: httpx2.URL, target: httpx2.URL, *, first: httpx2.URL) -> str:
    """Return what is wrong with a redirect, or an empty text. `first` is the URL that the user chose."""
    if not target.host or target.scheme not in {"http", "https"} or target.userinfo:
        return "an invalid address"
    if current.scheme == "https" and target.scheme == "http":
        return "an address without TLS"
    if target.host == first.host:
        return ""
    here, there = _nearness(first.host), _nearness(target.host)
    if target.scheme == "http" and there < here == _MACHINE:
        return "an address without TLS"
    return "an address of this machine or of a private network" if there > here else ""


def _nearness(host: str) -> int:
    """Return 2 for this machine, the hosts on its links and metadata servers, 1 for private networks, otherwise 0."""
    name = host.strip("[]").rstrip(".").lower()
    if name in _METADATA or name == "localhost" or name.endswith(".localhost"):
        return _MACHINE
    try:
        texts = [str(each[4][0]).partition("%")[0] for each in socket.getaddrinfo(name, None)]
    except (OSError, UnicodeError):
        return 0
    found = [ipaddress.ip_address(text.removeprefix(_MAPPED)) for text in texts]  # 2130706433 and 0x7f.1 are 127.0.0.1
    if any(each.is_loopback or each.is_link_local or each.is_unspecified or each.is_multicast for each in found):
        return _MACHINE
    return int(not all(each.is_global for each in found))
