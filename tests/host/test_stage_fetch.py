"""The program `stage`: models arrive whole, verified and visible at once, in the layout that engines read."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.host.staging import FILES, SAFETENSORS, Store, contents, run, tiny
from tests.standin.hub import Fault, Hub, blob_id, sha256

if TYPE_CHECKING:
    from pathlib import Path

LOOK_UP = """
import sys
from huggingface_hub import snapshot_download, try_to_load_from_cache
store, commit = sys.argv[1:]
by_commit = snapshot_download("acme/tiny", revision=commit, cache_dir=store + "/hub")
assert snapshot_download("acme/tiny", cache_dir=store + "/hub") == by_commit
assert try_to_load_from_cache("acme/tiny", "tokenizer/vocab.txt", cache_dir=store + "/hub")
print(by_commit)
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def asked_from(hub: Hub) -> int:
    """Count what came since, and forget it."""
    count = len(hub.requests)
    hub.requests.clear()
    return count


def test_a_model_arrives_and_the_hubs_own_client_finds_it_offline(store: Store) -> None:
    commit = store.want(repository := tiny())
    with Hub(repository) as hub:
        done = store.fetch(hub.url)
    assert (done.code, done.last) == (0, {"changed": True}), done.error
    assert store.snapshot(commit) == FILES
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(store.folder)}
    argv = [sys.executable, "-c", LOOK_UP, store.path, commit]
    looked = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert (looked.returncode, looked.stdout.strip()) == (0, str(store.repo() / "snapshots" / commit)), looked.stderr
    assert (store.repo() / "refs/main").read_text() == commit
    assert {path.stat().st_mode & 0o777 for path in (store.repo() / "blobs").iterdir()} == {0o644}


def test_what_the_hubs_own_client_fetched_is_used_and_not_asked_for_again(store: Store) -> None:
    """Its small files are named by Git's hash, its large ones by sha256."""
    commit = store.want(repository := tiny())
    code = "import sys; from huggingface_hub import snapshot_download as get; get('acme/tiny', cache_dir=sys.argv[1])"
    with Hub(repository) as hub:
        env = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(store.folder), "HF_HUB_DISABLE_XET": "1"}
        subprocess.run([sys.executable, "-c", code, store.path / "hub"], env=env, check=True, capture_output=True)
        assert asked_from(hub) > 5
        assert (store.repo() / "blobs" / blob_id(FILES["config.json"])).is_file()
        done = store.fetch(hub.url)
        assert (done.code, done.last) == (0, {"changed": False}), done.error
        assert asked_from(hub) == 0
    assert store.snapshot(commit) == FILES
    assert len(list((store.repo() / "blobs").iterdir())) == len(FILES)


def test_what_lies_under_gits_hash_alone_is_found_by_its_content(store: Store) -> None:
    commit = store.want(repository := tiny(files={"config.json": b"{}\n"}))
    blob = store.repo() / "blobs" / blob_id(b"{}\n")
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"{}\n")
    with Hub(repository) as hub:
        assert store.fetch(hub.url).last == {"changed": True}
        assert asked_from(hub) == 0
    assert (store.repo() / "snapshots" / commit / "config.json").resolve() == blob


def test_a_snapshot_that_a_user_began_is_completed_and_keeps_what_else_is_in_it(store: Store) -> None:
    commit = store.want(repository := tiny())
    snapshot = store.repo() / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_bytes(FILES["config.json"])  # a file, not a link
    (snapshot / "empty.txt").write_bytes(b"not empty")
    (snapshot / "notes.md").write_bytes(b"mine")
    with Hub(repository) as hub:
        assert store.fetch(hub.url).last == {"changed": True}
        assert not [path for path in hub.asked() if path.endswith("config.json")]
        assert store.snapshot(commit) == {**FILES, "notes.md": b"mine"}
        assert store.fetch(hub.url).last == {"changed": False}


def test_a_second_run_sends_no_request_reads_nothing_and_writes_nothing(store: Store) -> None:
    store.want(repository := tiny())
    store.want(plain := tiny("acme/plain"), layout="directory")
    with Hub(repository, plain) as hub:
        assert store.fetch(hub.url).last == {"changed": True}
        asked_from(hub)
        before = {path: path.lstat() for path in store.path.rglob("*") if path.name != "lock"}
        assert store.fetch(hub.url).last == {"changed": False}
        assert asked_from(hub) == 0
    after = {path: path.lstat() for path in store.path.rglob("*") if path.name != "lock"}
    assert {path: status.st_mtime_ns for path, status in before.items()} == {
        path: status.st_mtime_ns for path, status in after.items()
    }
    model = store.repo() / "blobs" / sha256(SAFETENSORS)
    relatime = after[model].st_atime_ns
    model.touch()  # what is stamped is not read; what was touched is
    assert store.fetch("http://127.0.0.1:9").last == {"changed": False}
    assert model.stat().st_atime_ns >= relatime


def test_a_changed_byte_is_found_and_repaired(store: Store) -> None:
    """Also when the file's time does not tell: then `verify --all` finds it, and forgets its stamp."""
    commit = store.want(repository := tiny())
    blob = store.repo() / "blobs" / sha256(SAFETENSORS)
    with Hub(repository) as hub:
        assert store.fetch(hub.url).code == 0
        for keep_time in (False, True):
            status = blob.stat()
            blob.write_bytes(b"X" + SAFETENSORS[1:])
            if keep_time:
                os.utime(blob, ns=(status.st_atime_ns, status.st_mtime_ns))
                assert store.verify().code == 0
                found = store.verify("--all", "--stamp")
            else:
                found = store.verify("--stamp")
            wrong = f"sha256 {sha256(b'X' + SAFETENSORS[1:])} instead of {sha256(SAFETENSORS)}"
            assert (found.code, found.last["models"][0]["wrong"]) == (3, {"model-00001.safetensors": wrong})
            asked_from(hub)
            assert store.fetch(hub.url).last == {"changed": True}
            assert hub.asked(server="cdn") == [f"GET /acme/tiny/{sha256(SAFETENSORS)}/model-00001.safetensors"]
            assert store.snapshot(commit) == FILES


def test_a_file_that_is_too_short_or_gone_is_reported_with_its_size(store: Store) -> None:
    store.want(repository := tiny())
    with Hub(repository) as hub:
        store.fetch(hub.url)
        (store.repo() / "blobs" / sha256(SAFETENSORS)).write_bytes(b"short")
        (store.repo() / "blobs" / sha256(FILES["config.json"])).unlink()
        [model] = store.verify().last["models"]
        assert model["wrong"] == {
            "config.json": "missing",
            "model-00001.safetensors": f"5 of {len(SAFETENSORS)} bytes",
        }
        assert model["missing_bytes"] == len(SAFETENSORS) + len(FILES["config.json"])
        assert (model["id"], model["whole"]) == (f"acme/tiny@{repository.head()}", False)
        assert store.fetch(hub.url).code == 0
        assert store.verify("--all").code == 0


def test_looking_writes_nothing_unless_it_is_to_remember(store: Store) -> None:
    store.want(repository := tiny())
    with Hub(repository) as hub:
        assert store.verify("--stamp").code == 3
        assert list(store.path.iterdir()) == []
        store.fetch(hub.url)
    [stamps] = (store.repo() / ".sparkiac").glob("*.json")
    stamps.unlink()
    assert store.verify().code == 0
    assert not stamps.exists()
    assert store.verify("--stamp").code == 0
    assert stamps.exists()


# -- plain directories ----------------------------------------------------------------------------


def test_a_directory_appears_as_a_whole_and_a_new_commit_switches_it(store: Store) -> None:
    first = store.want(repository := tiny(), layout="directory")
    second = repository.commit({**FILES, "config.json": b"{}\n"})
    seen = store.path / "acme/tiny"
    with Hub(repository) as hub:
        hub.fail(Fault("config.json", status=404))
        assert store.fetch(hub.url).code == 1
        assert not seen.exists()
        assert store.fetch(hub.url).last == {"changed": True}
        assert (contents(seen), seen.resolve().name) == (FILES, first)
        store.want(repository, layout="directory", commit=second)
        asked_from(hub)
        assert store.fetch(hub.url).last == {"changed": True}
        assert hub.asked() == [f"GET /acme/tiny/resolve/{second}/config.json"]
        assert (contents(seen)["config.json"], seen.resolve().name) == (b"{}\n", second)
        store.want(repository, layout="directory", commit=first)
        asked_from(hub)
        assert store.fetch(hub.url).last == {"changed": True}  # back, as to a former generation
        assert (asked_from(hub), contents(seen)) == (0, FILES)


def test_a_users_own_directory_is_used_as_it_is_while_it_is_right(store: Store) -> None:
    store.want(repository := tiny(), layout="directory")
    seen = store.path / "acme/tiny"
    for path, content in FILES.items():
        (seen / path).parent.mkdir(parents=True, exist_ok=True)
        (seen / path).write_bytes(content)
    with Hub(repository) as hub:
        assert store.fetch(hub.url).last == {"changed": False}
        assert not seen.is_symlink()
        (seen / "config.json").write_bytes(b"edited")
        assert store.fetch(hub.url).last == {"changed": True}
        assert hub.asked() == [f"GET /acme/tiny/resolve/{repository.head()}/config.json"]
    assert contents(seen) == FILES
    assert (store.path / "acme/tiny.before-sparkiac/config.json").read_bytes() == b"edited"
    large = "model-00001.safetensors"
    assert (seen / large).samefile(store.path / "acme/tiny.before-sparkiac" / large)  # not twice on the disk


def test_two_files_of_one_content_are_fetched_once(store: Store) -> None:
    for layout in ("hub", "directory"):
        store.want(repository := tiny(f"acme/{layout}", files={"a.bin": b"same", "b/c.bin": b"same"}), layout=layout)
        with Hub(repository) as hub:
            assert store.fetch(hub.url, "--only", f"acme/{layout}@{repository.head()}").code == 0
            assert len(hub.asked(server="cdn")) == 1
    assert contents(store.path / "acme/directory") == {"a.bin": b"same", "b/c.bin": b"same"}
    assert store.verify("--all").code == 0


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["../evil", "/etc/passwd", "a/../../b", "a//../b", "", "./a", "a\0b"])
def test_a_manifest_that_leads_out_of_the_store_is_refused(store: Store, path: str) -> None:
    store.want(tiny())
    manifest = store.manifests / "acme--tiny.json"
    data = json.loads(manifest.read_text())
    data["files"][path] = {"size_bytes": 1, "sha256": "0" * 64}
    manifest.write_text(json.dumps(data))
    done = store.fetch("http://127.0.0.1:9")
    assert (done.code, done.lines) == (1, [])
    assert "acme--tiny.json: invalid file entry" in done.error
    assert list(store.path.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "said"), [("sha512", "this program does not know sha512"), ("gated", "gated is missing")]
)
def test_a_manifest_of_another_version_is_refused(store: Store, key: str, said: str) -> None:
    store.want(tiny())
    manifest = store.manifests / "acme--tiny.json"
    data = json.loads(manifest.read_text())
    data = {each: data[each] for each in data if each != key} if key in data else {**data, key: "x"}
    manifest.write_text(json.dumps(data))
    done = store.verify()
    assert (done.code, done.lines) == (1, [])
    assert done.error == f"acme--tiny.json: {said}: generate and apply again\n"


@pytest.mark.parametrize(
    ("key", "value"), [("commit", "main"), ("model", "../../x"), ("model", "other/name"), ("layout", "flat")]
)
def test_a_list_that_does_not_fit_its_manifest_is_refused(store: Store, key: str, value: str) -> None:
    store.want(tiny())
    store.wanted[0][key] = value
    done = store.verify()
    assert (done.code, done.error.count("\n")) == (1, 1)
    assert "cannot read the list of models or a manifest" in done.error


def test_no_room_is_said_with_numbers_before_anything_is_asked(store: Store) -> None:
    store.want(repository := tiny())
    status = os.statvfs(store.path)
    reserve = status.f_bavail * status.f_frsize * 2
    with Hub(repository) as hub:
        done = store.fetch(hub.url, "--reserve-bytes", str(reserve))
        assert hub.requests == []
    size = sum(map(len, FILES.values()))
    assert done.code == 1
    assert done.error.startswith(f"{store.path}: free ")
    assert f" more: {size} bytes must be downloaded and " in done.error
    assert "GiB must stay free, but only " in done.error
    looked = store.verify("--reserve-bytes", str(reserve))
    assert (looked.code, looked.last["room"]) == (3, looked.last["room"])
    assert looked.last["room"].startswith(f"{store.path}: free ")


def test_a_host_that_has_everything_needs_no_room(store: Store) -> None:
    store.want(repository := tiny())
    with Hub(repository) as hub:
        store.fetch(hub.url)
    looked = store.verify("--reserve-bytes", str(1 << 60))
    assert (looked.code, looked.last["room"]) == (0, "")


def test_a_second_run_beside_a_first_is_told_whose_turn_it_is(store: Store) -> None:
    store.want(repository := tiny())
    with Hub(repository) as hub:
        hub.fail(Fault("model-00001.safetensors", silent_seconds=60))
        first = subprocess.Popen(
            store.command("fetch", "--endpoint", hub.url, "--reserve-bytes", "0"), stdout=subprocess.PIPE
        )
        assert first.stdout
        first.stdout.readline()  # one file has come: the lock is held
        second = store.fetch(hub.url)
        first.kill()
        first.wait()
        first.stdout.close()
        assert second.code == 1
        assert second.error == f"process {first.pid} uses {store.repo()}: wait for it or stop it\n"
        assert store.fetch(hub.url).last == {"changed": True}  # a lock dies with who held it


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("at", ["lock", f"incomplete/{sha256(SAFETENSORS)}"])
def test_a_link_in_the_place_of_a_file_of_ours_leads_nowhere(store: Store, at: str, *, hard: bool) -> None:
    """Root works in directories that may be a user's, who could have it write to any file."""
    store.want(repository := tiny())
    victim, place = store.folder / "victim", store.repo() / ".sparkiac" / at
    victim.write_bytes(bytes(1 << 20))
    place.parent.mkdir(parents=True)
    place.hardlink_to(victim) if hard else place.symlink_to(victim)
    with Hub(repository) as hub:
        done = store.fetch(hub.url)
    said = f"{place} is not a regular file or has other links: check who created it, and remove it\n"
    assert (done.code, done.error) == (1, said)
    assert victim.read_bytes() == bytes(1 << 20)
    assert store.verify().code == 3


def test_a_link_in_the_place_of_a_new_small_file_is_replaced(store: Store) -> None:
    commit = store.want(repository := tiny())
    victim = store.folder / "victim"
    victim.write_text("victim")
    victim.chmod(0o600)
    for place in (f".sparkiac/.{commit}.json.new", "refs/.main.new"):
        (store.repo() / place).parent.mkdir(parents=True, exist_ok=True)
        (store.repo() / place).symlink_to(victim)
    with Hub(repository) as hub:
        assert store.fetch(hub.url).code == 0
    assert (victim.read_text(), victim.stat().st_mode & 0o777) == ("victim", 0o600)
    assert store.snapshot(commit) == FILES


def test_a_disk_that_fills_up_is_said_and_what_came_is_kept(store: Store) -> None:
    """A limit on the size of files stands for a full disk: the same write fails, with another number."""
    commit = store.want(repository := tiny())
    limit = len(SAFETENSORS) // 2
    with Hub(repository) as hub:
        argv = store.command("fetch", "--endpoint", hub.url, "--reserve-bytes", "0")
        done = run(argv, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        assert (done.code, done.error.count("\n")) == (1, 1), done.error
        assert f"File too large, at {limit} of {len(SAFETENSORS)} bytes of model-0000" in done.error
        assert not (store.repo() / "snapshots" / commit).exists()
        parts = list((store.repo() / ".sparkiac/incomplete").iterdir())
        assert limit in [part.stat().st_size for part in parts]
        assert store.fetch(hub.url).code == 0
        assert f"bytes={limit}-" in [each.headers.get("range") for each in hub.requests]
    assert store.snapshot(commit) == FILES


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a small file system is mounted")
def test_a_really_full_disk_is_said_and_the_rest_is_kept(store: Store) -> None:
    commit = store.want(repository := tiny())
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", store.path], check=True)
    try:
        with Hub(repository) as hub:
            refused = store.fetch(hub.url)
            assert (refused.code, hub.requests) == (1, [])
            assert " must be downloaded and " in refused.error
            data = json.loads((store.manifests / "acme--tiny.json").read_text())
            data["files"].pop("model-00002.safetensors")
            (store.manifests / "acme--tiny.json").write_text(json.dumps(data))
            hub.fail(Fault("model-00001.safetensors", silent_seconds=0.5))
            first = subprocess.Popen(
                store.command("fetch", "--endpoint", hub.url, "--reserve-bytes", "0"),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert first.stdout
            first.stdout.readline()
            (store.path / "filler").write_bytes(bytes(100 << 10))  # somebody else takes the room meanwhile
            _, error = first.communicate()
            assert (first.returncode, error.count("\n")) == (1, 1)
            assert "No space left on device, at " in error
            assert not (store.repo() / "snapshots" / commit).exists()
            (store.path / "filler").unlink()
            assert store.fetch(hub.url).code == 0
    finally:
        subprocess.run(["umount", store.path], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files are given to another owner")
def test_files_in_a_users_store_belong_to_that_user(store: Store) -> None:
    store.want(repository := tiny())
    store.want(plain := tiny("acme/plain"), layout="directory")
    os.chown(store.path, 4321, 4321)
    with Hub(repository, plain) as hub:
        assert store.fetch(hub.url).code == 0
    strangers = [path for path in store.path.rglob("*") if path.lstat().st_uid != 4321 and path.name != "lock"]
    assert strangers == []
