"""Write and read a backup: a tar archive in an age file (age-encryption.org/v1) with a passphrase.

`age --decrypt` and `tar` read it without sparkiac. Its members, in this order:

about.json              format, name of the inventory, time, version of sparkiac
repository.tar/000000   tar archive of the files of the repository, in parts; `cat` joins them
repository.json         its items, with hashes
hosts/NAME.tar/000000, hosts/NAME.json: the same of a host
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import tarfile
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sparkiac.write.single import unique

FORMAT: Final = 1
_MAGIC: Final = b"age-encryption.org/v1"
_HEADER: Final = re.compile(
    rb"(" + re.escape(_MAGIC) + rb"\n-> scrypt ([\w+/]{22}) ([1-9][0-9]?)\n([\w+/]{43})\n---) ([\w+/]{43})\n"
)
_HEADER_BYTES: Final = 200
"""More than a header has."""
_CHUNK: Final = 1 << 16
_TAG: Final = 16
_WORK: Final = 18
"""Binary logarithm of the rounds of scrypt, as age itself uses it: 256 MiB and about a second."""
_MOST_WORK: Final = 20
_PART: Final = 1 << 24
_MOST_ITEMS: Final = 1 << 20
_DAMAGED: Final = "is damaged: it was changed, or it ends early"


class BackupError(Exception):
    """A backup cannot be read; the text gives the reason."""


class Backup(NamedTuple):
    """What a backup contains, without its archives."""

    about: dict[str, Any]
    items: dict[str, bytes]
    """`repository` or hosts/NAME → its items."""


class _Encrypting:
    """Writes the payload of an age file."""

    def __init__(self, out: IO[bytes], passphrase: bytes) -> None:
        file_key, salt, nonce = os.urandom(16), os.urandom(16), os.urandom(16)
        wrapped = ChaCha20Poly1305(_scrypt(passphrase, salt, _WORK)).encrypt(bytes(12), file_key, None)
        head = b"%s\n-> scrypt %s %d\n%s\n---" % (_MAGIC, _text(salt), _WORK, _text(wrapped))
        out.write(head + b" " + _text(_mac(file_key, head)) + b"\n" + nonce)
        self._out, self._cipher = out, ChaCha20Poly1305(_derived(file_key, nonce, b"payload"))
        self._waiting, self._number = bytearray(), 0

    def write(self, data: bytes) -> int:
        """Encrypt and write data."""
        self._waiting += data
        while len(self._waiting) > _CHUNK:  # the last chunk is marked, so one waits until more follows
            self._put(last=False)
        return len(data)

    def close(self) -> None:
        """Write the last chunk."""
        self._put(last=True)

    def _put(self, *, last: bool) -> None:
        chunk, nonce = bytes(self._waiting[:_CHUNK]), _nonce(self._number, last=last)
        self._out.write(self._cipher.encrypt(nonce, chunk, None))
        del self._waiting[:_CHUNK]
        self._number += 1


class _Decrypting:
    """Reads the payload of an age file. Raises BackupError."""

    def __init__(self, source: IO[bytes], passphrase: bytes) -> None:
        found = _HEADER.match(source.read(_HEADER_BYTES))
        if found is None:
            raise BackupError("is not a backup of sparkiac")
        head, salt, work, wrapped, mac = found.groups()
        if int(work) > _MOST_WORK:
            raise BackupError(f"needs 2^{int(work)} rounds of scrypt; at most 2^{_MOST_WORK} are computed")
        key = _scrypt(passphrase, _bytes(salt), int(work))
        file_key = _opened(key, bytes(12), _bytes(wrapped), "cannot be decrypted: the passphrase is wrong")
        if not hmac.compare_digest(_mac(file_key, head), _bytes(mac)):
            raise BackupError(_DAMAGED)
        source.seek(found.end())
        self._key = _derived(file_key, source.read(16), b"payload")
        self._source, self._plain, self._number = source, b"", 0
        self._next = source.read(_CHUNK + _TAG)

    def read(self, size: int) -> bytes:
        """Return up to so many bytes; none at the end."""
        while len(self._plain) < size and self._next:
            chunk, self._next = self._next, self._source.read(_CHUNK + _TAG)
            self._plain += _opened(self._key, _nonce(self._number, last=not self._next), chunk, _DAMAGED)
            self._number += 1
        found, self._plain = self._plain[:size], self._plain[size:]
        return found


class BackupWriter:
    """Adds archives to a backup, in parts, because their sizes are not known at the beginning."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        """Write to an archive."""
        self._archive, self._waiting = archive, bytearray()
        self._place, self._number = "", 0

    def begin(self, place: str) -> None:
        """Begin the archive of a place: `repository` or hosts/NAME."""
        self._place, self._number = place, 0

    def write(self, block: bytes) -> None:
        """Add a block to the archive."""
        self._waiting += block
        if len(self._waiting) >= _PART:
            self._flush()

    def end(self, items: bytes) -> None:
        """End the archive, and add its items."""
        self._flush()
        self.add(f"{self._place}.json", items)

    def add(self, name: str, content: bytes) -> None:
        """Add a file."""
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(content), 0o600
        self._archive.addfile(member, BytesIO(content))

    def _flush(self) -> None:
        self.add(f"{self._place}.tar/{self._number:06}", bytes(self._waiting))
        self._waiting.clear()
        self._number += 1


@contextmanager
def writing(path: Path, passphrase: bytes, about: dict[str, Any]) -> Iterator[BackupWriter]:
    """Write a backup that only its owner can read. It has its name when it is complete. Raises OSError."""
    new = path.with_name(unique(f".{path.name}."))
    try:
        with os.fdopen(os.open(str(new), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            sealed = _Encrypting(file, passphrase)
            with tarfile.open(fileobj=sealed, mode="w|", bufsize=_CHUNK, format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
                backup = BackupWriter(archive)
                backup.add("about.json", json.dumps(about | {"format": FORMAT}).encode())
                yield backup
            sealed.close()
            file.flush()
            os.fsync(file.fileno())
        os.link(new, path)  # unlike a rename, it replaces nothing
    except OSError as error:
        if error.filename == str(new):
            error.filename = str(path)
        raise
    finally:
        new.unlink(missing_ok=True)


def read(path: Path, passphrase: bytes) -> Backup:
    """Read a whole backup, so that no damage is found later. Raises BackupError and OSError."""
    found = {
        member.name.removesuffix(".json"): content.read(_MOST_ITEMS)
        for member, content in _members(path, passphrase)
        if member.name.endswith(".json")
    }
    about = json.loads(found.pop("about", b"{}"))
    if about.get("format") != FORMAT:
        raise BackupError("was written by another version of sparkiac")
    return Backup(about, found)


def parts(path: Path, passphrase: bytes, place: str) -> Iterator[bytes]:
    """Yield the archive of a place. Raises BackupError and OSError."""
    for member, content in _members(path, passphrase):
        if member.name.startswith(f"{place}.tar/"):
            yield content.read()


def _members(path: Path, passphrase: bytes) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    with path.open("rb") as file:
        source = _Decrypting(file, passphrase)
        with tarfile.open(fileobj=source, mode="r|", bufsize=_CHUNK) as archive:  # type: ignore[call-overload]
            for member in archive:
                content = archive.extractfile(member)
                assert content is not None  # noqa: S101  all members are files
                yield member, content
        while source.read(_CHUNK):
            pass


def _scrypt(passphrase: bytes, salt: bytes, work: int) -> bytes:
    salted = _MAGIC + b"/scrypt" + salt
    return hashlib.scrypt(passphrase, salt=salted, n=1 << work, r=8, p=1, dklen=32, maxmem=(1 << work + 10) + (1 << 20))


def _opened(key: bytes, nonce: bytes, data: bytes, fault: str) -> bytes:
    try:
        return bytes(ChaCha20Poly1305(key).decrypt(nonce, data, None))
    except InvalidTag:
        raise BackupError(fault) from None


def _derived(key: bytes, salt: bytes, info: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt, info).derive(key)


def _mac(file_key: bytes, head: bytes) -> bytes:
    return hmac.digest(_derived(file_key, b"", b"header"), head, "sha256")


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _text(data: bytes) -> bytes:
    return b64encode(data).rstrip(b"=")


def _bytes(text: bytes) -> bytes:
    return b64decode(text + b"=" * (-len(text) % 4))
