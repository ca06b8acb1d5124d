"""A unit whose starts go on without success gives up, on a host of stand-ins."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.switch import report as reports
from sparkiac.host.switch import starts
from tests.host.switching import PROGRAM, Host, Result, generation, switch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME, OTHER = "sparkiac-a", "sparkiac-b"
GIB = 1 << 30
TOTAL_GIB = 100


class Looping(Host):
    """A host on which the unit `a` starts again and again. systemd stops a unit by ending the start."""

    leftover = ""
    stops_at_once = True

    def run(self, *argv: str) -> Any:  # noqa: ANN401 - CommandResult of a script
        """Run a command; the others are those of `Host`."""
        if argv[0] == "systemd-notify":
            self.log.append(" ".join(argv[1:]))
            self.notified()
            return Result(0, "", "")
        if "docker" in argv:
            assert f"label=com.docker.compose.project={NAME}" in argv
            return Result(0, self.leftover, "")
        done = super().run(*argv)
        if argv[:2] == ("systemctl", "stop") and self.stops_at_once:
            os.kill(os.getpid(), signal.SIGTERM)
        return done

    def notified(self) -> None:
        """Do something while the unit waits for memory."""

    def available(self, gib: float) -> None:
        """Change the available memory."""
        self.write("proc/meminfo", f"MemAvailable: {round(gib * (1 << 20))} kB\n")

    def begin(self, *, restarts: int, entered_s: float = 0, left_s: float = 0) -> None:
        """Begin a start, as `switch started` does in the unit."""
        stamps = {"ActiveEnterTimestampMonotonic": entered_s, "ActiveExitTimestampMonotonic": left_s}
        self.said[NAME] = {"NRestarts": str(restarts), **{key: str(int(at * 1e6)) for key, at in stamps.items()}}
        PROGRAM.started(self, NAME)

    def container_started(self) -> None:
        """Leave the file of `supervise`."""
        self.write(f"run/{NAME}/ran", "")

    def fails(self, times: int, *, first: int = 0) -> None:
        """Start several times; each time the container starts, and the unit does not become ready."""
        for number in range(first, first + times):
            self.begin(restarts=number)
            self.container_started()

    def kept(self) -> dict[str, Any]:
        """Return the record of the unit."""
        return dict(json.loads(self.read(f"{starts.STARTS}/{NAME}.json")))


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Looping]:
    """Return a host with two units, of which `b` runs; waiting takes no time."""
    monkeypatch.setattr(starts, "RETURN_S", 0)
    monkeypatch.setattr(starts, "POLL_S", 0)
    found = Looping(tmp_path)
    assert switch(found, generation({"a": "a 1", "b": "b 1"}))["outcome"] == "committed"
    found.units[NAME].active = "activating"
    before = signal.getsignal(signal.SIGTERM)
    yield found
    signal.signal(signal.SIGTERM, before)


def gives_up(host: Looping, capsys: pytest.CaptureFixture[str], **start: Any) -> str:  # noqa: ANN401
    """Start, expect that the unit gives up, and return what it said."""
    host.log.clear()
    with pytest.raises(SystemExit) as ended:
        host.begin(**start)
    assert ended.value.code == 1, "a failure: the unit must not look as if it had been stopped on request"
    assert host.log[-1] == f"stop {NAME}"
    return capsys.readouterr().err


def test_five_starts_that_never_answered_are_the_last(host: Looping, capsys: pytest.CaptureFixture[str]) -> None:
    host.fails(5)
    said = gives_up(host, capsys, restarts=5)
    assert said == (
        "sparkiac-a gave up: 5 starts in a row never answered; to start it again: sudo systemctl start sparkiac-a\n"
    )
    assert starts.gave_up(host, NAME) == "5 starts in a row never answered"
    assert reports.report(host, {"name": NAME}, "").startswith(
        "sparkiac-a did not become ready: 5 starts in a row never answered."
    )


def test_a_start_on_request_counts_from_zero(host: Looping, capsys: pytest.CaptureFixture[str]) -> None:
    host.fails(5)
    gives_up(host, capsys, restarts=5)
    host.begin(restarts=0)
    assert (host.kept()["unanswered"], starts.gave_up(host, NAME)) == (0, None)
    host.container_started()
    host.fails(4, first=1)
    gives_up(host, capsys, restarts=5)


def test_a_boot_counts_from_zero(host: Looping) -> None:
    host.fails(5)
    host.reboot()
    host.begin(restarts=0)
    assert host.kept()["unanswered"] == 0


def test_an_apply_counts_from_zero(host: Looping) -> None:
    """Before 255, systemd keeps its counter if a unit is restarted that waits for its next automatic restart."""
    host.log.clear()
    switch(host, generation({"a": "a 2", "b": "b 1"}), run="second")
    assert host.log.index(f"reset-failed {NAME}") == host.log.index(f"restart {NAME}") - 1


def test_a_start_without_a_container_does_not_count(host: Looping) -> None:
    """It waited for another node, a link, memory or Docker."""
    host.fails(4)
    for number in range(4, 40):
        host.begin(restarts=number)
    assert host.kept()["unanswered"] == 4


def test_a_unit_that_served_for_an_hour_counts_from_zero(host: Looping, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock shows whole seconds, so that the hour is exact."""
    monkeypatch.setattr(time, "monotonic", lambda: 10_000.0)
    host.fails(4)
    host.begin(restarts=4)
    host.container_started()
    monkeypatch.setattr(time, "monotonic", lambda: 14_000.0)
    host.begin(restarts=5, entered_s=10_060.0, left_s=10_060.0 + 3599)
    assert host.kept()["unanswered"] == 4, "it answered: this start neither counts nor ends the row"
    host.container_started()
    monkeypatch.setattr(time, "monotonic", lambda: 18_000.0)
    host.begin(restarts=6, entered_s=14_060.0, left_s=14_060.0 + 3600)
    assert host.kept()["unanswered"] == 0


def test_memory_that_does_not_come_back(host: Looping, capsys: pytest.CaptureFixture[str]) -> None:
    host.begin(restarts=0)
    host.container_started()
    host.available(TOTAL_GIB - 6.2)
    said = gives_up(host, capsys, restarts=1)
    assert "gave up: 6.2 GiB of memory did not come back" in said


def test_less_than_four_gib_are_no_loss(host: Looping) -> None:
    host.begin(restarts=0)
    host.container_started()
    host.available(TOTAL_GIB - 3.9)
    host.begin(restarts=1)
    assert host.kept()["available_bytes"] == round((TOTAL_GIB - 3.9) * (1 << 20)) * 1024


def test_it_waits_for_memory_and_says_so(host: Looping, monkeypatch: pytest.MonkeyPatch) -> None:
    """Meanwhile systemd must not end the start, and a stop is no failure."""
    monkeypatch.setattr(starts, "RETURN_S", 300)
    host.begin(restarts=0)
    host.container_started()
    host.available(TOTAL_GIB - 6)
    monkeypatch.setattr(host, "notified", lambda: host.available(TOTAL_GIB - 1))
    host.begin(restarts=1)
    assert "--status=starting waiting for 6.0 GiB of memory to come back EXTEND_TIMEOUT_USEC=300000000" in host.log
    host.container_started()
    host.available(TOTAL_GIB - 6)
    monkeypatch.setattr(host, "notified", lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(SystemExit) as ended:
        host.begin(restarts=2)
    assert ended.value.code == 0


@pytest.mark.parametrize("planned", [20 * GIB, None])
def test_what_another_unit_took_meanwhile_is_no_loss(host: Looping, planned: int | None) -> None:
    """A unit without a planned value: nothing can be said."""
    plan = json.loads(host.read("/etc/sparkiac/generation.json"))
    plan["units"][1]["memory_bytes"] = planned
    host.write("etc/sparkiac/generation.json", json.dumps(plan))
    host.units[OTHER].active = "activating"
    host.begin(restarts=0)
    host.container_started()
    host.units[OTHER].active = "active"
    host.available(TOTAL_GIB - 21)
    host.begin(restarts=1)
    assert host.kept()["ready"] == [OTHER]


def test_what_another_unit_had_before_is_a_loss(host: Looping, capsys: pytest.CaptureFixture[str]) -> None:
    host.begin(restarts=0)
    host.container_started()
    host.available(TOTAL_GIB - 21)
    assert "21.0 GiB" in gives_up(host, capsys, restarts=1)


def test_a_container_that_is_left_has_its_memory(host: Looping) -> None:
    """Preflight removes it."""
    host.begin(restarts=0)
    host.container_started()
    host.available(TOTAL_GIB - 50)
    host.leftover = "0123456789ab\n"
    host.begin(restarts=1)
    assert starts.gave_up(host, NAME) is None


def test_a_start_that_gives_up_ends_if_systemd_does_not_stop_it(
    host: Looping, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starts, "STOP_S", 0)
    host.stops_at_once = False
    host.fails(5)
    gives_up(host, capsys, restarts=5)


def test_a_damaged_record_counts_from_zero(host: Looping) -> None:
    host.fails(4)
    host.write(f"{starts.STARTS}/{NAME}.json", '{"unanswered": ')
    host.begin(restarts=4)
    assert host.kept()["unanswered"] == 0
