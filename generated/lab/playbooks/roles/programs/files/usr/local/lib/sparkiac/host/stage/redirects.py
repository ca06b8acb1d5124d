"""Refuse redirects from HTTPS to HTTP, and from a public host to this host or into a private network.

A host may redirect to where it is itself: a mirror in a private network may name others there. Names are looked up;
those that only the proxy can look up count as public.
"""

from __future__ import annotations

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

UNUSABLE = "an unusable URL"


def problem(current: str, target: str, *, first: str) -> str:
    """Return what is wrong with a redirect, or an empty text. `first` is the configured URL."""
    wanted = urlsplit(target)
    if wanted.scheme not in {"http", "https"} or not wanted.hostname or "@" in wanted.netloc:
        return UNUSABLE
    if (urlsplit(current).scheme, wanted.scheme) == ("https", "http"):
        return "a URL without TLS"
    if nearness(wanted.hostname) > nearness(urlsplit(first).hostname or ""):
        return "an address of this host or of a private network"
    return ""


def nearness(host: str) -> int:
    """Return 2 for this host and the hosts on its links, 1 for others in private networks, 0 for all other hosts.

    Clouds serve credentials at an address of a link, 169.254.169.254.
    """
    try:
        texts = [str(each[4][0]).partition("%")[0].removeprefix("::ffff:") for each in socket.getaddrinfo(host, None)]
    except (OSError, UnicodeError):
        return 0
    found = [ip_address(text) for text in texts]
    if any(each.is_loopback or each.is_link_local or each.is_unspecified or each.is_multicast for each in found):
        return 2
    return int(not all(each.is_global for each in found))
