"""The error that upstream clients raise, its codes, and the reasons why a request brings no usable response."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final, Literal, NamedTuple, TypeVar

import httpx2

T = TypeVar("T")
R = TypeVar("R")

NO_IMAGE: Final = "LCK001"
"""The registry has no such repository, tag or digest."""
NO_ARCHITECTURE: Final = "LCK002"
"""The image is not built for the architecture of the hosts."""
LOGIN: Final = "LCK003"
"""A login for a registry is missing, refused or unreadable."""
REGISTRY_NO_RESPONSE: Final = "LCK004"
"""The registry does not respond."""
REGISTRY_INVALID: Final = "LCK005"
"""The registry's response does not match its digest or its type."""
NO_MODEL: Final = "LCK010"
"""The hub has no such repository, or it is private: the hub does not distinguish these."""
GATED: Final = "LCK011"
"""The terms of the model were not accepted, or the token has no read access."""
NO_REVISION: Final = "LCK012"
"""The repository has no such branch, tag or commit."""
HUB_NO_RESPONSE: Final = "LCK013"
"""The hub does not respond."""
HUB_INVALID: Final = "LCK014"
"""A file does not match what the hub lists."""
NO_MODEL_FILE: Final = "LCK015"
"""The repository has no such file."""
OWN_MODEL: Final = "LCK016"
"""A model of the user's cannot be read where it lies."""
HOST_NO_RESPONSE: Final = "LCK017"
"""The host that has the files of a model does not respond."""
NO_FILE: Final = "LCK020"
"""The URL leads to no file."""
FILE_NO_RESPONSE: Final = "LCK021"
"""The server of the URL does not respond."""
FILE_INVALID: Final = "LCK022"
"""The file is too large or incomplete."""
_RATE: Final = re.compile(r"(\d{1,9});w=(\d{1,9})")
_RESET: Final = re.compile(r"\br=0\b.*\bt=(\d{1,9})")
_HINT: Final = "check the name, the network, HTTPS_PROXY and NO_PROXY"
_LATER: Final = "try again later"


class UpstreamError(Exception):
    """A name could not be resolved. Its text contains hosts and references, and never a credential."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        """Store the code of the finding, its message and what to do."""
        super().__init__(message)
        self.code = code
        self.hint = hint


def caught(call: Callable[[T], R]) -> Callable[[T], R | UpstreamError]:
    """Return a function that returns an `UpstreamError` instead of raising it."""

    def tried(item: T) -> R | UpstreamError:
        try:
            return call(item)
        except UpstreamError as error:
            return error

    return tried


class FailureCodes(NamedTuple):
    """Codes for requests that fail before there is a complete response."""

    no_response: str
    incomplete: str
    oversize: str


REGISTRY: Final = FailureCodes(REGISTRY_NO_RESPONSE, REGISTRY_INVALID, REGISTRY_INVALID)
HUB: Final = FailureCodes(HUB_NO_RESPONSE, HUB_NO_RESPONSE, HUB_INVALID)
FILE: Final = FailureCodes(FILE_NO_RESPONSE, FILE_INVALID, FILE_INVALID)


class ResponseFailure(NamedTuple):
    """The reason why there is no usable response."""

    reason: str
    hint: str = _LATER
    host: str = ""
    kind: Literal["no_response", "incomplete", "oversize"] = "no_response"
    wait_s: float = 0
    """Wait that the server requests before the next try."""
    final: bool = False
    """Whether the request must not be repeated, because it would fail again."""
    unreachable: bool = False
    """Whether every request to this host would fail."""
    no_tls: bool = False
    """Whether the server does not use TLS."""


def explained(  # noqa: PLR0911  one for each kind of exception
    error: Exception, *, connect_s: float, read_s: float
) -> ResponseFailure:
    """Return the failure that an exception of httpx2 means; its text does not contain the request."""
    cause: BaseException = error
    while (inner := cause.__cause__ or cause.__context__) is not None:
        cause = inner
    if isinstance(error, httpx2.InvalidURL | UnicodeError):
        return ResponseFailure("invalid host name or port", "correct the host in the reference", final=True)
    if isinstance(error, httpx2.ConnectTimeout):
        return ResponseFailure(f"no connection within {connect_s:g} s", _HINT, unreachable=True)
    if isinstance(error, httpx2.TimeoutException):
        return ResponseFailure(f"no response within {read_s:g} s", _HINT, unreachable=True)
    if isinstance(cause, ssl.SSLCertVerificationError):
        hint = "if your own authority signed it, set SSL_CERT_FILE to a file with the authority's certificate"
        return ResponseFailure(f"untrusted certificate: {cause.verify_message}", hint, final=True, unreachable=True)
    if isinstance(cause, ssl.SSLError):
        return ResponseFailure(f"no TLS connection: {cause.reason or 'cut off'}", no_tls=True)
    if isinstance(error, httpx2.ProxyError):
        return ResponseFailure("the proxy refuses to connect", "check HTTPS_PROXY and NO_PROXY", unreachable=True)
    if isinstance(error, httpx2.RemoteProtocolError):
        return ResponseFailure("the response is incomplete or not HTTP", kind="incomplete")
    reason = f": {cause.strerror}" if isinstance(cause, OSError) and cause.strerror else ""
    return ResponseFailure(f"no connection{reason}", _HINT, unreachable=True)


def busy(status: int, headers: Mapping[str, str], host: str) -> ResponseFailure:
    """Return the failure for status 408, 429 or 5xx."""
    wait_s = _requested_wait(headers)
    wait = f"; it requests a wait of {wait_s:.0f} s" if wait_s else ""
    if status != HTTPStatus.TOO_MANY_REQUESTS:
        return ResponseFailure(f"HTTP {status}{wait}", host=host, wait_s=wait_s)
    limit = _RATE.fullmatch(headers.get("RateLimit-Limit", ""))
    rate = f"; its limit is {limit[1]} in {limit[2]} s" if limit else ""
    reason = f"too many requests (HTTP 429){rate}{wait}"
    hint = "log in for a higher limit, or try again later"
    return ResponseFailure(reason, hint, host, wait_s=wait_s, unreachable=True)


def _requested_wait(headers: Mapping[str, str]) -> float:
    """Read Retry-After, in seconds or as a date (RFC 9110, 10.2.3), or the model hub's RateLimit header."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value[:9])
    if reset := _RESET.search(headers.get("RateLimit", "")):
        return float(reset[1])
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0
