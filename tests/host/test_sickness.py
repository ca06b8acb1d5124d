"""Series of a host: six sicknesses are named, and what looks like them is not.

The series are written from public reports (the sources of the symptoms LOG200 to LOG204), none was recorded: healthy
about 45 W, deadlocked 16 to 27 W at 95 % utilization, 70 against 45 tokens/s in a low-power state, trip at 104.8 °C.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local
from sparkiac.host.generation import SICK
from sparkiac.host.watch import program, sampling, sickness
from sparkiac.host.watch.sickness import Sample, Sickness, Work
from tests.host.switching import unit

if TYPE_CHECKING:
    from pathlib import Path

CHAT = "sparkiac-chat"
EVERY_S = 30
FREE, CAPPED = "none", "2000"
BANDS = {
    FREE: [[40 + number % 40, 2400 + number % 18, 60 + number % 12] for number in range(200)],
    CAPPED: [[28 + number % 12, 1990 + number % 10, 50 + number % 10] for number in range(200)],
}
"""What a healthy host draws at work: 45 W and up to 80, less under the cap."""


def series(length: int = 6, **changes: Any) -> list[Sample]:  # noqa: ANN401
    """Return samples of a healthy host that decodes; a change is a value, or one for each sample."""
    healthy: dict[str, Any] = {
        "cap": FREE,
        "power_w": 45.0,
        "clock_mhz": 2410.0,
        "heat_c": 65.0,
        "trip_c": 104.8,
        "compiling": False,
        "running": 2,
        "steps": [1000.0 * number for number in range(length)],
    }
    values = {**healthy, **changes}
    rows = [
        {key: value[number] if isinstance(value, list) else value for key, value in values.items()}
        for number in range(length)
    ]
    return [
        Sample(
            at_s=1000.0 + EVERY_S * number,
            units={} if row["running"] is None else {CHAT: Work(row.pop("running"), row.pop("steps"))},
            **{key: value for key, value in row.items() if key not in {"running", "steps"}},
        )
        for number, row in enumerate(rows)
    ]


def kinds(samples: list[Sample]) -> list[tuple[str, str | None]]:
    """Return what the series shows."""
    return [(each.kind, each.unit) for each in sickness.judged(samples, BANDS)]


SICK_SERIES = {
    "deadlocked": (
        series(power_w=[27.0, 25.0, 22.0, 20.0, 18.0, 16.0], heat_c=[66.0, 64.0, 62.0, 60.0, 58.0, 57.0], steps=77.0),
        ("deadlocked", CHAT),
    ),
    "deadlocked under a cap": (series(cap=CAPPED, power_w=18.0, clock_mhz=1995.0, steps=77.0), ("deadlocked", CHAT)),
    "low power": (series(power_w=17.0, clock_mhz=850.0), ("low power", None)),
    "heat": (series(power_w=78.0, heat_c=[84.0, 86.0, 88.5, 91.0, 94.0, 97.0]), ("heat", None)),
}
HEALTHY = {
    "decode": series(),
    "long prefill: tokens are frozen, at normal power": series(power_w=72.0, steps=77.0),
    "load: no server answers yet": series(power_w=12.0, clock_mhz=208.0, running=None),
    "compile: requests wait for a compiler, and the GPU for both": series(power_w=12.0, steps=77.0, compiling=True),
    "compile in the middle": series(power_w=12.0, steps=77.0, compiling=[False, False, True, True, False, False]),
    "clock cap": series(cap=CAPPED, power_w=30.0, clock_mhz=1995.0),
    "a cap that has no band yet": series(cap="1500", power_w=22.0, clock_mhz=1500.0),
    "idle": series(power_w=9.0, clock_mhz=208.0, running=0, steps=77.0),
    "light work at full clock": series(power_w=24.0),
    "a start of load: warm, and levelling off": series(heat_c=[45.0, 62.0, 70.0, 73.0, 74.0, 74.2]),
    "hot and steady": series(heat_c=[84.0, 84.5, 84.0, 84.2, 84.1, 84.0]),
    "too short": series(4, power_w=18.0, steps=77.0),
    "one step in between": series(power_w=18.0, clock_mhz=2410.0, steps=[77.0, 77.0, 77.0, 78.0, 78.0, 78.0]),
}


@pytest.mark.parametrize("name", SICK_SERIES)
def test_a_sick_machine_is_named(name: str) -> None:
    samples, wanted = SICK_SERIES[name]
    assert kinds(samples) == [wanted]
    assert sickness.REMEDIES[wanted[0]]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_one_is_not(name: str) -> None:
    assert kinds(HEALTHY[name]) == []


def test_nothing_is_judged_without_a_band() -> None:
    samples, _ = SICK_SERIES["deadlocked"]
    assert list(sickness.judged(samples, {})) == []
    assert list(sickness.judged(samples, {FREE: BANDS[FREE][: sickness.LEAST - 1]})) == []


def test_a_gap_or_another_cap_begins_a_new_series() -> None:
    samples, _ = SICK_SERIES["deadlocked"]
    late = [each._replace(at_s=each.at_s + sickness.GAP_S) for each in samples[3:]]
    assert kinds([*samples[:3], *late]) == []
    assert kinds([*(each._replace(cap=CAPPED) for each in samples[:3]), *samples[3:]]) == []


def test_a_band_is_learned_from_progress_alone() -> None:
    healthy, (dead, _) = series(), SICK_SERIES["deadlocked"]
    assert sickness.learned({}, healthy, []) == {FREE: [[45.0, 2410.0, 65.0]]}
    assert sickness.learned({}, dead, []) == {}
    assert sickness.learned({}, healthy, [Sickness("low power", None, "")]) == {}
    full = {FREE: [[1.0, 1.0, 1.0]] * sickness.MOST}
    assert len(sickness.learned(full, healthy, [])[FREE]) == sickness.MOST


def test_stuck_is_said_only_under_a_load() -> None:
    slow, full = series(power_w=17.0, clock_mhz=850.0, running=None), series(power_w=70.0, running=None)
    found = sickness.stuck(sickness.window(slow), BANDS)
    assert found is not None
    assert "power cable" in sickness.REMEDIES[found.kind]
    assert sickness.stuck(sickness.window(full), BANDS) is None
    assert sickness.stuck([], BANDS) is None


class Machine(local.LocalHost):
    """A host whose commands print what a test says; the commands are kept."""

    def __init__(self, root: Path, **said: str) -> None:
        """Make a host that has run for an hour."""
        super().__init__(root)
        self.said = {"nvidia-smi": "45.2, 2410\n", "boot": "", "last": "", "kills": "", **said}
        self.ran: list[tuple[str, ...]] = []
        self.write("proc/uptime", "3600.0 1.0\n")

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path(path).write_text(text)

    def run(self, *argv: str) -> Any:  # noqa: ANN401
        """Return what the test says."""
        self.ran.append(argv)
        if "systemctl" in argv:
            return local.CommandResult(0, "ActiveState=active\n", "")
        options = {"--boot=-1": "boot", "--lines=1": "last", "--unit=earlyoom.service": "kills"}
        name = next((options[word] for word in argv if word in options), "nvidia-smi")
        return local.CommandResult(0, self.said[name], "")


def entry(text: str, ago_s: float = 0, killer: str = "") -> str:
    """Return a line of journalctl."""
    at_us = str(int((time.time() - ago_s) * 1_000_000))
    return json.dumps({"MESSAGE": text, "__REALTIME_TIMESTAMP": at_us, "_SYSTEMD_UNIT": killer}) + "\n"


SIGTERM = 'sending SIGTERM to process 4711 uid 0 "VLLM::EngineCor": badness 981, VmRSS 91234 MiB'


@pytest.mark.parametrize(
    ("said", "kind", "shows"),
    [
        ({"boot": entry("vllm: request 1") + entry("vllm: request 2")}, "journal", "without a shutdown"),
        ({"last": entry("x", ago_s=600)}, "journal", "has not been written since"),
        ({"kills": entry(SIGTERM, killer="earlyoom.service")}, "killed", "earlyoom: sending SIGTERM"),
        (
            {"kills": entry("Killed /sparkiac.slice due to memory pressure", killer="systemd-oomd.service")},
            "killed",
            "systemd-oomd: Killed",
        ),
        ({"nvidia-smi": "Failed to initialize NVML: Driver/library version mismatch\n"}, "driver", "mismatch"),
    ],
)
def test_what_the_journal_and_the_driver_say(tmp_path: Path, said: dict[str, str], kind: str, shows: str) -> None:
    host = Machine(tmp_path, **said)
    [found] = sampling.told(host, time.time(), sampling.nvidia_smi(host))
    assert found.kind == kind
    assert shows in found.text
    assert sickness.REMEDIES[kind]


@pytest.mark.parametrize(
    "line",
    [
        "Journal stopped",
        "Reached target shutdown.target - System Shutdown.",
        "Received client request to relinquish /var/log/journal access.",
    ],
)
def test_a_shutdown_ends_a_journal_as_it_should(tmp_path: Path, line: str) -> None:
    said = {"boot": entry(line) + entry("late"), "last": entry("x")}
    host = Machine(tmp_path, **said)
    assert list(sampling.told(host, time.time(), sampling.nvidia_smi(host))) == []


def test_a_sample_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Machine(tmp_path)
    zone = "sys/class/thermal/thermal_zone0"
    host.write(f"{zone}/temp", "84500\n")
    host.write(f"{zone}/trip_point_0_type", "critical\n")
    host.write(f"{zone}/trip_point_0_temp", "104800\n")
    host.write("proc/7/comm", "ptxas\n")
    metrics = 'vllm:num_requests_running{engine="0"} 3.0\nvllm:iteration_tokens_total_count{engine="0"} 41.0\n'
    monkeypatch.setattr(sampling.drain, "metrics", lambda *_: metrics)
    planned = unit("chat")
    planned["promise"] = {**planned["promise"], "metrics": "/metrics"}
    found = sampling.sample(host, [planned], sampling.nvidia_smi(host))
    assert found[1:] == (FREE, 45.2, 2410.0, 84.5, 104.8, True, {CHAT: Work(3, 41.0)})


def test_a_deadlocked_unit_restarts_twice_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The third time, it is only told; an hour later it restarts again."""
    host, (dead, _) = Machine(tmp_path), SICK_SERIES["deadlocked"]
    plan = {"turns": [], "units": []}
    monkeypatch.setattr(sampling, "told", lambda *_: [])
    restarts = []
    for hours in (0.0, 0.3, 0.6, 1.2):
        moved = [each._replace(at_s=each.at_s + 3600 * hours) for each in dead]
        record = program.recorded(host)._replace(samples=moved[:-1], bands=BANDS)
        program.write(host, program.RECORD, {**record._asdict(), "samples": [each._asdict() for each in moved[:-1]]})
        monkeypatch.setattr(sampling, "sample", lambda *_, last=moved[-1]: last)
        host.ran.clear()
        program.look(host, plan)
        restarts.append([argv for argv in host.ran if "restart" in argv])
        [shown] = json.loads(host.read(SICK))["sick"]
        assert (shown["kind"], shown["unit"]) == ("deadlocked", CHAT)
    again = [("systemctl", "restart", "--no-block", f"{CHAT}.service")]
    assert restarts == [again, again, [], again]
    assert capsys.readouterr().err.count("sick, deadlocked sparkiac-chat:") == 1, "told once while it stays"


def test_a_damaged_record_is_no_record(tmp_path: Path) -> None:
    host = Machine(tmp_path)
    host.write(program.RECORD, '{"samples": [{}]}')
    assert program.recorded(host) == program.Record([], {}, {})


def test_a_host_that_serves_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "sample", lambda *_: series(1)[0])
    monkeypatch.setattr(program.store, "installed", lambda _: {"units": []})
    with pytest.raises(RuntimeError, match="requests run on sparkiac-chat: drain the host first"):
        program.load(Machine(tmp_path), CHAT)
