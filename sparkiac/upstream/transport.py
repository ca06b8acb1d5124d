"""HTTP requests with timeouts, retries, guarded redirects, and limits on size and time.

Connection errors, 408, 429 and 5xx are retried: five tries, with exponential waits and jitter. A wait that the server
requests (Retry-After, RateLimit) is observed up to 60 seconds; a longer one is reported instead. A host that cannot be
reached or that limits the rate gets no further request from the same transport.
"""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, NamedTuple, Self

import httpx2

from sparkiac import __version__
from sparkiac.host.stage import redirects
from sparkiac.upstream import parallel
from sparkiac.upstream.errors import FailureCodes, ResponseFailure, UpstreamError, busy, explained

TRIES: Final = 5
LONGEST_WAIT_S: Final = 60
MAX_REDIRECTS: Final = 5
MIN_BYTES_PER_S: Final = 16_384
"""Minimum average speed of a response that takes longer than the total timeout."""
_ERROR_MAX_BYTES: Final = 65_536
_FIRST_WAIT_S: Final = 0.5
_BUSY: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1"})


class HttpTimeouts(NamedTuple):
    """Timeouts, in seconds."""

    connect: float = 10
    read: float = 30
    """Maximum seconds between two parts of a response."""
    total: float = 120
    """Maximum seconds until the headers are complete, and again for the body; see `MIN_BYTES_PER_S`."""


class HttpRequest(NamedTuple):
    """A GET request, or a POST request if there is a form."""

    url: str
    subject: str
    """What the request is for, such as an image reference: the start of an error message."""
    max_bytes: int
    headers: Mapping[str, str] = {}
    form: bytes | None = None
    truncate: bool = False
    """Stop reading after `max_bytes` instead of raising an error."""
    keep: bool = True
    """Keep the body; otherwise only its size and hash."""

    def __repr__(self) -> str:
        """Leave out headers and form, which contain credentials."""
        return f"HttpRequest({self.url!r}, {self.subject!r})"


class HttpResponse(NamedTuple):
    """A response with its body."""

    status: int
    headers: Mapping[str, str]
    host: str
    """Host and port that responded, after redirects."""
    body: bytes
    size_bytes: int
    sha256: str


class NoTlsError(UpstreamError):
    """A server on this machine responds without TLS."""

    def __init__(self, code: str, message: str, hint: str, *, host: str) -> None:
        """Store the host and port of the server."""
        super().__init__(code, message, hint)
        self.host = host


class Transport:
    """A pool of HTTP connections, which threads can share.

    Proxies and certificates are those of HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR.
    """

    def __init__(
        self,
        codes: FailureCodes,
        *,
        timeouts: HttpTimeouts = HttpTimeouts(),  # noqa: B008  a constant
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """Create a client; requests open connections. Raises `UpstreamError` for a bad proxy or certificate setting."""
        self._codes = codes
        self._timeouts = timeouts
        self._closed = threading.Event()
        self._sleep = sleep or self._closed.wait
        self._unreachable: dict[str, ResponseFailure] = {}
        self._slots = threading.BoundedSemaphore(parallel.THREADS)
        self._http = _client(timeouts, codes)

    def __enter__(self) -> Self:
        """Return the transport."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections and end all waits."""
        self._closed.set()
        self._http.close()

    def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request and return the response, whatever its status; follow redirects and retry.

        Raises `UpstreamError` with one of the transport's codes.
        """
        for attempt in range(1, TRIES + 1):
            result = self._follow(request)
            if (
                isinstance(result, HttpResponse)
                and result.status not in _BUSY
                and result.status < HTTPStatus.INTERNAL_SERVER_ERROR
            ):
                return result
            failure = (
                result if isinstance(result, ResponseFailure) else busy(result.status, result.headers, result.host)
            )
            grown_s = _FIRST_WAIT_S * 2.0 ** (attempt - 1) * random.uniform(1, 1.5)  # noqa: S311  spreads the tries
            wait_s = max(failure.wait_s, grown_s)
            if failure.final or attempt == TRIES or wait_s > LONGEST_WAIT_S:
                break
            self._sleep(wait_s)
            if self._closed.is_set():
                failure = ResponseFailure("the run was ended", host=failure.host)
                break
        raise self._error(failure, attempt, request)

    def _error(self, failure: ResponseFailure, attempt: int, request: HttpRequest) -> UpstreamError:
        counted = failure._replace(reason=f"{failure.reason}{f' ({attempt} tries)' if attempt > 1 else ''}", final=True)
        if failure.unreachable:  # another thread may have counted its tries before
            counted = self._unreachable.setdefault(failure.host, counted)
        code, message = getattr(self._codes, failure.kind), f"{request.subject}: {failure.host}: {counted.reason}"
        if failure.no_tls and is_loopback(failure.host):
            return NoTlsError(code, message, failure.hint, host=failure.host)
        return UpstreamError(code, message, failure.hint)

    def _follow(self, request: HttpRequest) -> HttpResponse | ResponseFailure:
        """Send a request once and follow redirects."""
        try:
            current = self._http_request(request)
        except (httpx2.InvalidURL, UnicodeError):
            return ResponseFailure("invalid host name or port", "correct the host in the reference", final=True)
        first = str(current.url)
        for _ in range(MAX_REDIRECTS + 1):
            host = _host(current.url)
            result = self._unreachable.get(host) or self._once(current, request)
            if isinstance(result, ResponseFailure):
                return result._replace(host=host, final=result.final or (result.no_tls and is_loopback(host)))
            if isinstance(result, HttpResponse):
                return result
            if problem := redirects.problem(str(current.url), str(result.url), first=first):
                return ResponseFailure(f"redirect to {problem}", "use the URL of the file itself", host, final=True)
            current = result
        return ResponseFailure(f"more than {MAX_REDIRECTS} redirects", "check the URL by hand", host, final=True)

    def _http_request(self, request: HttpRequest) -> httpx2.Request:
        return self._http.build_request(
            "GET" if request.form is None else "POST",
            request.url,
            headers={"User-Agent": f"sparkiac/{__version__}", "Accept-Encoding": "identity", **request.headers},
            content=request.form,
        )

    def _once(self, current: httpx2.Request, request: HttpRequest) -> HttpResponse | httpx2.Request | ResponseFailure:
        """Send one HTTP request; return the response, or the request that a redirect leads to."""
        try:
            # The total timeout covers slow headers, for which httpx2 has no timeout.
            send = partial(self._http.send, current, stream=True, auth=None, follow_redirects=False)
            with self._slots:
                response = parallel.start(send).result(self._timeouts.total)
                try:
                    if response.has_redirect_location and request.form is None:
                        return response.next_request or ResponseFailure("redirect to an invalid address", final=True)
                    return self._read(response, request)
                finally:
                    response.close()
        except TimeoutError:
            return ResponseFailure(f"no response within {self._timeouts.total:g} s", final=True, unreachable=True)
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, RuntimeError) as error:
            # The error refers to the request and its credentials, so only words leave this function. A closed client
            # raises RuntimeError, a host name with empty or long labels UnicodeError.
            return explained(error, connect_s=self._timeouts.connect, read_s=self._timeouts.read)

    def _read(self, response: httpx2.Response, request: HttpRequest) -> HttpResponse | ResponseFailure:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            return ResponseFailure("compressed response to a request for an uncompressed one", final=True)
        truncate = request.truncate or not response.is_success
        limit = request.max_bytes if response.is_success else _ERROR_MAX_BYTES
        body, hashed, size = bytearray(), hashlib.sha256(), 0
        begun = time.monotonic()
        try:
            for part in response.iter_raw():  # without a chunk size, which would wait until a chunk is full
                chunk = part[: limit - size] if truncate else part
                size += len(chunk)
                if size > limit:
                    return ResponseFailure(f"response of more than {limit} bytes", kind="oversize", final=True)
                hashed.update(chunk)
                body += chunk if request.keep else b""
                if truncate and size == limit:
                    break
                elapsed_s = time.monotonic() - begun
                if elapsed_s > self._timeouts.total + size / MIN_BYTES_PER_S:
                    return ResponseFailure(f"too slow: {size} bytes in {elapsed_s:.0f} s", final=True)
        except httpx2.RemoteProtocolError:
            promised = response.headers.get("Content-Length", "an unknown number of")
            reason = f"the response ended after {response.num_bytes_downloaded} of {promised} bytes"
            return ResponseFailure(reason, kind="incomplete")
        host = _host(response.url)
        return HttpResponse(response.status_code, response.headers, host, bytes(body), size, hashed.hexdigest())


def is_loopback(host: str) -> bool:
    """Return whether a host, with or without a port, is this machine."""
    return host.partition(":")[0] in _LOOPBACK


def _host(url: httpx2.URL) -> str:
    return url.netloc.decode()


def _client(timeouts: HttpTimeouts, codes: FailureCodes) -> httpx2.Client:
    try:
        return httpx2.Client(
            timeout=httpx2.Timeout(timeouts.read, connect=timeouts.connect, pool=None),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # a cookie would go to every port of a host
            mounts={f"all://{name}": None for name in sorted(_LOOPBACK)},  # no proxy reads requests without TLS
        )
    except OSError as error:
        reason = f"the certificate file cannot be read: {error.strerror or 'it contains no certificate'}"
    except (ValueError, ImportError, httpx2.InvalidURL):
        reason = "the address of a proxy is invalid"
    hint = "check SSL_CERT_FILE, SSL_CERT_DIR, HTTPS_PROXY, ALL_PROXY and NO_PROXY"
    raise UpstreamError(codes.no_response, reason, hint)
