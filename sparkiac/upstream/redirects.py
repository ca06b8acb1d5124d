"""Where an answer may send a request: to no host of this machine or this link, and from TLS to TLS alone."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

from sparkiac.upstream.hub.patience import Unanswered

_METADATA: Final = frozenset({"metadata", "metadata.google.internal", "instance-data"})
"""Names under which clouds answer machines with their credentials."""
_MAPPED: Final = "::ffff:"


def target(url: str, location: str, *, first: str) -> str:
    """Give where a redirect points, if it may point there; `first` is the address that the user chose.

    Raises `Unanswered`.
    """
    import httpx2  # noqa: PLC0415  most commands ask nobody

    try:
        found = httpx2.URL(url).join(location)
    except (httpx2.InvalidURL, ValueError):
        found = httpx2.URL()
    fault = ""
    if not location or not found.host or found.scheme not in {"http", "https"} or found.userinfo:
        fault = "an address that cannot be followed"
    elif found.scheme == "http" and url.startswith("https:"):
        fault = "an address without TLS"
    elif found.host != httpx2.URL(first).host and is_local(found.host) and not is_local(httpx2.URL(first).host):
        fault = "an address of this machine or this link"
    if fault:
        message = f"it redirects to {fault}"
        raise Unanswered(message, hint="name the address where the file is", lasting=True)
    return str(found)


def origin(url: str) -> tuple[str, str, int | None]:
    """Give what must be the same for a login to go along."""
    import httpx2  # noqa: PLC0415  most commands ask nobody

    parsed = httpx2.URL(url)
    return parsed.scheme, parsed.host, parsed.port


def is_local(host: str) -> bool:
    """Whether a host is this machine, on this link alone, or a cloud's own; names are not looked up."""
    name = host.strip("[]").rstrip(".").lower()
    if name in _METADATA or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        found = socket.getaddrinfo(name, None, flags=socket.AI_NUMERICHOST)  # 2130706433 and 0x7f.1 are 127.0.0.1
    except (OSError, UnicodeError):
        return False
    return any(_is_local(str(each[4][0])) for each in found)


def _is_local(address: str) -> bool:
    parsed = ipaddress.ip_address(address.partition("%")[0].removeprefix(_MAPPED))
    return parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified or parsed.is_multicast
