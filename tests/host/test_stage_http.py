"""How `stage` asks: resumed, tried again, hashed, and with its token for nobody but the hub."""

from __future__ import annotations

import io
import json
import threading
from contextlib import contextmanager, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.stage import http as stage_http
from sparkiac.host.stage import program as stage_program
from tests.host.staging import FILES, SAFETENSORS, Store, tiny
from tests.standin.hub import Fault, Hub, sha256

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

TOKEN = "hf_canary-7d1f-not-a-real-token"  # noqa: S105  no token
LARGE = "model-00001.safetensors"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Note the waits between attempts in place of waiting."""
    made: list[float] = []
    monkeypatch.setattr(stage_http.time, "sleep", made.append)
    return made


@pytest.fixture(scope="session")
def stage() -> ModuleType:
    return stage_program


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    path.chmod(0o600)
    return path


def fetch(stage: ModuleType, store: Store, url: str, *words: str | Path) -> tuple[int, list[dict[str, Any]]]:
    """Run the program in this process, where the waits are noted."""
    said = io.StringIO()
    argv = store.command("fetch", "--endpoint", url, "--reserve-bytes", "0", *words)
    with redirect_stdout(said):
        code: int = stage.main([str(word) for word in argv[2:]])
    return code, [json.loads(line) for line in said.getvalue().splitlines()]


def ranges(hub: Hub, path: str = LARGE) -> list[str]:
    """Return the ranges that were asked for of a file, at the content network."""
    asked = [each for each in hub.requests if each.server == "cdn" and path in each.path]
    return [each.headers.get("range", "") for each in asked]


def test_a_transfer_that_is_cut_goes_on_where_it_was(store: Store, stage: ModuleType, waits: list[float]) -> None:
    commit = store.want(repository := tiny())
    with Hub(repository) as hub:
        hub.fail(Fault(LARGE, cut_after_bytes=1000), Fault(LARGE, cut_after_bytes=50_000))
        code, _ = fetch(stage, store, hub.url)
        assert ranges(hub) == ["", "bytes=1000-", "bytes=51000-"]
    assert (code, store.snapshot(commit)) == (0, FILES)
    assert waits == [0, 0]


def test_a_run_that_ends_early_is_continued_by_the_next(
    store: Store, stage: ModuleType, waits: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """The part on the disk is hashed again, and only what is missing is asked for."""
    commit = store.want(repository := tiny())
    with Hub(repository) as hub:
        hub.fail(Fault(LARGE, cut_after_bytes=70_000), Fault(LARGE, status=404, times=20))
        assert fetch(stage, store, hub.url)[0] == 1
        assert not (store.repo() / "snapshots" / commit).exists()
        assert "HTTP 404" in capsys.readouterr().err
    with Hub(repository) as hub:
        assert fetch(stage, store, hub.url)[0] == 0
        assert ranges(hub) == ["bytes=70000-"]
    assert (store.snapshot(commit), waits) == (FILES, [0])


def test_a_part_that_went_bad_on_the_disk_is_thrown_away_once(store: Store, stage: ModuleType) -> None:
    commit = store.want(repository := tiny())
    part = store.repo() / ".sparkiac/incomplete" / sha256(SAFETENSORS)
    for content in (b"bad", bytes(len(SAFETENSORS)), bytes(len(SAFETENSORS) + 5)):
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        with Hub(repository) as hub:
            assert fetch(stage, store, hub.url)[0] == 0
            assert ranges(hub)[-1] == ""
        assert store.snapshot(commit) == FILES
        (store.repo() / "blobs" / sha256(SAFETENSORS)).unlink()


def test_a_server_without_ranges_sends_it_all_again(store: Store, stage: ModuleType, waits: list[float]) -> None:
    commit = store.want(repository := tiny())
    with Hub(repository) as hub:
        hub.fail(Fault(LARGE, cut_after_bytes=1000), Fault(LARGE, no_ranges=True))
        assert fetch(stage, store, hub.url)[0] == 0
    assert (store.snapshot(commit), waits) == (FILES, [0])


def test_a_wrong_content_is_refused_and_not_kept(
    store: Store, stage: ModuleType, waits: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    commit = store.want(repository := tiny())
    wrong = b"X" + SAFETENSORS[1:]
    with Hub(repository) as hub:
        hub.fail(Fault(LARGE, body=wrong))
        assert fetch(stage, store, hub.url)[0] == 1
        error = capsys.readouterr().err
        assert f"sha256 {sha256(wrong)} instead of {sha256(SAFETENSORS)}; the file was discarded" in error
        assert not (store.repo() / "snapshots" / commit).exists()
        assert (store.repo() / ".sparkiac/incomplete" / sha256(SAFETENSORS)).stat().st_size == 0
        assert fetch(stage, store, hub.url)[0] == 0
    assert waits == []


@pytest.mark.parametrize("body", [SAFETENSORS + b"more", SAFETENSORS[:-1]], ids=["longer", "shorter"])
def test_a_wrong_length_is_refused(
    store: Store, stage: ModuleType, waits: list[float], body: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    store.want(repository := tiny())
    with Hub(repository) as hub:
        hub.fail(Fault(LARGE, body=body, times=30))
        assert fetch(stage, store, hub.url)[0] == 1
    error = capsys.readouterr().err
    assert ("received more than 204800 bytes" if len(body) > len(SAFETENSORS) else "the file is shorter than") in error
    assert sum(waits) == 0


def test_a_busy_hub_is_given_the_time_that_it_wants(store: Store, stage: ModuleType, waits: list[float]) -> None:
    """Retry-After is kept to, up to five minutes; without it the waits double."""
    commit = store.want(repository := tiny(files={"config.json": b"{}"}))
    with Hub(repository) as hub:
        hub.fail(
            Fault("config.json", status=429, headers=(("Retry-After", "7"),)),
            Fault("config.json", status=503),
            Fault("config.json", status=500, headers=(("Retry-After", "9" * 5000),)),
            Fault("config.json", status=502, headers=(("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"),)),
        )
        assert fetch(stage, store, hub.url)[0] == 0
    assert (waits, store.snapshot(commit)) == ([7, 2, 300, 8], {"config.json": b"{}"})


def test_a_hub_that_stays_away_ends_the_run_with_what_is_here(
    store: Store, stage: ModuleType, waits: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    store.want(repository := tiny(files={"config.json": b"{}"}))
    with Hub(repository) as hub:
        hub.fail(Fault("config.json", status=503, times=99))
        assert fetch(stage, store, hub.url)[0] == 1
        url = f"{hub.url}/acme/tiny/resolve/{repository.head()}/config.json"
    assert capsys.readouterr().err == f"{url}: HTTP 503, 7 times; 0 of 2 bytes are here\n"
    assert waits == [1, 2, 4, 8, 16, 32]


def test_several_files_come_at_once_and_never_more_than_four(store: Store) -> None:
    files = {f"{number}.bin": bytes([number]) * 100 for number in range(12)}
    store.want(repository := tiny(files=files))
    with Hub(repository) as hub:
        hub.fail(*(Fault(f"{number}.bin", at_once=4, silent_seconds=0.1) for number in range(12)))
        assert store.fetch(hub.url).code == 0
        assert hub.most_at_once == 4


# -- the token ------------------------------------------------------------------------------------


def test_the_token_goes_to_the_hub_and_to_nobody_else(store: Store, token: Path) -> None:
    """The content network of the stand-in refuses whoever brings one."""
    commit = store.want(repository := tiny(gated="manual"))
    with Hub(repository, tokens={TOKEN: ["acme/tiny"]}) as hub:
        done = store.fetch(hub.url, "--token-file", token)
        assert (done.code, store.snapshot(commit)) == (0, FILES), done.error
        came = {(each.server, each.headers.get("authorization")) for each in hub.requests}
    assert came == {("hub", f"Bearer {TOKEN}"), ("cdn", None)}
    texts = [path.read_bytes() for path in store.folder.rglob("*") if path.is_file() and path != token]
    assert not [text for text in texts if TOKEN.encode() in text]


@pytest.mark.parametrize("given", [True, False])
def test_a_gated_model_without_the_right_token_says_what_to_do(store: Store, token: Path, given: bool) -> None:  # noqa: FBT001  a parameter
    store.want(repository := tiny(gated="manual"))
    with Hub(repository, tokens={TOKEN: []}) as hub:
        done = store.fetch(hub.url, *(["--token-file", token] if given else []))
        page = f"{hub.url}/acme/tiny"
    assert done.code == 1
    assert ("the token has no access" if given else "no token was sent") in done.error
    assert f"accept its terms on {page} with the account of the token" in done.error
    assert TOKEN not in done.error


@pytest.mark.parametrize("content", ["", "two words\n", f"{TOKEN}\nX-Evil: 1", "\udcff"])
def test_a_file_that_contains_no_token_is_refused_and_not_quoted(store: Store, tmp_path: Path, content: str) -> None:
    store.want(tiny())
    path = tmp_path / "odd"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    done = store.fetch("http://127.0.0.1:9", "--token-file", path)
    assert done.code == 1
    assert done.error.startswith(f"no token in {path}: it ")
    assert "canary" not in done.error
    assert "no token in" in store.fetch("http://127.0.0.1:9", "--token-file", tmp_path / "none").error


@pytest.mark.parametrize("url", ["ftp://hub.test", "http://name:word@hub.test", "hub.test", "https://hub.test/?a=b"])
def test_an_endpoint_that_is_none_is_wrong_usage(store: Store, url: str) -> None:
    store.want(tiny())
    done = store.fetch(url)
    assert done.code == 2
    assert "word" not in done.error.replace("password", "").replace(url, "")


class Redirecting(BaseHTTPRequestHandler):
    """Sends everybody elsewhere, and notes what they brought."""

    location = ""
    brought: list[str | None]

    def do_GET(self) -> None:
        """Redirect."""
        self.brought.append(self.headers.get("Authorization"))
        self.send_response(302)
        self.send_header("Location", self.location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def redirecting(location: str) -> Iterator[tuple[str, list[str | None]]]:
    handler = type("Bound", (Redirecting,), {"location": location, "brought": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", handler.brought
        server.shutdown()


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://user:word@127.0.0.1:9/x", "//[bad"],
)
def test_an_odd_redirect_leads_nowhere(store: Store, token: Path, location: str) -> None:
    store.want(tiny(files={"config.json": b"{}"}))
    with redirecting(location) as (url, brought):
        done = store.fetch(url, "--token-file", token)
    assert (done.code, done.error.count("\n")) == (1, 1), done.error
    assert "redirect to an invalid address" in done.error
    assert brought == [f"Bearer {TOKEN}"]
    assert "word" not in done.error


def test_a_redirect_to_another_port_loses_the_token_and_no_error_shows_a_signed_address(
    store: Store, token: Path
) -> None:
    """Another port is another server."""
    store.want(tiny(files={"config.json": b"{}"}))
    with (
        redirecting("/loop?signature=canary-signed") as (far, at_far),
        redirecting(f"{far}/x?a=canary") as (url, at_hub),
    ):
        done = store.fetch(url, "--token-file", token)
    assert (at_hub, at_far) == ([f"Bearer {TOKEN}"], [None] * 7)
    assert "redirected more than 8 times" in done.error
    assert "canary" not in done.error
