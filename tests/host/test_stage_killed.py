"""`stage fetch` killed at random moments: nothing half is ever seen, and the next run goes on."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.host.staging import Store, contents, tiny
from tests.standin.hub import Fault, Hub, sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FIRST = {f"part-{number}.safetensors": random.Random(number).randbytes(3 << 19) for number in range(6)}
SECOND = {**FIRST, "part-0.safetensors": random.Random(9).randbytes(3 << 19), "config.json": b"{}"}


def killed(argv: list[str | Path], moments: Iterator[float]) -> Iterator[int]:
    """Start a program again and again and kill it, each time at a later moment, until it ends by itself."""
    while True:
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.communicate(timeout=next(moments))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        yield process.returncode
        if process.returncode != -9:
            return


def endured(argv: list[str | Path], take: float, dice: random.Random, check: Callable[[], None]) -> int:
    """Kill until it ends well, looking after each time; give how often it was killed.

    The moments lie all over what a run takes, and a run may take a little more each time, so that it ends some day.
    """
    moments = (dice.uniform(0, take * (1 + count / 10)) for count in range(1000))
    codes = []
    for code in killed(argv, moments):
        codes.append(code)
        check()
    assert codes[-1] == 0
    return len(codes) - 1


@pytest.mark.parametrize("wanted", [15, pytest.param(60, marks=pytest.mark.deep)])
def test_killed_at_any_moment_it_never_shows_half_a_model_and_completes(tmp_path: Path, wanted: int) -> None:
    """Both layouts, a first commit, a second one in its place, and a repair, in turn."""
    dice, kills = random.Random(20261121), 0
    repository, plain = tiny(files=FIRST), tiny("acme/plain", files=FIRST)
    first, other = repository.head(), plain.head()
    second, another = repository.commit(SECOND), plain.commit(SECOND)
    store = Store(tmp_path)
    seen = store.path / "acme/plain"

    def nothing_half() -> None:
        snapshots = store.repo() / "snapshots"
        found = [contents(each) for each in snapshots.iterdir()] if snapshots.is_dir() else []
        assert all(each in (FIRST, SECOND) for each in found)
        assert not seen.exists() or contents(seen) in (FIRST, SECOND)
        main = store.repo() / "refs/main"
        assert not main.exists() or (snapshots / main.read_text()).is_dir()

    with Hub(repository, plain) as hub:

        def argv() -> list[str | Path]:
            return store.command("fetch", "--endpoint", hub.url, "--reserve-bytes", "0")

        store.want(repository, commit=first)
        began = time.monotonic()
        subprocess.run(argv(), check=True, capture_output=True)
        take = (time.monotonic() - began) * 2  # of two models
        while kills < wanted:
            shutil.rmtree(store.path)
            store.path.mkdir()
            for commits in ((first, other), (second, another)):
                store.want(repository, commit=commits[0])
                store.want(plain, commit=commits[1], layout="directory")
                kills += endured(argv(), take, dice, nothing_half)
                assert store.snapshot(commits[0]) == contents(seen) == (FIRST if commits[0] == first else SECOND)
            blob = store.repo() / "blobs" / sha256(FIRST["part-3.safetensors"])
            blob.write_bytes(b"X" + FIRST["part-3.safetensors"][1:])
            kills += endured(argv(), take, dice, lambda: None)
            assert store.snapshot(second) == SECOND
    assert store.verify("--all").code == 0
    assert not (store.repo() / ".sparkiac/incomplete").exists()
    assert kills >= wanted


def test_a_run_that_is_killed_in_a_transfer_is_continued_from_its_last_byte(tmp_path: Path) -> None:
    files = {"model.safetensors": FIRST["part-1.safetensors"]}
    store = Store(tmp_path)
    commit = store.want(repository := tiny(files=files))
    part = store.repo() / ".sparkiac/incomplete" / sha256(files["model.safetensors"])
    with Hub(repository) as hub:
        hub.fail(Fault("model.safetensors", cut_after_bytes=1 << 20), Fault("model.safetensors", silent_seconds=60))
        argv = store.command("fetch", "--endpoint", hub.url, "--reserve-bytes", "0")
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
        while not (part.exists() and part.stat().st_size == 1 << 20 and len(hub.requests) == 4):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.wait()
        hub.requests.clear()
        assert not (store.repo() / "snapshots").exists()
        assert store.verify().last["models"][0]["missing_bytes"] == 1 << 19
        assert store.fetch(hub.url).code == 0
        assert [each.headers.get("range") for each in hub.requests] == [f"bytes={1 << 20}-"] * 2
    assert store.snapshot(commit) == files
