"""Resolve an image reference: index → manifest for the architecture → configuration; find and verify its signature.

The configuration also names versions. NVIDIA's images have labels `com.nvidia.<part>.version`, variables
`<PART>_VERSION` (VLLM_VERSION=0.10.1.1+381074ae), and `NVIDIA_<PRODUCT>_VERSION` with the release of the whole image
(NVIDIA_VLLM_VERSION=25.10). The nvidia/cuda images, on which vLLM's images are built, set `CUDA_VERSION`. The label
`org.opencontainers.image.version` (OCI image specification, annotations) is the version of the image, unless it is
inherited from the Ubuntu base image, which then names itself in `org.opencontainers.image.ref.name`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from sparkiac import engines
from sparkiac.model.lock import LockedImage
from sparkiac.upstream import errors, programs
from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.registry import ImageReference, parse
from sparkiac.upstream.registry.client import INDEXES, MANIFEST_MAX_BYTES, ManifestContent, RegistryClient
from sparkiac.upstream.registry.documents import (
    ContainerDefaults,
    Descriptor,
    ImageConfiguration,
    ImageIndex,
    ImageManifest,
    read,
)

_CONFIGURATIONS: Final = frozenset(
    {"application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"}
)
_MAX_DEPTH: Final = 3
"""Maximum depth of nested indexes. Images have one level, rarely two."""
_VARIANTS: Final = frozenset({"", "v8"})
"""Variants that containerd gives to every 64-bit Arm; amd64 has none."""
_ATTESTATION: Final = "unknown"
"""Operating system and architecture of index entries that are not images, as buildx writes them."""
_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    **{each.name: each.labels for each in engines.every() if each.labels},
    "cuda": ("com.nvidia.cuda.version", "CUDA_VERSION"),
    "torch": ("com.nvidia.pytorch.version", "PYTORCH_VERSION"),
    "ngc": ("NVIDIA_VLLM_VERSION", "NVIDIA_PYTORCH_VERSION"),
}
"""Name in the lock → labels and variables with this version; the first that is set counts."""
_OWN: Final = "org.opencontainers.image.version"
_BASE: Final = "org.opencontainers.image.ref.name"
_UBUNTU: Final = "ubuntu"
_VERSION: Final = re.compile(r"v?[0-9][A-Za-z0-9.+_-]{0,63}")
_TIMEOUT_S: Final = 200
"""cosign has a timeout of three minutes itself (`cosign verify --timeout`)."""
_BUNDLE: Final = "application/vnd.dev.sigstore.bundle"
_OLD: Final = "application/vnd.dev.cosign."
_PREDICATE: Final = "dev.sigstore.bundle.predicateType"
_SIGNED: Final = "https://sigstore.dev/cosign/sign/v1"
"""Predicate type of a bundle that is a signature, and no other statement about the image."""
_EXIT_CODES: Final[Mapping[int, str]] = {10: "no signature", 11: "no such tag", 12: "no matching signature"}
"""cosign's exit codes, from its documentation."""


def resolve(
    reference: str, *, client: RegistryClient, source: str | None = None, architecture: str = "arm64"
) -> LockedImage:
    """Return the lock's entry for an image on Linux and an architecture, in OCI's names.

    `source` is the reference of the same image at a mirror. Raises `UpstreamError`.
    """
    subject = parse(source or reference)
    top = client.manifest(subject, subject.selector)
    manifest, digest = _platform_manifest(subject, top, client=client, architecture=architecture)
    config = manifest.config
    if config.media_type not in _CONFIGURATIONS:
        message = f"{subject}: not a container image: its configuration has another media type"
        raise UpstreamError(errors.REGISTRY_INVALID, message)
    configuration = read(ImageConfiguration, client.blob(subject, config.digest), subject=subject)
    if (configuration.os, configuration.architecture) != ("linux", architecture):
        raise _unfit(subject, architecture, [_platform(configuration.os, configuration.architecture)])
    defaults = configuration.config or ContainerDefaults()
    try:
        return LockedImage(
            digest=top.digest,
            manifest=digest,
            config=config.digest,
            entrypoint=defaults.entrypoint or (),
            command=defaults.command or (),
            size_bytes=config.size + sum(layer.size for layer in manifest.layers),
            created=configuration.created,
            versions=versions(defaults),
        )
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"]))
    message = f"{subject}: {field} contains control characters or is too large for a lock"
    raise UpstreamError(errors.REGISTRY_INVALID, message)


def versions(defaults: ContainerDefaults) -> dict[str, str]:
    """Return the versions that labels and variables name; values that are no versions are left out."""
    variables = (each.partition("=") for each in defaults.variables or ())
    found = {name: value for name, _, value in variables} | (defaults.labels or {})
    sources = dict(_LABELS) | ({} if found.get(_BASE) == _UBUNTU else {"image": (_OWN,)})
    named = {name: next((found[key] for key in keys if found.get(key)), "") for name, keys in sources.items()}
    return {name: value for name, value in sorted(named.items()) if _VERSION.fullmatch(value)}


def _platform_manifest(
    subject: ImageReference, content: ManifestContent, *, client: RegistryClient, architecture: str
) -> tuple[ImageManifest, str]:
    """Return the manifest for an architecture, and its digest."""
    for _ in range(_MAX_DEPTH):
        if content.media_type not in INDEXES:
            manifest = read(ImageManifest, content.body, subject=subject)
            _refuse_type(subject, content, manifest.media_type)
            return manifest, content.digest
        index = read(ImageIndex, content.body, subject=subject)
        _refuse_type(subject, content, index.media_type)
        entry = _entry(subject, index, architecture)
        content = client.manifest(subject, entry.digest)
    raise UpstreamError(errors.REGISTRY_INVALID, f"{subject}: more than {_MAX_DEPTH} nested image indexes")


def _entry(subject: ImageReference, index: ImageIndex, architecture: str) -> Descriptor:
    """Return the entry that Docker pulls on a Spark: the first of the architecture.

    An entry with a newer variant of the architecture is taken only if there is no other.
    An entry with an artifact type is not an image, whatever its platform. A nested index without a platform is used
    if no other entry fits.
    """
    platforms = [(entry, entry.platform) for entry in index.manifests if not entry.artifact_type]
    fitting = [
        (platform.variant not in _VARIANTS, entry)
        for entry, platform in platforms
        if platform and (platform.os, platform.architecture) == ("linux", architecture)
    ]
    if fitting:
        return min(fitting, key=lambda each: each[0])[1]
    for entry, platform in platforms:
        if platform is None and entry.media_type in INDEXES:
            return entry
    images = [each for _, each in platforms if each and each.architecture != _ATTESTATION]
    raise _unfit(subject, architecture, [_platform(each.os, each.architecture, each.variant) for each in images])


def _platform(*parts: str) -> str:
    return "/".join(part or "?" for part in parts[:2]) + "".join(f"/{part}" for part in parts[2:] if part)


def _unfit(subject: ImageReference, architecture: str, platforms: list[str]) -> UpstreamError:
    available = ", ".join(repr(each)[1:-1] for each in sorted(set(platforms)))
    message = f"{subject}: not built for linux/{architecture}; it has {available or 'no platform'}"
    hint = f"use a tag that is built for {architecture}, or build the image from source"
    return UpstreamError(errors.NO_ARCHITECTURE, message, hint)


def _refuse_type(subject: ImageReference, content: ManifestContent, inner: str) -> None:
    """Refuse a document whose media type differs from its header: one body must not be two things (CVE-2021-41190)."""
    if inner and inner != content.media_type:
        message = f"{subject}: {content.digest} is sent as {content.media_type}, but contains another media type"
        raise UpstreamError(errors.REGISTRY_INVALID, message)


def verify(reference: str, digest: str, *, client: RegistryClient, key: str | None, environ: Mapping[str, str]) -> str:
    """Return one line about an image's signature for the lock.

    The registry is searched first: for cosign's tag `sha256-<hex>.sig` (cosign's signature specification), and for
    referrers of the image (OCI distribution specification 1.1: the referrers API, or the tag `sha256-<hex>` in a
    registry without it), in which newer cosign stores Sigstore bundles (cosign's bundle specification). cosign itself
    verifies.

    `reference` is that of the mirror if there is one, `key` the path of a public key. Raises `UpstreamError` if the
    registry does not respond; no result of cosign is an error here.
    """
    subject = parse(reference)
    found = _found(subject, digest, client)
    if not found:
        return "none"
    if "signature" not in found:
        return "none, but attestations, not checked"
    if key is None:
        return "present, not checked: neither a key nor an identity was given"
    program = shutil.which("cosign", path=environ.get("PATH", ""))
    if program is None:
        return "present, not checked: cosign is not installed"
    return _checked([program, "verify", "--key", key, f"{subject.name}@{digest}"], key, environ)


def _found(subject: ImageReference, digest: str, client: RegistryClient) -> set[str]:
    """Return what the registry has: `signature`, `attestation`."""
    tag = digest.replace(":", "-")
    tags = {"signature": f"{tag}.sig", "attestation": f"{tag}.att"}
    found = {kind for kind, name in tags.items() if client.find_manifest(subject, name)}
    response = client.find(subject, f"referrers/{digest}", max_bytes=MANIFEST_MAX_BYTES)
    listed = response or client.find_manifest(subject, tag)
    if listed:
        found |= {_kind(each) for each in read(ImageIndex, listed.body, subject=subject).manifests} - {""}
    return found


def _kind(entry: Descriptor) -> str:
    if entry.artifact_type.startswith(_OLD):
        return "signature" if ".sig." in entry.artifact_type else "attestation"
    if not entry.artifact_type.startswith(_BUNDLE):
        return ""
    return "signature" if (entry.annotations or {}).get(_PREDICATE, _SIGNED) == _SIGNED else "attestation"


def _checked(command: list[str], key: str, environ: Mapping[str, str]) -> str:
    try:
        code = programs.execute(command, timeout_s=_TIMEOUT_S, env=environ).returncode
    except programs.ProgramError as error:
        return f"present, not checked: {error}"
    if code:
        return f"refused by cosign: {_EXIT_CODES.get(code, f'exit code {code}')}"
    return f"verified by cosign with key {key}"
