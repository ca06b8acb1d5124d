"""A power cut during a switch: only what was synchronised is on the disk afterwards.

A process that is killed keeps the page cache, so these tests record every fsync, and start from a copy of the disk that
has only the file contents and directory entries that were synchronised until then. The host then boots.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.host.switching import Host, Made, committed, generation, state, switch

FIRST = generation({"a": "a 1", "b": "b 1"})
SECOND = generation({"a": "a 2", "c": "c 2"})
BAD = generation({"a": "a 2", "b": "crash"})
Entry: TypeAlias = int | str
"""Inode of a file or directory, or target of a symbolic link."""


class Disk:
    """What of a directory tree has been synchronised."""

    def __init__(self, root: Path) -> None:
        """Begin with everything that is there."""
        self.root = root
        self.contents: dict[int, tuple[bytes, int]] = {}
        self.entries: dict[int, dict[str, Entry]] = {}
        self.held: dict[int, int] = {}
        """Inode → handle: an inode that is open is not used again."""
        for path in [root, *root.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                self.entries[path.stat().st_ino] = self.listed(path)
            elif path.is_file():
                self.sync_file(path)
        self.cuts: list[tuple[dict[int, tuple[bytes, int]], dict[int, dict[str, Entry]]]] = []

    def listed(self, path: Path) -> dict[str, Entry]:
        """Return the entries of a directory as they are now; a new directory is still empty."""
        for each in path.iterdir():
            if each.is_dir() and not each.is_symlink():
                self.entries.setdefault(each.stat().st_ino, {})
        return {each.name: self.entry(each) for each in path.iterdir()}

    def entry(self, path: Path) -> Entry:
        """Return an entry of a directory."""
        if path.is_symlink():
            return str(path.readlink())
        inode = path.stat().st_ino
        if inode not in self.held:
            self.held[inode] = os.open(path, os.O_PATH)
        return inode

    def sync_file(self, path: Path) -> None:
        """Store the content of a file."""
        self.entry(path)
        self.contents[path.stat().st_ino] = (path.read_bytes(), path.stat().st_mode & 0o7777)

    def fsync(self, handle: int) -> None:
        """Do what fsync does, and remember the disk as it is after it."""
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if self.root in (path, *path.parents):
            if path.is_dir():
                self.entries[path.stat().st_ino] = self.listed(path)
            else:
                self.sync_file(path)
            self.cuts.append((dict(self.contents), {each: dict(found) for each, found in self.entries.items()}))

    def close(self) -> None:
        """Close the handles."""
        for handle in self.held.values():
            os.close(handle)

    def restore(self, cut: int, root: Path) -> None:
        """Write the disk as it was after an fsync to another directory."""
        contents, entries = self.cuts[cut]

        def copy(inode: int, to: Path) -> None:
            to.mkdir()
            for name, entry in entries[inode].items():
                if isinstance(entry, str):
                    (to / name).symlink_to(entry.replace(str(self.root), str(root)))
                elif entry in entries:
                    copy(entry, to / name)
                else:
                    data, mode = contents.get(entry, (b"", 0o600))  # the entry is on the disk, its content is not
                    (to / name).write_bytes(data)
                    (to / name).chmod(mode)

        copy(self.root.stat().st_ino, root)


@pytest.mark.parametrize("made", [SECOND, BAD], ids=["good", "bad"])
def test_the_host_boots_with_a_committed_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Made
) -> None:
    host = Host(tmp_path / "host")
    monkeypatch.setattr(os, "fsync", lambda _handle: None)
    switch(host, FIRST, "first")
    disk = Disk(host.root)
    with monkeypatch.context() as recording:
        recording.setattr(os, "fsync", disk.fsync)
        recording.setattr(os, "fdatasync", disk.fsync)
        switch(host, made)
    disk.close()
    ends = set()
    for cut in range(len(disk.cuts)):
        after = booted(disk, cut, tmp_path / "after", host)
        name = committed(after)
        ends.add(name)
        texts = {each["path"]: each["text"] for each in {FIRST.name: FIRST, made.name: made}[str(name)].staged["files"]}
        for path, text in texts.items():
            assert (after.root / path).read_text() == text, (cut, path)
        served = {path.split("/")[2]: text for path, text in texts.items() if path.endswith("compose.yaml")}
        assert after.serving() == {f"sparkiac-{unit}": text for unit, text in served.items()}, cut
        assert switch(after, SECOND, "again")["outcome"] == "committed", cut
        shutil.rmtree(after.root)
    assert len(disk.cuts) > 30
    assert ends == {FIRST.name, SECOND.name} if made is SECOND else {FIRST.name}


def booted(disk: Disk, cut: int, root: Path, before: Host) -> Host:
    """Return the host that boots from what was on the disk."""
    disk.restore(cut, root)
    after = Host(root)
    after.units = {name: type(unit)(enabled=True) for name, unit in before.units.items()}
    after.reboot()
    after.boot()
    return after


def test_a_content_that_was_not_synchronised_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recording itself: without fsync of the file, its name is there and its content is not."""
    root = tmp_path / "disk"
    root.mkdir()
    disk = Disk(root)
    monkeypatch.setattr(os, "fsync", disk.fsync)
    (root / "file").write_text("text")
    handle: Any = os.open(root, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
    disk.close()
    disk.restore(0, tmp_path / "after")
    assert (tmp_path / "after/file").read_text() == ""
    assert state.read(Host(tmp_path / "other")).committed is None
