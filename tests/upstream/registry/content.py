"""Images as registries hold them, made in memory: the bytes are ours, the hashes are computed from them."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

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
