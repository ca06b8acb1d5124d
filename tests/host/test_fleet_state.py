"""The state of the fleet timer: killed at each write, on a full disk, and what counts as a change."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.fleet import state
from tests.host.switching import KilledError

if TYPE_CHECKING:
    from tests.host.fleet import Timer
    from tests.host.probed import Service
    from tests.host.receivers import Receiver

DOWN, UP = (503, "down"), (200, "")
OWN = "state of the fleet timer"


@pytest.fixture
def timer(timer: Timer, service: Service) -> Timer:
    """Return a timer with one external endpoint."""
    timer.watch_url("other", f"{service.url}/health")
    return timer


class Kills:
    """Kills the program at one of its file operations: a new file, or the replacement of the old one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Count the operations of `durable`."""
        self.count, self.at = 0, -1
        for name in ("replace", "fsync"):
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))

    def counted(self, call: Any) -> Any:  # noqa: ANN401
        """Return a call that may be the last one."""

        def wrapped(*arguments: Any) -> Any:  # noqa: ANN401
            self.count += 1
            if self.count == self.at:
                raise KilledError
            return call(*arguments)

        return wrapped


@pytest.mark.parametrize("change", [(UP, DOWN), (DOWN, UP)], ids=["fails", "works-again"])
def test_killed_at_each_write_no_message_is_lost_and_at_most_one_comes_twice(
    timer: Timer, bot: Receiver, service: Service, monkeypatch: pytest.MonkeyPatch, change: tuple[Any, Any]
) -> None:
    kills = Kills(monkeypatch)
    twice = set()
    for at in range(1, 100):
        for path in (timer.folder / "state").iterdir():
            path.unlink()
        bot.got.clear()
        service.answers["/health"] = change[0]
        timer.run()
        before = len(bot.got)
        service.answers["/health"] = change[1]
        kills.count, kills.at = 0, at
        try:
            timer.run()
        except KilledError:
            pass
        else:
            break
        kills.at = -1
        timer.run()
        timer.run()
        sent = len(bot.got) - before
        assert 1 <= sent <= 2, at
        if sent == 2:
            twice.add(at)
    assert at > 8  # three writes with three operations each
    assert twice  # between the answer of Telegram and the next write
    assert len(set(bot.texts[before:])) == 1


def full(monkeypatch: pytest.MonkeyPatch, *directories: Path) -> pytest.MonkeyPatch:
    """Let every write to these directories fail as on a full disk."""
    write = state.durable.write

    def refuse(path: Path, data: bytes, mode: int = 0o600) -> None:
        if path.parent in directories:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, data, mode)

    monkeypatch.setattr(state.durable, "write", refuse)
    return monkeypatch


def test_a_full_disk_is_one_message_and_repeats_no_other(
    timer: Timer, bot: Receiver, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer.run()
    with monkeypatch.context() as patched:
        full(patched, timer.folder / "state")
        ran = timer.run()
        assert ran.code == 1
        assert ran.err == f"{OWN} fails: {timer.folder}/state cannot be written: No space left on device\n"
        service.answers["/health"] = DOWN
        for _ in range(4):
            timer.run()
    assert [text.splitlines()[2] for text in bot.texts] == [f"FAILING: {OWN}", "FAILING: other"]
    assert "what to do: free space on the disk of spark-02" in bot.texts[0]
    assert timer.run().code == 0
    assert timer.run().code == 0
    assert [text.splitlines()[2] for text in bot.texts[2:]] == [f"WORKING AGAIN: {OWN}"]


def test_a_disk_that_becomes_full_during_a_run(
    timer: Timer, bot: Receiver, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newer of the two states counts, also if both are of the same run."""
    timer.run()
    service.answers["/health"] = DOWN
    write, calls = state.durable.write, []

    def refuse(path: Path, data: bytes, mode: int = 0o600) -> None:
        calls.append(path)
        if path.parent.name == "state" and len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, data, mode)

    with monkeypatch.context() as patched:
        patched.setattr(state.durable, "write", refuse)
        assert timer.run().code == 1
    timer.run()
    assert [text.splitlines()[2] for text in bot.texts] == ["FAILING: other"]


def test_without_any_place_for_the_state_the_message_is_sent_all_the_same(
    timer: Timer, bot: Receiver, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(monkeypatch, timer.folder / "state", timer.folder / "memory")
    service.answers["/health"] = DOWN
    ran = timer.run()
    assert ran.code == 1
    assert "the state cannot be written, so that the next run may send the same again" in ran.err
    assert "FAILING: other" in bot.texts[0]
    assert f"FAILING: {OWN}" in bot.texts[0]


def test_a_write_that_is_killed_leaves_the_old_state(timer: Timer, service: Service) -> None:
    timer.run()
    store = state.Store(timer.folder / "state", timer.folder / "memory")
    before, faults = store.load()
    assert (before.run, faults) == (1, [])
    Path(timer.folder / "state/.state.json.abc.new").write_text("{")
    assert store.load() == (before, [])
    assert service.asked
