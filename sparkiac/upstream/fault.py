"""Why an HTTP request brought no answer, in words. The error itself holds the request, and that the login."""

from __future__ import annotations

import ssl
from typing import Final, NamedTuple

LOOK: Final = "look at the name, the network, HTTPS_PROXY and NO_PROXY"


class Fault(NamedTuple):
    """What came instead of an answer."""

    words: str
    hint: str = LOOK
    lasting: bool = False
    """Whether trying again changes nothing."""
    cut: bool = False
    """Whether there was an answer that did not end as it should."""
    plain: bool = False
    """Whether the server does not speak TLS."""


def explained(error: Exception, *, connect_seconds: float, silence_seconds: float) -> Fault:
    """Say why there is no answer, with the patience that there was."""
    import httpx2  # noqa: PLC0415  most commands ask nobody

    cause = _root(error)
    if isinstance(error, httpx2.TimeoutException):
        connecting = isinstance(error, httpx2.ConnectTimeout)
        what, seconds = ("connection", connect_seconds) if connecting else ("answer", silence_seconds)
        return Fault(f"no {what} within {seconds:g} s")
    if isinstance(cause, ssl.SSLCertVerificationError):
        hint = "if it has a certificate of your own authority, name that one's file in SSL_CERT_FILE; no other is read"
        return Fault(f"its certificate is not trusted: {cause.verify_message}", hint, lasting=True)
    if isinstance(cause, ssl.SSLError):
        return Fault(f"no TLS connection: {cause.reason or 'cut off'}", "try again later", plain=True)
    if isinstance(error, httpx2.ProxyError):
        return Fault("the proxy refuses to connect", "look at HTTPS_PROXY and NO_PROXY")
    if isinstance(error, httpx2.RemoteProtocolError):
        return Fault("its answer is cut short, or is no HTTP", "try again later", cut=True)
    why = f": {cause.strerror}" if isinstance(cause, OSError) and cause.strerror else ""
    return Fault(f"no connection{why}")


def _root(error: BaseException) -> BaseException:
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return error
