"""The programs `stage record` and `stage prune`: only what former generations alone need goes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.host.conftest import SCRIPTS
from tests.host.staging import FILES, SAFETENSORS, Said, Store, contents, run, tiny
from tests.standin.hub import Hub, sha256

DOCKER = """\
#!/bin/sh
# Stand-in for docker: each line of $STUB/images is the name and the ID of an image that is here, of $STUB/used a name
# that a container uses.
case "$1 $2" in
  "image inspect")
    while read -r name id; do [ "$name" != "$5" ] || { echo "$id 2000"; exit 0; }; done <"$STUB/images"
    echo "Error response from daemon: No such image: $5" >&2; exit 1 ;;
  "image rm")
    ! grep -qxF "$3" "$STUB/used" || { echo "conflict: unable to delete $3: container 12 is using it" >&2; exit 1; }
    grep -v "^$3 " "$STUB/images" >"$STUB/images.new"; mv "$STUB/images.new" "$STUB/images" ;;
  *) exit 9 ;;
esac
"""


@dataclass(frozen=True)
class Host:
    """A host with images, a store, caches and extra files below a folder."""

    folder: Path
    store: Store

    @property
    def images(self) -> list[str]:
        """The names of the images that are here."""
        return [line.split()[0] for line in (self.folder / "images").read_text().splitlines()]

    def run(self, name: str, *words: str) -> Said:
        """Run a command of the program."""
        env = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "STUB": str(self.folder)}
        return run([sys.executable, SCRIPTS / "stage", name, "--root", str(self.folder), *words], env=env)

    def apply(self, generation: str, *words: str, **needs: Any) -> Said:  # noqa: ANN401  JSON
        """Note what a generation needs; the store's models are among it."""
        stores = json.loads(self.store.stores())
        wanted = {"images": [], "stores": stores, "extra_files": [], "caches": [], **needs}
        return self.run("record", "--generation", generation, "--needs", json.dumps(wanted), *words)

    def prune(self, current: str, *words: str, keep: int = 1) -> list[tuple[str, str, int]]:
        """Prune; give kind, name and size of what went."""
        done = self.run("prune", "--generation", current, "--keep", str(keep), *words)
        assert done.code == 0, done.error
        return [(line["kind"], line["name"], line["size_bytes"]) for line in done.lines if not line["kept_because"]]

    def cache(self, name: str) -> str:
        """Make a compile cache of 100 bytes; give its path on the host."""
        path = self.folder / "var/cache/sparkiac" / name
        path.mkdir(parents=True)
        (path / "kernel.bin").write_bytes(bytes(100))
        return str(path)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/docker").write_text(DOCKER)
    (tmp_path / "bin/docker").chmod(0o755)
    (tmp_path / "images").write_text("".join(f"{name} sha256:{name * 64}\n" for name in "abcd"))
    (tmp_path / "used").write_text("")
    return Host(tmp_path, Store(tmp_path))


def test_a_record_is_written_once_and_the_newest_is_the_one_applied_last(host: Host) -> None:
    """Going back to a former generation makes it the newest again."""
    path = host.folder / "var/lib/sparkiac/generations"
    assert host.apply("one", "--dry-run", images=["a"]).last == {"changed": True}
    assert not path.exists()
    assert [host.apply("one", images=["a"]).last["changed"] for _ in range(2)] == [True, False]
    assert host.apply("two", images=["b"]).last == {"changed": True}
    assert host.apply("one", images=["a"]).last == {"changed": True}
    found = {each.name: json.loads((each / "record.json").read_text()) for each in path.iterdir()}
    assert found["one"]["images"] == {"a": "sha256:" + "a" * 64}
    assert found["one"]["sequence"] > found["two"]["sequence"]
    assert [name for _, name, _ in host.prune("one", "--dry-run")] == ["b", "two"]


def test_images_of_former_generations_go_and_strange_ones_stay(host: Host) -> None:
    host.apply("one", images=["a", "b"])
    host.apply("two", images=["b", "c"])
    assert host.prune("two", "--dry-run", keep=2) == []
    assert host.prune("two", "--dry-run") == [("image", "a", 2000), ("generation", "one", 0)]
    assert host.images == ["a", "b", "c", "d"]
    assert host.prune("two") == [("image", "a", 2000), ("generation", "one", 0)]
    assert host.images == ["b", "c", "d"]
    assert host.prune("two") == []


def test_an_image_under_another_name_or_in_use_stays(host: Host) -> None:
    """Two names may be one image; and what a container uses, docker itself keeps."""
    (host.folder / "images").write_text("a sha256:1\nb sha256:1\nc sha256:2\nd sha256:3\n")
    (host.folder / "used").write_text("d\n")
    host.apply("one", images=["a", "c", "d"])
    host.apply("two", images=["b"])
    done = host.run("prune", "--generation", "two", "--keep", "1")
    assert [(line["name"], line["kept_because"]) for line in done.lines] == [
        ("c", ""),
        ("d", "conflict: unable to delete d: container 12 is using it"),
        ("one", "some of its items could not be removed"),
    ]
    assert host.images == ["a", "b", "d"]
    (host.folder / "used").write_text("")
    assert [name for _, name, _ in host.prune("two")] == ["d", "one"]


def test_the_current_generation_stays_however_old(host: Host) -> None:
    host.apply("one", images=["a"])
    host.apply("two", images=["b"])
    assert [name for _, name, _ in host.prune("one", "--dry-run")] == ["b", "two"]
    done = host.run("prune", "--generation", "three", "--keep", "1")
    assert done.code == 1
    assert done.error == "generation three has no record on this host: apply it first; nothing was removed\n"


def two_commits(host: Host, layout: str) -> tuple[str, str]:
    """Apply two generations, of which the second has another config.json and a new file."""
    repository = tiny()
    commits = repository.head(), repository.commit({**FILES, "config.json": b"{}", "new.bin": b"new"})
    with Hub(repository) as hub:
        for number, commit in enumerate(commits):
            host.store.want(repository, layout=layout, commit=commit)
            assert host.store.fetch(hub.url).code == 0
            host.apply(f"g{number}")
    return commits


def test_a_former_commit_goes_and_the_blobs_that_the_new_one_shares_stay(host: Host) -> None:
    first, second = two_commits(host, "hub")
    blobs = host.store.repo() / "blobs"
    (blobs / "0123").write_bytes(b"a user's own")
    size = len(FILES["config.json"])
    assert host.prune("g1", "--dry-run") == [
        ("model", f"acme/tiny@{first} in {host.store.path}", size),
        ("generation", "g0", 0),
    ]
    assert len(list(blobs.iterdir())) == len(FILES) + 3
    host.prune("g1")
    assert not (blobs / sha256(FILES["config.json"])).exists()
    assert (blobs / sha256(SAFETENSORS)).exists()
    assert (blobs / "0123").exists()
    assert [each.name for each in (host.store.repo() / "snapshots").iterdir()] == [second]
    assert host.store.verify("--all").code == 0
    assert (host.store.repo() / "refs/main").read_text() == second


def test_a_snapshot_of_the_users_keeps_its_blobs_and_a_ref_of_the_users_its_snapshot(host: Host) -> None:
    first, _ = two_commits(host, "hub")
    own = host.store.repo() / "snapshots" / ("f" * 40)
    own.mkdir()
    (own / "config.json").symlink_to(f"../../blobs/{sha256(FILES['config.json'])}")
    assert host.prune("g1", "--dry-run")[0][2] == 0
    (host.store.repo() / "refs/v1").write_text(first)
    assert host.prune("g1") == [("generation", "g0", 0)]
    assert host.store.snapshot(first) == FILES


def test_links_of_a_snapshot_name_hashes_or_nothing_that_is_removed(host: Host) -> None:
    """Root removes what they name, and the store may be a user's."""
    first, _ = two_commits(host, "hub")
    blobs = host.store.repo() / "blobs"
    elsewhere = blobs.rename(host.folder / "elsewhere")
    blobs.symlink_to(elsewhere)
    (elsewhere / "passwd").write_text("root")
    (host.store.repo() / "snapshots" / first / "odd").symlink_to("../../blobs/passwd")
    assert host.prune("g1")[0][0] == "model"
    assert (elsewhere / "passwd").read_text() == "root"


def test_a_model_that_no_kept_generation_has_goes_with_its_name(host: Host) -> None:
    two_commits(host, "hub")
    host.store.wanted.clear()
    host.apply("g2")
    assert [kind for kind, *_ in host.prune("g2")] == ["model", "model", "generation", "generation"]
    assert contents(host.store.repo() / "blobs") == {}
    assert list((host.store.repo() / "snapshots").iterdir()) == []
    assert not (host.store.repo() / "refs/main").exists()


def test_a_former_directory_goes_and_the_users_own_stays(host: Host) -> None:
    first, second = two_commits(host, "directory")
    size = len(FILES["config.json"])  # the rest has a second name in the new commit
    assert host.prune("g1")[0] == ("model", f"acme/tiny@{first} in {host.store.path}", size)
    ours = host.store.path / ".sparkiac/acme/tiny"
    assert {each.name for each in ours.iterdir() if each.is_dir()} == {second}
    assert host.store.verify("--all").code == 0
    host.store.wanted.clear()
    host.apply("g2")
    (host.store.path / "acme/own").mkdir()
    host.prune("g2")
    assert [each.name for each in (host.store.path / "acme").iterdir()] == ["own"]


def test_caches_and_extra_files_go_with_their_generation(host: Host) -> None:
    caches = {name: host.cache(name) for name in ("qwen/old", "qwen/new", "qwen/strange")}
    for digest in ("0" * 64, "1" * 64):
        place = host.folder / "var/lib/sparkiac/files" / digest
        place.mkdir(parents=True)
        (place / "parser.py").write_bytes(b"text")
    host.apply("one", caches=[caches["qwen/old"]], extra_files=[f"{'0' * 64}/parser.py"])
    host.apply("two", caches=[caches["qwen/new"]], extra_files=[f"{'1' * 64}/parser.py"])
    assert host.prune("two")[:2] == [
        ("compile cache", caches["qwen/old"], 100),
        ("extra file", str(host.folder / "var/lib/sparkiac/files" / ("0" * 64)), 4),
    ]
    assert [Path(path).is_dir() for path in caches.values()] == [False, True, True]
    assert (host.folder / "var/lib/sparkiac/files" / ("1" * 64) / "parser.py").is_file()


def test_a_record_that_names_other_places_removes_nothing_there(host: Host) -> None:
    outside = host.folder / "outside"
    outside.mkdir()
    host.cache("link")
    link = host.folder / "var/cache/sparkiac/elsewhere"
    link.symlink_to(outside)
    named = [str(outside), str(link), f"{host.folder}/var/cache/sparkiac/../../../outside", "/", "/etc"]
    host.apply("one", caches=named, extra_files=["../../outside/x"])
    host.apply("two")
    assert host.prune("two") == [("generation", "one", 0)]
    assert outside.is_dir()


def test_needs_that_are_not_known_are_refused(host: Host) -> None:
    """Otherwise they would be in no record, and a later run would remove what they name."""
    done = host.apply("one", image=["a"])
    assert (done.code, done.lines) == (1, [])
    assert done.error == "needs: this program does not know image: generate and apply again\n"
    assert host.run("record", "--generation", "one", "--needs", "{").code == 2


def test_a_record_that_cannot_be_read_stops_everything(host: Host) -> None:
    host.apply("one", images=["a"])
    host.apply("two")
    path = host.folder / "var/lib/sparkiac/generations/one/record.json"
    path.write_text("{")
    done = host.run("prune", "--generation", "two", "--keep", "1")
    assert (done.code, done.lines) == (1, [])
    assert done.error.startswith(f"{path} cannot be read (")
    assert host.apply("../evil").code == 1


@pytest.mark.parametrize("layout", ["hub", "directory"])
def test_killed_at_any_moment_it_goes_on(host: Host, layout: str) -> None:
    """Killed before its first removal or renaming, then before its second, and so on until it ends by itself."""
    first, second = two_commits(host, layout)
    argv = [sys.executable, str(SCRIPTS / "stage"), "prune", "--root", str(host.folder), "--generation", "g1"]
    code = (
        "import os, runpy, sys\n"
        "left = int(sys.argv[1])\n"
        "def hook(event, arguments):\n"
        "    global left\n"
        "    if event in ('os.remove', 'os.rename', 'os.rmdir'):\n"
        "        left -= 1\n"
        "        if left < 0: os.kill(os.getpid(), 9)\n"
        "sys.addaudithook(hook); sys.argv[:] = sys.argv[2:]\n"
        "sys.path.insert(0, os.path.dirname(sys.argv[0])); runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    env = {**os.environ, "PATH": f"{host.folder / 'bin'}:{os.environ['PATH']}", "STUB": str(host.folder)}
    codes = []
    while not codes or codes[-1] == -9:
        done = subprocess.run(
            [argv[0], "-c", code, str(len(codes)), *argv[1:], "--keep", "1"],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        codes.append(done.returncode)
        assert host.store.verify("--all").code == 0
        assert len(codes) < 40, done.stderr
    assert codes[-1] == 0
    assert len(codes) > 3
    assert not list(host.store.path.rglob(f"*{first}*"))
    assert list(host.store.path.rglob(f"*{second}*"))
