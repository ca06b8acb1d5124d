"""Images and artifacts as registries hold them, made in memory: the hashes are computed from the bytes."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


class Blob(NamedTuple):
    """Bytes with a type."""

    media_type: str
    body: bytes

    @property
    def digest(self) -> str:
        """What a registry calls it."""
        return f"sha256:{hashlib.sha256(self.body).hexdigest()}"

    def descriptor(self, **more: object) -> dict[str, object]:
        """Point to it."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.body), **more}


class Image(NamedTuple):
    """A manifest with what it points to."""

    manifest: Blob
    config: Blob
    layers: tuple[Blob, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes to pull."""
        return sum(len(blob.body) for blob in (self.config, *self.layers))


def document(media_type: str, data: dict[str, Any]) -> Blob:
    """Write a document, in a way of its own, so that nobody can build its bytes anew from its data."""
    return Blob(media_type, json.dumps(data, indent=3).encode() + b"\n")


def image(
    architecture: str = "arm64",
    *,
    mark: str = "",
    config: dict[str, Any] | None = None,
    created: str | None = "2026-11-01T12:00:00Z",
) -> Image:
    """Make an image of two layers."""
    layers = tuple(Blob(LAYER, f"layer {part} of {architecture} {mark}".encode() * 9) for part in (1, 2))
    said = {
        "architecture": architecture,
        "os": "linux",
        "created": created,
        "config": {"Entrypoint": ["vllm", "serve"], "Cmd": ["--help"], **(config or {})},
        "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
    }
    blob = document(OCI_CONFIG, said)
    data = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": blob.descriptor(),
        "layers": [layer.descriptor() for layer in layers],
    }
    return Image(document(OCI_MANIFEST, data), blob, layers)


def noted(base: Image, note: str) -> Blob:
    """Make a manifest of the same content with a digest of its own."""
    return document(OCI_MANIFEST, {**json.loads(base.manifest.body), "annotations": {"note": note}})


def entry(of: Image | Blob, os: str, architecture: str, variant: str = "") -> dict[str, object]:
    """Make an index's entry for a platform."""
    platform = {"os": os, "architecture": architecture, **({"variant": variant} if variant else {})}
    return (of.manifest if isinstance(of, Image) else of).descriptor(platform=platform)


def index(*entries: dict[str, object], media_type: str = OCI_INDEX) -> Blob:
    """Make an index."""
    return document(media_type, {"schemaVersion": 2, "mediaType": media_type, "manifests": list(entries)})


class Multi(NamedTuple):
    """An index with an image for each of two architectures, and an attestation as buildx adds it."""

    index: Blob
    arm: Image
    amd: Image
    attestation: Image


def multi(mark: str = "", *, config: dict[str, Any] | None = None) -> Multi:
    """Make an image for two architectures."""
    arm, amd = image("arm64", mark=mark, config=config), image("amd64", mark=mark, config=config)
    attestation = image("unknown", mark=f"{mark} attestation")
    top = index(
        entry(attestation, "unknown", "unknown"), entry(amd, "linux", "amd64"), entry(arm, "linux", "arm64", "v8")
    )
    return Multi(top, arm, amd, attestation)


class Layer(NamedTuple):
    """A layer of an artifact, with the title that `oras push` writes beside it."""

    blob: Blob
    title: str = ""

    def descriptor(self, **more: object) -> dict[str, object]:
        """Point to it."""
        annotations = {"annotations": {"org.opencontainers.image.title": self.title}} if self.title else {}
        return self.blob.descriptor(**annotations, **more)


def artifact(*layers: Layer, **more: object) -> Image:
    """Make an artifact as `oras push` does (OCI image specification 1.1, "Guidelines for Artifact Usage")."""
    config = Blob("application/vnd.oci.empty.v1+json", b"{}")
    data = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "artifactType": "application/vnd.unknown.artifact.v1",
        "config": config.descriptor(),
        "layers": [layer.descriptor() for layer in layers],
        **more,
    }
    return Image(document(OCI_MANIFEST, data), config, tuple(layer.blob for layer in layers))


def file(title: str, text: str) -> Layer:
    """Make a layer of one file, with the media type that `oras push` takes if none is given."""
    return Layer(Blob("application/vnd.oci.image.layer.v1.tar", text.encode()), title)


def archive(files: Mapping[str, bytes | tarfile.TarInfo], title: str = "recipes") -> Layer:
    """Make a layer of a directory, compressed; a value can be the header of a link or a device."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, each in files.items():
            header = each if isinstance(each, tarfile.TarInfo) else tarfile.TarInfo(name)
            header.name = name
            if isinstance(each, bytes):
                header.size = len(each)
            tar.addfile(header, io.BytesIO(each) if isinstance(each, bytes) else None)
    return Layer(Blob(LAYER, gzip.compress(packed.getvalue(), mtime=0)), title)
