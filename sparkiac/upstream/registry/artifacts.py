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
import tarfile
import zlib
from collections.abc import Iterator
from typing import Final

from sparkiac.model import forms
from sparkiac.upstream import errors
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.git import MAX_BYTES, MAX_FILES, SUFFIX, FetchedFiles
from sparkiac.upstream.registry import ImageReference
from sparkiac.upstream.registry.client import INDEXES, RegistryClient
from sparkiac.upstream.registry.documents import Descriptor, ImageManifest, read

_TITLE: Final = "org.opencontainers.image.title"
_ARCHIVE: Final = "tar+gzip"
_MAX_ALL_BYTES: Final = 1 << 25
"""Maximum size of all layers that are read, of the unpacked content of each archive, and of all files: 32 MiB."""
_MAX_ENTRIES: Final = 10_000
_PARENTS: Final = frozenset({".", ".."})


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
    if len(layers) > MAX_FILES or sum(layer.size for layer in layers) > _MAX_ALL_BYTES:
        fault = f"it has {len(layers)} layers with {sum(layer.size for layer in layers)} bytes"
        raise _refused(reference, f"{fault}; at most {MAX_FILES} layers with {_MAX_ALL_BYTES} bytes are read")
    found: dict[str, bytes] = {}
    for layer in layers:
        for name, raw in _files(reference, layer, client):
            _check(reference, name, len(raw), found)
            found[name] = raw
    top = "" if path == "." else f"{path}/"
    below = {name.removeprefix(top): raw for name, raw in found.items() if name.startswith(top)}
    return FetchedFiles(content.digest, below)


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
        with tarfile.open(fileobj=_unpacked(reference, layer, raw), mode="r:") as archive:
            for number, entry in enumerate(archive, 1):
                if number > _MAX_ENTRIES:
                    raise _refused(reference, f"archive {layer.digest} has more than {_MAX_ENTRIES} entries")
                yield from _entry(reference, archive, entry)
    except RecursionError:
        raise _refused(reference, f"archive {layer.digest} has nested headers") from None
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise _refused(reference, f"layer {layer.digest} is not a tar archive: {error}") from None


def _unpacked(reference: ImageReference, layer: Descriptor, raw: bytes) -> io.BytesIO:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            content = file.read(_MAX_ALL_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise _refused(reference, f"layer {layer.digest} is not compressed with gzip: {error}") from None
    if len(content) > _MAX_ALL_BYTES:
        raise _refused(reference, f"layer {layer.digest} has more than {_MAX_ALL_BYTES} bytes when unpacked")
    return io.BytesIO(content)


def _entry(reference: ImageReference, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> Iterator[tuple[str, bytes]]:
    """Yield an entry of an archive if it is a YAML file; refuse links and devices."""
    name = entry.name.removeprefix("./")
    if entry.isdir():
        return
    if not entry.isreg() or entry.issparse():
        raise _refused(reference, f"{_shown(name)} is a link or a special file; an artifact may contain only files")
    if not name.endswith(SUFFIX):
        return
    file = archive.extractfile(entry)
    assert file is not None, "a regular file"  # noqa: S101
    yield name, file.read(MAX_BYTES + 1)


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
    if size + sum(map(len, found.values())) > _MAX_ALL_BYTES:
        raise _refused(reference, f"its files have more than {_MAX_ALL_BYTES} bytes")


def _shown(name: str) -> str:
    return repr(name[:200])


def _refused(reference: ImageReference, fault: str, hint: str = "") -> UpstreamError:
    return UpstreamError(errors.REGISTRY_INVALID, f"{reference}: {fault}", hint)
