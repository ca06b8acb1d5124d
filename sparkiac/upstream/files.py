"""Extra files: what stands at their addresses, by its hash and size."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn
from urllib.parse import unquote

from sparkiac.hints import nearest
from sparkiac.model.lock import LockedFile
from sparkiac.model.references import hub_file
from sparkiac.upstream import bounded
from sparkiac.upstream.fault import explained
from sparkiac.upstream.hub import codes
from sparkiac.upstream.hub.patience import AGAIN, WAITS, Unanswered, patiently
from sparkiac.upstream.hub.reading import Reader, refuse_commit
from sparkiac.upstream.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import httpx2

    from sparkiac.upstream.hub import Hub

LARGEST_BYTES: Final = 1_073_741_824
"""1 GiB: extra files are loaders, parsers and templates. Weights are models, and asked for by their handle."""
_TIMEOUT_SECONDS: Final = 10.0
_FIRST_SECONDS: Final = 60.0
"""However short a file is, it may take so long."""
_CHUNK_BYTES: Final = 65_536
_DISK: Final = "file://"
_MISSING: Final = frozenset({401, 403, 404, 410})


def resolve(
    url: str,
    *,
    hub: Hub,
    revision: str = "main",
    limit_bytes: int = LARGEST_BYTES,
    waits: Sequence[float] = WAITS,
) -> LockedFile:
    """Read the file at an address of the form that inventories have, and give its hash and size.

    `file:///…` is a file of this machine, and a host fetches its own: both have to have it. A file of the hub is
    that of `revision`, which is a branch, tag or commit. `waits` are the seconds before asking again.

    Raises `Refusal`: LCK020 if there is none, LCK021 if nobody answers, LCK022 if it is larger than `limit_bytes` or
    not whole; of the hub also LCK010 to LCK014.
    """
    if (named := hub_file(url)) is not None:
        return _of_hub(url, named, hub=hub, revision=revision, limit_bytes=limit_bytes)
    if url.startswith(_DISK):
        return _of_disk(url, limit_bytes)
    try:
        return patiently(lambda: _of_web(url, limit_bytes), waits=waits)
    except Unanswered as error:
        message = f"{url} could not be read: {error}"
        raise Refusal(codes.FILE_UNANSWERED, message, error.hint) from None


def _of_hub(url: str, named: tuple[str, str], *, hub: Hub, revision: str, limit_bytes: int) -> LockedFile:
    handle, path = named
    repository = hub.repository(handle, revision=revision)
    refuse_commit(repository.commit, handle, revision)
    entries = {entry.path: entry for entry in repository.entries}
    entry = entries.get(path)
    if entry is None:
        message = f"{url}: {handle} has no file {path!r} at {repository.commit}"
        raise Refusal(codes.FILE_MISSING, message, nearest(path, entries))
    if entry.size_bytes > limit_bytes:
        _refuse_size(url, limit_bytes)
    if entry.sha256 is not None:
        return LockedFile(sha256=entry.sha256, size_bytes=entry.size_bytes, commit=repository.commit)
    found = _hashed([Reader(handle, repository, hub).text(entry)[1]], url, limit_bytes)
    return found.model_copy(update={"commit": repository.commit})


def _of_disk(url: str, limit_bytes: int) -> LockedFile:
    path = Path(unquote(url.removeprefix(_DISK)))
    try:
        with path.open("rb") as file:
            return _hashed(iter(lambda: file.read(_CHUNK_BYTES), b""), url, limit_bytes)
    except OSError as error:
        message = f"{url} cannot be read on this machine: {error.strerror}"
        raise Refusal(codes.FILE_MISSING, message, "it has to be here, to be hashed, and on each host") from None


def _of_web(url: str, limit_bytes: int) -> LockedFile:
    import httpx2  # noqa: PLC0415  only an inventory with such files needs it

    try:
        with (
            httpx2.Client(timeout=_TIMEOUT_SECONDS) as client,
            bounded.answer(client, url, {}, seconds=_FIRST_SECONDS, silence_seconds=_TIMEOUT_SECONDS) as response,
        ):
            _refuse_status(response, url)
            return _hashed(_whole(response, url), url, limit_bytes)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        fault = explained(error, connect_seconds=_TIMEOUT_SECONDS, silence_seconds=_TIMEOUT_SECONDS)
        raise Unanswered.of(fault) from None


def _whole(response: httpx2.Response, url: str) -> Iterator[bytes]:
    """Give the body in pieces, and refuse one that ends before it was promised to."""
    import httpx2  # noqa: PLC0415  only an inventory with such files needs it

    try:
        yield from bounded.body(response, seconds=_FIRST_SECONDS)
    except httpx2.RemoteProtocolError:
        promised = response.headers.get("Content-Length", "more")
        message = f"{url} broke off after {response.num_bytes_downloaded} of {promised} bytes"
        raise Refusal(codes.FILE_UNFIT, message, "try again; the file may be damaged where it lies") from None


def _refuse_status(response: httpx2.Response, url: str) -> None:
    status = response.status_code
    if status in AGAIN:
        busy = f"HTTP {status}"
        said = response.headers.get("Retry-After", "")
        raise Unanswered(busy, after_seconds=int(said[:9]) if said.isdecimal() and said.isascii() else None)
    if status in _MISSING:
        message = f"{url}: no such file, or not for everybody (HTTP {status})"
        raise Refusal(codes.FILE_MISSING, message, "hosts fetch it without credentials")
    if not response.is_success:
        message = f"{url} answered HTTP {status}"
        raise Refusal(codes.FILE_UNANSWERED, message)


def _hashed(chunks: Iterable[bytes], url: str, limit_bytes: int) -> LockedFile:
    size_bytes, hashed = 0, hashlib.sha256()
    for chunk in chunks:
        size_bytes += len(chunk)
        if size_bytes > limit_bytes:
            _refuse_size(url, limit_bytes)
        hashed.update(chunk)
    return LockedFile(sha256=hashed.hexdigest(), size_bytes=size_bytes)


def _refuse_size(url: str, limit_bytes: int) -> NoReturn:
    message = f"{url} is larger than the {limit_bytes} bytes that an extra file may have"
    raise Refusal(codes.FILE_UNFIT, message, "weights belong into `model:`, by their handle")
