"""One file over HTTP: redirects by hand, resumed where it was cut, tried again, and hashed while it is written."""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from stage_store import CHUNK_BYTES, File, StageError, open_own, sync

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TIMEOUT_S = 60
WAITS_S = (1, 2, 4, 8, 16, 32)  # between attempts that bring nothing
LONGEST_WAIT_S = 300  # whatever Retry-After says
REDIRECTS = 8
MOVED = (301, 302, 303, 307, 308)
PARTIAL = 206
UNSATISFIABLE = 416
TOO_MANY_REQUESTS = 429
SERVER_ERRORS = 500
DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}


class RefusedError(StageError):
    """A source will not give this file, however often it is asked. Holds the HTTP status, or 0."""

    def __init__(self, message: str, status: int = 0) -> None:
        """Say what happened."""
        super().__init__(message)
        self.status = status


class CutError(Exception):
    """It did not come, or not whole; the next attempt may bring it. Holds what a server wants us to wait."""

    def __init__(self, message: str, wait_s: float = 0) -> None:
        """Say what happened."""
        super().__init__(message)
        self.wait_s = wait_s


class Address(NamedTuple):
    """Where a file is asked for, and with which token."""

    url: str
    token: str
    waits_s: tuple[int, ...]
    direct: bool
    """Without a proxy: a host beside this one."""


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows nothing: what urllib follows, it follows with the credentials."""

    def http_error_302(self, *_: object, **__: object) -> None:
        """Leave it to us."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def plain(url: str) -> str:
    """Write an address without its query, in which signed addresses carry their credentials."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def origin(url: str) -> tuple[str, str]:
    """Return who is asked: scheme, and name with port."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def open_at(address: Address, start: int) -> Any:  # noqa: ANN401 - urllib's answers have no common type
    """Ask for a file from a byte on; follow redirects, with the token for the first address's own host alone."""
    handlers = [_Stay, urllib.request.ProxyHandler({})] if address.direct else [_Stay]
    opener, url = urllib.request.build_opener(*handlers), address.url
    for _ in range(REDIRECTS):
        headers = {"Accept-Encoding": "identity", "User-Agent": "sparkiac"}
        if start:
            headers["Range"] = f"bytes={start}-"
        if address.token and origin(url) == origin(address.url):
            headers["Authorization"] = f"Bearer {address.token}"
        try:
            return opener.open(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_S)  # noqa: S310 - http alone, see below
        except urllib.error.HTTPError as error:
            with error:
                if error.code not in MOVED:
                    raise judged(error, url) from None
                url = redirected(url, error.headers.get("Location") or "")
    message = f"{plain(address.url)}: redirected more than {REDIRECTS} times"
    raise RefusedError(message)


def redirected(url: str, location: str) -> str:
    """Return where a redirect leads: to http, and without a name and a password in it."""
    try:
        found = urljoin(url, location)
        good = urlsplit(found).scheme in {"http", "https"} and "@" not in urlsplit(found).netloc
    except ValueError:
        good = False
    if not good:
        message = f"{plain(url)}: redirected to no usable address"
        raise RefusedError(message)
    return found


def judged(error: urllib.error.HTTPError, url: str) -> Exception:
    """Tell an answer that may be another one next time from one that will not."""
    said = f"{plain(url)}: HTTP {error.code}"
    if error.code == UNSATISFIABLE:
        return RefusedError(f"{said}: the file is shorter there than its manifest says", error.code)
    if error.code == TOO_MANY_REQUESTS or error.code >= SERVER_ERRORS:
        wait = error.headers.get("Retry-After") or ""
        return CutError(said, min(int(wait[:9]), LONGEST_WAIT_S) if wait.isdecimal() else 0)
    return RefusedError(said, error.code)


class Part:
    """The part of a file that is on the disk, and its hash so far."""

    def __init__(self, path: Path, file: File) -> None:
        """Read what a former run left."""
        self.path, self.file = path, file
        self.digest, self.done, self.resumed = hashlib.sha256(), 0, False
        self.handle = os.fdopen(open_own(path, os.O_RDWR | os.O_CREAT), "r+b", buffering=0)
        if self.handle.seek(0, os.SEEK_END) > file.size_bytes:
            self.begin_anew()
        self.handle.seek(0)
        while chunk := self.handle.read(CHUNK_BYTES):
            self.digest.update(chunk)
            self.done += len(chunk)
        self.resumed = self.done > 0

    def begin_anew(self) -> None:
        """Throw away what is there."""
        self.handle.seek(0)
        self.handle.truncate()
        self.digest, self.done, self.resumed = hashlib.sha256(), 0, False

    def append(self, chunk: bytes) -> None:
        """Write a piece."""
        rest = memoryview(chunk)
        while rest:  # a disk that is nearly full takes less than it is given, once
            written = self.handle.write(rest)
            self.digest.update(rest[:written])
            self.done += written
            rest = rest[written:]

    @property
    def is_complete(self) -> bool:
        """Tell whether all bytes are there."""
        return self.done == self.file.size_bytes

    @property
    def is_right(self) -> bool:
        """Tell whether these are the bytes."""
        return self.is_complete and self.digest.hexdigest() == self.file.sha256

    def close(self) -> os.stat_result:
        """Bring it to the disk."""
        with self.handle:
            self.handle.truncate(self.done)
            sync(self.handle.fileno())
            return os.fstat(self.handle.fileno())


def pull(address: Address, part: Part, keep_on: Callable[[], bool]) -> None:
    """Bring a part to its end and check its hash; raise RefusedError when this source cannot."""
    failures, most = 0, part.done
    while True:
        try:
            if not part.is_complete:
                stream(address, part, keep_on)
            break
        except CutError as error:
            failures = 0 if part.done > most else failures + 1  # a server without ranges begins anew each time
            most = max(most, part.done)
            if failures > len(address.waits_s):
                message = f"{error}, {failures} times; {part.done} of {part.file.size_bytes} bytes are here"
                raise RefusedError(message) from None
            time.sleep(max(error.wait_s, (0, *address.waits_s)[failures]))
    if not part.is_right:
        found, again = part.digest.hexdigest(), part.resumed
        part.begin_anew()
        if again:  # what was there from before may have been wrong
            return pull(address, part, keep_on)
        message = f"{plain(address.url)}: sha256 {found} instead of {part.file.sha256}; nothing of it was kept"
        raise RefusedError(message)
    return None


def stream(address: Address, part: Part, keep_on: Callable[[], bool]) -> None:
    """Ask once and write what comes; raise CutError unless it was all."""
    try:
        with open_at(address, part.done) as answer:
            check_start(answer, part)
            while chunk := answer.read(min(CHUNK_BYTES, part.file.size_bytes + 1 - part.done)):
                part.append(chunk)
                if part.done > part.file.size_bytes or not keep_on():
                    break
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            raise  # the disk, not the network
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        message = f"{plain(address.url)}: {type(reason).__name__}: {reason}"
        raise CutError(message) from None
    if part.done > part.file.size_bytes:
        part.begin_anew()
        message = f"{plain(address.url)}: more than {part.file.size_bytes} bytes came"
        raise RefusedError(message)
    if not keep_on():
        message = "stopped"
        raise RefusedError(message)
    if not part.is_complete:
        part.resumed = True
        message = f"{plain(address.url)}: cut after {part.done} of {part.file.size_bytes} bytes"
        raise CutError(message)


def check_start(answer: Any, part: Part) -> None:  # noqa: ANN401
    """Begin anew when a server sends the whole file although a part was asked for, or another part."""
    wanted = f"bytes {part.done}-"
    sent = answer.headers.get("Content-Range") or ""
    if part.done and (answer.status != PARTIAL or not sent.startswith(wanted)):
        part.begin_anew()
        if answer.status == PARTIAL:
            message = f"{plain(answer.url)}: sent {sent or 'an unknown part'}, asked for {wanted}"
            raise CutError(message)
