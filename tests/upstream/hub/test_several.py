"""Many repositories at once."""

from __future__ import annotations

import hashlib

from sparkiac.model.lock import LockedModel
from sparkiac.upstream.hub import Wanted, several
from sparkiac.upstream.refusal import Refusal
from tests.standin.hub import Fault, Hub, Repository
from tests.upstream.hub.tiny import FILES, FIRST, HANDLE, client, tiny


def _ignore(_: str, __: int, ___: int) -> None:
    return


def test_all_that_fails_is_reported_together_in_the_order_asked() -> None:
    wanted = [Wanted("acme/none"), Wanted(HANDLE), Wanted("acme/nil"), Wanted("acme/old", "v9")]
    with Hub(tiny(), Repository("acme/old", {})) as hub:
        found = several(wanted, hub=client(hub), progress=_ignore)

    codes = [each.code if isinstance(each, Refusal) else each.revision for each in found.values()]
    assert list(found) == ["acme/none", HANDLE, "acme/nil", "acme/old"]
    assert codes == ["LCK010", "main", "LCK010", "LCK012"]


def test_one_that_is_wanted_often_is_asked_for_once() -> None:
    with Hub(tiny()) as hub:
        several([Wanted(HANDLE)] * 5, hub=client(hub), progress=_ignore)

        assert hub.asked().count("GET /api/models/acme/tiny/revision/main") == 1


def test_two_files_of_one_repository_are_both_staged() -> None:
    files = {"a-Q4.gguf": b"4", "a-Q6.gguf": b"6", "a-Q8.gguf": b"8"}
    wanted = [Wanted(HANDLE, file="a-Q4.gguf"), Wanted(HANDLE, file="a-Q8.gguf")]
    with Hub(Repository(HANDLE, files)) as hub:
        found = several(wanted, hub=client(hub), progress=_ignore)[HANDLE]

    assert isinstance(found, LockedModel)
    assert {path: file.sha256 for path, file in found.files.items()} == {
        path: hashlib.sha256(files[path]).hexdigest() for path in ("a-Q4.gguf", "a-Q8.gguf")
    }


def test_a_repository_of_many_gguf_files_is_not_staged_as_a_whole() -> None:
    files = {"a-Q4.gguf": b"4", "a-Q8.gguf": b"8", "mmproj-F16.gguf": b"m"}
    with Hub(Repository(HANDLE, files), Repository("acme/one", {"a.gguf": b"1", "config.json": b"{}"})) as hub:
        found = several([Wanted(HANDLE), Wanted("acme/one")], hub=client(hub), progress=_ignore)

    refusal = found[HANDLE]
    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.hint) == ("LCK015", "name it by `model_file`, such as a-Q4.gguf")
    assert str(refusal) == "acme/tiny has 2 GGUF files, of which an engine loads one, and no safetensors"
    assert isinstance(found["acme/one"], LockedModel)


def test_weights_in_the_forms_that_all_who_want_them_load() -> None:
    files = {**FILES, "consolidated.safetensors": FIRST, "params.json": b"{}"}
    wanted = [Wanted(HANDLE, form="consolidated"), Wanted("acme/two", form="consolidated"), Wanted("acme/two")]
    with Hub(Repository(HANDLE, files), Repository("acme/two", files)) as hub:
        found = several(wanted, hub=client(hub), progress=_ignore)

    one, two = found[HANDLE], found["acme/two"]
    assert isinstance(one, LockedModel)
    assert isinstance(two, LockedModel)
    assert (one.left_out, two.left_out) == (("shards",), ())
    assert [path for path in one.files if path.endswith(".safetensors")] == ["consolidated.safetensors"]
    assert two.tensor_bytes == 2 * (one.tensor_bytes or 0) + 31
    assert "config.json" in one.files


def test_two_revisions_of_one_repository_are_refused() -> None:
    with Hub(tiny()) as hub:
        found = several([Wanted(HANDLE), Wanted(HANDLE, "v2")], hub=client(hub), progress=_ignore)[HANDLE]

        assert hub.requests == []
    assert isinstance(found, Refusal)
    assert found.code == "LCK012"
    assert "acme/tiny is wanted at main and at v2" in str(found)


def test_progress_hears_of_each_that_is_through() -> None:
    heard: list[tuple[str, int, int]] = []
    with Hub(tiny(), Repository("acme/two", FILES)) as hub:
        several(
            [Wanted(HANDLE), Wanted("acme/two"), Wanted("acme/none")],
            hub=client(hub),
            progress=lambda *said: heard.append(said),
        )

    assert sorted(handle for handle, _, _ in heard) == ["acme/none", HANDLE, "acme/two"]
    assert [(count, of) for _, count, of in heard] == [(1, 3), (2, 3), (3, 3)]


def test_no_more_than_eight_requests_are_under_way() -> None:
    repositories = [Repository(f"acme/no{number}", FILES) for number in range(12)]
    with Hub(*repositories) as hub:
        hub.fail(*(Fault(each, silent_seconds=0.02, times=99) for each in ("/revision/main", "config.json")))
        found = several([Wanted(each.handle) for each in repositories], hub=client(hub), progress=_ignore)

        assert all(isinstance(each, LockedModel) for each in found.values())
        assert 1 < hub.most_at_once <= 8
