"""Authorization headers for registries: bearer tokens and basic logins, each sent only to its own registry.

The token endpoint is the one that the registry names. It must use HTTPS, or be on this machine and belong to a registry
on this machine. Tokens are requested for `pull` only. The first endpoint that a registry names is kept: after a token
had expired, nvcr.io was seen to name another one, which has no anonymous tokens (NVIDIA/nvidia-container-toolkit#1945,
July 2026). nvcr.io also names no service, as Docker Hub does.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from typing import Final, NamedTuple
from urllib.parse import urlencode

import httpx2

from sparkiac.model import answers
from sparkiac.model.references import DOCKER_HUB
from sparkiac.upstream import errors
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.registry import ImageReference
from sparkiac.upstream.registry.credentials import IDENTITY, Credentials, Login
from sparkiac.upstream.transport import HttpRequest, Transport, is_loopback

_PART: Final = re.compile(r'(?<![A-Za-z_])(?:([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|([A-Za-z]+))')
"""A parameter with a quoted or bare value, or the name of a scheme (RFC 9110, 11.6.1)."""
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_MAX_BYTES: Final = 1024 * 1024
_REFUSED: Final = frozenset({400, 401, 403, 404})
_NGC: Final = "nvcr.io"


class Challenge(NamedTuple):
    """How a registry requires requests to be authorized."""

    scheme: str
    """`bearer`, `basic`, or empty for an unknown scheme."""
    realm: str = ""
    service: str = ""


class Authorization:
    """The Authorization header for each repository. Threads can share it."""

    def __init__(self, credentials: Credentials, transport: Transport) -> None:
        """Send no request yet."""
        self._credentials = credentials
        self._transport = transport
        self._challenges: dict[str, Challenge] = {}
        self._headers: dict[str, str] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()

    def header(self, reference: ImageReference, *, base: str) -> str:
        """Return the header, or an empty text until the registry has required one.

        A registry that requires a basic login may have public repositories, so a missing login is no error here.
        """
        challenge = self._challenges.get(reference.registry)
        if challenge is None or (challenge.scheme != "bearer" and self._credentials.login(reference) is None):
            return ""
        return self._renewed(reference, challenge, base=base, refused="")

    def renewed(self, reference: ImageReference, challenge: str, *, base: str, refused: str) -> str:
        """Return the header for the WWW-Authenticate header of a 401, other than the refused one.

        Raises `UpstreamError` if there is none.
        """
        first = self._challenges.setdefault(reference.registry, parse_challenge(challenge))
        return self._renewed(reference, first, base=base, refused=refused)

    def _renewed(self, reference: ImageReference, challenge: Challenge, *, base: str, refused: str) -> str:
        with self._lock:
            lock = self._locks[reference.name]
        with lock:  # threads with the same repository share one token
            header = self._headers.get(reference.name, "")
            if not header or header == refused:
                header = self._created(reference, challenge, base=base, again=bool(refused))
                self._headers[reference.name] = header
        return header

    def _created(self, reference: ImageReference, challenge: Challenge, *, base: str, again: bool) -> str:
        login = self._credentials.login(reference)
        if challenge.scheme == "bearer":
            return f"Bearer {self._token(reference, challenge, login, base=base)}"
        if challenge.scheme == "basic" and login and login.user != IDENTITY and not again:
            return login.basic
        raise denied(reference, self._credentials, reference.host)

    def _token(self, reference: ImageReference, challenge: Challenge, login: Login | None, *, base: str) -> str:
        response = self._transport.send(_token_request(reference, challenge, login, base=base))
        if response.status in _REFUSED:
            raise denied(reference, self._credentials, response.host, f" (HTTP {response.status})")
        try:
            data = answers.plain(response.body)
            token = data.get("token") or data.get("access_token")
        except (ValueError, AttributeError):
            token = None
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            message = f"{reference}: {response.host}: no token in the response (HTTP {response.status})"
            raise UpstreamError(errors.LOGIN, message)
        return token


def parse_challenge(header: str) -> Challenge:
    """Parse a WWW-Authenticate header: the bearer challenge, or the basic one if there is no other."""
    found: dict[str, dict[str, str]] = {}
    parameters: dict[str, str] = {}
    for name, quoted, bare, scheme in _PART.findall(header):
        if scheme:
            parameters = found.setdefault(scheme.lower(), {})
        else:
            parameters.setdefault(name.lower(), quoted or bare)
    scheme = next((each for each in ("bearer", "basic") if each in found), "")
    parameters = found.get(scheme, {})
    return Challenge(scheme, parameters.get("realm", ""), parameters.get("service", ""))


def denied(reference: ImageReference, credentials: Credentials, host: str, status: str = "") -> UpstreamError:
    """Return the error for a missing or refused login, with the command that logs in."""
    fault = "refuses the login" if credentials.login(reference) else "requires a login"
    files = ", ".join(map(str, credentials.files)) or "no file"
    hint = "docker login" if reference.registry == DOCKER_HUB else f"docker login {reference.registry}"
    if reference.registry == _NGC:
        hint += "; the user is literally $oauthtoken, and the password is an NGC API key"
    message = f"{reference}: {host} {fault}{status}, or has no such repository; logins are read from {files}"
    return UpstreamError(errors.LOGIN, message, hint)


def _token_request(reference: ImageReference, challenge: Challenge, login: Login | None, *, base: str) -> HttpRequest:
    try:
        url = httpx2.URL(challenge.realm)
    except httpx2.InvalidURL:
        url = httpx2.URL()
    local = base.startswith("http://") and url.scheme == "http" and is_loopback(url.netloc.decode())
    if not url.host or url.userinfo or not (url.scheme == "https" or local):
        message = f"{reference}: {reference.registry} requests the login for an address without HTTPS"
        raise UpstreamError(errors.LOGIN, message)
    query = {"service": challenge.service} if challenge.service else {}
    query["scope"] = f"repository:{reference.repository}:pull"
    if login and login.user == IDENTITY:  # OAuth2, as in the registry's token specification
        form = {"grant_type": "refresh_token", "client_id": "sparkiac", "refresh_token": login.secret, **query}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return HttpRequest(challenge.realm, str(reference), _MAX_BYTES, headers, urlencode(form).encode())
    headers = {"Authorization": login.basic} if login else {}
    return HttpRequest(str(url.copy_merge_params(query)), str(reference), _MAX_BYTES, headers)
