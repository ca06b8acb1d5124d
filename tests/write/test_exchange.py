"""Where directories cannot be exchanged in one step."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from sparkiac.write import staging, survey

from .faults import unsupported
from .trees import STATE, generation, litter, put, snapshot

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "exchange", unsupported)


def test_the_fallback_ends_in_the_same_tree(target: Path) -> None:
    put(generation("a"), target)
    put(generation("b"), target)
    expected = target.parent.with_name("expected")
    put(generation("b"), expected)
    assert snapshot(target) == snapshot(expected)
    assert litter(target) == []


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP])
def test_every_way_to_say_unsupported_is_understood(target: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    monkeypatch.setattr(staging, "exchange", lambda *_: code)
    put(generation("a"), target)
    assert put(generation("b"), target).any


def test_other_errors_are_not_taken_for_it(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "exchange", lambda *_: errno.EBUSY)
    put(generation("a"), target)
    before = snapshot(target)
    with pytest.raises(OSError, match="busy"):
        put(generation("b"), target)
    assert snapshot(target) == before
    assert litter(target) == []


def test_a_c_library_without_the_call(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    assert staging.exchange(target, target) == errno.ENOSYS


def test_a_run_that_died_between_the_renames_is_undone_by_the_next(target: Path) -> None:
    put(generation("a"), target)
    before = snapshot(target)
    target.with_name("x").mkdir()
    target.with_name("x").rename(target.with_name(".lab.sparkiac-new"))
    target.rename(target.with_name(".lab.sparkiac-old"))
    assert not survey(generation("a"), target, **STATE).any
    assert not target.exists()
    assert not put(generation("a"), target).any
    assert snapshot(target) == before
    assert litter(target) == []


def test_a_run_that_died_after_the_renames_is_cleaned_by_the_next(target: Path) -> None:
    put(generation("a"), target.with_name(".lab.sparkiac-old"))
    put(generation("b"), target)
    before = snapshot(target)
    assert not put(generation("b"), target).any
    assert snapshot(target) == before
    assert litter(target) == []
