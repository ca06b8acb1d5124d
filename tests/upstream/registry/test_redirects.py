"""Where answers point elsewhere: a login goes to the registry that it is for, and to nobody else.

The stand-ins are one machine under two names: localhost and 127.0.0.1.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.registry.authorization import Challenge, parse_challenge
from sparkiac.upstream.registry.images import resolve
from tests.upstream.registry import content, servers
from tests.upstream.registry.servers import Reply, Request, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable

    from sparkiac.upstream.registry.client import RegistryClient
    from tests.upstream.registry.conftest import Home
    from tests.upstream.registry.servers import Server

BASIC = f"Basic {base64.b64encode(f'{servers.USER}:{servers.PASSWORD}'.encode()).decode()}"


class Asking:
    """A registry that wants a password for everything, and has its blobs at another address."""

    def __init__(self, shelf: Shelf) -> None:
        """Take what there is behind the password."""
        self.shelf = shelf
        self.blobs = ""

    def __call__(self, request: Request) -> Reply | None:
        """Request the password, otherwise redirect or answer."""
        if request.headers.get("Authorization") != BASIC:
            return Reply(401, {"WWW-Authenticate": 'Basic realm="loopback"'})
        if "/blobs/" in request.path and self.blobs:
            return Reply(307, {"Location": self.blobs.format(path=request.path)})
        return self.shelf(request)


@pytest.fixture
def made() -> content.Image:
    """Make an image."""
    return content.image(mark="redirects")


@pytest.fixture
def asking(made: content.Image) -> Asking:
    """Lay the image down as acme/vllm:1."""
    shelf = Shelf()
    shelf.put("acme/vllm", "1", made)
    return Asking(shelf)


@pytest.fixture
def server(asking: Asking, serve: Callable[..., Server], home: Home) -> Server:
    """Serve it, to a user who is logged in."""
    started = serve(asking)
    home.log_in(started.host)
    return started


def authorizations(server: Server) -> list[bool]:
    return ["Authorization" in each.headers for each in server.requests]


def test_a_login_stays_at_the_registry_when_a_blob_is_elsewhere(
    server: Server, asking: Asking, serve: Callable[..., Server], client: RegistryClient, made: content.Image
) -> None:
    store = serve(asking.shelf)
    asking.blobs = f"https://127.0.0.1:{store.port}{{path}}?signed=canary"
    assert resolve(f"{server.host}/acme/vllm:1", client=client).config == made.config.digest
    assert authorizations(store) == [False]
    assert authorizations(server) == [False, True, True]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_another_port_or_another_name_is_another_host(
    server: Server, asking: Asking, serve: Callable[..., Server], client: RegistryClient, host: str
) -> None:
    store = serve(asking.shelf)
    asking.blobs = f"https://{host}:{store.port}{{path}}"
    resolve(f"{server.host}/acme/vllm:1", client=client)
    assert authorizations(store) == [False]


def test_a_login_does_not_come_back_by_a_detour(
    server: Server, asking: Asking, serve: Callable[..., Server], client: RegistryClient
) -> None:
    back = serve(lambda request: Reply(302, {"Location": f"{server.base}{request.path}"}))
    asking.blobs = f"{back.base}{{path}}"
    with pytest.raises(UpstreamError):
        resolve(f"{server.host}/acme/vllm:1", client=client)
    assert "Authorization" not in server.requests[-1].headers


def test_a_relative_redirect_keeps_the_login(server: Server, asking: Asking, client: RegistryClient) -> None:
    asking.shelf.replies["/v2/acme/vllm/manifests/old"] = [Reply(301, {"Location": "1"})]
    resolve(f"{server.host}/acme/vllm:old", client=client)
    assert authorizations(server)[1:3] == [True, True]


@pytest.mark.parametrize(
    "location", ["http://localhost:1/", "https://user:canary@localhost:1/", " ", "ftp://x/", "https://a:port/"]
)
def test_some_redirects_are_not_followed(server: Server, asking: Asking, client: RegistryClient, location: str) -> None:
    asking.blobs = location
    with pytest.raises(
        UpstreamError, match=r"redirect to an (invalid address|address without TLS)|more than 5 redirects"
    ) as caught:
        resolve(f"{server.host}/acme/vllm:1", client=client)
    assert caught.value.code == "LCK004"
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("tls", [True, False])
def test_a_redirect_to_tls_where_there_is_none_is_refused(
    serve: Callable[..., Server], client: RegistryClient, *, tls: bool
) -> None:
    plain = serve(lambda _: Reply(404), tls=False)
    port = plain.port if tls else 0
    server = serve(lambda _: Reply(302, {"Location": f"https://localhost:{port or place[0]}/"}), tls=tls)
    place = [server.port]
    with pytest.raises(UpstreamError, match=f"localhost:{port or server.port}: no TLS connection") as caught:
        resolve(f"{server.host}/acme/vllm:1", client=client)
    assert caught.value.code == "LCK004"


def test_redirects_in_a_circle_end(server: Server, asking: Asking, client: RegistryClient) -> None:
    asking.blobs = "{path}"
    with pytest.raises(UpstreamError, match=r"more than 5 redirects$"):
        resolve(f"{server.host}/acme/vllm:1", client=client)


def test_what_a_redirect_leads_to_is_hashed_too(
    server: Server, asking: Asking, serve: Callable[..., Server], client: RegistryClient
) -> None:
    store = serve(lambda _: Reply(200, {}, b"{}"))
    asking.blobs = f"{store.base}{{path}}"
    with pytest.raises(UpstreamError, match=rf"{store.host}: 2 bytes with sha256:44136fa355b3") as caught:
        resolve(f"{server.host}/acme/vllm:1", client=client)
    assert caught.value.code == "LCK005"


def test_a_file_store_that_requires_a_login_gets_none(
    server: Server, asking: Asking, serve: Callable[..., Server], client: RegistryClient
) -> None:
    store = serve(lambda _: Reply(401, {"WWW-Authenticate": 'Basic realm="store"'}))
    asking.blobs = f"{store.base}{{path}}"
    with pytest.raises(UpstreamError, match=f"{store.host}: HTTP 401$") as caught:
        resolve(f"{server.host}/acme/vllm:1", client=client)
    assert caught.value.code == "LCK004"
    assert authorizations(store) == [False]


@pytest.mark.parametrize(
    "realm",
    [
        "http://localhost:1/token",
        "http://auth.invalid/token",
        "https://user:canary@auth.invalid/",
        "",
        "x",
        "https://a:port/",
    ],
)
def test_a_login_is_given_to_no_endpoint_without_tls(
    serve: Callable[..., Server], client: RegistryClient, home: Home, realm: str
) -> None:
    server = serve(lambda _: Reply(401, {"WWW-Authenticate": f'Bearer realm="{realm}"'}))
    home.log_in(server.host)
    with pytest.raises(UpstreamError, match="requests the login for an address without HTTPS") as caught:
        resolve(f"{server.host}/acme/vllm:1", client=client)
    assert caught.value.code == "LCK003"


def test_an_endpoint_without_tls_is_asked_on_this_machine_by_a_registry_like_it(
    serve: Callable[..., Server], client: RegistryClient, home: Home, made: content.Image
) -> None:
    shelf = Shelf()
    shelf.put("acme/vllm", "1", made)
    endpoint = serve(lambda _: Reply(200, {}, b'{"token": "passing"}'), tls=False)
    challenge = {"WWW-Authenticate": f'Bearer realm="{endpoint.base}/token",service="here"'}
    server = serve(
        lambda request: shelf(request) if "Authorization" in request.headers else Reply(401, challenge), tls=False
    )
    home.log_in(server.host)
    assert resolve(f"{server.host}/acme/vllm:1", client=client).digest == made.manifest.digest
    assert endpoint.requests[0].headers["Authorization"] == BASIC


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"token": 1}', b'{"token": "two\\r\\nlines"}', b'{"token": ""}', b"[" * 100_000]
)
def test_an_endpoint_that_gives_no_token_is_named(
    serve: Callable[..., Server], client: RegistryClient, body: bytes
) -> None:
    endpoint = serve(lambda _: Reply(200, {}, body))
    server = serve(lambda _: Reply(401, {"WWW-Authenticate": f'Bearer realm="{endpoint.base}/token"'}))
    with pytest.raises(UpstreamError, match=rf"{endpoint.host}: no token in the response \(HTTP 200\)") as caught:
        resolve(f"{server.host}/acme/vllm:1", client=client)
    assert caught.value.code == "LCK003"


def test_the_first_endpoint_is_kept(serve: Callable[..., Server], client: RegistryClient, made: content.Image) -> None:
    """As nvcr.io was seen to do, the registry names another endpoint once a token has run out."""
    shelf = Shelf()
    shelf.put("acme/vllm", "1", made)
    given: list[str] = []

    def token(_: Request) -> Reply:
        given.append(f"t{len(given)}")
        return Reply(200, {}, f'{{"token": "{given[-1]}"}}'.encode())

    first, second = serve(token), serve(lambda _: Reply(401))

    def answer(request: Request) -> Reply | None:
        said = request.headers.get("Authorization", "")
        if said == "Bearer t1":
            return shelf(request)
        endpoint = second if said else first
        return Reply(401, {"WWW-Authenticate": f'Bearer realm="{endpoint.base}/token",scope="repository:x:pull,push"'})

    server = serve(answer)
    with pytest.raises(UpstreamError):
        resolve(f"{server.host}/acme/vllm:1", client=client)
    assert resolve(f"{server.host}/acme/vllm:1", client=client).digest == made.manifest.digest
    assert [each.query for each in first.requests] == [{"scope": ["repository:acme/vllm:pull"]}] * 2
    assert second.requests == []


def test_a_registry_that_requires_passwords_for_some_shows_the_rest_to_all(
    serve: Callable[..., Server], client: RegistryClient, made: content.Image
) -> None:
    shelf = Shelf()
    shelf.put("acme/open", "1", made)

    def answer(request: Request) -> Reply | None:
        return Reply(401, {"WWW-Authenticate": "Basic realm=x"}) if "/closed/" in request.path else shelf(request)

    server = serve(answer)
    with pytest.raises(UpstreamError, match="requires a login"):
        resolve(f"{server.host}/acme/closed:1", client=client)
    assert resolve(f"{server.host}/acme/open:1", client=client).digest == made.manifest.digest


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        (
            'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull"',
            Challenge("bearer", "https://auth.docker.io/token", "registry.docker.io"),
        ),
        (
            'Bearer realm="https://nvcr.io/proxy_auth",scope="repository:nvidia/vllm:pull,push"',
            Challenge("bearer", "https://nvcr.io/proxy_auth"),
        ),
        (
            'Bearer realm="https://ghcr.io/token",service="ghcr.io",scope="repository:a/b:pull"',
            Challenge("bearer", "https://ghcr.io/token", "ghcr.io"),
        ),
        ('Basic realm="a, bearer of news", Bearer realm="https://x/t"', Challenge("bearer", "https://x/t")),
        ("bearer realm=https://x/t, service=s", Challenge("bearer", "https://x/t", "s")),
        ('Basic realm="loopback"', Challenge("basic", "loopback")),
        ("Negotiate", Challenge("")),
        ("", Challenge("")),
    ],
    ids=["docker-hub", "ngc", "ghcr", "two", "bare", "basic", "unknown", "none"],
)
def test_challenges_are_read(header: str, challenge: Challenge) -> None:
    """Those of Docker Hub and GHCR as their documentation prints them, that of NGC as users did in 2026."""
    assert parse_challenge(header) == challenge
