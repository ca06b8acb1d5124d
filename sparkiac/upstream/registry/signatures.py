"""Whether an image is signed, and what cosign says of it.

The registry itself is asked first: for cosign's tag `sha256-<hex>.sig` (cosign's signature specification), and for what
refers to the image (OCI distribution specification 1.1: the referrers API, and the tag `sha256-<hex>` where a registry
has none), where newer cosign keeps Sigstore bundles (cosign's bundle specification). The check is cosign's own.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac.upstream.registry.client import MANIFEST_MOST_BYTES
from sparkiac.upstream.registry.documents import Index, read
from sparkiac.upstream.registry.reference import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.upstream.registry.client import Client
    from sparkiac.upstream.registry.documents import Descriptor
    from sparkiac.upstream.registry.reference import Reference

_PATIENCE_SECONDS: Final = 200
"""Cosign gives up by itself after three minutes (`cosign verify --timeout`)."""
_BUNDLE: Final = "application/vnd.dev.sigstore.bundle"
_OLD: Final = "application/vnd.dev.cosign."
_PREDICATE: Final = "dev.sigstore.bundle.predicateType"
_SIGNED: Final = "https://sigstore.dev/cosign/sign/v1"
"""What a bundle says that is a signature, and no other statement about the image."""
_MEANINGS: Final[Mapping[int, str]] = {10: "no signature", 11: "no such tag", 12: "no matching signature"}
"""Cosign's exit codes, as its documentation lists them."""


class Key(NamedTuple):
    """A public key to check signatures with."""

    file: str
    """As the caller writes it: it goes into the lock."""


class Identity(NamedTuple):
    """Who must have signed, without a key of their own."""

    name: str
    """The identity in the certificate: an e-mail address, a URI."""
    issuer: str
    """The OIDC issuer that vouched for it."""


def verify(
    reference: str,
    digest: str,
    *,
    client: Client,
    trust: Key | Identity | None,
    environ: Mapping[str, str],
) -> str:
    """Say in one line what is known of an image's signature: what the lock records.

    `reference` is what the registry is asked for: the mirror's, where there is one. Raises `Refusal` when the registry
    does not answer; what cosign says, whatever it is, is no error here.
    """
    asked = parse(reference)
    found = _found(asked, digest, client)
    if not found:
        return "none"
    if "signature" not in found:
        return "none, but attestations, not checked"
    if trust is None:
        return "present, not checked: neither a key nor an identity was given"
    program = shutil.which("cosign", path=environ.get("PATH", ""))
    if program is None:
        return "present, not checked: cosign is not installed"
    return _checked([program, "verify", *_trusting(trust), f"{asked.name}@{digest}"], trust, environ)


def _found(reference: Reference, digest: str, client: Client) -> frozenset[str]:
    """Give what the registry has: `signature`, `attestation`."""
    tag = digest.replace(":", "-")
    tags = {"signature": f"{tag}.sig", "attestation": f"{tag}.att"}
    found = {what for what, name in tags.items() if client.tagged(reference, name)}
    answer = client.found(reference, f"referrers/{digest}", most_bytes=MANIFEST_MOST_BYTES)
    listed = answer or client.tagged(reference, tag)
    if listed:
        found |= {_kind(each) for each in read(Index, listed.body, about=reference).manifests} - {""}
    return frozenset(found)


def _kind(entry: Descriptor) -> str:
    if entry.artifact_type.startswith(_OLD):
        return "signature" if ".sig." in entry.artifact_type else "attestation"
    if not entry.artifact_type.startswith(_BUNDLE):
        return ""
    return "signature" if (entry.annotations or {}).get(_PREDICATE, _SIGNED) == _SIGNED else "attestation"


def _trusting(trust: Key | Identity) -> list[str]:
    if isinstance(trust, Key):
        return ["--key", trust.file]
    return ["--certificate-identity", trust.name, "--certificate-oidc-issuer", trust.issuer]


def _checked(command: list[str], trust: Key | Identity, environ: Mapping[str, str]) -> str:
    try:
        code = subprocess.run(  # noqa: S603  the user's own cosign
            command, env=dict(environ), capture_output=True, timeout=_PATIENCE_SECONDS, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return f"present, not checked: cosign did not end within {_PATIENCE_SECONDS} s"
    except OSError as error:
        return f"present, not checked: cosign could not be started: {error.strerror}"
    if code:
        return f"refused by cosign: {_MEANINGS.get(code, f'exit code {code}')}"
    return f"verified by cosign with {_named(trust)}"


def _named(trust: Key | Identity) -> str:
    return f"key {trust.file}" if isinstance(trust, Key) else f"identity {trust.name} of {trust.issuer}"
