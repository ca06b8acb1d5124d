"""Requests to the model hub. huggingface_hub builds the URLs and reads the listing; importing it takes 0.6 s.

Endpoint and token are those of the given environment and of `hf auth login`. `huggingface_hub.get_token` is not used:
it can send requests of its own, without this package's limits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from huggingface_hub import ModelInfo, hf_hub_url
from huggingface_hub.errors import HFValidationError
from huggingface_hub.hf_api import RepoSibling  # noqa: TC002  loaded by the line above
from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

from sparkiac.model import answers, forms
from sparkiac.model.base import MOST_BYTES
from sparkiac.model.references import HUB
from sparkiac.upstream import errors
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.transport import HttpRequest, HttpResponse, HttpTimeouts, Transport

_TOKEN: Final = re.compile(r"[!-~]+")
"""Characters that a header can contain."""
_TRUE: Final = frozenset({"1", "ON", "YES", "TRUE"})
_LISTING_MAX_BYTES: Final = 8_388_608
"""8 MiB; the largest repositories have some thousand files, with 300 bytes each in the listing."""
_TIMEOUTS: Final = HttpTimeouts(connect=10, read=10, total=60)


def endpoint(environ: Mapping[str, str]) -> str:
    """Return the hub's URL without a final slash. Raises `UpstreamError` if HF_ENDPOINT is not a plain URL."""
    url = environ.get("HF_ENDPOINT", "").rstrip("/") or HUB
    if not re.fullmatch(forms.URL, url):
        message = f"HF_ENDPOINT is not {forms.FORMS[forms.URL]}"
        hint = "remove user and password from it; the token is in HF_TOKEN"
        raise UpstreamError(errors.HUB_NO_RESPONSE, message, hint)
    return url


def token(environ: Mapping[str, str]) -> str | None:
    """Return the token of HF_TOKEN or `hf auth login`. Raises `UpstreamError` if it has invalid characters."""
    text = environ.get("HF_TOKEN") or environ.get("HUGGING_FACE_HUB_TOKEN") or _stored(environ)
    cleaned = text.replace("\r", "").replace("\n", "").strip()
    if cleaned and not _TOKEN.fullmatch(cleaned):
        message = "the token for the model hub contains a space or a character that is not ASCII"
        raise UpstreamError(errors.NO_MODEL, message, "set HF_TOKEN to the token only, or run `hf auth login`")
    return cleaned or None


def offline(environ: Mapping[str, str]) -> str | None:
    """Return the name of the variable that forbids requests to the hub, if one is set."""
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return next((name for name in names if environ.get(name, "").upper() in _TRUE), None)


def _stored(environ: Mapping[str, str]) -> str:
    """Read the token that `hf auth login` stored, at the path that huggingface_hub documents."""
    home = environ.get("HOME", "")
    cache = environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")
    folder = environ.get("HF_HOME") or (f"{cache}/huggingface" if cache else "")
    path = environ.get("HF_TOKEN_PATH") or (f"{folder}/token" if folder else "")
    expanded = home + path[1:] if path.startswith("~/") else path
    try:
        return Path(expanded).read_text(encoding="utf-8") if expanded else ""
    except (OSError, UnicodeDecodeError):
        return ""


class HubFile(NamedTuple):
    """A file in the hub's listing."""

    path: str
    size_bytes: int
    blob: str
    """Git's hash of the file; for an LFS file, of its pointer."""
    sha256: str | None
    """Known for LFS files only."""


class HubRepository(NamedTuple):
    """A repository at one commit."""

    commit: str
    licence: str | None
    gated: bool
    private: bool
    files: tuple[HubFile, ...]


class HubClient:
    """A client of the hub at one endpoint. The token is sent to that endpoint only."""

    def __init__(
        self,
        endpoint: str = HUB,
        token: str | None = None,
        *,
        timeouts: HttpTimeouts = _TIMEOUTS,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """Connect to no server yet; `sleep` waits between two tries."""
        self.endpoint = endpoint.rstrip("/")
        self._token = token
        self._transport = Transport(errors.HUB, timeouts=timeouts, sleep=sleep)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> HubClient:
        """Return a client with the endpoint and token from environment variables.

        Raises `UpstreamError` if one of them is invalid, or if a variable such as HF_HUB_OFFLINE forbids requests.
        """
        if variable := offline(environ):
            message = f"no request was sent to the model hub: {variable} is set"
            raise UpstreamError(errors.HUB_NO_RESPONSE, message, f"unset {variable}")
        return cls(endpoint(environ), token(environ))

    def __repr__(self) -> str:
        """Leave out the token."""
        return f"HubClient({self.endpoint!r})"

    def repository(self, handle: str, *, revision: str) -> HubRepository:
        """Return the commit and the files of a repository. Raises `UpstreamError`."""
        try:
            validate_repo_id(handle)
        except HFValidationError:
            message = f"{handle!r} is not the name of a repository on {self.endpoint}"
            raise UpstreamError(errors.NO_MODEL, message) from None
        url = f"{self.endpoint}/api/models/{handle}/revision/{quote(revision, safe='')}?blobs=true"
        response = self._send(HttpRequest(url, handle, _LISTING_MAX_BYTES), handle, revision)
        try:
            info = ModelInfo(**answers.plain(response.body))  # type: ignore[no-untyped-call]
            files = tuple(map(_file, info.siblings or ()))
            return HubRepository(str(info.sha), _licence(info), bool(info.gated), bool(info.private), files)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            fault = error if isinstance(error, ValueError) else "unexpected types of values"
            message = f"{self.endpoint}: invalid listing of {handle}: {fault}"
            raise UpstreamError(errors.HUB_INVALID, message, "check that HF_ENDPOINT is a model hub") from None

    def content(self, handle: str, path: str, *, commit: str, max_bytes: int) -> bytes:
        """Read a file of a commit from its start, up to `max_bytes`. Raises `UpstreamError`."""
        url = hf_hub_url(handle, path, revision=commit, endpoint=self.endpoint)
        headers = {"Range": f"bytes=0-{max_bytes - 1}"}
        return self._send(HttpRequest(url, handle, max_bytes, headers, truncate=True), handle, commit).body

    def _send(self, request: HttpRequest, handle: str, revision: str) -> HttpResponse:
        login = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        response = self._transport.send(request._replace(headers={**request.headers, **login}))
        if response.status in {HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT}:
            return response
        raise self._error(response, handle, revision)

    def _error(  # noqa: PLR0911  one for each reason
        self, response: HttpResponse, handle: str, revision: str
    ) -> UpstreamError:
        """Return the error for a status, or for the more exact code in the hub's header X-Error-Code."""
        where, status = f"{self.endpoint}/{handle}", response.status
        code = response.headers.get("X-Error-Code", "")
        if code == "GatedRepo":
            token = "a token of that account" if self._token else "that account's token"
            hint = f"accept them at {where} with an account, and set HF_TOKEN to {token}"
            return UpstreamError(errors.GATED, f"{where} is gated, and its terms were not accepted", hint)
        if code == "RevisionNotFound":
            message = f"{where} has no branch, tag or commit {revision!r}"
            return UpstreamError(errors.NO_REVISION, message, f"see {where}/tree/main for its branches and tags")
        if code == "EntryNotFound":
            return UpstreamError(errors.HUB_INVALID, f"{where} lists a file that is missing at {revision}")
        if status == HTTPStatus.UNAUTHORIZED and self._token and b"credentials" in response.body:
            hint = "set HF_TOKEN to a valid token, or run `hf auth login`"
            return UpstreamError(errors.NO_MODEL, f"{self.endpoint} rejects the token", hint)
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND}:
            access = "use a token that can read it" if self._token else "set HF_TOKEN to a token that can read it"
            hint = f"check the name; if the repository is private, {access}"
            return UpstreamError(errors.NO_MODEL, f"{where}: no such repository, or it is private", hint)
        if status == HTTPStatus.FORBIDDEN:
            hint = "allow the token to read gated repositories, or set HF_TOKEN to another token"
            return UpstreamError(errors.GATED, f"{where}: the token has no read access", hint)
        return UpstreamError(errors.HUB_NO_RESPONSE, f"{where}: HTTP {status}")


def _file(sibling: RepoSibling) -> HubFile:
    size = sibling.lfs.size if sibling.lfs else sibling.size
    if not isinstance(size, int) or not 0 <= size <= MOST_BYTES:
        raise ValueError(f"a file has no size, or more than {MOST_BYTES} bytes")
    return HubFile(sibling.rfilename, size, str(sibling.blob_id), sibling.lfs.sha256 if sibling.lfs else None)


def _licence(info: ModelInfo) -> str | None:
    card = info.card_data
    named = card and (card.license if card.license != "other" else card.get("license_name") or "other")
    words = named if isinstance(named, list) else [named] if named else []
    return ", ".join("".join(filter(str.isprintable, str(word))).strip() for word in words) or None
