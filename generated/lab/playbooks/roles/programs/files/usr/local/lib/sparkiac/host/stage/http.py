"""Download a file over HTTP with resume, retries and its own handling of redirects; hash it while it is written.

A request is given up when it brings less than 1 MiB in a minute, and a source when a file takes longer than an hour and
a minute per MiB.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent import futures
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from . import redirects
from .store import CHUNK_BYTES, ModelFile, StageError, open_own, sync

TIMEOUT_S = 60
SLOW_S = 60
"""Seconds in which the next CHUNK_BYTES of a response, or its rest, must arrive."""
BEGIN_S = 120
"""Seconds in which a response must begin."""
TRIES = 200
"""Requests for one file to one source, also if each makes some progress."""
LONGEST_S = 3600
"""Seconds for one file, beside SLOW_S for each CHUNK_BYTES. No request begins later."""
WAITS_S = (1, 2, 4, 8, 16, 32)  # between attempts that make no progress
LONGEST_WAIT_S = 300  # upper limit for Retry-After
REDIRECTS = 8
MOVED = (301, 302, 303, 307, 308)
PARTIAL = 206
UNSATISFIABLE = 416
TOO_MANY_REQUESTS = 429
SERVER_ERRORS = 500
DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}


class SourceRefusedError(StageError):
    """A source does not provide this file, and retries do not help. Contains the HTTP status, or 0."""

    def __init__(self, message: str, status: int = 0) -> None:
        """Store message and status."""
        super().__init__(message)
        self.status = status


class IncompleteError(Exception):
    """A download failed or was interrupted; a retry may succeed. Contains the delay that the server requested."""

    def __init__(self, message: str, wait_s: float = 0) -> None:
        """Store message and delay."""
        super().__init__(message)
        self.wait_s = wait_s


class Address(NamedTuple):
    """URL of a file, the token for it, and how to download it."""

    url: str
    token: str
    waits_s: tuple[int, ...]
    direct: bool
    """Whether to ignore proxies, as for a host in the local network."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects, because urllib would send the credentials to the new host."""

    def http_error_302(self, *_: object, **__: object) -> None:
        """Do nothing, so that urllib raises HTTPError and `open_at` handles the redirect."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def without_query(url: str) -> str:
    """Return a URL without user name, password and query, because signed URLs have credentials in the query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def origin(url: str) -> tuple[str, str]:
    """Return the origin of a URL: scheme, and host with port."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def open_at(address: Address, start: int) -> Any:  # noqa: ANN401 - urllib's responses have no common type
    """Request a file from a byte offset and follow redirects; the token is sent only to the original host."""
    handlers = [_NoRedirects, urllib.request.ProxyHandler({})] if address.direct else [_NoRedirects]
    opener, url = urllib.request.build_opener(*handlers), address.url
    for _ in range(REDIRECTS):
        headers = {"Accept-Encoding": "identity", "User-Agent": "sparkiac"}
        if start:
            headers["Range"] = f"bytes={start}-"
        if address.token and origin(url) == origin(address.url):
            headers["Authorization"] = f"Bearer {address.token}"
        try:
            request = urllib.request.Request(url, headers=headers)  # noqa: S310 - http alone, see below
            return within(BEGIN_S, partial(opener.open, request, timeout=TIMEOUT_S))
        except urllib.error.HTTPError as error:
            with error:
                if error.code not in MOVED:
                    raise error_for(error, url) from None
                url = redirected(url, error.headers.get("Location") or "", first=address.url)
    raise SourceRefusedError(f"{without_query(address.url)}: redirected more than {REDIRECTS} times")


def within(seconds: float, run: Callable[[], Any]) -> Any:  # noqa: ANN401
    """Return the result of a function; raise TimeoutError if it takes longer, and leave its thread to end by itself."""
    found: futures.Future[Any] = futures.Future()

    def work() -> None:
        try:
            found.set_result(run())
        except BaseException as error:  # noqa: BLE001 - raised by result()
            found.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    if not futures.wait([found], seconds).done:
        raise TimeoutError(f"too slow: nothing, or less than {CHUNK_BYTES} bytes, in {seconds} s")
    return found.result()


def received(answer: Any, size_bytes: int) -> bytes:  # noqa: ANN401
    """Return the next bytes of a response; raise TimeoutError if the server sends them too slowly."""
    try:
        return bytes(within(SLOW_S, partial(answer.read, size_bytes)))
    except TimeoutError:
        with socket.socket(fileno=os.dup(answer.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)  # ends the thread, which holds the lock of the response
        raise


def redirected(url: str, location: str, *, first: str) -> str:
    """Return the target of a redirect; raise an error if it is not followed. `first` is the configured URL."""
    try:
        found = urljoin(url, location)
        fault = redirects.problem(url, found, first=first)
    except ValueError:
        fault = redirects.INVALID
    if fault:
        raise SourceRefusedError(f"{without_query(url)}: redirect to {fault}")
    return found


def error_for(error: urllib.error.HTTPError, url: str) -> Exception:
    """Return IncompleteError if a retry may succeed, else SourceRefusedError."""
    reason = f"{without_query(url)}: HTTP {error.code}"
    if error.code == UNSATISFIABLE:
        return SourceRefusedError(f"{reason}: the file is shorter than in its manifest", error.code)
    if error.code == TOO_MANY_REQUESTS or error.code >= SERVER_ERRORS:
        wait = error.headers.get("Retry-After") or ""
        return IncompleteError(reason, min(int(wait[:9]), LONGEST_WAIT_S) if wait.isdecimal() else 0)
    return SourceRefusedError(reason, error.code)


class PartialFile:
    """A partly downloaded file on the disk, and the hash of its bytes."""

    def __init__(self, path: Path, file: ModelFile) -> None:
        """Open the file and hash what an earlier run has downloaded."""
        self.path, self.file = path, file
        self.digest, self.done, self.resumed = hashlib.sha256(), 0, False
        self.handle = os.fdopen(open_own(path, os.O_RDWR | os.O_CREAT), "r+b", buffering=0)
        if self.handle.seek(0, os.SEEK_END) > file.size_bytes:
            self.restart()
        self.handle.seek(0)
        while chunk := self.handle.read(CHUNK_BYTES):
            self.digest.update(chunk)
            self.done += len(chunk)
        self.resumed = self.done > 0

    def restart(self) -> None:
        """Delete all bytes."""
        self.handle.seek(0)
        self.handle.truncate()
        self.digest, self.done, self.resumed = hashlib.sha256(), 0, False

    def append(self, chunk: bytes) -> None:
        """Append bytes."""
        rest = memoryview(chunk)
        while rest:  # on a disk that is nearly full, one write may be shorter than requested
            written = self.handle.write(rest)
            self.digest.update(rest[:written])
            self.done += written
            rest = rest[written:]

    @property
    def is_complete(self) -> bool:
        """Return whether all bytes are present."""
        return self.done == self.file.size_bytes

    @property
    def is_right(self) -> bool:
        """Return whether all bytes are present and the hash is right."""
        return self.is_complete and self.digest.hexdigest() == self.file.sha256

    def close(self) -> os.stat_result:
        """Sync and close the file; return its status."""
        with self.handle:
            self.handle.truncate(self.done)
            sync(self.handle.fileno())
            return os.fstat(self.handle.fileno())


def download(address: Address, part: PartialFile, keep_on: Callable[[], bool]) -> None:
    """Complete a file and check its hash, with retries; raise SourceRefusedError if this source does not provide it."""
    failures, most, tries, discarded = 0, part.done, 0, False
    end = time.monotonic() + LONGEST_S + SLOW_S * part.file.size_bytes / CHUNK_BYTES
    while not part.is_right:
        if part.is_complete:
            found, again = part.digest.hexdigest(), part.resumed and not discarded
            part.restart()
            if not again:  # otherwise the bytes of an earlier request may be wrong
                where, wanted = without_query(address.url), part.file.sha256
                raise SourceRefusedError(f"{where}: sha256 {found} instead of {wanted}; the file was discarded")
            most, discarded = 0, True
        tries += 1
        try:
            download_once(address, part, keep_on)
        except IncompleteError as error:
            failures = 0 if part.done > most else failures + 1  # a server without ranges restarts from 0 each time
            most = max(most, part.done)
            if failures > len(address.waits_s) or tries == TRIES or time.monotonic() > end:
                message = f"{error}, {failures or tries} times; {part.done} of {part.file.size_bytes} bytes are here"
                raise SourceRefusedError(message) from None
            time.sleep(max(error.wait_s, (0, *address.waits_s)[failures]))


def download_once(address: Address, part: PartialFile, keep_on: Callable[[], bool]) -> None:
    """Send one request and append the bytes; raise IncompleteError if bytes are missing."""
    try:
        with open_at(address, part.done) as answer:
            check_start(answer, part)
            while chunk := received(answer, min(CHUNK_BYTES, part.file.size_bytes + 1 - part.done)):
                part.append(chunk)
                if part.done > part.file.size_bytes or not keep_on():
                    break
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            raise  # an error of the disk and not of the network
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise IncompleteError(f"{without_query(address.url)}: {type(reason).__name__}: {reason}") from None
    if part.done > part.file.size_bytes:
        part.restart()
        raise SourceRefusedError(f"{without_query(address.url)}: received more than {part.file.size_bytes} bytes")
    if not keep_on():
        raise SourceRefusedError("stopped")
    if not part.is_complete:
        part.resumed = True
        message = f"{without_query(address.url)}: interrupted after {part.done} of {part.file.size_bytes} bytes"
        raise IncompleteError(message)


def check_start(answer: Any, part: PartialFile) -> None:  # noqa: ANN401
    """Restart if a server sends the whole file or another range instead of the requested range."""
    wanted = f"bytes {part.done}-"
    sent = answer.headers.get("Content-Range") or ""
    if part.done and (answer.status != PARTIAL or not sent.startswith(wanted)):
        part.restart()
        if answer.status == PARTIAL:
            raise IncompleteError(f"{without_query(answer.url)}: sent {sent or 'an unknown range'}, requested {wanted}")
