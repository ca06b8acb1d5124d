"""Bearer tokens and Basic logins, given only to those they are meant for.

The token endpoint is the one that the registry names. It must be reached by https, or be on this machine and named by
a registry on this machine. The scope is narrowed to `pull`, whatever the registry offers. The first endpoint that a
registry names is kept: nvcr.io was seen to name another one, which gives nothing to the anonymous, once a token had
expired (NVIDIA/nvidia-container-toolkit#1945, July 2026). It also names no service, as Docker Hub does.
"""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlencode

import httpx2

from sparkiac.model.references import DOCKER_HUB
from sparkiac.upstream.refusal import Refusal
from sparkiac.upstream.registry import addresses, codes
from sparkiac.upstream.registry.credentials import IDENTITY
from sparkiac.upstream.registry.reference import is_loopback
from sparkiac.upstream.registry.transport import Question

if TYPE_CHECKING:
    from sparkiac.upstream.registry.credentials import Credentials, Login
    from sparkiac.upstream.registry.reference import Reference
    from sparkiac.upstream.registry.transport import Answer, Transport

_PART: Final = re.compile(r'(?<![A-Za-z_])(?:([A-Za-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|([A-Za-z]+))')
"""A parameter, quoted or bare, or the name of a scheme (RFC 9110, 11.6.1)."""
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_MOST_BYTES: Final = 1024 * 1024
_REFUSED: Final = frozenset({400, 401, 403, 404})
_NGC: Final = "nvcr.io"


class Challenge(NamedTuple):
    """How a registry wants to be asked."""

    scheme: str
    """`bearer`, `basic`, or nothing that is known."""
    realm: str = ""
    service: str = ""


_NONE: Final = Challenge("")


class Authorization:
    """What stands in the Authorization header for each repository. Threads may share it."""

    def __init__(self, credentials: Credentials, transport: Transport) -> None:
        """Know nothing yet."""
        self._credentials = credentials
        self._transport = transport
        self._challenges: dict[str, Challenge] = {}
        self._headers: dict[str, str] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()

    def header(self, reference: Reference, *, base: str) -> str:
        """Give what is known to be wanted: nothing, until this registry has asked for it once.

        One that asks for passwords may still show some repositories to all.
        """
        challenge = self._challenges.get(reference.registry)
        if challenge is None or (challenge.scheme != "bearer" and self._credentials.login(reference) is None):
            return ""
        return self._renewed(reference, challenge, base=base, refused="")

    def renewed(self, reference: Reference, answer: Answer, *, base: str, refused: str) -> str:
        """Give the header that a 401 asks for, and not the one that was refused.

        Raises `Refusal` LCK003 when there is none to give.
        """
        asked = challenge_of(answer.headers.get("www-authenticate", ""))
        challenge = self._challenges.setdefault(reference.registry, asked)
        return self._renewed(reference, challenge, base=base, refused=refused)

    def _renewed(self, reference: Reference, challenge: Challenge, *, base: str, refused: str) -> str:
        with self._lock:
            lock = self._locks[reference.name]
        with lock:  # threads that ask for the same repository share one token
            header = self._headers.get(reference.name, "")
            if not header or header == refused:
                header = self._made(reference, challenge, base=base, again=bool(refused))
                self._headers[reference.name] = header
        return header

    def _made(self, reference: Reference, challenge: Challenge, *, base: str, again: bool) -> str:
        login = self._credentials.login(reference)
        if challenge.scheme == "bearer":
            return f"Bearer {self._token(reference, challenge, login, base=base)}"
        if challenge.scheme == "basic" and login and login.user != IDENTITY and not again:
            return login.basic
        raise denied(reference, self._credentials, reference.host)

    def _token(self, reference: Reference, challenge: Challenge, login: Login | None, *, base: str) -> str:
        question = _token_question(reference, challenge, login, base=base)
        answer = self._transport.ask(question)
        if answer.status in _REFUSED:
            raise denied(reference, self._credentials, answer.host, answer)
        token = _token_in(answer)
        if not token:
            raise Refusal(codes.LOGIN, f"{reference}: {answer.host}: gives no token ({answer.status})")
        return token


def challenge_of(header: str) -> Challenge:
    """Read a WWW-Authenticate header: the Bearer challenge in it if there is one, else the Basic one."""
    found: dict[str, dict[str, str]] = {}
    said: dict[str, str] = {}
    for name, quoted, bare, scheme in _PART.findall(header):
        if scheme:
            said = found.setdefault(scheme.lower(), {})
        else:
            said.setdefault(name.lower(), quoted or bare)
    scheme = next((each for each in ("bearer", "basic") if each in found), "")
    return Challenge(scheme, found[scheme].get("realm", ""), found[scheme].get("service", "")) if scheme else _NONE


def denied(reference: Reference, credentials: Credentials, host: str, answer: Answer | None = None) -> Refusal:
    """Say that a login is missing or refused, and what to do."""
    fault = "refuses the login" if credentials.login(reference) else "needs a login"
    said = f" ({answer.status}{f' {answer.code}' if answer.code else ''})" if answer else ""
    where = ", ".join(map(str, credentials.files)) or "no file"
    hint = "docker login" if reference.registry == DOCKER_HUB else f"docker login {reference.registry}"
    if reference.registry == _NGC:
        hint += "; the user is $oauthtoken, written so, and the password an NGC API key"
    words = f"{reference}: {host}: {fault}{said}, or there is no such repository; logins are looked for in {where}"
    return Refusal(codes.LOGIN, words, hint)


def _token_question(reference: Reference, challenge: Challenge, login: Login | None, *, base: str) -> Question:
    url = _realm(reference, challenge, base=base)
    wanted = {"service": challenge.service} if challenge.service else {}
    wanted["scope"] = f"repository:{reference.repository}:pull"
    if login and login.user == IDENTITY:  # OAuth2, as the registry's specification of tokens has it
        form = {"grant_type": "refresh_token", "client_id": "sparkiac", "refresh_token": login.secret, **wanted}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return Question(url, str(reference), _MOST_BYTES, headers, urlencode(form).encode())
    headers = {"Authorization": login.basic} if login else {}
    return Question(str(httpx2.URL(url).copy_merge_params(wanted)), str(reference), _MOST_BYTES, headers)


def _realm(reference: Reference, challenge: Challenge, *, base: str) -> str:
    """Give the address of the token endpoint, if a login may be sent there."""
    try:
        url = httpx2.URL(challenge.realm)
    except httpx2.InvalidURL:
        url = httpx2.URL()
    here = base.startswith("http://") and url.scheme == "http" and is_loopback(addresses.host_of(challenge.realm))
    if not url.host or url.userinfo or not (url.scheme == "https" or here):
        message = f"{reference}: {reference.registry}: wants a login at an address that is not https"
        raise Refusal(codes.LOGIN, message)
    return challenge.realm


def _token_in(answer: Answer) -> str:
    try:
        said = json.loads(answer.body)
        token = said.get("token") or said.get("access_token")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return token if isinstance(token, str) and _TOKEN.fullmatch(token) else ""
