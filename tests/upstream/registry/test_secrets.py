"""No secret comes out: not in a message, not in an error's inside, not in a log, whatever goes wrong."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING

import pytest

from sparkiac.upstream.errors import UpstreamError
from sparkiac.upstream.registry import parse
from sparkiac.upstream.registry.client import RegistryClient
from sparkiac.upstream.registry.credentials import Credentials, Login
from sparkiac.upstream.registry.images import resolve
from sparkiac.upstream.transport import HttpRequest, HttpTimeouts
from tests.upstream.registry import content, servers
from tests.upstream.registry.servers import Reply, Request

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.upstream.registry.conftest import Home
    from tests.upstream.registry.servers import Server

SECRETS = ("canary", "Y2FuYXJ5", "cmVhZGVyOmNhbmFy", "passing-token")
"""The password, its base64 form, the login's base64 form, the token."""
FAULTS: dict[str, Reply | None] = {
    "401": Reply(401, {"WWW-Authenticate": 'Bearer realm="x"'}),
    "403": Reply(403, {}, b'{"errors":[{"code":"DENIED","message":"canary"}]}'),
    "404": Reply(404),
    "418": Reply(418, {}, b"canary"),
    "429": Reply(429, {"Retry-After": "1"}),
    "500": Reply(500, {}, b"canary"),
    "cut": Reply(200, {}, b"canary", 99),
    "html": Reply(200, {"Content-Type": "text/html"}, b"canary"),
    "index": Reply(200, {"Content-Type": content.OCI_INDEX}, b'{"manifests": "canary"}'),
    "digest": Reply(200, {"Content-Type": content.OCI_INDEX, "Docker-Content-Digest": "sha256:00"}, b"canary"),
    "moved": Reply(307, {"Location": "https://user:canary@localhost:1/?x=canary"}),
    "nowhere": Reply(307, {"Location": "https://localhost:1/?signature=canary"}),
    "hangs": None,
}


def everything(error: BaseException | None) -> str:
    """Return all that an error can say: itself, what it carries, what led to it."""
    said = []
    while error is not None:
        said += [str(error), repr(error), repr(error.args), repr(vars(error)), *traceback.format_exception(error)]
        error = error.__cause__ or error.__context__
    return "\n".join(said)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_says_no_secret(
    serve: Callable[..., Server], home: Home, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    endpoint = serve(lambda _: Reply(200, {}, b'{"token": "passing-token"}'))
    challenge = {"WWW-Authenticate": f'Bearer realm="{endpoint.base}/token"'}

    def answer(request: Request) -> Reply | None:
        return FAULTS[fault] if "Authorization" in request.headers else Reply(401, challenge)

    server = serve(answer)
    home.log_in(server.host)
    caplog.set_level(logging.DEBUG)
    with (
        RegistryClient(Credentials(home.environ), timeouts=HttpTimeouts(5, 0.1, 5), sleep=lambda _: None) as client,
        pytest.raises(UpstreamError) as caught,
    ):
        resolve(f"{server.host}/acme/vllm:1", client=client)
    assert endpoint.requests[0].headers["Authorization"].startswith("Basic ")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    said = everything(caught.value) + caught.value.hint
    assert [secret for secret in SECRETS if secret in said] == []
    assert [secret for secret in SECRETS[1:] if secret in caplog.text] == []
    assert servers.PASSWORD not in caplog.text


@pytest.mark.parametrize("status", [401, 500])
def test_an_endpoint_that_refuses_says_no_secret(serve: Callable[..., Server], home: Home, status: int) -> None:
    endpoint = serve(lambda _: Reply(status, {}, b"canary"))
    server = serve(lambda _: Reply(401, {"WWW-Authenticate": f'Bearer realm="{endpoint.base}/token"'}))
    home.configure({"auths": {server.host: {"identitytoken": "canary-identity"}}})
    with (
        RegistryClient(Credentials(home.environ), sleep=lambda _: None) as client,
        pytest.raises(UpstreamError) as caught,
    ):
        resolve(f"{server.host}/acme/vllm:1", client=client)
    assert b"canary-identity" in endpoint.requests[0].body
    assert "canary" not in everything(caught.value)


def test_values_that_carry_secrets_do_not_show_them() -> None:
    login = Login("canary", "canary")
    request = HttpRequest("https://a.io/", "a.io/b", 1, {"Authorization": login.basic}, b"canary")
    for text in (repr(login), str(login), f"{login!r}", repr(request), str(request), f"{[login, request]}"):
        assert not any(secret in text for secret in SECRETS)


def test_a_malformed_file_leaves_no_trace_of_its_content(home: Home) -> None:
    home.configure('{"auths": {"localhost:1": {"auth": "canary"}} canary')
    with pytest.raises(UpstreamError) as caught:
        Credentials(home.environ).login(parse("localhost:1/acme/vllm"))
    assert "canary" not in everything(caught.value)
    assert caught.value.__context__ is None
