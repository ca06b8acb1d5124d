"""Signatures: what the registry says of them, and what cosign says. Cosign is a stand-in; none can be had here."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.registry import images
from sparkiac.upstream.registry.images import verify
from tests.upstream.registry import content, servers
from tests.upstream.registry.servers import Reply, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sparkiac.upstream.registry.client import RegistryClient
    from tests.upstream.registry.conftest import Home
    from tests.upstream.registry.servers import Registry, Server

BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
NOT_INSTALLED = "present, not checked: cosign is not installed"
ATTESTED = "none, but attestations, not checked"
KEY = "cosign.pub"
SIGNED, PROVENANCE = "https://sigstore.dev/cosign/sign/v1", "https://slsa.dev/provenance/v1"
COSIGN = """#!/usr/bin/env python3
# A stand-in for cosign 3. It takes `cosign verify` with flags as cosign's own doc/cosign_verify.md lists them, and
# refuses others as cosign does. What it answers stands beside it.
import json, pathlib, re, sys
flags = {
    "--key", "--certificate-identity", "--certificate-identity-regexp", "--certificate-oidc-issuer",
    "--certificate-oidc-issuer-regexp", "--certificate-chain", "--registry-cacert", "--rekor-url", "--output",
    "--timeout", "--trusted-root",
}
here, words = pathlib.Path(__file__).parent, sys.argv[1:]
given, images = {}, []
if words[:1] != ["verify"]:
    sys.exit("Error: unknown command")
rest = iter(words[1:])
for word in rest:
    name, equals, value = word.partition("=")
    if not word.startswith("-"):
        images.append(word)
    elif name in flags:
        given[name] = value if equals else next(rest)
    else:
        sys.exit(f"Error: unknown flag: {name}")
keyless = {"--certificate-identity", "--certificate-oidc-issuer"} <= set(given)
if not ("--key" in given) ^ keyless:
    sys.exit("Error: --certificate-identity and --certificate-oidc-issuer, or --key, must be set")
if len(images) != 1 or not re.fullmatch(r"[a-z0-9.:-]+(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}", images[0]):
    sys.exit("Error: bad image")
(here / "asked.json").write_text(json.dumps([given, images[0]]))
sys.exit(int((here / "code").read_text()))
"""


@pytest.fixture
def made() -> content.Multi:
    """Make an image for two architectures."""
    return content.multi("signed")


class Bench(NamedTuple):
    """An image acme/vllm:1 at a stand-in, and the question about it."""

    shelf: Shelf
    host: str
    digest: str
    line: Callable[..., str]

    def asked(self, key: str | None = KEY) -> str:
        """Verify the signature of the image."""
        return self.line(f"{self.host}/acme/vllm:1", key)


@pytest.fixture
def line(client: RegistryClient, home: Home, made: content.Multi) -> Callable[..., str]:
    """Return a function that asks about the image wherever it is."""

    def ask(reference: str, key: str | None = KEY) -> str:
        return verify(reference, made.index.digest, client=client, key=key, environ=home.environ)

    return ask


@pytest.fixture
def bench(serve: Callable[..., Server], made: content.Multi, line: Callable[..., str]) -> Bench:
    """Lay the image down as acme/vllm:1."""
    shelf = Shelf()
    shelf.put("acme/vllm", "1", made.attestation, made.amd, made.arm, made.index)
    return Bench(shelf, serve(shelf).host, made.index.digest, line)


@pytest.fixture
def signed(bench: Bench) -> Bench:
    """Add a signature as cosign does."""
    bench.shelf.put("acme/vllm", f"{tag(bench.digest)}.sig", content.image(mark="signature"))
    return bench


@pytest.fixture
def cosign(home: Home, tmp_path: Path) -> Callable[[int], Path]:
    """Return a function that installs the stand-in, which ends with a code."""

    def install(code: int) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "cosign").write_text(COSIGN)
        (folder / "cosign").chmod(0o755)
        (folder / "code").write_text(str(code))
        home.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
        return folder

    return install


def tag(digest: str) -> str:
    return digest.replace(":", "-")


def older(artifact: str) -> dict[str, object]:
    return content.Blob("x", b"").descriptor(artifactType=artifact)


def bundle(predicate: str | None) -> dict[str, object]:
    blob = content.Blob(content.OCI_MANIFEST, b"{}")
    more = {} if predicate is None else {"annotations": {"dev.sigstore.bundle.predicateType": predicate}}
    return blob.descriptor(artifactType=BUNDLE, **more)


def test_no_signature_is_said_and_not_hidden(
    open_registry: Registry, made: content.Multi, line: Callable[..., str]
) -> None:
    open_registry.push("acme/unsigned", "1", made.attestation, made.amd, made.arm, made.index)
    assert line(f"{open_registry.host}/acme/unsigned:1") == "none"


def test_cosigns_own_tag_in_a_real_registry_is_found(
    open_registry: Registry, made: content.Multi, line: Callable[..., str]
) -> None:
    open_registry.push("acme/signed", "1", made.attestation, made.amd, made.arm, made.index)
    open_registry.push("acme/signed", f"{tag(made.index.digest)}.sig", content.image("unknown", mark="signature"))
    assert line(f"{open_registry.host}/acme/signed:1") == NOT_INSTALLED


@pytest.mark.parametrize("place", ["referrers/{digest}", "manifests/{tag}"])
@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([bundle(SIGNED)], NOT_INSTALLED),
        ([bundle(None)], NOT_INSTALLED),
        ([bundle(PROVENANCE), bundle(SIGNED)], NOT_INSTALLED),
        ([bundle(PROVENANCE)], ATTESTED),
        ([older("application/vnd.dev.cosign.artifact.sig.v1+json")], NOT_INSTALLED),
        ([older("application/vnd.dev.cosign.artifact.att.v1+json")], ATTESTED),
        ([older("application/vnd.example.sbom")], "none"),
        ([], "none"),
    ],
    ids=["signature", "unnamed", "both", "provenance", "old", "old-attestation", "other", "nothing"],
)
def test_what_refers_to_an_image_is_distinguished(
    bench: Bench, place: str, entries: list[dict[str, object]], said: str
) -> None:
    path = place.format(digest=bench.digest, tag=tag(bench.digest))
    bench.shelf.replies[f"/v2/acme/vllm/{path}"] = [servers.shown(content.index(*entries))]
    assert bench.asked() == said


def test_cosign_verifies_the_digest_with_the_key(signed: Bench, cosign: Callable[[int], Path]) -> None:
    folder = cosign(0)
    assert signed.asked("keys/cosign.pub") == "verified by cosign with key keys/cosign.pub"
    image = f"{signed.host}/acme/vllm@{signed.digest}"
    assert json.loads((folder / "asked.json").read_text()) == [{"--key": "keys/cosign.pub"}, image]


@pytest.mark.parametrize(
    ("code", "said"), [(10, "no signature"), (11, "no such tag"), (12, "no matching signature"), (1, "exit code 1")]
)
def test_cosigns_refusal_is_reported(signed: Bench, cosign: Callable[[int], Path], code: int, said: str) -> None:
    cosign(code)
    assert signed.asked() == f"refused by cosign: {said}"


def test_without_a_key_nothing_is_checked(signed: Bench) -> None:
    assert signed.asked(None) == "present, not checked: neither a key nor an identity was given"


def test_a_cosign_that_hangs_or_cannot_start_is_reported(
    signed: Bench, cosign: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = cosign(0) / "cosign"
    program.write_text("#!/nowhere/python\n")
    assert signed.asked() == "present, not checked: cosign cannot be started: No such file or directory"
    program.write_text("#!/bin/sh\nexec sleep 5\n")
    monkeypatch.setattr(images, "_TIMEOUT_S", 0.1)
    assert signed.asked() == "present, not checked: cosign did not end within 0.1 s"


def test_a_web_page_is_not_a_signature(bench: Bench) -> None:
    page = Reply(200, {"Content-Type": "text/html"}, b"<html>log in</html>")
    bench.shelf.replies[f"/v2/acme/vllm/manifests/{tag(bench.digest)}.sig"] = [page]
    with pytest.raises(UpstreamError, match="a web page") as caught:
        bench.asked()
    assert caught.value.code == "LCK005"
