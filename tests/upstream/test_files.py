"""Extra files, from the web, from the disk and from the hub."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from sparkiac.model.lock import LockedFile
from sparkiac.upstream import errors, files
from sparkiac.upstream.hub.client import HubClient as Client
from sparkiac.upstream.transport import Transport
from tests.standin.hub import Fault, Hub, Repository
from tests.upstream.hub.tiny import FILES, FIRST, HANDLE, TOKEN, client, refused, tiny

if TYPE_CHECKING:
    from pathlib import Path

NOBODY = Client("http://127.0.0.1:9", sleep=lambda _: None)
SHARD = "model-00001-of-00002.safetensors"


def resolve(url: str, *, hub: Client, **told: int) -> LockedFile:
    """Resolve a file without waiting between tries."""
    with Transport(errors.FILE, sleep=lambda _: None) as transport:
        return files.resolve(url, transport=transport, hub=hub, **told)  # type: ignore[arg-type]


def _locked(content: bytes, *, commit: str | None = None, needs_token: bool = False) -> LockedFile:
    sha256 = hashlib.sha256(content).hexdigest()
    return LockedFile(commit=commit, sha256=sha256, size_bytes=len(content), needs_token=needs_token)


def _web(hub: Hub, path: str, **told: int) -> LockedFile:
    return resolve(f"{hub.url}/{HANDLE}/resolve/main/{path}", hub=NOBODY, **told)


@pytest.mark.parametrize("path", ["chat_template.jinja", SHARD])
def test_a_file_of_the_web_is_read_and_hashed_through_redirects(path: str) -> None:
    with Hub(tiny()) as hub:
        assert _web(hub, path) == _locked(FILES[path])


def test_an_empty_file_is_a_file() -> None:
    with Hub(tiny({"empty.py": b""})) as hub:
        assert _web(hub, "empty.py") == _locked(b"")


def test_a_file_of_the_disk_is_read_here(tmp_path: Path) -> None:
    (tmp_path / "parser v2.py").write_bytes(b"pass")

    assert resolve(f"file://{tmp_path}/parser%20v2.py", hub=NOBODY) == _locked(b"pass")


@pytest.mark.parametrize("name", ["none.py", ""])
def test_a_file_that_is_not_on_the_disk_is_refused(tmp_path: Path, name: str) -> None:
    refusal = refused(lambda: resolve(f"file://{tmp_path}/{name}", hub=NOBODY))

    assert refusal.code == "LCK020"
    assert str(refusal).startswith(f"file://{tmp_path}/{name} cannot be read on this machine: ")


def test_a_large_file_of_the_hub_is_not_read() -> None:
    repository = tiny()
    with Hub(repository) as hub:
        assert resolve(f"hf://{HANDLE}/{SHARD}", hub=client(hub)) == _locked(FIRST, commit=repository.head())
        assert hub.asked() == ["GET /api/models/acme/tiny/revision/main"]


def test_a_small_file_of_the_hub_is_read_at_its_commit_with_the_token() -> None:
    repository = tiny({"a/parser.py": b"pass"}, private=True)
    with Hub(repository, tokens={TOKEN: [HANDLE]}) as hub:
        found = resolve(f"hf://{HANDLE}/a/parser.py", hub=client(hub, token=TOKEN))
        assert found == _locked(b"pass", commit=repository.head(), needs_token=True)
        assert hub.asked()[1:] == [f"GET /acme/tiny/resolve/{repository.head()}/a/parser.py"]


def test_a_file_that_the_hub_lacks_suggests_the_nearest_name() -> None:
    with Hub(tiny()) as hub:
        refusal = refused(lambda: resolve(f"hf://{HANDLE}/chat_templat.jinja", hub=client(hub)))

    assert (refusal.code, refusal.hint) == ("LCK020", "did you mean 'chat_template.jinja'?")


def test_what_the_hub_refuses_is_refused_in_its_words() -> None:
    with Hub(tiny()) as hub:
        assert refused(lambda: resolve("hf://acme/none/x.py", hub=client(hub))).code == "LCK010"


@pytest.mark.parametrize("path", ["none.py", "config.json"])
def test_a_file_that_is_not_there_or_not_for_everybody_is_refused(path: str) -> None:
    with Hub(tiny(gated="auto")) as hub:
        assert refused(lambda: _web(hub, path)).code == "LCK020"


def test_no_token_goes_to_an_address_of_the_web(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with Hub(tiny()) as hub:
        resolve(f"{hub.url}/{HANDLE}/resolve/main/LICENSE", hub=Client(hub.url, TOKEN))

        assert not any("authorization" in each.headers for each in hub.requests)


def test_a_request_is_repeated_after_a_server_error() -> None:
    with Hub(tiny()) as hub:
        hub.fail(Fault("LICENSE", status=503, times=2))
        assert _web(hub, "LICENSE") == _locked(FILES["LICENSE"])
        hub.fail(Fault("LICENSE", status=503, times=5))
        refusal = refused(lambda: _web(hub, "LICENSE"))

    assert refusal.code == "LCK021"
    assert str(refusal).endswith(": HTTP 503 (5 tries)")


@pytest.mark.parametrize("status", [400, 418])
def test_an_unusable_response_is_refused(status: int) -> None:
    with Hub(tiny()) as hub:
        hub.fail(Fault("LICENSE", status=status))
        assert refused(lambda: _web(hub, "LICENSE")).code == "LCK021"


def test_a_server_that_is_not_there_is_refused() -> None:
    with Hub(tiny()) as hub:
        pass
    refusal = refused(lambda: _web(hub, "LICENSE"))

    assert refusal.code == "LCK021"
    assert str(refusal).endswith(": no connection: Connection refused (5 tries)")


def test_a_file_that_breaks_off_is_refused_with_the_numbers() -> None:
    with Hub(tiny()) as hub:
        hub.fail(Fault("LICENSE", cut_after_bytes=5, times=5))
        refusal = refused(lambda: _web(hub, "LICENSE"))

    assert refusal.code == "LCK022"
    assert str(refusal).endswith("the response ended after 5 of 15 bytes (5 tries)")


@pytest.mark.parametrize("url", ["{}/acme/tiny/resolve/main/big.bin", "hf://acme/tiny/big.bin", "file://{}/big.bin"])
def test_a_file_that_is_too_large_is_refused(url: str, tmp_path: Path) -> None:
    (tmp_path / "big.bin").write_bytes(bytes(1001))
    with Hub(Repository(HANDLE, {"big.bin": bytes(1001)})) as hub:
        filled = url.format(tmp_path if url.startswith("file") else hub.url)
        refusal = refused(lambda: resolve(filled, hub=client(hub), max_bytes=1000))

    assert refusal.code == "LCK022"
    assert str(refusal).startswith(filled)
    assert " more than 1000 bytes" in str(refusal)
