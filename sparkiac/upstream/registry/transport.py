"""One question over HTTP: timeouts, retries, redirects, and a body that is no longer than it may be.

Retried are transport errors, 429 and 5xx, five times in all, with exponential waits and jitter. A server that names
a wait (Retry-After) is given it up to 60 seconds; a longer one is not waited for, but reported. A server that could
not be reached, or that asked to be left alone, is not asked again by the same client.
"""

from __future__ import annotations

import random
import re
import threading
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import httpx2

from sparkiac import __version__
from sparkiac.upstream import bounded, redirects
from sparkiac.upstream.fault import explained
from sparkiac.upstream.hub.patience import Unanswered
from sparkiac.upstream.refusal import Refusal
from sparkiac.upstream.registry import addresses, codes
from sparkiac.upstream.registry.reference import LOOPBACK, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TRIES: Final = 5
LONGEST_WAIT_SECONDS: Final = 60
CONNECTIONS: Final = 8
_FIRST_WAIT_SECONDS: Final = 0.5
_REDIRECTS: Final = 5
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_TOO_MANY: Final = 429
_BROKEN: Final = 500
_CODE: Final = re.compile(rb'"code"\s*:\s*"([A-Z_]{1,40})"')
_LIMIT: Final = re.compile(r"(\d{1,9});w=(\d{1,9})")


class Patience(NamedTuple):
    """How long an answer may take, in seconds."""

    connect: float = 10
    silence: float = 30
    """Between two pieces of an answer."""
    whole: float = 120
    """For the body of one answer."""


class Answer(NamedTuple):
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    host: str
    """Who said it, after redirects."""

    @property
    def code(self) -> str:
        """The error's code in the words of the OCI distribution specification, or nothing."""
        found = _CODE.search(self.body)
        return found[1].decode() if found else ""


class Question(NamedTuple):
    """What to ask. `about` names the image in messages."""

    url: str
    about: str
    most_bytes: int
    headers: Mapping[str, str] = {}
    form: bytes | None = None
    """What to post; nothing is a GET."""

    def __repr__(self) -> str:
        """Leave out headers and form: they carry logins."""
        return f"Question({self.url!r}, {self.about!r})"


class _Failure(NamedTuple):
    """Why there is no answer."""

    code: str
    fault: str
    hint: str = ""
    host: str = ""
    lasting: bool = False
    """Whether trying again changes nothing."""
    whole: bool = False
    """Whether it is the host that fails, whatever it is asked."""
    plain: bool = False
    """Whether the server does not speak TLS."""


class PlainHttpError(Exception):
    """A server on this machine answers without TLS."""

    def __init__(self, host: str) -> None:
        """Take its name and port."""
        super().__init__(host)
        self.host = host


class Transport:
    """A pool of connections with its manners. Threads may share it."""

    def __init__(self, *, patience: Patience, sleep: Callable[[float], object] | None) -> None:
        """Open nothing yet. Raises `Refusal` LCK004 for a proxy or a file of certificates that cannot be used."""
        self._closed = threading.Event()
        self._sleep = sleep or self._closed.wait
        self._patience = patience
        self._given_up: dict[str, _Failure] = {}
        self._http = _opened(patience)

    def close(self) -> None:
        """Close all connections, and wake whoever waits for another try."""
        self._closed.set()
        self._http.close()

    def ask(self, question: Question) -> Answer:
        """Ask until there is an answer, whatever its status; redirects are followed.

        Raises `Refusal` LCK004 when no answer comes and LCK005 when it is cut short or too long.
        """
        if not addresses.has_host(question.url):
            raise Refusal(codes.SILENT, f"{question.about}: what stands before the first / is no name of a host")
        for attempt in range(1, TRIES + 1):
            result = self._once(question)
            if isinstance(result, Answer) and result.status != _TOO_MANY and result.status < _BROKEN:
                return result
            failure = result if isinstance(result, _Failure) else _spoken(result)
            wait = _wait(result, attempt)
            if failure.lasting or attempt == TRIES or wait > LONGEST_WAIT_SECONDS:
                break
            self._sleep(wait)
            if self._closed.is_set():
                failure = _Failure(codes.SILENT, "the run was ended", host=failure.host)
                break
        raise self._refused(failure, attempt, question)

    def _refused(self, failure: _Failure, attempt: int, question: Question) -> Refusal:
        fault = f"{failure.fault}{f' ({attempt} tries)' if attempt > 1 else ''}"
        if failure.whole:
            self._given_up[failure.host] = failure._replace(fault=fault, lasting=True)
        return Refusal(failure.code, f"{question.about}: {failure.host}: {fault}", failure.hint)

    def _once(self, question: Question) -> Answer | _Failure:
        """Ask once, and follow where the answer points."""
        at = question
        for _ in range(_REDIRECTS + 1):
            host = addresses.host_of(at.url)
            result = self._given_up.get(host) or self._sent(at)
            if isinstance(result, _Failure):
                if result.plain and is_loopback(host):
                    raise PlainHttpError(host)
                return result._replace(host=host)
            if result.status not in _MOVED or question.form is not None:
                return result
            target = addresses.target(at.url, result.headers.get("location", ""))
            if target is None:
                return _Failure(codes.SILENT, "redirects to an address that is not followed", host=host, lasting=True)
            same = redirects.origin(target) == redirects.origin(at.url)
            headers = at.headers if same else _public(at.headers)
            at = at._replace(url=target, headers=headers)
        return _Failure(codes.SILENT, f"redirects more than {_REDIRECTS} times", host=host, lasting=True)

    def _sent(self, question: Question) -> Answer | _Failure:
        request = httpx2.Request(
            "GET" if question.form is None else "POST",
            question.url,
            headers={"User-Agent": f"sparkiac/{__version__}", "Accept-Encoding": "identity", **question.headers},
            content=question.form,
            extensions={"timeout": self._http.timeout.as_dict()},
        )  # not by build_request, which adds cookies; those go to every port of a host
        try:
            send = partial(self._http.send, request, stream=True, auth=None, follow_redirects=False)
            return self._read(bounded.within(self._patience.silence + self._patience.whole, send), question)
        except Unanswered as error:
            return _Failure(codes.SILENT, str(error), error.hint, lasting=True, whole=True)
        except (httpx2.TransportError, RuntimeError) as error:
            # The error holds the request, and that the login: only words leave this function. A closed client
            # raises RuntimeError.
            return _explained(error, self._patience)

    def _read(self, response: httpx2.Response, question: Question) -> Answer | _Failure:
        end = time.monotonic() + self._patience.whole
        body = bytearray()
        try:
            for piece in response.iter_raw():
                body += piece
                if len(body) > question.most_bytes:
                    return _Failure(codes.FALSE, f"sends more than {question.most_bytes} bytes", lasting=True)
                if time.monotonic() > end:
                    return _Failure(codes.SILENT, f"was not done after {self._patience.whole:g} s")
        finally:
            response.close()
        return Answer(response.status_code, response.headers, bytes(body), addresses.host_of(str(response.url)))


def _opened(patience: Patience) -> httpx2.Client:
    """Open a client that takes proxies and certificates from where all programs do."""
    try:
        return httpx2.Client(
            timeout=httpx2.Timeout(patience.silence, connect=patience.connect, pool=None),
            limits=httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            mounts={f"all://{name}": None for name in sorted(LOOPBACK)},  # what may go without TLS meets no proxy
        )
    except OSError as error:
        fault = f"the file of certificates cannot be read: {error.strerror or 'it holds none'}"
    except (ValueError, ImportError, httpx2.InvalidURL):
        fault = "the address of a proxy cannot be used"
    raise Refusal(codes.SILENT, fault, "look at SSL_CERT_FILE, SSL_CERT_DIR, HTTPS_PROXY, ALL_PROXY and NO_PROXY")


def _explained(error: Exception, patience: Patience) -> _Failure:
    """Say in words why there is no answer."""
    fault = explained(error, connect_seconds=patience.connect, silence_seconds=patience.silence)
    code = codes.FALSE if fault.cut else codes.SILENT
    return _Failure(code, fault.words, fault.hint, lasting=fault.lasting, whole=not fault.cut, plain=fault.plain)


def _spoken(answer: Answer) -> _Failure:
    """Say what 429 or 5xx means."""
    if answer.status != _TOO_MANY:
        return _Failure(codes.SILENT, f"answers {answer.status}", "try again later", answer.host)
    limit = _LIMIT.fullmatch(answer.headers.get("ratelimit-limit", ""))
    told = f"; its limit is {limit[1]} in {limit[2]} s" if limit else ""
    asked = _asked_wait(answer)
    wait = f"; it asks to wait {asked:.0f} s" if asked else ""
    fault = f"too many requests (429){told}{wait}"
    return _Failure(codes.SILENT, fault, "log in for a higher limit, or try again later", answer.host, whole=True)


def _wait(result: Answer | _Failure, attempt: int) -> float:
    """Give the seconds to wait before the next try."""
    asked = _asked_wait(result) if isinstance(result, Answer) else 0
    grown = _FIRST_WAIT_SECONDS * 2.0 ** (attempt - 1) * random.uniform(1, 1.5)  # noqa: S311  it spreads tries
    return max(asked, grown)


def _asked_wait(answer: Answer) -> float:
    """Read Retry-After, which is a number of seconds or a date (RFC 9110, 10.2.3)."""
    value = answer.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value[:9])
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0


def _public(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() != "authorization"}
