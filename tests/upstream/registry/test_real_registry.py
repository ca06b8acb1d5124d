"""Against Debian's docker-registry: open, with passwords, with tokens; skopeo is the second opinion."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from sparkiac.upstream import parallel
from sparkiac.upstream.errors import UpstreamError, caught
from sparkiac.upstream.registry.client import RegistryClient
from sparkiac.upstream.registry.credentials import Credentials
from sparkiac.upstream.registry.images import resolve
from tests.upstream.registry import content, servers

if TYPE_CHECKING:
    from pathlib import Path

    from tests.upstream.registry.conftest import Home, Tokened
    from tests.upstream.registry.servers import Registry

LABELS = {"com.nvidia.vllm.version": "0.17.1+9dd9ca32"}
VARIABLES = ["CUDA_VERSION=13.2.1", "PYTORCH_VERSION=2.12.0a0+145a3a7", "NVIDIA_VLLM_VERSION=26.04", "PATH=/bin"]


def skopeo(*arguments: str) -> str:
    """Run skopeo, which knows neither our client nor our tests."""
    if shutil.which("skopeo") is None:
        pytest.skip("skopeo is not installed")
    done = subprocess.run(
        ["skopeo", *arguments], env=dict(os.environ), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_index_gives_digest_manifest_and_configuration(open_registry: Registry, client: RegistryClient) -> None:
    made = content.multi("index", config={"Labels": LABELS, "Env": VARIABLES})
    open_registry.push("acme/vllm", "26.04", made.attestation, made.amd, made.arm, made.index)
    locked = resolve(f"{open_registry.host}/acme/vllm:26.04", client=client)
    assert locked.digest == made.index.digest
    assert locked.manifest == made.arm.manifest.digest
    assert locked.config == made.arm.config.digest
    assert locked.size_bytes == made.arm.size_bytes
    assert locked.created == "2026-11-01T12:00:00Z"
    assert (locked.entrypoint, locked.command) == (("vllm", "serve"), ("--help",))
    assert locked.versions == {
        "cuda": "13.2.1",
        "ngc": "26.04",
        "torch": "2.12.0a0+145a3a7",
        "vllm": "0.17.1+9dd9ca32",
    }
    assert locked.signature is None


def test_skopeo_sees_the_same_digests(open_registry: Registry, client: RegistryClient) -> None:
    made = content.multi("skopeo")
    open_registry.push("acme/second", "1", made.attestation, made.amd, made.arm, made.index)
    locked = resolve(f"{open_registry.host}/acme/second:1", client=client)
    image = f"docker://{open_registry.host}/acme/second"
    whole = json.loads(skopeo("inspect", "--override-arch", "arm64", "--override-variant", "v8", f"{image}:1"))
    assert whole["Architecture"] == "arm64"
    assert skopeo("inspect", "--format", "{{.Digest}}", f"{image}:1").strip() == locked.digest
    assert skopeo("inspect", "--raw", f"{image}@{locked.manifest}").encode() == made.arm.manifest.body
    assert json.loads(skopeo("inspect", "--config", f"{image}@{locked.manifest}"))["architecture"] == "arm64"


def test_what_skopeo_pushed_is_read(open_registry: Registry, client: RegistryClient, tmp_path: Path) -> None:
    made = content.multi("pushed by skopeo")
    open_registry.push("acme/from", "1", made.attestation, made.amd, made.arm, made.index)
    source, target = (f"docker://{open_registry.host}/acme/{name}:1" for name in ("from", "to"))
    skopeo("copy", "--override-arch", "arm64", "--format", "v2s2", source, f"dir:{tmp_path}/image")
    skopeo("copy", f"dir:{tmp_path}/image", target)
    locked = resolve(f"{open_registry.host}/acme/to:1", client=client)
    assert locked.digest == locked.manifest == skopeo("inspect", "--format", "{{.Digest}}", target).strip()
    assert locked.config == made.arm.config.digest


def test_a_digest_is_requested_whatever_the_tag_says(open_registry: Registry, client: RegistryClient) -> None:
    first, second = content.multi("first"), content.multi("second")
    open_registry.push("acme/moving", "latest", first.attestation, first.amd, first.arm, first.index)
    pinned = resolve(f"{open_registry.host}/acme/moving", client=client)
    open_registry.push("acme/moving", "latest", second.attestation, second.amd, second.arm, second.index)
    moved = resolve(f"{open_registry.host}/acme/moving:latest", client=client)
    again = resolve(f"{open_registry.host}/acme/moving:latest@{pinned.digest}", client=client)
    assert pinned.digest == first.index.digest
    assert moved.digest == second.index.digest
    assert again == pinned


def test_an_image_without_an_index_is_its_own_manifest(open_registry: Registry, client: RegistryClient) -> None:
    made = content.image(mark="alone")
    open_registry.push("acme/alone", "1", made)
    locked = resolve(f"{open_registry.host}/acme/alone:1", client=client)
    assert locked.digest == locked.manifest == made.manifest.digest


def test_an_image_for_another_architecture_is_refused(open_registry: Registry, client: RegistryClient) -> None:
    open_registry.push("acme/amd", "1", content.image("amd64", mark="amd"))
    with pytest.raises(UpstreamError, match=r"not built for linux/arm64; it has linux/amd64$") as caught:
        resolve(f"{open_registry.host}/acme/amd:1", client=client)
    assert caught.value.code == "LCK002"
    assert resolve(f"{open_registry.host}/acme/amd:1", client=client, architecture="amd64").size_bytes


def test_an_index_without_arm64_is_refused_with_what_it_has(open_registry: Registry, client: RegistryClient) -> None:
    one, two = content.image("amd64", mark="one"), content.image("riscv64", mark="two")
    attestation = content.image("unknown", mark="none")
    top = content.index(
        content.entry(attestation, "unknown", "unknown"),
        content.entry(two, "linux", "riscv64"),
        content.entry(one, "linux", "amd64", "v3"),
    )
    open_registry.push("acme/others", "1", attestation, one, two, top)
    with pytest.raises(UpstreamError) as caught:
        resolve(f"{open_registry.host}/acme/others:1", client=client)
    assert caught.value.code == "LCK002"
    assert str(caught.value) == (
        f"{open_registry.host}/acme/others:1: not built for linux/arm64; it has linux/amd64/v3, linux/riscv64"
    )


def test_a_missing_tag_is_distinguished_from_a_missing_repository(
    open_registry: Registry, client: RegistryClient
) -> None:
    open_registry.push("acme/tagged", "26.04-py3", content.image(mark="tagged"))
    with pytest.raises(UpstreamError) as tag:
        resolve(f"{open_registry.host}/acme/tagged:26.4-py3", client=client)
    with pytest.raises(UpstreamError) as repository:
        resolve(f"{open_registry.host}/acme/nothing:1", client=client)
    assert (tag.value.code, repository.value.code) == ("LCK001", "LCK001")
    host = open_registry.host
    assert str(tag.value) == f"{host}/acme/tagged:26.4-py3: {host}/acme/tagged has no tag 26.4-py3"
    assert tag.value.hint == "did you mean '26.04-py3'?"
    assert str(repository.value) == f"{host}/acme/nothing:1: {host} has no repository acme/nothing"


def test_a_mirror_is_asked_instead(open_registry: Registry, client: RegistryClient) -> None:
    made = content.multi("mirrored")
    open_registry.push("hub/vllm/vllm-openai", "v0.17.1", made.attestation, made.amd, made.arm, made.index)
    source = f"{open_registry.host}/hub/vllm/vllm-openai:v0.17.1"
    assert resolve("vllm/vllm-openai:v0.17.1", client=client, source=source).digest == made.index.digest


def test_a_registry_without_tls_is_asked_on_this_machine(plain_registry: Registry, client: RegistryClient) -> None:
    made = content.image(mark="plain")
    plain_registry.push("acme/plain", "1", made)
    assert resolve(f"{plain_registry.host}/acme/plain:1", client=client).digest == made.manifest.digest


def test_a_certificate_of_nobody_is_refused(
    open_registry: Registry, home: Home, monkeypatch: pytest.MonkeyPatch, naps: list[float]
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with RegistryClient(Credentials(home.environ), sleep=naps.append) as client, pytest.raises(UpstreamError) as caught:
        resolve(f"{open_registry.host}/acme/alone:1", client=client)
    assert caught.value.code == "LCK004"
    assert "untrusted certificate: " in str(caught.value)
    assert "SSL_CERT_FILE" in caught.value.hint
    assert naps == []


def test_a_password_opens_a_registry(basic_registry: Registry, client: RegistryClient, home: Home) -> None:
    made = content.image(mark="basic")
    basic_registry.push("team/vllm", "1", made)
    home.log_in(basic_registry.host)
    assert resolve(f"{basic_registry.host}/team/vllm:1", client=client).digest == made.manifest.digest


@pytest.mark.parametrize(("password", "fault"), [("", "requires a login"), ("canary-wrong", "refuses the login")])
def test_a_registry_with_passwords_says_what_is_missing(
    basic_registry: Registry, client: RegistryClient, home: Home, password: str, fault: str
) -> None:
    if password:
        home.log_in(basic_registry.host, password=password)
    with pytest.raises(UpstreamError, match=fault) as caught:
        resolve(f"{basic_registry.host}/team/vllm:1", client=client)
    assert caught.value.code == "LCK003"
    assert caught.value.hint == f"docker login {basic_registry.host}"
    assert "canary" not in str(caught.value)


def test_a_token_opens_a_registry_and_is_requested_once(
    token_registry: Tokened, client: RegistryClient, home: Home
) -> None:
    made = content.multi("token")
    host = token_registry.registry.host
    token_registry.push("team/vllm", "1", made.attestation, made.amd, made.arm, made.index)
    home.log_in(host)
    assert resolve(f"{host}/team/vllm:1", client=client).digest == made.index.digest
    assert resolve(f"{host}/team/vllm@{made.index.digest}", client=client).config == made.arm.config.digest
    asked = [request.query for request in token_registry.endpoint.requests]
    assert asked == [{"service": [servers.SERVICE], "scope": ["repository:team/vllm:pull"]}]


def test_a_public_repository_needs_a_token_but_no_login(token_registry: Tokened, client: RegistryClient) -> None:
    made = content.image(mark="public")
    token_registry.push("public/vllm", "1", made)
    reference = f"{token_registry.registry.host}/public/vllm:1"
    assert resolve(reference, client=client).digest == made.manifest.digest
    assert "Authorization" not in token_registry.endpoint.requests[0].headers


def test_an_identity_token_is_changed_for_a_token(token_registry: Tokened, client: RegistryClient, home: Home) -> None:
    made = content.image(mark="identity")
    host = token_registry.registry.host
    token_registry.push("team/identity", "1", made)
    home.configure({"auths": {host: {"auth": "PHRva2VuPjo=", "identitytoken": servers.IDENTITY_TOKEN}}})
    assert resolve(f"{host}/team/identity:1", client=client).digest == made.manifest.digest
    assert [(each.method, each.path) for each in token_registry.endpoint.requests] == [("POST", "/token")]


def test_a_private_repository_without_a_login_is_refused(token_registry: Tokened, client: RegistryClient) -> None:
    token_registry.push("team/private", "1", content.image(mark="private"))
    with pytest.raises(UpstreamError, match=r"requires a login \(HTTP 401 UNAUTHORIZED\), or has no such") as caught:
        resolve(f"{token_registry.registry.host}/team/private:1", client=client)
    assert caught.value.code == "LCK003"


def test_a_token_endpoint_that_refuses_the_login_is_named(
    token_registry: Tokened, client: RegistryClient, home: Home
) -> None:
    host = token_registry.registry.host
    home.log_in(host, servers.USER, "canary-wrong")
    with pytest.raises(UpstreamError) as caught:
        resolve(f"{host}/team/vllm:1", client=client)
    assert caught.value.code == "LCK003"
    assert f"{token_registry.endpoint.host} refuses the login (HTTP 401)" in str(caught.value)


def test_a_token_that_has_run_out_is_renewed_once(
    token_registry: Tokened, client: RegistryClient, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = content.image(mark="expired")
    host = token_registry.registry.host
    token_registry.push("team/expired", "1", made)
    home.log_in(host)
    monkeypatch.setattr(token_registry.tokens, "lifetime", timedelta(minutes=-5))
    with pytest.raises(UpstreamError, match="401"):
        resolve(f"{host}/team/expired:1", client=client)
    monkeypatch.setattr(token_registry.tokens, "lifetime", timedelta(minutes=5))
    token_registry.endpoint.requests.clear()
    assert resolve(f"{host}/team/expired:1", client=client).digest == made.manifest.digest
    assert len(token_registry.endpoint.requests) == 1


def test_two_hundred_images_are_resolved_in_one_run(token_registry: Tokened, client: RegistryClient) -> None:
    base = content.image(mark="many")
    images = [content.noted(base, str(number)) for number in range(200)]
    for number, each in enumerate(images):
        token_registry.push(f"public/many{number % 10}", f"v{number}", *([base] if number < 10 else []), each)
    host = token_registry.registry.host
    names = [f"{host}/public/many{number % 10}:v{number}" for number in range(200)]
    found = dict(parallel.each(names, caught(lambda name: resolve(name, client=client))))
    assert [getattr(found[name], "digest", found[name]) for name in names] == [each.digest for each in images]
    asked = [request.query["scope"][0] for request in token_registry.endpoint.requests]
    assert sorted(asked) == sorted(f"repository:public/many{number}:pull" for number in range(10))


def test_a_manifest_that_was_changed_on_the_registrys_disk_is_refused(
    open_registry: Registry, client: RegistryClient
) -> None:
    made = content.image(mark="tampered")
    open_registry.push("acme/tampered", "1", made)
    kept = open_registry.data / "docker/registry/v2/blobs/sha256"
    digest = made.config.digest.removeprefix("sha256:")
    blob = kept / digest[:2] / digest / "data"
    blob.write_bytes(blob.read_bytes().replace(b"serve", b"evil!"))
    with pytest.raises(UpstreamError) as caught:
        resolve(f"{open_registry.host}/acme/tampered:1", client=client)
    assert caught.value.code == "LCK005"
    assert f"do not match the requested digest {made.config.digest}" in str(caught.value)
