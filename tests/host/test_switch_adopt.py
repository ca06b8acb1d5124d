"""A host on which an older version of sparkiac installed its files: its tree of commit 9229867, as it was generated."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.host.switching import Host, Unit, committed, generation, runs, starts, state, store, switch

pytestmark = pytest.mark.usefixtures("no_fsync")
TREE = Path(__file__).parent / "data/host-9229867.tar.gz"
NAME = "sparkiac-qwen36"


@pytest.fixture
def older(tmp_path: Path) -> Host:
    """Return a host that serves from files of the older version."""
    found = Host(tmp_path)
    with tarfile.open(TREE) as tree:
        tree.extractall(tmp_path)  # noqa: S202  an archive of ours; Python 3.11.2 has no filter
    found.units[NAME] = Unit(enabled=True)
    found.start(NAME, found.units[NAME])
    found.write("proc/sys/vm/swappiness", "1\n")
    return found


def files_of(root: Path) -> dict[str, bytes]:
    """Return the installed files."""
    paths = [path for place in ("etc", "usr") for path in (root / place).rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def test_it_becomes_the_committed_generation_without_a_restart(older: Host) -> None:
    before, ran = files_of(older.root), older.units[NAME].invocation
    store.stage(older, generation({"qwen36": "new"}).staged)
    name = committed(older)
    assert name is not None
    assert files_of(older.root) == before
    assert older.units[NAME].invocation == ran
    assert older.log == []
    found = store.load(older, name)
    owned = json.loads(before["etc/sparkiac/owned.json"])
    assert [each.path for each in found.files] == owned["files"]
    assert [each["name"] for each in found.plan["units"]] == owned["units"]
    assert found.plan["sysctls"] == [{"key": "vm.swappiness", "value": "1"}]


def test_a_bad_new_generation_goes_back_to_it(older: Host) -> None:
    before = files_of(older.root)
    served = older.units[NAME].runs
    result = switch(older, generation({"qwen36": "crash"}))
    assert result["outcome"] == "back"
    assert older.serving() == {NAME: served}
    left = files_of(older.root)
    assert {path: left.get(path) for path in before} == before
    assert set(left) - set(before) == {"etc/systemd/system/sparkiac-recover.service"}


def test_a_good_new_generation_removes_what_it_does_not_have(older: Host) -> None:
    new = generation({"qwen36": "new"})
    assert switch(older, new)["outcome"] == "committed"
    assert sorted(files_of(older.root)) == sorted(each["path"] for each in new.staged["files"])
    assert (older.root / "proc/sys/vm/swappiness").read_text() == "1\n", "its value before sparkiac is not known"
    former = state.read(older).previous
    request = runs.Request(starts.generation_of(older, "previous"), "rollback", "", [])
    assert runs.run(older, request)["outcome"] == "committed"
    assert committed(older) == former


def test_it_is_adopted_once(older: Host) -> None:
    switch(older, generation({"qwen36": "new"}))
    switch(older, generation({"qwen36": "newer"}))
    assert len(store.kept(older)) == 3
