"""Registries on the loopback: Debian's docker-registry in three forms, and servers whose answers a test decides."""

from __future__ import annotations

import base64
import contextlib
import json
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sparkiac.upstream.registry.client import RegistryClient
from sparkiac.upstream.registry.credentials import Credentials
from sparkiac.upstream.transport import HttpTimeouts
from tests.upstream.registry import servers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.upstream.registry.servers import Authority, Proxy, Registry, Reply, Request, Server

_FAST = HttpTimeouts(connect=5, read=5, total=5)
_ELSEWHERE = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_DIR")


class Home(NamedTuple):
    """A user's home, with the logins in it."""

    path: Path
    environ: dict[str, str]

    def log_in(self, registry: str, user: str = servers.USER, password: str = servers.PASSWORD) -> None:
        """Write what `docker login` writes."""
        auth = base64.b64encode(f"{user}:{password}".encode()).decode()
        self.configure({"auths": {registry: {"auth": auth}}})

    def configure(self, document: object) -> None:
        """Write the file of Docker's client."""
        folder = self.path / ".docker"
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(document if isinstance(document, str) else json.dumps(document))


@pytest.fixture(scope="session")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Make the authority of all servers here."""
    return servers.authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, trusted: Authority) -> None:
    """Trust the tests' authority, and know no proxy, whatever the machine has."""
    for name in _ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.bundle))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Make a home without logins."""
    path = tmp_path / "home"
    path.mkdir()
    return Home(path, {"HOME": str(path), "PATH": ""})


@pytest.fixture
def naps() -> list[float]:
    """Seconds that the client would have waited between tries."""
    return []


@pytest.fixture
def client(home: Home, naps: list[float]) -> Iterator[RegistryClient]:
    """Open a client of that home that does not wait between tries."""
    with RegistryClient(Credentials(home.environ), timeouts=_FAST, sleep=naps.append) as opened:
        yield opened


@pytest.fixture
def serve(trusted: Authority) -> Iterator[Callable[..., Server]]:
    """Yield a function that starts a server with the answers of a function."""
    with contextlib.ExitStack() as stack:

        def start(answer: Callable[[Request], Reply | None], *, tls: bool = True) -> Server:
            return stack.enter_context(servers.Server(answer, trusted if tls else None))

        yield start


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """Start a proxy."""
    with servers.Proxy() as started:
        yield started


@pytest.fixture(scope="session")
def open_registry(tmp_path_factory: pytest.TempPathFactory, trusted: Authority) -> Iterator[Registry]:
    """Run a real registry with TLS that asks for no login."""
    with servers.registry(tmp_path_factory.mktemp("open"), tls=trusted, auth={}, headers={}) as running:
        yield running


@pytest.fixture(scope="session")
def plain_registry(tmp_path_factory: pytest.TempPathFactory, trusted: Authority) -> Iterator[Registry]:
    """Run a real registry without TLS that asks for no login."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "authority.pem").write_bytes(trusted.bundle.read_bytes())
    with servers.registry(folder, tls=None, auth={}, headers={}) as running:
        yield running


@pytest.fixture(scope="session")
def basic_registry(tmp_path_factory: pytest.TempPathFactory, trusted: Authority) -> Iterator[Registry]:
    """Run a real registry with TLS and passwords."""
    folder = tmp_path_factory.mktemp("basic")
    (folder / "htpasswd").write_text(servers.HTPASSWD)
    auth = {"htpasswd": {"realm": "loopback", "path": str(folder / "htpasswd")}}
    login = base64.b64encode(f"{servers.USER}:{servers.PASSWORD}".encode()).decode()
    with servers.registry(folder, tls=trusted, auth=auth, headers={"Authorization": f"Basic {login}"}) as running:
        yield running


class Tokened(NamedTuple):
    """A real registry, and the endpoint that gives its tokens."""

    registry: Registry
    endpoint: Server
    tokens: servers.Tokens

    def push(self, repository: str, tag: str, *content: object) -> None:
        """Push with a token of its own."""
        headers = {"Authorization": f"Bearer {self.tokens.token(repository, ['pull', 'push'])}"}
        self.registry._replace(headers=headers).push(repository, tag, *content)


@pytest.fixture(scope="session")
def _token_registry(tmp_path_factory: pytest.TempPathFactory, trusted: Authority) -> Iterator[Tokened]:
    folder = tmp_path_factory.mktemp("token")
    tokens = servers.Tokens(trusted)
    with servers.Server(tokens, trusted) as endpoint:
        auth = {
            "token": {
                "realm": f"{endpoint.base}/token",
                "service": servers.SERVICE,
                "issuer": servers.ISSUER,
                "rootcertbundle": str(trusted.bundle),
            }
        }
        with servers.registry(folder, tls=trusted, auth=auth, headers={}) as running:
            yield Tokened(running, endpoint, tokens)


@pytest.fixture
def token_registry(_token_registry: Tokened) -> Tokened:
    """Run a real registry with TLS that wants tokens, and forget what its endpoint was asked before."""
    _token_registry.endpoint.requests.clear()
    _token_registry.tokens.given.clear()
    return _token_registry
