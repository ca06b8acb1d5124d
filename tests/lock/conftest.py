"""A real registry and a stand-in for the model hub, with an inventory that wants something of both."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from tests.lock.upstream import Upstream, repository
from tests.standin.hub import Hub
from tests.upstream.registry import servers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.upstream.registry.servers import Registry

_UNSET = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_DIR"),
    *("REGISTRY_AUTH_FILE", "DOCKER_CONFIG", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"),
    *("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HOME", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"),
)


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """Run a real registry with TLS."""
    folder = tmp_path_factory.mktemp("registry")
    with servers.registry(folder, tls=servers.authority(folder), auth={}, headers={}) as running:
        yield running


@pytest.fixture
def upstream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Registry, request: pytest.FixtureRequest
) -> Iterator[Upstream]:
    """Run the test as a user without logins whose inventory names an image of the registry and a model."""
    for name in _UNSET:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    folder = tmp_path / "lab"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(registry.data.parent / "authority.pem"))
    prefix = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:12]
    with Hub(repository()) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        found = Upstream(folder, registry, hub, f"t{prefix}")
        found.push("vllm")
        found.write(found.deployment())
        yield found
