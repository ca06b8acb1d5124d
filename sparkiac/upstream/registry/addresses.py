"""Addresses: which host they mean, and where an answer may point."""

from __future__ import annotations

import httpx2

from sparkiac.upstream import redirects
from sparkiac.upstream.registry.reference import is_loopback


def host_of(url: str) -> str:
    """Give host and port of an address; the port that its scheme means is left out."""
    return httpx2.URL(url).netloc.decode()


def target(url: str, location: str) -> str | None:
    """Give where a redirect points; from TLS to none is no way to go, nor is an address with a login in it."""
    try:
        target = httpx2.URL(url).join(location)
    except (httpx2.InvalidURL, ValueError):
        return None
    here = is_loopback(host_of(url))
    if not here and redirects.is_local(target.host):
        return None
    safe = target.scheme == "https" or (url.startswith("http://") and is_loopback(host_of(str(target))))
    return str(target) if location and has_host(str(target)) and safe and not target.userinfo else None


def has_host(url: str) -> bool:
    """Whether an address names a host that can be looked up (RFC 1035, 2.3.4)."""
    try:
        return bool(httpx2.URL(url).host.encode("idna"))
    except (httpx2.InvalidURL, UnicodeError):
        return False
