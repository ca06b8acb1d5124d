"""One host lends what it has verified to another one, which checks it again, and asks the hub where that fails."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.host.conftest import SCRIPTS
from tests.host.staging import FILES, SAFETENSORS, Store, run, tiny
from tests.standin.hub import Hub, sha256

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "canary-share-51c9-not-a-real-token"  # noqa: S105  no token
IMAGE = "sha256:" + "1" * 64
OTHER = "sha256:" + "2" * 64
DOCKER = f"""\
#!/bin/sh
# Stand-in for docker: $STUB/images holds the IDs that are here. An archive is the text "image ID", or what
# $STUB/archive holds; `load` takes in every ID that it reads. $STUB/broken breaks a save in the middle, and
# $STUB/meanwhile holds what somebody else pulls then.
echo "$*" >>"$STUB/log"
case "$1 $2" in
  "save {IMAGE}")
    if [ -e "$STUB/archive" ]; then cat "$STUB/archive"; else echo "image {IMAGE}"; fi
    [ ! -e "$STUB/broken" ] || {{ head -c 3000000 /dev/zero; exit 1; }} ;;
  "load ")
    cat "$STUB/meanwhile" >>"$STUB/images" 2>/dev/null
    while read -r _ id; do echo "$id" >>"$STUB/images"; echo "Loaded image ID: $id"; done ;;
  "image ls") cat "$STUB/images" ;;
  "image inspect")
    grep -qxF "$5" "$STUB/images" || {{ echo "Error: No such image: $5" >&2; exit 1; }}
    echo "$5 1000" ;;
  "image rm") sed -i "/^$4$/d" "$STUB/images" ;;
  "info --format") cat "$STUB/info" 2>/dev/null || echo '[["Backing Filesystem","extfs"]]' ;;
  *) echo "Error response from daemon: No such image" >&2; exit 1 ;;
esac
"""


class Giver(NamedTuple):
    """A host that shares."""

    url: str
    store: Store
    process: subprocess.Popen[str]


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o600)
    return path


@pytest.fixture
def stub(tmp_path: Path) -> dict[str, str]:
    """Make the stand-in for docker; give the environment that has it."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/docker").write_text(DOCKER)
    (tmp_path / "bin/docker").chmod(0o755)
    (tmp_path / "images").write_text("sha256:old\n")
    return {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "STUB": str(tmp_path)}


@pytest.fixture
def giver(tmp_path: Path, token: Path, stub: dict[str, str]) -> Iterator[Giver]:
    """Start a host that has the model and shares it, as systemd starts it."""
    (tmp_path / "giver").mkdir()
    store = Store(tmp_path / "giver")
    store.want(repository := tiny())
    with Hub(repository) as hub:
        assert store.fetch(hub.url).code == 0
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(tmp_path / "notify"))
    argv = store.command("share", "--listen", "127.0.0.1:0", "--token-file", token, "--image", IMAGE, "--image", OTHER)
    env = {**stub, "NOTIFY_SOCKET": str(tmp_path / "notify")}
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
    assert process.stdout
    address = process.stdout.readline().split()[-1]
    assert listener.recv(100) == b"READY=1"
    listener.close()
    yield Giver(f"http://{address}", store, process)
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.fixture
def taker(tmp_path: Path) -> Store:
    (tmp_path / "taker").mkdir()
    return Store(tmp_path / "taker")


def ask(giver: Giver, path: str, **headers: str) -> tuple[int, bytes]:
    """Send a request to a host that shares its store."""
    connection = http.client.HTTPConnection(giver.url.removeprefix("http://"), timeout=120)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def take(taker: Store, giver: Giver, token: Path, hub: str = "http://127.0.0.1:9") -> list[dict[str, str]]:
    """Fetch from a peer; give a line for each file."""
    done = taker.fetch(hub, "--from", giver.url, "--peer-token-file", token)
    assert (done.code, done.last) == (0, {"changed": True}), done.error
    return done.lines[:-1]


def test_a_model_comes_from_the_peer_and_the_hub_is_not_asked(giver: Giver, taker: Store, token: Path) -> None:
    """Nobody listens where the hub would be."""
    commit = taker.want(tiny())
    assert {line["source"] for line in take(taker, giver, token) if line["size_bytes"]} == {giver.url}
    assert taker.snapshot(commit) == FILES
    assert taker.verify("--all").code == 0


def test_what_the_peer_lacks_comes_from_the_hub(giver: Giver, taker: Store, token: Path) -> None:
    repository = tiny()
    commit = taker.want(repository, commit=repository.commit({**FILES, "new.bin": b"new"}), layout="directory")
    with Hub(repository) as hub:
        lines = take(taker, giver, token, hub.url)
        assert {each.path.partition("?")[0].rpartition("/")[2] for each in hub.requests} == {"new.bin"}
    assert [line["refused"] for line in lines if "refused" in line] == [f"{giver.url}/file/{sha256(b'new')}: HTTP 404"]
    assert (taker.path / "acme/tiny/new.bin").read_bytes() == b"new"
    assert (taker.path / "acme/tiny").resolve().name == commit


def test_a_dead_peer_is_asked_once_and_the_hub_gives_all(giver: Giver, taker: Store, token: Path) -> None:
    giver.process.kill()
    giver.process.wait()
    commit = taker.want(repository := tiny())
    with Hub(repository) as hub:
        lines = take(taker, giver, token, hub.url)
        assert {line["source"] for line in lines if line.get("size_bytes")} == {hub.url}
    refused = [line["refused"] for line in lines if "refused" in line]
    assert 1 <= len(refused) <= 4  # those that were under way at once
    assert "Connection refused" in refused[0]
    assert taker.snapshot(commit) == FILES


def test_a_file_that_changed_on_the_peer_since_it_was_verified_is_not_given(
    giver: Giver, taker: Store, token: Path
) -> None:
    (giver.store.repo() / "blobs" / sha256(SAFETENSORS)).write_bytes(b"X" + SAFETENSORS[1:])
    taker.want(repository := tiny())
    with Hub(repository) as hub:
        lines = take(taker, giver, token, hub.url)
        assert [line["file"] for line in lines if line.get("source") == hub.url] == ["model-00001.safetensors"]


def test_a_peer_that_gives_something_else_is_not_believed(giver: Giver, taker: Store, token: Path) -> None:
    """Its disk lies: the content changed, and the file's time did not."""
    blob = giver.store.repo() / "blobs" / sha256(SAFETENSORS)
    status = blob.stat()
    blob.write_bytes(b"X" + SAFETENSORS[1:])
    os.utime(blob, ns=(status.st_atime_ns, status.st_mtime_ns))
    commit = taker.want(repository := tiny())
    with Hub(repository) as hub:
        lines = take(taker, giver, token, hub.url)
        assert "model-00001.safetensors" in [line["file"] for line in lines if line.get("source") == hub.url]
    assert taker.snapshot(commit) == FILES


def test_a_part_of_a_former_run_is_completed_by_the_peer(giver: Giver, taker: Store, token: Path) -> None:
    commit = taker.want(tiny())
    part = taker.repo() / ".sparkiac/incomplete" / sha256(SAFETENSORS)
    part.parent.mkdir(parents=True)
    part.write_bytes(SAFETENSORS[:1000])
    take(taker, giver, token)
    assert taker.snapshot(commit) == FILES
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    path = f"/file/{sha256(SAFETENSORS)}"
    assert ask(giver, path, Range="bytes=1000-", **bearer) == (206, SAFETENSORS[1000:])
    assert ask(giver, path, Range=f"bytes={len(SAFETENSORS)}-", **bearer) == (416, b"")


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x"])
def test_without_the_token_nothing_is_given(giver: Giver, header: str) -> None:
    for path in (f"/file/{sha256(SAFETENSORS)}", f"/image/{IMAGE}", "/"):
        assert ask(giver, path, Authorization=header) == (401, b"")


@pytest.mark.parametrize(
    "path", ["/", "/file/", "/file/../../etc/passwd", "/etc/passwd", f"/file/{'0' * 64}", "/image/sha256:9", "/token"]
)
def test_only_what_the_manifests_list_is_given(giver: Giver, path: str) -> None:
    assert ask(giver, path, Authorization=f"Bearer {TOKEN}") == (404, b"")


def test_the_token_stands_in_no_argument_and_no_environment(giver: Giver) -> None:
    for name in ("cmdline", "environ"):
        with open(f"/proc/{giver.process.pid}/{name}", "rb") as file:  # noqa: PTH123  of the kernel
            assert TOKEN.encode() not in file.read()


def test_an_address_that_is_taken_is_said(giver: Giver, token: Path) -> None:
    address = giver.url.removeprefix("http://")
    done = run(giver.store.command("share", "--listen", address, "--token-file", token))
    assert (done.code, done.error) == (1, f"cannot share at {address}: [Errno 98] Address already in use\n")


def test_nothing_is_shared_with_everybody_unless_that_is_accepted(giver: Giver, token: Path, tmp_path: Path) -> None:
    """Nothing named nft is in this PATH, and another program listens at this address."""
    address = giver.url.removeprefix("http://")
    words = ("--listen", address, "--token-file", str(token), "--root", str(tmp_path), "--peer", "127.0.0.2")
    done = run(["env", f"PATH={tmp_path}", *giver.store.command("share", *words)])
    fault = f"port {address.rpartition(':')[2]} is open for every host that reaches this one: "
    fault += "nft cannot be run (No such file or directory): install nftables"
    assert (done.code, done.error) == (1, f"{fault}; or set `nft: optional` for this host\n")
    done = run(["env", f"PATH={tmp_path}", *giver.store.command("share", *words, "--nft-optional")])
    assert done.error == f"{fault}\ncannot share at {address}: [Errno 98] Address already in use\n"


# -- images ---------------------------------------------------------------------------------------


def load(giver: Giver, token: Path, stub: dict[str, str], image: str = IMAGE) -> tuple[int, str]:
    argv = [sys.executable, SCRIPTS / "stage", "load", "--from", giver.url, "--token-file", token, image]
    done = subprocess.run(argv, env=stub, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def images(stub: dict[str, str]) -> list[str]:
    with open(f"{stub['STUB']}/images") as file:  # noqa: PTH123  one line
        return file.read().split()


def test_an_image_comes_from_the_peer_once(giver: Giver, token: Path, stub: dict[str, str]) -> None:
    assert load(giver, token, stub) == (0, json.dumps({"changed": True}) + "\n")
    assert images(stub) == ["sha256:old", IMAGE]
    assert load(giver, token, stub) == (0, json.dumps({"changed": False}) + "\n")


def test_an_unexpected_image_is_removed(giver: Giver, token: Path, stub: dict[str, str], tmp_path: Path) -> None:
    """What was here before stays, even when the archive has it too."""
    (tmp_path / "archive").write_text(f"image {OTHER}\nimage sha256:old\n")
    code, said = load(giver, token, stub)
    assert code == 1
    assert f"{giver.url} sent {OTHER} instead of the image {IMAGE}; it was removed." in said
    assert "The archive contains another image than the lock names" in said
    assert set(images(stub)) == {"sha256:old"}
    (tmp_path / "info").write_text('[["driver-type","io.containerd.snapshotter.v1"]]')
    assert "uses containerd's image store, which has other IDs" in load(giver, token, stub)[1]


def test_an_image_in_company_is_refused_with_it(
    giver: Giver, token: Path, stub: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "archive").write_text(f"image {IMAGE}\nimage {OTHER}\n")
    assert load(giver, token, stub)[0] == 1
    assert OTHER not in images(stub)


def test_an_image_that_somebody_pulls_meanwhile_stays(
    giver: Giver, token: Path, stub: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "meanwhile").write_text(f"{OTHER}\n")
    assert load(giver, token, stub)[0] == 0
    assert images(stub) == ["sha256:old", OTHER, IMAGE]


def test_an_archive_that_is_cut_is_not_loaded(giver: Giver, token: Path, stub: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    code, said = load(giver, token, stub)
    assert (code, said.count("\n")) == (4, 1)
    assert said.startswith(f"{giver.url}/image/{IMAGE}: IncompleteRead")


def test_an_image_that_the_peer_has_not_is_said(giver: Giver, token: Path, stub: dict[str, str]) -> None:
    assert load(giver, token, stub, OTHER) == (4, f"{giver.url}/image/{OTHER}: HTTP 404\n")
    assert load(giver, token, stub, "sha256:9" + "0" * 63) == (4, f"{giver.url}/image/sha256:9{'0' * 63}: HTTP 404\n")
    assert load(giver, token, stub, "--force")[0] == 2
    assert load(giver, token, stub, "busybox") == (1, "not an image ID: busybox\n")
