"""One file replaced: its mode and owner stay, or it stays itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sparkiac import write
from sparkiac.write import single

OWNER = (4321, 4322)


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a file that seems to belong to somebody else."""
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
    assert given == [(".lab.yaml.sparkiac-new", *OWNER)]
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
