"""`sparkiac status --watch` on a terminal: it follows the hosts, and ends by Ctrl-C with the last state in view."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import sys
import termios
from typing import TYPE_CHECKING

import pytest

from sparkiac.commands import live
from sparkiac.commands.inputs import Exit
from sparkiac.fleet.query import Answer, HostFailure
from sparkiac.fleet.status import HostStatus
from tests.conftest import ROOT
from tests.fleet import hosts
from tests.fleet.hosts import GENERATION, Fleet, host, unit
from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Dialog = Sequence[tuple[str, Callable[[int], object]]]

ADDRESS = "192.168.1.11"


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Return one host with the deployment `chat`, and write its inventory."""
    (tmp_path / "lab.yaml").write_text(deployment())
    (tmp_path / "lab.lock.yaml").write_text(LOCK)
    hosts.generate(tmp_path, spark_01=GENERATION)
    made = Fleet(tmp_path_factory.mktemp("hosts"), monkeypatch)
    made.answers(ADDRESS, host(unit("chat", active="activating", sub="start", health="starting")))
    return made


def watch(folder: Path, fleet: Fleet, dialog: Dialog, **env: str) -> tuple[int, str]:
    """Run it with a terminal of its own; when a text appears, call its function. Give exit code and output."""
    process, ours = pty.fork()
    if process == 0:
        os.chdir(folder)
        kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
        words = [sys.executable, "-m", "sparkiac", "status", "lab.yaml", "--watch"]
        os.execve(sys.executable, words, kept | {"STUB": str(fleet.folder)} | env)  # noqa: S606
    termios.tcsetwinsize(ours, (30, 100))
    said, seen, steps = "", 0, list(dialog)
    with contextlib.suppress(OSError):  # Linux ends a terminal's stream with an error
        while block := os.read(ours, 4096):
            said += block.decode(errors="replace")
            if steps and steps[0][0] in said[seen:]:
                seen = len(said)
                steps.pop(0)[1](ours)
    os.close(ours)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), said


def interrupt(terminal: int) -> None:
    os.write(terminal, b"\x03")


def test_it_follows_the_hosts_until_an_interrupt(tmp_path: Path, fleet: Fleet) -> None:
    def becomes_ready(_: int) -> None:
        fleet.answers(ADDRESS, host(unit("chat")))

    steps = [("no answer yet: spark-01", lambda _: None), ("starting", becomes_ready), ("all healthy", interrupt)]
    code, said = watch(tmp_path, fleet, steps)
    assert code == Exit.INTERRUPTED, said
    assert "Traceback" not in said
    before, left, after = said.partition("\x1b[?1049l")
    assert "\x1b[?1049h" in before
    assert left, "the terminal is not given back"
    assert said.rindex("\x1b[?25h") > said.rindex("\x1b[?25l"), "the cursor is hidden"
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", after).replace("\r\n", "\n")
    assert "1 host, 1 unit: all healthy and as generated\n" in plain
    assert re.search(r"^spark-01 +chat +ready ", plain, re.MULTILINE)
    assert "\x1b[32m" in said
    assert re.search(r"[0-9]{2}:[0-9]{2}:[0-9]{2}; Ctrl-C ends this view", before)
    assert "Ctrl-C ends" not in after


def test_a_host_that_no_longer_answers_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    now = [100.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    answer = Answer("spark-01", None, HostFailure("no route to host", "", reachable=False), 0, 0)
    with live.LiveView(["spark-01"]) as view:
        view.update(HostStatus("spark-01", ADDRESS, None, answer, None, (), ()))
        now[0] += 9
        view.update(None)
        assert "last answer is old" not in capsys.readouterr().out
        now[0] += 9
        view.update(None)
        assert "last answer is old: spark-01 (18 s)" in capsys.readouterr().out


def test_without_colours(tmp_path: Path, fleet: Fleet) -> None:
    code, said = watch(tmp_path, fleet, [("not ready", interrupt)], NO_COLOR="1")
    assert code == Exit.INTERRUPTED
    assert not re.search(r"\x1b\[(?:[0-9]+;)*3[0-7]m", said)


def test_an_interrupt_before_the_first_answer(tmp_path: Path, fleet: Fleet) -> None:
    fleet.runs(ADDRESS, "exec sleep 600")
    code, said = watch(tmp_path, fleet, [("no answer yet", interrupt)])
    assert code == Exit.INTERRUPTED
    assert "Traceback" not in said
