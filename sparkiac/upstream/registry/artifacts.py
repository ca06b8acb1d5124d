"""Fetch the files of an OCI artifact: a manifest with one layer for each file, or with archives.

ORAS (oras.land, "Pushing and pulling") writes the path of a file into the annotation `org.opencontainers.image.title`
of its layer, whose media type the user chooses. It pushes a directory as a layer of the media type
`application/vnd.oci.image.layer.v1.tar+gzip`, with the name of the directory as the title and as the first part of
each path in the archive. Other clients name other types that end in `tar+gzip`.
"""

from __future__ import annotations

import gzip
import io
import re
import time
import zlib
from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from sparkiac.model import forms
from sparkiac.upstream import errors
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.git import MAX_ALL_BYTES, MAX_BYTES, MAX_FILES, SUFFIX, FetchedFiles, utc
from sparkiac.upstream.registry import ImageReference
from sparkiac.upstream.registry.client import INDEXES, RegistryClient
from sparkiac.upstream.registry.documents import Descriptor, ImageManifest, read

_TITLE: Final = "org.opencontainers.image.title"
_CREATED: Final = "org.opencontainers.image.created"
_ARCHIVE: Final = "tar+gzip"
_MAX_UNPACKED_BYTES: Final = 1 << 25
"""Maximum size of all layers that are read, and of the unpacked content of each archive: 32 MiB."""
_MAX_ENTRIES: Final = 10_000
_DEADLINE_S: Final = 300
"""Time in which all layers must have begun to arrive."""
_PARENTS: Final = frozenset({".", ".."})
_TAR_BLOCK: Final = 512
_GNU_NAME: Final = b"L"
_PAX: Final = b"x"
_PAX_RECORD: Final = re.compile(rb"^\d+ ([^=\n]+)=([^\n]*)\n", re.MULTILINE)
_FILES: Final = frozenset({b"0", b"\0", b"7"})
_PASSED: Final = frozenset({b"5", b"g"})
"""Directories, and settings for all entries."""


def fetch(reference: ImageReference, path: str, *, client: RegistryClient) -> FetchedFiles:
    """Return the YAML files of a folder in an artifact.

    The manifest and each layer must have their digests. Nothing is unpacked to the disk. Raises `UpstreamError`.
    """
    content = client.manifest(reference, reference.selector)
    if content.media_type in INDEXES:
        raise _refused(
            reference, f"{content.digest} is an index of several manifests", "name the digest of one of them"
        )
    manifest = read(ImageManifest, content.body, subject=reference)
    layers = [layer for layer in manifest.layers if _is_archive(layer) or _title(layer).endswith(SUFFIX)]
    if len(layers) > MAX_FILES or sum(layer.size for layer in layers) > _MAX_UNPACKED_BYTES:
        fault = f"it has {len(layers)} layers with {sum(layer.size for layer in layers)} bytes"
        raise _refused(reference, f"{fault}; at most {MAX_FILES} layers with {_MAX_UNPACKED_BYTES} bytes are read")
    found, until = dict[str, bytes](), time.monotonic() + _DEADLINE_S
    for layer in layers:
        if time.monotonic() > until:
            raise _refused(reference, f"its layers did not arrive within {_DEADLINE_S} s", "try again later")
        for name, raw in _files(reference, layer, client):
            _check(reference, name, len(raw), found)
            found[name] = raw
    top = "" if path == "." else f"{path}/"
    below = {name.removeprefix(top): raw for name, raw in found.items() if name.startswith(top)}
    return FetchedFiles(content.digest, below, _created(manifest))


def _created(manifest: ImageManifest) -> str | None:
    """Return when an artifact was made, as `oras push` notes it; None if it does not say so."""
    try:
        return utc(datetime.fromisoformat((manifest.annotations or {}).get(_CREATED, "")))
    except ValueError:
        return None


def _is_archive(layer: Descriptor) -> bool:
    return layer.media_type.endswith(_ARCHIVE)


def _title(layer: Descriptor) -> str:
    return (layer.annotations or {}).get(_TITLE, "")


def _files(reference: ImageReference, layer: Descriptor, client: RegistryClient) -> Iterator[tuple[str, bytes]]:
    raw = client.blob(reference, layer.digest)
    if len(raw) != layer.size:
        raise _refused(reference, f"layer {layer.digest} has {len(raw)} bytes; the manifest names {layer.size}")
    if not _is_archive(layer):
        yield _title(layer), raw
        return
    try:
        yield from regular(reference, entries(_unpacked(reference, layer, raw)))
    except _TarError as error:
        raise _refused(reference, f"layer {layer.digest} {error}") from None


def _unpacked(reference: ImageReference, layer: Descriptor, raw: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            content = file.read(_MAX_UNPACKED_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise _refused(reference, f"layer {layer.digest} is not compressed with gzip: {error}") from None
    if len(content) > _MAX_UNPACKED_BYTES:
        raise _refused(reference, f"layer {layer.digest} has more than {_MAX_UNPACKED_BYTES} bytes when unpacked")
    return content


class _TarError(ValueError):
    """Not a tar archive."""


class TarEntry(NamedTuple):
    """One entry: its type, its name and its content."""

    kind: bytes
    name: str
    content: bytes


def entries(archive: bytes) -> Iterator[TarEntry]:
    """Yield the entries of a tar archive up to its end (POSIX.1-2017, pax; "Basic Tar Format" of GNU tar).

    tarfile reads a number of any length, which took minutes before Python 3.11.10, and calls itself for each header.
    """
    at = number = 0
    while (header := archive[at : at + _TAR_BLOCK]).strip(b"\0"):
        number += 1
        if number > _MAX_ENTRIES:
            raise _TarError(f"has more than {_MAX_ENTRIES} entries")
        summed = sum(header[:148]) + sum(b" " * 8) + sum(header[156:])
        if len(header) < _TAR_BLOCK or _octal(header[148:156]) != summed:
            raise _TarError(f"is not a tar archive: no header at byte {at}")
        size = _octal(header[124:136])
        content = archive[at + _TAR_BLOCK : at + _TAR_BLOCK + size]
        if len(content) < size:
            raise _TarError("is not a tar archive: it ends within a file")
        prefix = header[345:500] if header[257:263] == b"ustar\0" else b""
        parts = (part.partition(b"\0")[0].decode(errors="replace") for part in (prefix, header[:100]))
        yield TarEntry(header[156:157], "/".join(filter(None, parts)), content)
        at += _TAR_BLOCK + -(-size // _TAR_BLOCK) * _TAR_BLOCK


def _octal(field: bytes) -> int:
    text = field.strip(b" \0")
    if not re.fullmatch(rb"[0-7]{0,11}", text):
        raise _TarError("is not a tar archive: a number is not octal")
    return int(text or b"0", 8)


def regular(reference: ImageReference, entries: Iterator[TarEntry]) -> Iterator[tuple[str, bytes]]:
    """Yield the YAML files; refuse links and devices. A long name is an entry of its own, before that of the file."""
    long_name = ""
    for kind, short_name, content in entries:
        name = (long_name or short_name).removeprefix("./")
        long_name = ""
        if kind == _GNU_NAME:
            long_name = content.rstrip(b"\0").decode(errors="replace")
        elif kind == _PAX:
            records = dict(_PAX_RECORD.findall(content))
            if any(key == b"size" or key.startswith(b"GNU.sparse") for key in records):
                raise _refused(reference, f"{_shown(name)} is a special file; an artifact may contain only files")
            long_name = records.get(b"path", b"").decode(errors="replace")
        elif kind in _FILES:
            if name.endswith(SUFFIX):
                yield name, content[: MAX_BYTES + 1]
        elif kind not in _PASSED:
            raise _refused(reference, f"{_shown(name)} is a link or a special file; an artifact may contain only files")


def _check(reference: ImageReference, name: str, size: int, found: dict[str, bytes]) -> None:
    """Refuse a file with another name than a plain path, a file that is too large, and one too many."""
    if not re.fullmatch(forms.INSIDE, name) or _PARENTS.intersection(name.split("/")):
        raise _refused(reference, f"{_shown(name)} is not a path below the artifact")
    if name in found:
        raise _refused(reference, f"{name} is there twice")
    if size > MAX_BYTES:
        raise _refused(reference, f"{name} has more than {MAX_BYTES} bytes")
    if len(found) == MAX_FILES:
        raise _refused(reference, f"it has more than {MAX_FILES} files")
    if size + sum(map(len, found.values())) > MAX_ALL_BYTES:
        raise _refused(reference, f"its files have more than {MAX_ALL_BYTES} bytes")


def _shown(name: str) -> str:
    return repr(name[:200])


def _refused(reference: ImageReference, fault: str, hint: str = "") -> UpstreamError:
    return UpstreamError(errors.REGISTRY_INVALID, f"{reference}: {fault}", hint)
