"""Several files, weight formats and repositories."""

from __future__ import annotations

import hashlib

from sparkiac.model.lock import LockedModel
from sparkiac.upstream import parallel
from sparkiac.upstream.errors import UpstreamError, caught
from sparkiac.upstream.hub import model
from tests.standin.hub import Fault, Hub, Repository
from tests.upstream.hub.tiny import FILES, FIRST, HANDLE, client, refused, resolve, tiny


def test_all_that_fails_is_reported_together() -> None:
    with Hub(tiny(), Repository("acme/old", {})) as hub:
        asked = client(hub)
        names = ["acme/none", HANDLE, "acme/nil", "acme/old"]
        found = dict(parallel.each(names, caught(lambda name: resolve(name, hub=asked))))

    codes = {name: each.code if isinstance(each, UpstreamError) else each.revision for name, each in found.items()}
    assert codes == {"acme/none": "LCK010", HANDLE: "main", "acme/nil": "LCK010", "acme/old": "main"}


def test_two_files_of_one_repository_are_both_staged() -> None:
    files = {"a-Q4.gguf": b"4", "a-Q6.gguf": b"6", "a-Q8.gguf": b"8"}
    with Hub(Repository(HANDLE, files)) as hub:
        found = model.resolve(HANDLE, hub=client(hub), revision="main", files=["a-Q4.gguf", "a-Q8.gguf"], forms=[])

        assert hub.asked().count("GET /api/models/acme/tiny/revision/main") == 1
    assert {path: file.sha256 for path, file in found.files.items()} == {
        path: hashlib.sha256(files[path]).hexdigest() for path in ("a-Q4.gguf", "a-Q8.gguf")
    }


def test_a_repository_of_many_gguf_files_is_not_staged_as_a_whole() -> None:
    files = {"a-Q4.gguf": b"4", "a-Q8.gguf": b"8", "mmproj-F16.gguf": b"m"}
    with Hub(Repository(HANDLE, files), Repository("acme/one", {"a.gguf": b"1", "config.json": b"{}"})) as hub:
        refusal = refused(lambda: resolve(HANDLE, hub=client(hub)))
        assert resolve("acme/one", hub=client(hub)).files

    assert (refusal.code, refusal.hint) == ("LCK015", "select one with `model_file`, such as a-Q4.gguf")
    assert str(refusal) == "acme/tiny has 2 GGUF files and no safetensors; an engine loads only one of them"


def test_weights_in_the_forms_that_all_users_load() -> None:
    files = {**FILES, "consolidated.safetensors": FIRST, "params.json": b"{}"}
    with Hub(Repository(HANDLE, files)) as hub:
        one = model.resolve(HANDLE, hub=client(hub), revision="main", files=[], forms=["consolidated"])
        two = model.resolve(HANDLE, hub=client(hub), revision="main", files=[], forms=["consolidated", "shards"])

    assert (one.left_out, two.left_out) == (("shards",), ())
    assert [path for path in one.files if path.endswith(".safetensors")] == ["consolidated.safetensors"]
    assert two.tensor_bytes == 2 * (one.tensor_bytes or 0) + 31
    assert "config.json" in one.files


def test_no_more_than_eight_requests_are_under_way() -> None:
    repositories = [Repository(f"acme/no{number}", FILES) for number in range(12)]
    with Hub(*repositories) as hub:
        hub.fail(*(Fault(each, silent_seconds=0.02, times=99) for each in ("/revision/main", "config.json")))
        asked = client(hub)
        found = dict(
            parallel.each([each.handle for each in repositories], caught(lambda name: resolve(name, hub=asked)))
        )

        assert all(isinstance(each, LockedModel) for each in found.values())
        assert 1 < hub.most_at_once <= 8
