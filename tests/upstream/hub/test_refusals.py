"""What cannot be resolved, and what is said of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.upstream.hub.client import HubClient as Client
from tests.standin.hub import Fault, Hub
from tests.upstream.hub.tiny import FILES, FIRST, HANDLE, TOKEN, client, refused, resolve, tiny
from tests.upstream.registry import servers

if TYPE_CHECKING:
    from pathlib import Path

SHARD = "model-00001-of-00002.safetensors"


def host(hub: Hub) -> str:
    """Return the host of a stand-in as messages have it."""
    return hub.url.partition("://")[2]


def test_a_repository_that_is_not_there_may_be_private() -> None:
    with Hub(tiny()) as hub:
        refusal = refused(lambda: resolve("acme/tny", hub=client(hub)))

        assert refusal.code == "LCK010"
        assert str(refusal) == f"{hub.url}/acme/tny: no such repository, or it is private"
        assert refusal.hint == "check the name; if the repository is private, set HF_TOKEN to a token that can read it"


def test_with_a_token_it_is_the_account_that_may_not_read_it() -> None:
    with Hub(tiny(private=True), tokens={TOKEN: ["acme/other"]}) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub, token=TOKEN)))

    assert (refusal.code, refusal.hint) == (
        "LCK010",
        "check the name; if the repository is private, use a token that can read it",
    )


def test_a_private_repository_is_read_with_a_token_for_it() -> None:
    repository = tiny(private=True)
    with Hub(repository, tokens={TOKEN: [HANDLE]}) as hub:
        assert resolve(HANDLE, hub=client(hub, token=TOKEN)).commit == repository.head()
        assert refused(lambda: resolve(HANDLE, hub=client(hub))).code == "LCK010"


def test_a_token_that_the_hub_does_not_know_is_said() -> None:
    with Hub(tiny()) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub, token="hf_gone")))  # noqa: S106  no secret

        assert refusal.code == "LCK010"
        assert str(refusal) == f"{hub.url} rejects the token"


@pytest.mark.parametrize("gated", ["auto", "manual"])
@pytest.mark.parametrize("token", [None, TOKEN])
def test_a_gated_repository_requires_accepted_terms(gated: str, token: str | None) -> None:
    with Hub(tiny(gated=gated), tokens={TOKEN: []}) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub, token=token)))

        assert refusal.code == "LCK011"
        assert str(refusal) == f"{hub.url}/acme/tiny is gated, and its terms were not accepted"
        assert refusal.hint.startswith(f"accept them at {hub.url}/acme/tiny with an account, and set HF_TOKEN to ")


def test_a_gated_repository_is_read_once_they_are() -> None:
    with Hub(tiny(gated="manual"), tokens={TOKEN: [HANDLE]}) as hub:
        assert resolve(HANDLE, hub=client(hub, token=TOKEN)).gated


def test_a_private_repository_is_known_as_such() -> None:
    with Hub(tiny(private=True), tokens={TOKEN: [HANDLE]}) as hub:
        model = resolve(HANDLE, hub=client(hub, token=TOKEN))
    assert (model.gated, model.private) == (False, True)


def test_a_token_without_permission_is_distinguished_from_terms_that_were_not_accepted() -> None:
    with Hub(tiny(), tokens={TOKEN: []}) as hub:
        hub.fail(Fault("config.json", status=403))
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub, token=TOKEN)))

    assert refusal.code == "LCK011"
    assert "no read access" in str(refusal)


def test_a_revision_that_is_not_there_is_named() -> None:
    with Hub(tiny()) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub), revision="v9"))

        assert refusal.code == "LCK012"
        assert str(refusal) == f"{hub.url}/acme/tiny has no branch, tag or commit 'v9'"


def test_a_name_that_the_library_refuses_is_a_refusal() -> None:
    with Hub(tiny()) as hub:
        assert refused(lambda: resolve("acme/ti--ny", hub=client(hub))).code == "LCK010"
        assert hub.requests == []


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("path", ["/revision/main", "/config.json", SHARD])
def test_a_request_is_repeated_after_a_server_error_of_the_hub(status: int, path: str) -> None:
    repository = tiny()
    with Hub(repository) as hub:
        hub.fail(Fault(path, status=status, times=3))
        assert resolve(HANDLE, hub=client(hub)).commit == repository.head()


def test_a_hub_that_stays_busy_is_given_up_with_its_answer() -> None:
    with Hub(tiny()) as hub:
        hub.fail(Fault("/revision/main", status=503, times=9))
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))

        assert (refusal.code, str(refusal)) == ("LCK013", f"acme/tiny: {host(hub)}: HTTP 503 (5 tries)")
        assert len(hub.requests) == 5


def test_a_hub_that_requires_a_long_wait_is_not_waited_for() -> None:
    limit = (("RateLimit", '"api";r=0;t=240'), ("RateLimit-Policy", '"fixed window";"api";q=500;w=300'))
    with Hub(tiny()) as hub:
        hub.fail(Fault("/revision/main", status=429, headers=limit))
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))

        assert refusal.code == "LCK013"
        assert str(refusal).endswith("too many requests (HTTP 429); it requests a wait of 240 s")
        assert len(hub.requests) == 1


def test_a_short_wait_is_kept() -> None:
    with Hub(tiny()) as hub:
        hub.fail(Fault("/revision/main", status=429, headers=(("Retry-After", "1"),)))
        assert resolve(HANDLE, hub=client(hub)).licence is None


def test_silence_ends_and_is_distinguished_from_an_answer() -> None:
    with Hub(tiny()) as hub:
        hub.fail(Fault("/revision/main", silent_seconds=60, times=9))
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub, timeout_s=0.2)))

        assert (refusal.code, str(refusal)) == (
            "LCK013",
            f"acme/tiny: {host(hub)}: no response within 0.2 s (5 tries)",
        )


def test_a_hub_that_is_not_there_gives_no_traceback() -> None:
    with Hub(tiny()) as hub:
        pass
    refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))

    assert (refusal.code, str(refusal)) == (
        "LCK013",
        f"acme/tiny: {host(hub)}: no connection: Connection refused (5 tries)",
    )


def test_an_endpoint_with_an_impossible_port_gives_no_traceback() -> None:
    assert refused(lambda: resolve(HANDLE, hub=Client("http://127.0.0.1:99999"))).code == "LCK013"


@pytest.mark.parametrize("path", ["/config.json", SHARD])
def test_a_connection_that_breaks_is_tried_again_and_then_given_up(path: str) -> None:
    with Hub(tiny()) as hub:
        hub.fail(Fault(path, cut_after_bytes=5, times=3))
        assert resolve(HANDLE, hub=client(hub)).tensor_bytes == 99
        hub.fail(Fault(path, cut_after_bytes=5, times=5))
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))

    assert refusal.code == "LCK013"
    assert "the response ended after 5 of " in str(refusal)


@pytest.mark.parametrize(
    "body", [b"", b"<html>welcome</html>", b"[]", b"{}", b'{"id": 1}', b'{"id": "a/b", "siblings": [{}]}', b"\xff"]
)
def test_an_answer_in_another_form_gives_no_traceback(body: bytes) -> None:
    with Hub(tiny()) as hub:
        hub.fail(Fault("/revision/main", body=body))
        assert refused(lambda: resolve(HANDLE, hub=client(hub))).code == "LCK014"


def test_the_hub_must_return_the_requested_commit() -> None:
    repository = tiny()
    with Hub(repository) as hub:
        told = {"id": HANDLE, "sha": "0" * 40, "siblings": []}
        hub.fail(Fault(f"/revision/{repository.head()}", body=json.dumps(told).encode()))
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub), revision=repository.head()))

    assert refusal.code == "LCK014"
    assert "0" * 40 in str(refusal)


@pytest.mark.parametrize("body", [b"{}", b"x" * len(FILES["tokenizer.json"]), FILES["tokenizer.json"] + b" "])
def test_a_small_file_that_is_not_what_git_says_is_refused(body: bytes) -> None:
    with Hub(tiny()) as hub:
        hub.fail(Fault("tokenizer.json", body=body))
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))

    assert refusal.code == "LCK014"
    assert str(refusal).startswith("acme/tiny/tokenizer.json at ")


def test_a_large_file_outside_lfs_is_refused_unread() -> None:
    repository = tiny({"weights.dat": b"x"})
    repository.listed["weights.dat"] = {"size": 67_108_865}
    with Hub(repository) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))
        asked = hub.asked()

    assert refusal.code == "LCK014"
    assert "67108865 bytes outside LFS" in str(refusal)
    assert not any("weights.dat" in each for each in asked)


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ({"size": -1}, "invalid listing of acme/tiny"),
        ({"size": None}, "invalid listing of acme/tiny"),
        ({"lfs": {"oid": "short", "size": 3, "pointerSize": 1}}, "the sha256 'short'"),
    ],
)
def test_a_listing_that_cannot_be_is_refused(listed: dict[str, Any], words: str) -> None:
    repository = tiny({"weights.dat": b"abc"})
    repository.listed["weights.dat"] = listed
    with Hub(repository) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))

    assert refusal.code == "LCK014"
    assert words in str(refusal)


@pytest.mark.parametrize("content", [FIRST[:-1], FIRST[:40], b"", b"version https://git-lfs.github.com/spec/v1\n"])
def test_a_weight_file_that_is_not_whole_is_refused(content: bytes) -> None:
    with Hub(tiny({SHARD: content})) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))

    assert refusal.code == "LCK014"
    assert "is not a complete safetensors file: " in str(refusal)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 9000])
def test_a_config_that_is_not_a_json_object_is_refused(name: str, content: bytes) -> None:
    with Hub(tiny({name: content})) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))

    assert (refusal.code, str(refusal)) == (
        "LCK014",
        f"acme/tiny/{name} is not a JSON object, or contains a number that is too large",
    )


def test_a_file_that_is_not_there_suggests_the_nearest_name() -> None:
    with Hub(tiny({"tiny-Q4_K_M.gguf": b"GGUF"})) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub), file="tiny-Q4_K_S.gguf"))

    assert (refusal.code, refusal.hint) == ("LCK015", "did you mean 'tiny-Q4_K_M.gguf'?")


@pytest.mark.parametrize("path", ["a b.json", "../up.json", "a/./b.json", "ä.json"])
def test_a_path_that_cannot_be_staged_is_refused(path: str) -> None:
    with Hub(tiny({path: b"{}"})) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))

    assert refusal.code == "LCK014"
    assert repr(path) in str(refusal)


def test_a_file_that_is_listed_and_gone_is_refused() -> None:
    with Hub(tiny()) as hub:
        hub.fail(Fault("LICENSE", status=404, headers=(("X-Error-Code", "EntryNotFound"),)))
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))

    assert refusal.code == "LCK014"


def test_a_repository_that_was_renamed_is_read_under_its_old_name() -> None:
    """The hub sends on, with 307 and a relative address, for the listing and for files."""
    repository = tiny()
    at = f"/resolve/{repository.head()}"
    moved = {"/revision/main": "/api/models/acme/tiny/revision/main?blobs=true"}
    moved |= {f"{at}/{path}": f"/acme/tiny{at}/{path}" for path in FILES}
    with Hub(repository) as hub:
        hub.fail(
            *(
                Fault(f"acme/old{old}", server="hub", status=307, headers=(("Location", new),), times=9)
                for old, new in moved.items()
            )
        )
        assert resolve("acme/old", hub=client(hub)) == resolve(HANDLE, hub=client(hub))


def test_a_certificate_that_is_not_trusted_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = servers.authority(tmp_path)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with servers.Server(lambda _: None, stranger) as server:
        refusal = refused(lambda: resolve(HANDLE, hub=Client(server.base)))
    assert refusal.code == "LCK013"
    assert str(refusal).startswith(f"acme/tiny: {server.host}: untrusted certificate: ")
    assert "set SSL_CERT_FILE" in refusal.hint


def test_a_proxy_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with servers.Server(lambda _: servers.Reply(403), None) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.base)
        refusal = refused(lambda: resolve(HANDLE, hub=Client("https://hub.example.org", sleep=lambda _: None)))
    assert (refusal.code, refusal.hint) == (
        "LCK013",
        "check HTTPS_PROXY and NO_PROXY",
    )
    assert "the proxy refuses to connect" in str(refusal)
