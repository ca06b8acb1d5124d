"""Refuse redirects from HTTPS to HTTP, and from a public host to this machine or into a private network.

A host may redirect to where it is itself: a mirror in a private network may name others there. Names are looked up;
those that only a proxy can look up count as public. The controller follows the same rules for what it downloads.
"""

from __future__ import annotations

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

INVALID = "an invalid address"
WITHOUT_TLS = "an address without TLS"
METADATA = ("metadata", "metadata.google.internal", "instance-data")
"""Names under which clouds serve credentials to their machines, at an address of a link: 169.254.169.254."""
MACHINE = 2


def problem(current: str, target: str, *, first: str) -> str:
    """Return what is wrong with a redirect, or an empty text. `first` is the URL that the user chose."""
    wanted, chosen = urlsplit(target), urlsplit(first).hostname or ""
    if wanted.scheme not in {"http", "https"} or not wanted.hostname or "@" in wanted.netloc:
        return INVALID
    if (urlsplit(current).scheme, wanted.scheme) == ("https", "http"):
        return WITHOUT_TLS
    if wanted.hostname == chosen:
        return ""
    here, there = nearness(chosen), nearness(wanted.hostname)
    if wanted.scheme == "http" and there < here == MACHINE:
        return WITHOUT_TLS
    return "an address of this machine or of a private network" if there > here else ""


def nearness(host: str) -> int:
    """Return 2 for this machine, the hosts on its links and metadata servers, 1 for private networks, otherwise 0."""
    name = host.rstrip(".")
    if name in METADATA or name == "localhost" or name.endswith(".localhost"):
        return MACHINE
    try:
        texts = [str(each[4][0]).partition("%")[0].removeprefix("::ffff:") for each in socket.getaddrinfo(name, None)]
    except (OSError, UnicodeError):
        return 0
    found = [ip_address(text) for text in texts]  # 2130706433 and 0x7f.1 are 127.0.0.1
    if any(each.is_loopback or each.is_link_local or each.is_unspecified or each.is_multicast for each in found):
        return MACHINE
    return int(not all(each.is_global for each in found))
