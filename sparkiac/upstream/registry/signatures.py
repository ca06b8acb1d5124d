"""Find and verify the signature of an image.

The registry is searched first: for cosign's tag `sha256-<hex>.sig` (cosign's signature specification), and for
referrers of the image (OCI distribution specification 1.1: the referrers API, or the tag `sha256-<hex>` in a registry
without it), in which newer cosign stores Sigstore bundles (cosign's bundle specification). cosign itself verifies.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from typing import Final

from sparkiac.upstream.registry.client import MANIFEST_MAX_BYTES, RegistryClient
from sparkiac.upstream.registry.documents import Descriptor, ImageIndex, read
from sparkiac.upstream.registry.reference import ImageReference, parse

_TIMEOUT_S: Final = 200
"""cosign has a timeout of three minutes itself (`cosign verify --timeout`)."""
_BUNDLE: Final = "application/vnd.dev.sigstore.bundle"
_OLD: Final = "application/vnd.dev.cosign."
_PREDICATE: Final = "dev.sigstore.bundle.predicateType"
_SIGNED: Final = "https://sigstore.dev/cosign/sign/v1"
"""Predicate type of a bundle that is a signature, and no other statement about the image."""
_EXIT_CODES: Final[Mapping[int, str]] = {10: "no signature", 11: "no such tag", 12: "no matching signature"}
"""cosign's exit codes, from its documentation."""


def verify(reference: str, digest: str, *, client: RegistryClient, key: str | None, environ: Mapping[str, str]) -> str:
    """Return one line about an image's signature for the lock.

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
        code = subprocess.run(  # noqa: S603  the user's own cosign
            command, env=dict(environ), capture_output=True, timeout=_TIMEOUT_S, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return f"present, not checked: cosign did not end within {_TIMEOUT_S} s"
    except OSError as error:
        return f"present, not checked: cosign could not be started: {error.strerror}"
    if code:
        return f"refused by cosign: {_EXIT_CODES.get(code, f'exit code {code}')}"
    return f"verified by cosign with key {key}"
