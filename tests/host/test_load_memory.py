"""Settings of a host while a unit loads: each step is undone after success, failure, its time, and kill -9.

/proc and /sys are stand-ins; the record, the lock, the disk lookup and the killed processes are real.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local as units_host
from sparkiac.host.preflight import load_memory
from tests.host.conftest import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Iterator

loader = load_memory
Result = units_host.CommandResult
FREE, PRESSURE = "/proc/sys/vm/min_free_kbytes", "/proc/sys/vm/vfs_cache_pressure"
DISK = "/sys/devices/pci0/nvme/nvme0n1"
AHEAD = f"{DISK}/queue/read_ahead_kb"
BEFORE = {FREE: "67584", PRESSURE: "100", AHEAD: "128"}
DURING = {FREE: "3145728", PRESSURE: "200", AHEAD: "8"}
SYSCTLS = [{"key": "vm.min_free_kbytes", "value": "3145728"}, {"key": "vm.vfs_cache_pressure", "value": "200"}]
GUARD = {
    "drop_every_s": 0.1,
    "drop_for_s": 3600,
    "read_ahead_kib": 8,
    "read_ahead_for_s": 3600,
    "store": "/srv/models",
    "sysctls": SYSCTLS,
    "for_s": 3600,
}


class Machine(loader.LocalHost):  # type: ignore[misc]
    """A host of files; systemd-run and systemctl only record that they were called."""

    def __init__(self, root: Path) -> None:
        """Store the root directory."""
        super().__init__(root)
        self.ran: list[tuple[str, ...]] = []
        self.refuse = ""

    def run(self, *argv: str) -> Any:  # noqa: ANN401
        """Record a command; refuse the one that the test names."""
        self.ran.append(argv)
        if argv[0] == self.refuse:
            return Result(1, "", "refused")
        return Result(0, "", "")

    def put(self, path: str, text: str) -> None:
        """Write a file of the host."""
        place = self.path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def settings(self) -> dict[str, str]:
        """Return the present value of each setting."""
        return {path: self.path(path).read_text().strip() for path in BEFORE}

    def plan(self, unit: str, **changed: object) -> None:
        """Write what the plan says about a unit."""
        self.put(f"/etc/sparkiac/{unit}/load-memory.json", json.dumps({**GUARD, **changed}))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    found = Machine(tmp_path)
    for path, text in {**BEFORE, loader.DROP: ""}.items():
        found.put(path, text + "\n")
    found.path("/srv/models").mkdir(parents=True)
    number = found.path("/srv/models").stat().st_dev
    found.path(f"{DISK}/nvme0n1p2").mkdir()
    numbers = found.path("/sys/dev/block")
    numbers.mkdir(parents=True)
    (numbers / f"{os.major(number)}:{os.minor(number)}").symlink_to(found.path(f"{DISK}/nvme0n1p2"))
    found.plan("big")
    return found


def run(machine: Machine, *argv: str) -> int:
    return int(loader.main(list(argv), machine))


def test_a_start_changes_and_a_ready_unit_restores(machine: Machine) -> None:
    assert run(machine, "begin", "big") == 0
    assert machine.settings() == DURING
    assert machine.ran[-1][0] == "systemd-run"
    assert machine.ran[-1][-2:] == ("hold", "big")
    assert run(machine, "end", "big") == 0
    assert machine.ran[-1] == ("systemctl", "stop", "sparkiac-load-memory@big.service")
    assert machine.settings() == BEFORE
    assert json.loads(machine.read(loader.RECORD)) == {"original": {}, "wanted": {}}


def test_the_end_can_be_repeated_and_needs_no_begin(machine: Machine) -> None:
    assert [run(machine, "end", "big"), run(machine, "begin", "big")] == [0, 0]
    assert [run(machine, "end", "big"), run(machine, "end", "big")] == [0, 0]
    assert machine.settings() == BEFORE


@pytest.mark.parametrize("name", ["drop_every_s", "read_ahead_kib"])
def test_a_step_that_is_not_planned_is_not_taken(machine: Machine, name: str) -> None:
    machine.plan("big", **{name: None, "sysctls": []})
    assert run(machine, "begin", "big") == 0
    expected = "128" if name == "read_ahead_kib" else "8"
    assert machine.settings() == {**BEFORE, AHEAD: expected}


def test_a_setting_that_does_not_exist_fails_the_start_and_changes_nothing(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.plan("big", sysctls=[*SYSCTLS, {"key": "vm.missing", "value": "1"}])
    assert run(machine, "begin", "big") == 1
    assert "proc/sys/vm/missing" in capsys.readouterr().err
    assert machine.settings() == BEFORE


def test_a_value_that_the_kernel_does_not_take_undoes_the_others(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = loader.value_of

    def clamped(host: Machine, file: str) -> str:
        found = str(real(host, file))
        return "100" if file == PRESSURE and found == "200" else found

    monkeypatch.setattr(loader, "value_of", clamped)
    assert run(machine, "begin", "big") == 1
    assert f"{PRESSURE} is 100 after setting it to 200" in capsys.readouterr().err
    assert {path: machine.settings()[path] for path in (FREE, AHEAD)} == {FREE: "67584", AHEAD: "128"}


def test_a_model_store_without_a_block_device_is_refused(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    [link] = machine.path("/sys/dev/block").iterdir()
    link.unlink()
    assert run(machine, "begin", "big") == 1
    assert "/srv/models is not on a block device" in capsys.readouterr().err
    assert machine.settings() == BEFORE


def test_without_the_process_that_ends_it_nothing_stays_changed(machine: Machine) -> None:
    machine.refuse = "systemd-run"
    assert run(machine, "begin", "big") == 1
    assert machine.settings() == BEFORE


class Killed(BaseException):
    """The program ends here, without any clean-up of its own."""


def cut(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """End the program at the n-th write of a file, before or after its record."""
    real, writes = Path.write_text, iter(range(100))

    def write(path: Path, text: str, encoding: str | None = None) -> int:
        if next(writes) == number:
            raise Killed
        return real(path, text, encoding)

    monkeypatch.setattr(Path, "write_text", write)
    monkeypatch.setattr(loader, "undo", undo_unless_killed(loader.undo))


def undo_unless_killed(real: Any) -> Any:  # noqa: ANN401
    """Leave out the clean-up of a program that was killed."""

    def undo(*arguments: Any) -> None:  # noqa: ANN401
        if not isinstance(sys.exc_info()[1], Killed):
            real(*arguments)

    return undo


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("after", ["end", "begin"])
def test_a_begin_that_is_killed_at_any_write_is_undone(machine: Machine, number: int, after: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        cut(patched, number)
        with pytest.raises(Killed):
            run(machine, "begin", "big")
    assert sum(machine.settings()[path] != BEFORE[path] for path in BEFORE) == number
    assert run(machine, after, "big") == 0
    assert machine.settings() == (BEFORE if after == "end" else DURING)
    assert run(machine, "end", "big") == 0
    assert machine.settings() == BEFORE


@pytest.mark.parametrize("number", range(3))
def test_an_end_that_is_killed_at_any_write_is_finished_by_the_next(machine: Machine, number: int) -> None:
    assert run(machine, "begin", "big") == 0
    with pytest.MonkeyPatch.context() as patched:
        cut(patched, number)
        with pytest.raises(Killed):
            run(machine, "end", "big")
    assert machine.settings() != BEFORE
    assert run(machine, "end", "big") == 0
    assert machine.settings() == BEFORE


def test_two_units_share_a_setting_until_the_last_one_is_ready(machine: Machine) -> None:
    machine.plan("small", sysctls=[{"key": "vm.min_free_kbytes", "value": "5242880"}], read_ahead_kib=None)
    for unit in ("big", "small"):
        assert run(machine, "begin", unit) == 0
    assert machine.settings()[FREE] == "5242880"
    assert run(machine, "end", "small") == 0
    assert machine.settings() == DURING
    assert run(machine, "begin", "small") == 0
    assert run(machine, "end", "big") == 0
    assert machine.settings() == {**BEFORE, FREE: "5242880"}
    assert run(machine, "end", "small") == 0
    assert machine.settings() == BEFORE


def test_a_setting_that_somebody_else_changed_stays(machine: Machine) -> None:
    assert run(machine, "begin", "big") == 0
    machine.put(PRESSURE, "150\n")
    assert run(machine, "end", "big") == 0
    assert machine.settings() == {**BEFORE, PRESSURE: "150"}


def test_a_file_with_other_keys_is_refused(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.plan("big", swap=True)
    assert run(machine, "begin", "big") == 1
    assert "this load_memory does not know swap" in capsys.readouterr().err
    assert machine.settings() == BEFORE


class Clock:
    """A clock that moves only while the program sleeps."""

    def __init__(self, machine: Machine, end_s: float = 1e9) -> None:
        """Store the host, and the time at which its unit is ready."""
        self.now, self.machine, self.end_s = 0.0, machine, end_s
        self.seen: dict[float, dict[str, str]] = {}
        self.drops: list[float] = []

    def monotonic(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Look at the host, and let time pass."""
        if self.machine.read(loader.DROP) == "3\n":
            self.drops.append(self.now)
            self.machine.put(loader.DROP, "")
        self.seen[self.now] = self.machine.settings()
        self.now += seconds
        if self.now >= self.end_s:
            loader.undo(self.machine, "big")


def held(machine: Machine, monkeypatch: pytest.MonkeyPatch, clock: Clock, **changed: object) -> None:
    machine.plan("big", **changed)
    assert run(machine, "begin", "big") == 0
    monkeypatch.setattr(loader, "time", clock)
    assert run(machine, "hold", "big") == 0


def test_the_drops_end_when_the_unit_is_ready(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(machine, end_s=20)
    held(machine, monkeypatch, clock, drop_every_s=5.0)
    assert clock.drops == [0, 5, 10, 15]
    assert machine.settings() == BEFORE


def test_each_step_ends_after_its_own_time(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(machine)
    held(machine, monkeypatch, clock, drop_every_s=5.0, drop_for_s=10, read_ahead_for_s=12, for_s=15)
    assert clock.drops == [0, 5]
    assert clock.seen[11] == DURING
    assert clock.seen[12] == {**DURING, AHEAD: "128"}
    assert max(clock.seen) == 14
    assert machine.settings() == BEFORE


@pytest.fixture
def holder(machine: Machine) -> Iterator[subprocess.Popen[bytes]]:
    """Run `hold` as a process of its own, on the stand-in host."""
    assert run(machine, "begin", "big") == 0
    code = (
        "import pathlib, sys\n"
        f"sys.path.insert(0, {str(SCRIPTS)!r})\n"
        "sys.dont_write_bytecode = True\n"
        "from host.preflight import load_memory as module\n"
        f"sys.exit(module.main(['hold', 'big'], module.LocalHost(pathlib.Path({str(machine.root)!r}))))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    while machine.read(loader.DROP) != "3\n":
        assert process.poll() is None
        time.sleep(0.01)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("after", ["end", "begin"])
def test_a_loop_that_is_killed_leaves_nothing(machine: Machine, holder: subprocess.Popen[bytes], after: str) -> None:
    holder.send_signal(signal.SIGKILL)
    assert holder.wait() == -signal.SIGKILL
    assert machine.settings() == DURING
    machine.put(loader.DROP, "")
    assert run(machine, after, "big") == 0
    assert run(machine, "end", "big") == 0
    assert machine.settings() == BEFORE
    assert machine.read(loader.DROP) == ""


def test_a_real_loop_ends_when_the_load_ends(machine: Machine, holder: subprocess.Popen[bytes]) -> None:
    assert run(machine, "end", "big") == 0
    assert holder.wait() == 0
    assert machine.settings() == BEFORE
