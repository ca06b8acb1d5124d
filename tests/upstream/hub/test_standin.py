"""The stand-in for the model hub, before its real client and before a plain one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import httpx2
import pytest
from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import GatedRepoError, RemoteEntryNotFoundError, RevisionNotFoundError

from tests.standin.hub import Fault, Hub, blob_id, sha256
from tests.upstream.hub.tiny import FILES, FIRST, HANDLE, TOKEN, tiny

if TYPE_CHECKING:
    from pathlib import Path

SHARD = "model-00001-of-00002.safetensors"


@pytest.fixture(autouse=True)
def to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the library from asking the real hub about programs on this machine."""
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)


def test_the_real_client_downloads_a_whole_snapshot(tmp_path: Path) -> None:
    repository = tiny(gated="auto")
    with Hub(repository, tokens={TOKEN: [HANDLE]}) as hub:
        where = snapshot_download(HANDLE, endpoint=hub.url, token=TOKEN, cache_dir=tmp_path / "a", max_workers=2)
        again = snapshot_download(
            HANDLE, endpoint=hub.url, token=TOKEN, local_dir=tmp_path / "b", cache_dir=tmp_path / "c"
        )

        assert where.endswith(f"/snapshots/{repository.head()}")
        for place in (where, again):
            assert {path: (tmp_path / place / path).read_bytes() for path in FILES} == FILES


def test_the_real_client_lists_files_with_their_hashes() -> None:
    repository = tiny({"encoding/encoding.py": b"pass"})
    with Hub(repository) as hub:
        api = HfApi(endpoint=hub.url, token=False)
        tree = {each.path: each for each in api.list_repo_tree(HANDLE, recursive=True, expand=True)}
        level = [each.path for each in api.list_repo_tree(HANDLE)]
        metadata = api.get_hf_file_metadata(url=f"{hub.url}/{HANDLE}/resolve/main/{SHARD}")

    assert (tree[SHARD].lfs.sha256, tree[SHARD].size) == (sha256(FIRST), len(FIRST))
    assert tree["config.json"].blob_id == blob_id(FILES["config.json"])
    assert "encoding" in level
    assert (metadata.commit_hash, metadata.etag, metadata.size) == (repository.head(), sha256(FIRST), len(FIRST))


def test_it_refuses_what_the_hub_refuses(tmp_path: Path) -> None:
    with Hub(tiny(gated="manual")) as hub:
        api = HfApi(endpoint=hub.url, token=False)
        with pytest.raises(RevisionNotFoundError):
            api.model_info(HANDLE, revision="v9")
        with pytest.raises(GatedRepoError):
            api.hf_hub_download(HANDLE, "config.json", cache_dir=tmp_path)
    with Hub(tiny()) as hub, pytest.raises(RemoteEntryNotFoundError):
        HfApi(endpoint=hub.url, token=False).parse_safetensors_file_metadata(HANDLE, "none.safetensors")


def _read(response: httpx2.Response, got: bytearray) -> None:
    for chunk in response.iter_raw():
        got += chunk


@pytest.mark.parametrize("path", [SHARD, "config.json"])
def test_a_download_that_was_cut_resumes_where_it_ended(path: str) -> None:
    repository = tiny()
    url = f"/{HANDLE}/resolve/{repository.head()}/{path}"
    got = bytearray()
    with Hub(repository) as hub, httpx2.Client(base_url=hub.url, follow_redirects=True) as plain:
        hub.fail(Fault(path, cut_after_bytes=30))
        with plain.stream("GET", url) as response, pytest.raises(httpx2.RemoteProtocolError):
            _read(response, got)
        rest = plain.get(url, headers={"Range": f"bytes={len(got)}-"})

        assert len(got) == 30
        assert (rest.status_code, rest.headers["Content-Range"]) == (
            206,
            f"bytes 30-{len(FILES[path]) - 1}/{len(FILES[path])}",
        )
        assert got + rest.content == FILES[path]


@pytest.mark.parametrize(
    ("asked", "status", "body"),
    [
        ("bytes=0-3", 206, FIRST[:4]),
        ("bytes=-4", 206, FIRST[-4:]),
        ("bytes=4-999999", 206, FIRST[4:]),
        ("bytes=999999-", 416, b""),
        ("bytes=3-2", 416, b""),
        ("lines=1-2", 200, FIRST),
    ],
)
def test_ranges_are_those_of_http(asked: str, status: int, body: bytes) -> None:
    with Hub(tiny()) as hub, httpx2.Client(follow_redirects=True) as plain:
        answer = plain.get(f"{hub.url}/{HANDLE}/resolve/main/{SHARD}", headers={"Range": asked})

    assert (answer.status_code, answer.content) == (status, body)


def test_a_range_of_another_content_is_the_whole_of_this_one() -> None:
    with Hub(tiny()) as hub, httpx2.Client(follow_redirects=True) as plain:
        url = f"{hub.url}/{HANDLE}/resolve/main/config.json"
        told = {"Range": "bytes=5-", "If-Range": '"another"'}

        assert plain.get(url, headers=told).content == FILES["config.json"]
        told["If-Range"] = plain.head(url).headers["ETag"]
        assert plain.get(url, headers=told).content == FILES["config.json"][5:]


def test_the_content_network_takes_signed_addresses_and_no_credentials() -> None:
    with Hub(tiny(), tokens={TOKEN: []}) as hub, httpx2.Client() as plain:
        signed = plain.get(f"{hub.url}/{HANDLE}/resolve/main/{SHARD}").headers["Location"]

        assert plain.get(signed).content == FIRST
        assert plain.get(signed.partition("?")[0]).status_code == 403
        assert plain.get(signed, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 400


def test_it_refuses_routes_queries_and_methods_that_it_does_not_know() -> None:
    with Hub(tiny()) as hub, httpx2.Client(base_url=hub.url) as plain:
        assert plain.get("/api/datasets/acme/tiny").status_code == 404
        assert plain.get("/api/models/acme/tiny?full=1").status_code == 400
        assert plain.post("/api/models/acme/tiny").status_code == 501
        assert plain.get("/api/models/acme/tiny", headers={"Authorization": "Basic x"}).status_code == 401


def test_it_ends_with_whatever_is_open() -> None:
    broken: list[str] = []

    def ask(url: str) -> None:
        try:
            httpx2.get(url, timeout=None)  # that it ends is the point
        except httpx2.HTTPError as error:
            broken.append(type(error).__name__)

    with Hub(tiny()) as hub:
        hub.fail(Fault("/acme/tiny", silent_seconds=3600))
        waiting = threading.Thread(target=ask, args=[f"{hub.url}/api/models/acme/tiny"])
        waiting.start()
        while not hub.requests:
            hub.ended.wait(0.01)
    waiting.join(600)

    assert not waiting.is_alive()
    assert hub.asked() == ["GET /api/models/acme/tiny"]
