"""Files that survive a power cut: the error of a full disk names the file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sparkiac.host import durable, local


def test_an_error_that_names_no_path_gets_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=rf"No space left on device: '{tmp_path}/a'"):
        durable.write(tmp_path / "a", b"text")
    assert list(tmp_path.iterdir()) == []


def test_an_error_keeps_its_own_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="other"), durable.naming(tmp_path / "a"):
        (tmp_path / "other").read_text()


def test_a_record_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    machine = local.LocalHost(tmp_path)
    with pytest.raises(UnicodeEncodeError):
        local.write(machine, "/run/a", "\udc80")
    (tmp_path / "run/b").mkdir()
    with pytest.raises(OSError, match="/run/b"):
        local.write(machine, "/run/b", "text")
