"""What goes over the wire, through huggingface_hub. This module alone imports it: that takes 0.6 s."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn
from urllib.parse import quote

import httpx2
from huggingface_hub import ModelInfo, constants, get_session, hf_hub_url, hf_raise_for_status
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import (  # type: ignore[attr-defined]  # documented there, but bound when asked for
    build_hf_headers,
    parse_ratelimit_headers,
    validate_repo_id,
)

from sparkiac import __version__
from sparkiac.model.base import MOST_BYTES
from sparkiac.upstream import bounded
from sparkiac.upstream.fault import explained
from sparkiac.upstream.hub import codes
from sparkiac.upstream.hub.patience import AGAIN, Unanswered
from sparkiac.upstream.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from huggingface_hub.hf_api import RepoSibling

constants.HF_HUB_DISABLE_TELEMETRY = True
"""Else the library asks huggingface.co about programs on this machine, whatever the endpoint."""

_LISTING_MOST_BYTES: Final = 33_554_432
"""32 MiB; the largest repositories have some thousand files, of 300 bytes each in the listing."""
_ERROR_MOST_BYTES: Final = 65_536
_SILENCES: Final = 6
"""An answer of a few bytes may take so many times as long as the server may keep still."""
_TOLD: Final = ("content-type", "retry-after")


class Place(NamedTuple):
    """Whom to ask for what."""

    endpoint: str
    token: str | None
    timeout_seconds: float
    handle: str
    revision: str

    def __repr__(self) -> str:
        """Leave the token out."""
        return f"Place({self.endpoint}/{self.handle} at {self.revision})"


class Entry(NamedTuple):
    """A file as the hub lists it."""

    path: str
    size_bytes: int
    blob: str
    """Git's hash of it; that of its pointer if it lies in LFS."""
    sha256: str | None
    """Known of a file in LFS only."""


class Repository(NamedTuple):
    """A repository as the hub describes it."""

    commit: str
    licence: str | None
    gated: bool
    entries: tuple[Entry, ...]


def repository(place: Place) -> Repository:
    """Ask what a repository holds. Raises `Refusal` and `Unanswered`."""
    url = f"{place.endpoint}/api/models/{place.handle}/revision/{quote(place.revision, safe='')}?blobs=true"
    try:
        validate_repo_id(place.handle)
        raw = _asked(place, url, {}, _LISTING_MOST_BYTES + 1)
        if len(raw) > _LISTING_MOST_BYTES:
            message = f"{place.endpoint} lists {place.handle} with more than {_LISTING_MOST_BYTES} bytes"
            raise Refusal(codes.UNTRUE, message, "is HF_ENDPOINT the address of a model hub?")
        info = ModelInfo(**json.loads(raw))  # type: ignore[no-untyped-call]
        return Repository(
            commit=str(info.sha),
            licence=_licence(info),
            gated=bool(info.gated),
            entries=tuple(map(_entry, info.siblings or ())),
        )
    except (httpx2.HTTPError, httpx2.InvalidURL, OfflineModeIsEnabled, HFValidationError) as error:
        _refuse(error, place)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = f"{place.endpoint} describes {place.handle} in a form that is none: {error or type(error).__name__}"
        raise Refusal(codes.UNTRUE, message, "is HF_ENDPOINT the address of a model hub?") from None


def content(place: Place, path: str, *, limit_bytes: int) -> bytes:
    """Read a file from its start, this far at most, however much is sent. Raises `Refusal` and `Unanswered`."""
    url = hf_hub_url(place.handle, path, revision=place.revision, endpoint=place.endpoint)
    try:
        return _asked(place, url, {"Range": f"bytes=0-{limit_bytes - 1}"}, limit_bytes)
    except (httpx2.HTTPError, httpx2.InvalidURL, OfflineModeIsEnabled) as error:
        _refuse(error, place)


def _asked(place: Place, url: str, headers: dict[str, str], limit_bytes: int) -> bytes:
    """Give the body of an answer, this far at most; raise what another status means to the library."""
    told = build_hf_headers(token=place.token or False, library_name="sparkiac", library_version=__version__)
    client, seconds = get_session(), place.timeout_seconds * _SILENCES
    with bounded.answer(client, url, told | headers, seconds=seconds, silence_seconds=place.timeout_seconds) as answer:
        if answer.is_success:
            return _start(answer, limit_bytes, seconds)
        status, kept = answer.status_code, {name: answer.headers[name] for name in _TOLD if name in answer.headers}
        kept |= {name: value for name, value in answer.headers.items() if name.startswith(("ratelimit", "x-error"))}
        said = _start(answer, _ERROR_MOST_BYTES, seconds)
        hf_raise_for_status(httpx2.Response(status, headers=kept, content=said, request=answer.request))
        return said


def _start(response: httpx2.Response, limit_bytes: int, seconds: float) -> bytes:
    read = bytearray()
    for chunk in bounded.body(response, seconds=seconds):
        read += chunk
        if len(read) >= limit_bytes:
            break
    return bytes(read[:limit_bytes])


def _entry(sibling: RepoSibling) -> Entry:
    size = sibling.lfs.size if sibling.lfs else sibling.size
    if not isinstance(size, int) or not 0 <= size <= MOST_BYTES:
        message = f"a file without a size, or with more than {MOST_BYTES} bytes"
        raise ValueError(message)
    return Entry(sibling.rfilename, size, str(sibling.blob_id), sibling.lfs.sha256 if sibling.lfs else None)


def _licence(info: ModelInfo) -> str | None:
    card = info.card_data
    said = card and (card.license if card.license != "other" else card.get("license_name") or "other")
    words = said if isinstance(said, list) else [said] if said else []
    return ", ".join("".join(filter(str.isprintable, str(word))).strip() for word in words) or None


def _refuse(error: Exception, place: Place) -> NoReturn:
    """Raise what an exception of the library means. Nothing of it is told on: it holds requests and their headers."""
    where = f"{place.endpoint}/{place.handle}"
    if isinstance(error, GatedRepoError):
        _refuse_gated(place)
    if isinstance(error, RevisionNotFoundError):
        message = f"{where} has no branch, tag or commit {place.revision!r}"
        raise Refusal(codes.REVISION, message, f"see {where}/tree/main for those that it has") from None
    if isinstance(error, RemoteEntryNotFoundError):
        raise Refusal(codes.UNTRUE, f"{where} lists a file that it does not have at {place.revision}") from None
    if isinstance(error, HfHubHTTPError):
        _refuse_status(error.response, place)
    if isinstance(error, HFValidationError):
        raise Refusal(codes.MISSING, f"{place.handle!r} is no name of a repository on {place.endpoint}") from None
    if isinstance(error, OfflineModeIsEnabled):
        raise Refusal(
            codes.UNANSWERED, f"{where} was not asked: huggingface_hub is offline", "unset HF_HUB_OFFLINE"
        ) from None
    patience = place.timeout_seconds
    raise Unanswered.of(explained(error, connect_seconds=patience, silence_seconds=patience)) from None


def _refuse_gated(place: Place) -> NoReturn:
    message = f"{place.endpoint}/{place.handle} is gated, and its terms were not accepted"
    token = "HF_TOKEN to that account's token" if place.token is None else "HF_TOKEN to a token of that account"
    hint = f"accept them at {place.endpoint}/{place.handle} with an account, and set {token}"
    raise Refusal(codes.GATED, message, hint) from None


def _refuse_status(response: httpx2.Response, place: Place) -> NoReturn:
    status = response.status_code
    where = f"{place.endpoint}/{place.handle}"
    if status in AGAIN:
        busy = f"HTTP {status}"
        raise Unanswered(busy, after_seconds=_after(response.headers)) from None
    if status == httpx2.codes.UNAUTHORIZED and place.token and "credentials" in response.text:
        message = f"{place.endpoint} does not know the token that it was asked with"
        raise Refusal(codes.MISSING, message, "set HF_TOKEN to a valid token, or run `hf auth login`") from None
    if status in {httpx2.codes.UNAUTHORIZED, httpx2.codes.NOT_FOUND}:
        hint = "set HF_TOKEN to a token that may read it" if place.token is None else "may HF_TOKEN's account read it?"
        message = f"{where}: no such repository, or it is private"
        raise Refusal(codes.MISSING, message, f"check the name; if it is private, {hint}") from None
    if status == httpx2.codes.FORBIDDEN:
        message = f"{where}: the token that it was asked with may not read it"
        hint = "give the token leave to read gated repositories, or set HF_TOKEN to another"
        raise Refusal(codes.GATED, message, hint) from None
    raise Refusal(codes.UNANSWERED, f"{where} answered HTTP {status}") from None


def _after(headers: Mapping[str, str]) -> int | None:
    limit = parse_ratelimit_headers(headers)
    if limit is not None and limit.remaining == 0:
        return limit.reset_in_seconds
    said = headers.get("Retry-After", "")
    return int(said[:9]) if said.isdecimal() and said.isascii() else None
