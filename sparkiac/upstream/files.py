"""Extra files: hash and size of the content behind a URL."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from sparkiac.model.lock import LockedFile
from sparkiac.model.references import hub_file
from sparkiac.report.hints import nearest
from sparkiac.upstream import errors
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.transport import HttpRequest

if TYPE_CHECKING:
    from sparkiac.upstream.hub.client import HubClient
    from sparkiac.upstream.transport import Transport

LARGEST_BYTES: Final = 1_073_741_824
"""1 GiB. Extra files are loaders, parsers and templates; weights are pinned as models."""
_CHUNK_BYTES: Final = 65_536
_DISK: Final = "file://"
_MISSING: Final = frozenset({401, 403, 404, 410})


def resolve(
    url: str,
    *,
    transport: Transport,
    hub: HubClient | None = None,
    revision: str = "main",
    max_bytes: int = LARGEST_BYTES,
) -> LockedFile:
    """Return hash and size of the file at a URL of an inventory.

    `file:///…` is a file of this machine; each host must have the same file. `hf://…` is a file of the model hub at
    `revision`, a branch, tag or commit, and needs `hub`. Raises `UpstreamError`.
    """
    if url.startswith(_DISK):
        return _on_disk(url, max_bytes)
    named = hub_file(url)
    if named is not None:
        assert hub is not None  # noqa: S101  callers pass a client for URLs of the hub
        return _on_hub(url, named, hub=hub, revision=revision, max_bytes=max_bytes)
    response = transport.send(HttpRequest(url, url, max_bytes, keep=False))
    if response.status in _MISSING:
        message = f"{url}: no such file, or it needs a login (HTTP {response.status})"
        raise UpstreamError(errors.NO_FILE, message, "hosts download it without credentials")
    if response.status != HTTPStatus.OK:
        raise UpstreamError(errors.FILE_NO_RESPONSE, f"{url}: HTTP {response.status}")
    return LockedFile(sha256=response.sha256, size_bytes=response.size_bytes)


def _on_hub(url: str, named: tuple[str, str], *, hub: HubClient, revision: str, max_bytes: int) -> LockedFile:
    from sparkiac.upstream.hub.model import CommitReader  # noqa: PLC0415  most inventories have no file of the hub

    handle, path = named
    reader = CommitReader(handle, revision, hub)
    file = reader.files.get(path)
    if file is None:
        message = f"{url}: {handle} has no file {path!r} at {reader.commit}"
        raise UpstreamError(errors.NO_FILE, message, nearest(path, reader.files))
    if file.size_bytes > max_bytes:
        raise _too_large(url, max_bytes)
    sha256 = file.sha256 or hashlib.sha256(reader.small(file)).hexdigest()
    needs_token = reader.repository.gated or reader.repository.private
    return LockedFile(sha256=sha256, size_bytes=file.size_bytes, commit=reader.commit, needs_token=needs_token)


def _on_disk(url: str, max_bytes: int) -> LockedFile:
    size_bytes, hashed = 0, hashlib.sha256()
    try:
        with Path(unquote(url.removeprefix(_DISK))).open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                size_bytes += len(chunk)
                hashed.update(chunk)
                if size_bytes > max_bytes:
                    raise _too_large(url, max_bytes)
    except OSError as error:
        message = f"{url} cannot be read on this machine: {error.strerror}"
        hint = "copy it to this machine, where it is hashed, and to each host"
        raise UpstreamError(errors.NO_FILE, message, hint) from None
    return LockedFile(sha256=hashed.hexdigest(), size_bytes=size_bytes)


def _too_large(url: str, max_bytes: int) -> UpstreamError:
    message = f"{url} has more than {max_bytes} bytes, the limit for extra files"
    return UpstreamError(errors.FILE_INVALID, message, "pin weights as a model, with `model:` and their handle")
