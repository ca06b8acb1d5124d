"""What no real registry does on demand: a stand-in gives faults, and the client must not be fooled or stopped."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from sparkiac import __version__
from sparkiac.upstream import parallel
from sparkiac.upstream.errors import UpstreamError, caught
from sparkiac.upstream.registry.client import RegistryClient
from sparkiac.upstream.registry.credentials import Credentials
from sparkiac.upstream.registry.images import resolve
from sparkiac.upstream.transport import HttpTimeouts
from tests.upstream.registry import content, servers
from tests.upstream.registry.servers import Reply, Request, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.upstream.registry.conftest import Home
    from tests.upstream.registry.servers import Proxy, Server

JSON = {"Content-Type": "application/json"}
MANIFEST = "/v2/acme/vllm/manifests/1"


@pytest.fixture
def made() -> content.Multi:
    """Make an image for two architectures."""
    return content.multi("faults")


@pytest.fixture
def shelf(made: content.Multi) -> Shelf:
    """Lay the image down as acme/vllm:1."""
    shelf = Shelf()
    shelf.put("acme/vllm", "1", made.attestation, made.amd, made.arm, made.index)
    return shelf


@pytest.fixture
def server(shelf: Shelf, serve: Callable[..., Server]) -> Server:
    """Serve what is on the shelf."""
    return serve(shelf)


def refused(server: Server, client: RegistryClient, *, name: str = "acme/vllm:1") -> UpstreamError:
    """Resolve what must be refused, and see that the message names it."""
    with pytest.raises(UpstreamError) as caught:
        resolve(f"{server.host}/{name}", client=client)
    assert str(caught.value).startswith(f"{server.host}/{name}: ")
    return caught.value


def test_a_busy_registry_is_given_the_time_it_asks_for(
    server: Server, shelf: Shelf, client: RegistryClient, made: content.Multi, naps: list[float]
) -> None:
    shelf.before(MANIFEST, Reply(429, {"Retry-After": "7"}), Reply(503), Reply(429, {"Retry-After": "60"}))
    assert resolve(f"{server.host}/acme/vllm:1", client=client).digest == made.index.digest
    assert naps[0] == 7
    assert 1 <= naps[1] <= 1.5
    assert naps[2] == 60


def test_a_registry_that_stays_busy_is_named_with_its_limit(
    server: Server, shelf: Shelf, client: RegistryClient, naps: list[float]
) -> None:
    shelf.replies[MANIFEST] = [Reply(429, {"Retry-After": "2", "RateLimit-Limit": "100;w=21600"})]
    refusal = refused(server, client)
    assert refusal.code == "LCK004"
    fault = "too many requests (HTTP 429); its limit is 100 in 21600 s; it requests a wait of 2 s (5 tries)"
    assert str(refusal) == f"{server.host}/acme/vllm:1: {server.host}: {fault}"
    assert len(naps) == 4
    assert len(server.requests) == 5


def test_a_wait_of_an_hour_is_reported_and_not_waited_for(
    server: Server, shelf: Shelf, client: RegistryClient, naps: list[float]
) -> None:
    shelf.replies[MANIFEST] = [Reply(429, {"Retry-After": "3600"})]
    assert "it requests a wait of 3600 s" in str(refused(server, client))
    assert naps == []
    assert "it requests a wait of 3600 s" in str(refused(server, client, name="acme/other:1"))
    assert len(server.requests) == 1


@pytest.mark.parametrize("when", ["Sat, 01 Jan 2000 00:00:00 GMT", "soon", "-3", "²"])
def test_an_invalid_retry_after_causes_no_wait(
    server: Server, shelf: Shelf, client: RegistryClient, naps: list[float], when: str
) -> None:
    shelf.before(MANIFEST, Reply(503, {"Retry-After": when.encode().decode("latin-1")}))
    resolve(f"{server.host}/acme/vllm:1", client=client)
    assert 0.5 <= naps[0] <= 0.75


def test_a_registry_that_fails_is_tried_five_times(
    server: Server, shelf: Shelf, client: RegistryClient, naps: list[float]
) -> None:
    shelf.replies[MANIFEST] = [Reply(502)]
    refusal = refused(server, client)
    assert (refusal.code, str(refusal).rpartition(": ")[2]) == ("LCK004", "HTTP 502 (5 tries)")
    assert [0.5 * 2**each <= nap <= 0.75 * 2**each for each, nap in enumerate(naps)] == [True] * 4


def test_a_hung_registry_is_given_up_for_all_its_images(serve: Callable[..., Server], home: Home) -> None:
    server = serve(lambda _: None)
    names = [f"{server.host}/acme/vllm:{number}" for number in range(20)]
    timeouts = HttpTimeouts(connect=5, read=0.1, total=5)
    with RegistryClient(Credentials(home.environ), timeouts=timeouts, sleep=lambda _: None) as client:
        found = dict(parallel.each(names, caught(lambda name: resolve(name, client=client))))
    assert {each.code for each in found.values() if isinstance(each, UpstreamError)} == {"LCK004"}
    assert {"no response within 0.1 s" in str(each) for each in found.values()} == {True}
    assert len(server.requests) <= 8 * 5


def test_no_server_listens(client: RegistryClient, naps: list[float]) -> None:
    with pytest.raises(UpstreamError) as caught:
        resolve(f"localhost:{servers.free_port()}/acme/vllm:1", client=client)
    assert caught.value.code == "LCK004"
    assert str(caught.value).endswith("no connection: Connection refused (5 tries)")
    assert caught.value.hint == "check the name, the network, HTTPS_PROXY and NO_PROXY"
    assert len(naps) == 4


def test_a_host_name_that_does_not_resolve(client: RegistryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")  # what the resolver says offline or not

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(UpstreamError, match=r"registry\.invalid: no connection: Name or service not known") as caught:
        resolve("registry.invalid/acme/vllm:1", client=client)
    assert caught.value.code == "LCK004"


def test_a_body_that_is_cut_short_is_tried_again(
    server: Server, shelf: Shelf, client: RegistryClient, made: content.Multi
) -> None:
    whole = shelf.replies[MANIFEST][0]
    assert whole
    shelf.before(MANIFEST, whole._replace(body=whole.body[:100], length=len(whole.body)))
    assert resolve(f"{server.host}/acme/vllm:1", client=client).digest == made.index.digest


def test_a_body_that_is_always_cut_short_is_refused(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    whole = shelf.replies[MANIFEST][0]
    assert whole
    shelf.replies[MANIFEST] = [whole._replace(body=whole.body[:100], length=len(whole.body))]
    refusal = refused(server, client)
    assert (refusal.code, str(refusal).rpartition(": ")[2]) == (
        "LCK005",
        f"the response ended after 100 of {len(whole.body)} bytes (5 tries)",
    )


def test_a_body_that_is_shorter_than_its_digest_is_refused(
    server: Server, shelf: Shelf, client: RegistryClient, made: content.Multi
) -> None:
    whole = shelf.replies[MANIFEST][0]
    assert whole
    shelf.replies[MANIFEST] = [whole._replace(body=whole.body[:100])]
    refusal = refused(server, client)
    given = content.Blob("", whole.body[:100]).digest
    assert refusal.code == "LCK005"
    assert f"100 bytes with {given} do not match the digest in its header {made.index.digest}" in str(refusal)


def test_a_manifest_with_another_digest_than_was_requested_is_refused(
    server: Server, shelf: Shelf, client: RegistryClient, made: content.Multi
) -> None:
    other = content.image(mark="other").manifest
    shelf.replies[f"/v2/acme/vllm/manifests/{made.arm.manifest.digest}"] = [servers.shown(other)]
    refusal = refused(server, client)
    assert refusal.code == "LCK005"
    assert f"with {other.digest} do not match the requested digest {made.arm.manifest.digest}" in str(refusal)


def test_too_much_is_not_read(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    big = Reply(200, {"Content-Type": content.OCI_INDEX}, b" " * (4 * 1024 * 1024 + 1))
    shelf.replies[MANIFEST] = [big]
    refusal = refused(server, client)
    assert (refusal.code, str(refusal).rpartition(": ")[2]) == ("LCK005", "response of more than 4194304 bytes")


@pytest.mark.parametrize(
    ("media_type", "fault"),
    [
        ("text/html; charset=utf-8", "a web page (text/html) instead of a manifest"),
        ("application/vnd.docker.distribution.manifest.v1+prettyjws", "Docker's schema 1"),
        ("application/json", "application/json instead of a manifest or an index"),
        ("", "content without a media type"),
    ],
)
def test_content_of_another_type_is_refused(
    server: Server, shelf: Shelf, client: RegistryClient, media_type: str, fault: str
) -> None:
    shelf.replies[MANIFEST] = [Reply(200, {"Content-Type": media_type}, b"<html>log in</html>")]
    refusal = refused(server, client)
    assert refusal.code == "LCK005"
    assert fault in str(refusal)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"manifests": [], "layers": []}, "layers: none required"),
        ({"manifests": [{"digest": "sha512:00", "size": 1}]}, "manifests.0.digest: string pattern mismatch"),
        ({"manifests": [{"digest": f"sha256:{'0' * 64}", "size": -1}]}, "manifests.0.size: greater than equal"),
        ([], "not a JSON object"),
    ],
)
def test_an_index_of_another_shape_is_refused(
    server: Server, shelf: Shelf, client: RegistryClient, body: object, fault: str
) -> None:
    shelf.replies[MANIFEST] = [Reply(200, {"Content-Type": content.OCI_INDEX}, json.dumps(body).encode())]
    refusal = refused(server, client)
    assert refusal.code == "LCK005"
    assert str(refusal).endswith(f"invalid image index from {server.host}: {fault}")


def test_a_document_that_says_another_type_than_its_header_is_refused(
    server: Server, shelf: Shelf, client: RegistryClient, made: content.Multi
) -> None:
    shelf.replies[MANIFEST] = [servers.shown(made.index, content.DOCKER_INDEX)]
    assert "but contains another media type" in str(refused(server, client))


def test_an_index_in_an_index_is_looked_into(
    server: Server, shelf: Shelf, client: RegistryClient, made: content.Multi
) -> None:
    inner = content.index(content.entry(made.arm, "linux", "arm64"))
    outer = content.index(content.entry(made.amd, "linux", "amd64"), inner.descriptor())
    shelf.put("acme/nested", "1", inner, outer)
    shelf.put("acme/nested", "0", made.arm)
    shelf.put("acme/nested", "1", outer)
    locked = resolve(f"{server.host}/acme/nested:1", client=client)
    assert (locked.digest, locked.manifest) == (outer.digest, made.arm.manifest.digest)


@pytest.mark.parametrize(
    ("variants", "chosen"), [(("v8", ""), 0), (("v9", "v8"), 1), (("v9", ""), 1), (("v9", "v9.2"), 0), (("", "v8"), 0)]
)
def test_of_two_images_for_arm64_that_which_docker_takes(
    server: Server, shelf: Shelf, client: RegistryClient, variants: tuple[str, ...], chosen: int
) -> None:
    images = [content.image(mark=variant or "none") for variant in variants]
    top = content.index(*(content.entry(each, "linux", "arm64", of) for each, of in zip(images, variants, strict=True)))
    shelf.put("acme/two", "1", *images, top)
    assert resolve(f"{server.host}/acme/two:1", client=client).manifest == images[chosen].manifest.digest


def test_what_goes_with_an_image_is_not_taken_for_it(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    """Attestations say that they are for nothing; indexes for lazy pulling name the platform and their own type."""
    arm, beside = content.image(mark="real"), content.image(mark="lazy")
    lazy = content.entry(beside, "linux", "arm64") | {"artifactType": "application/vnd.example.lazy.index.v2+json"}
    top = content.index(
        content.entry(content.image("unknown"), "unknown", "unknown"), lazy, content.entry(arm, "linux", "arm64")
    )
    shelf.put("acme/lazy", "1", arm, beside, top)
    assert resolve(f"{server.host}/acme/lazy:1", client=client).manifest == arm.manifest.digest


def test_layers_in_another_compression_are_counted(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    base = content.image()
    layer = content.Blob("application/vnd.oci.image.layer.v1.tar+zstd", b"z" * 77)
    data = {"schemaVersion": 2, "config": base.config.descriptor(), "layers": [layer.descriptor()]}
    shelf.put("acme/zstd", "1", base)
    shelf.put("acme/zstd", "1", content.document(content.OCI_MANIFEST, data))
    assert resolve(f"{server.host}/acme/zstd:1", client=client).size_bytes == 77 + len(base.config.body)


def test_a_manifest_without_a_configuration_is_refused(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    shelf.put("acme/bare", "1", content.document(content.OCI_MANIFEST, {"schemaVersion": 2, "layers": []}))
    refusal = refused(server, client, name="acme/bare:1")
    assert (refusal.code, str(refusal).endswith(f"invalid image manifest from {server.host}: config: missing")) == (
        "LCK005",
        True,
    )


def test_indexes_are_not_followed_without_end(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    top = content.index()
    shelf.put("acme/deep", "1", top)
    for _ in range(4):
        top = content.index(top.descriptor())
        shelf.put("acme/deep", "1", top)
    assert "more than 3 nested image indexes" in str(refused(server, client, name="acme/deep:1"))


def test_an_artifact_is_not_an_image(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    chart = content.Blob("application/vnd.cncf.helm.config.v1+json", b"{}")
    data = {"schemaVersion": 2, "config": chart.descriptor(), "layers": []}
    shelf.put("acme/chart", "1", content.document(content.OCI_MANIFEST, data))
    refusal = refused(server, client, name="acme/chart:1")
    assert (refusal.code, "not a container image" in str(refusal)) == ("LCK005", True)


def test_an_entrypoint_over_several_lines_is_refused(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    shelf.put("acme/lines", "1", content.image(config={"Entrypoint": ["sh", "-c", "one\ntwo"]}))
    refusal = refused(server, client, name="acme/lines:1")
    assert (refusal.code, "entrypoint.2 contains control characters" in str(refusal)) == ("LCK005", True)


def test_an_image_without_metadata_is_locked(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    bare = content.image(config={"Entrypoint": None, "Cmd": None, "Env": None, "Labels": None}, created=None)
    shelf.put("acme/bare", "1", bare)
    locked = resolve(f"{server.host}/acme/bare:1", client=client)
    assert (locked.entrypoint, locked.command, locked.created, locked.versions) == ((), (), None, {})


def test_403_is_a_login_that_is_not_enough(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    shelf.replies[MANIFEST] = [Reply(403, JSON, b'{"errors":[{"code":"DENIED","message":"canary"}]}')]
    refusal = refused(server, client)
    assert refusal.code == "LCK003"
    assert f"{server.host} requires a login (HTTP 403 DENIED)" in str(refusal)
    assert "canary" not in str(refusal)


def test_a_blob_that_is_gone_is_named(
    server: Server, shelf: Shelf, client: RegistryClient, made: content.Multi
) -> None:
    del shelf.replies[f"/v2/acme/vllm/blobs/{made.arm.config.digest}"]
    refusal = refused(server, client)
    assert refusal.code == "LCK001"
    assert str(refusal).endswith(f"{server.host} has the manifest, but not its blob {made.arm.config.digest}")


@pytest.mark.parametrize("registry", ["a..b.test", f"{'a' * 70}.test", "999.999.999.999:1"])
def test_a_registry_of_an_impossible_name_is_refused(client: RegistryClient, naps: list[float], registry: str) -> None:
    with pytest.raises(UpstreamError, match=r"invalid host name or port") as caught:
        resolve(f"{registry}/acme/vllm:1", client=client)
    assert caught.value.code == "LCK004"
    assert naps == []


@pytest.mark.parametrize("port", [0, 65536, 99999])
def test_a_registry_at_an_impossible_port_is_refused(client: RegistryClient, port: int) -> None:
    with pytest.raises(UpstreamError) as caught:
        resolve(f"localhost:{port}/acme/vllm:1", client=client)
    assert caught.value.code == "LCK004"


def test_404_without_a_list_of_tags_leaves_it_open(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    shelf.replies[MANIFEST] = [Reply(404)]
    shelf.replies["/v2/acme/vllm/tags/list"] = [Reply(405)]
    assert str(refused(server, client)).endswith("has no such repository or tag")


def test_a_status_of_another_kind_is_named(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    shelf.replies[MANIFEST] = [Reply(418, JSON, b'{"errors":[{"code":"TEAPOT"}]}')]
    refusal = refused(server, client)
    assert (refusal.code, str(refusal).rpartition(": ")[2]) == ("LCK004", "HTTP 418 TEAPOT")


def test_a_compressed_answer_is_hashed_as_it_came(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    """Nobody asked for compression; what comes is not unpacked, so that it cannot grow."""
    shelf.replies[MANIFEST] = [Reply(200, {"Content-Type": content.OCI_INDEX, "Content-Encoding": "gzip"}, b"\x1f\x8b")]
    refused(server, client)
    assert {each.headers["Accept-Encoding"] for each in server.requests} == {"identity"}


def test_the_client_says_who_it_is(server: Server, client: RegistryClient) -> None:
    resolve(f"{server.host}/acme/vllm:1", client=client)
    assert {each.headers["User-Agent"] for each in server.requests} == {f"sparkiac/{__version__}"}


def test_cookies_go_nowhere(server: Server, shelf: Shelf, client: RegistryClient) -> None:
    whole = shelf.replies[MANIFEST][0]
    assert whole
    shelf.replies[MANIFEST] = [whole._replace(headers={**whole.headers, "Set-Cookie": "session=canary"})]
    resolve(f"{server.host}/acme/vllm:1", client=client)
    assert ["Cookie" in each.headers for each in server.requests] == [False] * 3


@pytest.fixture
def elsewhere(server: Server) -> str:
    """Name the server so that only a proxy finds it."""
    return f"{servers.ELSEWHERE}:{server.port}"


def test_a_proxy_is_used(
    elsewhere: str, home: Home, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, made: content.Multi
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
    with RegistryClient(Credentials(home.environ)) as client:
        assert resolve(f"{elsewhere}/acme/vllm:1", client=client).digest == made.index.digest
    assert proxy.asked.get(timeout=60) == f"CONNECT {elsewhere}"


def test_no_proxy_is_honoured(elsewhere: str, home: Home, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
    monkeypatch.setenv("NO_PROXY", "example.com, .test")
    with (
        RegistryClient(Credentials(home.environ), sleep=lambda _: None) as client,
        pytest.raises(UpstreamError) as caught,
    ):
        resolve(f"{elsewhere}/acme/vllm:1", client=client)
    assert caught.value.code == "LCK004"
    assert proxy.asked.empty()


@pytest.mark.parametrize("tls", [True, False])
def test_this_machine_is_not_asked_through_a_proxy(  # noqa: PLR0913  fixtures and a case
    serve: Callable[..., Server], shelf: Shelf, home: Home, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, *, tls: bool
) -> None:
    """As Docker does. Without TLS the proxy would read the login."""
    server = serve(shelf, tls=tls)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://{proxy.address}")
    with RegistryClient(Credentials(home.environ)) as client:
        resolve(f"{server.host}/acme/vllm:1", client=client)
        resolve(f"127.0.0.1:{server.port}/acme/vllm:1", client=client)
    assert proxy.asked.empty()


def test_a_proxy_that_refuses_is_named(elsewhere: str, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with servers.Proxy(refuses=True) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:canary@{proxy.address}")
        with (
            RegistryClient(Credentials(home.environ), sleep=lambda _: None) as client,
            pytest.raises(UpstreamError) as caught,
        ):
            resolve(f"{elsewhere}/acme/vllm:1", client=client)
    assert caught.value.code == "LCK004"
    assert str(caught.value) == f"{elsewhere}/acme/vllm:1: {elsewhere}: the proxy refuses to connect (5 tries)"
    assert "HTTPS_PROXY" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [("SSL_CERT_FILE", "/nowhere/ca.pem"), ("HTTPS_PROXY", "http://canary:none"), ("HTTPS_PROXY", "gopher://canary")],
)
def test_surroundings_that_cannot_be_used_are_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UpstreamError) as caught:
        RegistryClient(Credentials(home.environ))
    assert caught.value.code == "LCK004"
    assert name in caught.value.hint
    assert "canary" not in str(caught.value)


def test_closing_the_client_wakes_whoever_waits(serve: Callable[..., Server], home: Home) -> None:
    asked = threading.Event()

    def answer(_: Request) -> Reply:
        asked.set()
        return Reply(429, {"Retry-After": "60"})

    server = serve(answer)
    client = RegistryClient(Credentials(home.environ))

    def close() -> None:
        asked.wait()
        client.__exit__()

    thread = threading.Thread(target=close)
    thread.start()
    refusal = refused(server, client)
    thread.join()
    assert "the run was ended" in str(refusal)
