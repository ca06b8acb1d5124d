"""Every call that can fail is made to fail, one after the other."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from sparkiac.write import staging, transaction

from .faults import WRITING, calls, failing, unsupported
from .trees import files, generation, litter, put, snapshot

if TYPE_CHECKING:
    from pathlib import Path


def prepare(target: Path) -> None:
    """Make a tree with everything that is handled in its own way."""
    put(generation("a", count=8), target)
    (target / ".ansible" / "deep").mkdir(parents=True)
    (target / ".ansible" / "deep" / "f").write_text("x")
    (target / "mine").mkdir()


def sweep(target: Path, *, code: int, lasting: bool, after: str | None = None) -> int:
    """Commit with the first call failing, then with the second, until all succeed; return how many failed."""
    before = snapshot(target)
    for nth in range(1, 1000):
        try:
            with calls(*WRITING, before=failing(nth, code=code, lasting=lasting)):
                put(generation("b", count=8), target)
        except OSError as error:
            assert error.errno == code  # noqa: PT017 - the last round does not raise
            assert litter(target) == [], f"call {nth}"
            assert snapshot(target) == before, f"call {nth}"
        else:
            assert litter(target) == []
            assert (target / "PLAN.md").read_text() == "b"
            return nth - 1
    pytest.fail(f"no end, {after}")


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE])
def test_the_old_tree_stays_whatever_call_fails(target: Path, code: int, lasting: bool) -> None:  # noqa: FBT001
    prepare(target)
    assert sweep(target, code=code, lasting=lasting) > 60


@pytest.mark.parametrize("lasting", [False, True])
def test_the_old_tree_stays_when_copying_fails(
    target: Path,
    monkeypatch: pytest.MonkeyPatch,
    lasting: bool,  # noqa: FBT001
) -> None:
    prepare(target)
    (target / ".ansible" / "link").symlink_to("x")
    monkeypatch.setattr(transaction, "_link", lambda a, b: transaction._copy(a, b, reason=OSError()))  # noqa: SLF001
    assert sweep(target, code=errno.ENOSPC, lasting=lasting) > 60


def test_the_old_tree_stays_when_one_rename_of_the_fallback_fails(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "exchange", unsupported)
    prepare(target)
    assert sweep(target, code=errno.EIO, lasting=False) > 60


def test_nothing_is_left_when_the_first_generation_fails(target: Path) -> None:
    assert snapshot(target) is None
    assert sweep(target, code=errno.ENOSPC, lasting=True) > 40


def test_directories_above_the_target_go_too(target: Path) -> None:
    deep = target / "x" / "lab"
    shutil.rmtree(target.parent)
    for nth in range(1, 100):
        try:
            with calls(*WRITING, before=failing(nth, code=errno.ENOSPC, lasting=True)):
                put(files(a="1"), deep)
        except OSError:
            assert not target.parent.exists()
        else:
            break
    assert litter(deep) == []


def test_renames_that_fail_for_good_leave_a_tree_that_the_next_run_puts_back(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one case without a target: the fallback's second rename fails, and so does taking back the first."""
    monkeypatch.setattr(staging, "exchange", unsupported)
    prepare(target)
    before = snapshot(target)
    rename = os.rename

    def one_rename(source: str, destination: str) -> None:
        if os.path.lexists(target):
            return rename(source, destination)
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "rename", one_rename)
        with pytest.raises(OSError, match="Input/output"):
            put(generation("b", count=8), target)
    assert not target.exists()
    assert snapshot(target.with_name(".lab.sparkiac-old")) == before
    put(generation("a", count=8), target)
    assert snapshot(target) == before
    assert litter(target) == []


def test_a_former_tree_that_cannot_be_deleted_is_an_error_and_goes_with_the_next_run(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_unlink(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    put(generation("a"), target)
    with monkeypatch.context() as broken:
        broken.setattr(os, "unlink", broken_unlink)
        with pytest.raises(OSError, match="Input/output"):
            put(generation("b"), target)
    assert (target / "PLAN.md").read_text() == "b"
    assert not put(generation("b"), target).any
    assert litter(target) == []
