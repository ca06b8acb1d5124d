"""One file replaced: its mode and owner stay, or it stays itself."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparkiac import write
from sparkiac.write import single

OWNER = (4321, 4322)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that seems to belong to somebody else."""
    path = tmp_path / "lab.yaml"
    path.write_text("old")
    path.chmod(0o604)
    real = Path.stat

    def stat(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        found = real(self, follow_symlinks=follow_symlinks)
        return os.stat_result((*found[:4], *OWNER, *found[6:10])) if self == path else found

    monkeypatch.setattr(Path, "stat", stat)
    return path


def test_the_owner_is_kept(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, int, int]] = []
    monkeypatch.setattr(single.os, "chown", lambda path, *owner: given.append((Path(path).name, *owner)))
    write.replace(foreign, b"new")
    ((name, *owner),) = given
    assert (name.startswith(".lab.yaml."), name.endswith(".sparkiac-new"), *owner) == (True, True, *OWNER)
    assert (foreign.read_text(), foreign.stat().st_mode & 0o777) == ("new", 0o604)


def test_who_may_not_keep_the_owner_replaces_nothing(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(single.os, "chown", refuse)
    with pytest.raises(PermissionError):
        write.replace(foreign, b"new")
    assert foreign.read_text() == "old"
    assert [*foreign.parent.iterdir()] == [foreign]


def test_a_file_of_ones_own_changes_no_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single.os, "chown", lambda *_: pytest.fail("nothing to change"))
    write.replace(tmp_path / "lab.yaml", b"new")
    write.replace(tmp_path / "lab.yaml", b"newer")
    assert (tmp_path / "lab.yaml").read_text() == "newer"


def test_two_writers_tear_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lab.yaml"
    program = """
import sys, pathlib
from sparkiac import write
for _ in range(150):
    write.replace(pathlib.Path(sys.argv[1]), sys.argv[2].encode() * int(sys.argv[3]))
"""
    write.replace(path, b"a" * 100_000)
    arguments = (("a", "100000"), ("b", "300000"))
    writers = [subprocess.Popen([sys.executable, "-c", program, path, *given], cwd=ROOT) for given in arguments]
    torn = 0
    while any(each.poll() is None for each in writers):
        read = path.read_bytes()
        torn += read not in {b"a" * 100_000, b"b" * 300_000}
    assert [each.returncode for each in writers] == [0, 0]
    assert torn == 0
    assert [*tmp_path.iterdir()] == [path]


def test_what_a_killed_run_left_goes_with_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "lab.yaml"
    others = [tmp_path / ".lab.yaml.notes.sparkiac-new", tmp_path / ".lab.yaml.0a1b2c3d.sparkiac-new.bak"]
    for other in others:
        other.touch()
    (tmp_path / ".lab.yaml.0a1b2c3d.sparkiac-new").touch()
    write.replace(path, b"new")
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


def test_a_full_disk_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(single.os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as refused:
        write.replace(tmp_path / "lab.yaml", b"new")
    assert refused.value.filename == str(tmp_path / "lab.yaml")


def test_a_scratch_directory_goes_and_a_living_one_stays(tmp_path: Path) -> None:
    dead, foreign = tmp_path / ".lab-0a1b2c3d.sparkiac-new", tmp_path / ".lab-notes.sparkiac-new"
    for folder in (dead, foreign):
        (folder / "sub").mkdir(parents=True)
    (tmp_path / ".lab-0a1b2c3e.sparkiac-new").symlink_to(foreign)
    with write.scratch(tmp_path, "lab") as living, write.scratch(tmp_path, "lab") as other:
        assert living.is_dir()
        assert living != other
        assert not dead.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lab-0a1b2c3e.sparkiac-new", foreign.name]
    assert (foreign / "sub").is_dir()


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (b"a\n", b"a\n", ""),
        (b"a\r\nb", b"a\r\nc", " a\r\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"),
    ],
)
def test_the_diff_of_one_file(old: bytes, new: bytes, shown: str) -> None:
    assert write.diff_of("/sub/x.yaml", old, new).endswith(shown)
    assert ("--- a/sub/x.yaml\n" in write.diff_of("/sub/x.yaml", old, new)) is bool(shown)
