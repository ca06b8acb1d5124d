"""What host_metrics writes for node_exporter, on a host of stand-ins."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local as units_host
from sparkiac.host import state as switch_state
from sparkiac.host.generation import SICK
from sparkiac.host.status import metrics as host_metrics
from sparkiac.host.switch import lease as switch_lease
from sparkiac.host.switch import starts as units_starts
from sparkiac.host.switch import store as switch_store
from tests.host.switching import unit

if TYPE_CHECKING:
    from pathlib import Path

UNITS = [{"unit": "sparkiac-chat", "deployment": "chat"}, {"unit": "sparkiac-asr", "deployment": None}]
SHOWN = """\
Id=sparkiac-chat.service
ActiveState=failed
NRestarts=7
StatusText=healthy sparkiac-alert: wrong answer: '!!!!' instead of 204

Id=sparkiac-asr.service
ActiveState=active
NRestarts=0
StatusText=healthy
"""
KERNEL = """\
NVRM: Xid (PCI:000f:01:00): 43, pid=4711, name=VLLM::EngineCore
NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)
NVRM: Xid (PCI:000f:01:00): 31, pid=4711
usb 1-1: new high-speed USB device
"""


class Machine(units_host.LocalHost):  # type: ignore[name-defined,misc]
    """A host whose commands print what a test says."""

    def __init__(self, root: Path) -> None:
        """Start without any output."""
        super().__init__(root)
        self.said = {"systemctl": (0, SHOWN), "journalctl": (0, KERNEL), "is-running": (0, "inactive")}

    def run(self, *argv: str) -> Any:  # noqa: ANN401  the result of a command
        """Return what the test says."""
        name = "is-running" if "--value" in argv else next(word for word in argv if word in self.said)
        code, output = self.said[name]
        return units_host.CommandResult(code, output, "" if code == 0 else "refused")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a host with a configuration and no generation."""
    found = Machine(tmp_path)
    config = found.path(host_metrics.CONFIG)
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"units": UNITS}))
    return found


def written(machine: Machine) -> dict[str, float]:
    """Write the metrics; return series → value."""
    text = host_metrics.text(host_metrics.samples(machine, {"units": UNITS}))
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {series: float(value) for series, _, value in lines}


def test_units_and_the_kernel_log(machine: Machine) -> None:
    found = written(machine)
    chat, asr = '{deployment="chat",unit="sparkiac-chat"}', '{unit="sparkiac-asr"}'
    assert (found[f"sparkiac_unit_failed{chat}"], found[f"sparkiac_unit_failed{asr}"]) == (1, 0)
    assert (found[f"sparkiac_unit_ready{chat}"], found[f"sparkiac_unit_ready{asr}"]) == (0, 1)
    assert found[f"sparkiac_unit_restarts_total{chat}"] == 7
    assert found['sparkiac_kernel_messages_total{kind="xid"}'] == 2
    assert found['sparkiac_kernel_messages_total{kind="no_memory"}'] == 1
    assert found[f"sparkiac_wrong_answer{chat}"] == 1
    machine.said["systemctl"] = (0, SHOWN.replace("sparkiac-alert: ", ""))
    assert written(machine)[f"sparkiac_wrong_answer{chat}"] == 0
    assert not any(series.startswith(f"sparkiac_wrong_answer{asr}") for series in found)
    machine.said["journalctl"] = (0, "")
    assert written(machine)['sparkiac_kernel_messages_total{kind="xid"}'] == 0


def test_a_unit_that_gave_up(machine: Machine) -> None:
    """As long as it has failed: the record stays until the next start."""
    series = 'sparkiac_unit_gave_up{deployment="chat",reason="5 starts in a row never answered",unit="sparkiac-chat"}'
    assert series not in written(machine)
    record = {"at_s": 1.0, "unanswered": 5, "available_bytes": 1, "ready": []}
    for name in ("sparkiac-chat", "sparkiac-asr"):
        units_starts.write(machine, name, {**record, "gave_up": "5 starts in a row never answered"})
    found = written(machine)
    assert [each for each in found if "gave_up" in each] == [series]
    assert found[series] == 1


def test_the_generation_and_its_files(machine: Machine) -> None:
    assert written(machine)["sparkiac_generation_known"] == 0
    switch_state.write(machine, switch_state.State(current="a" * 16, committed="a" * 16))
    place = machine.path(f"/var/lib/sparkiac/generations/{'a' * 16}")
    place.mkdir(parents=True)
    file = {"path": "etc/sparkiac/metrics.json", "mode": "0644"}
    machine.path(host_metrics.CONFIG).chmod(0o644)
    digest = machine.sha256(host_metrics.CONFIG)
    (place / "files.json").write_text(json.dumps([{**file, "sha256": digest}]))
    found = written(machine)
    assert found["sparkiac_generation_known"] == 1
    assert found["sparkiac_generation_changed_files"] == 0
    assert found[f'sparkiac_generation_info{{generation="{"a" * 16}"}}'] == 1
    machine.path(host_metrics.CONFIG).write_text("changed by hand")
    assert written(machine)["sparkiac_generation_changed_files"] == 1


def test_what_the_watch_found_lately(machine: Machine) -> None:
    one = {"kind": "heat", "unit": None, "text": "97 °C", "remedy": "air"}
    path = machine.path(SICK)
    path.parent.mkdir(parents=True)
    path.write_text(
        json.dumps({"at_s": time.time(), "sick": [one, {**one, "kind": "deadlocked", "unit": "sparkiac-chat"}]})
    )
    found = written(machine)
    assert found['sparkiac_sick{kind="heat"}'] == 1
    assert found['sparkiac_sick{kind="deadlocked",unit="sparkiac-chat"}'] == 1
    path.write_text(json.dumps({"at_s": time.time() - 4000, "sick": [one]}))
    assert not any(series.startswith("sparkiac_sick") for series in written(machine))


def test_the_age_of_the_lease(machine: Machine) -> None:
    assert written(machine)["sparkiac_lease_age_seconds"] == 0
    lease = switch_lease
    machine.path("/run/sparkiac").mkdir(parents=True)
    lease.take(machine, "run-1", "me")
    held = json.loads(machine.read(lease.LEASE))
    held["taken"] -= 7200
    machine.path(lease.LEASE).write_text(json.dumps(held))
    assert written(machine)["sparkiac_lease_age_seconds"] >= 7200


@pytest.mark.parametrize("command", ["systemctl", "journalctl"])
def test_a_fact_that_cannot_be_read_leaves_the_former_file(
    machine: Machine, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(host_metrics, "LocalHost", lambda _root: machine)
    assert host_metrics.main([]) == 0
    before = machine.path(host_metrics.FILE).read_bytes()
    machine.said[command] = (1, "")
    assert host_metrics.main([]) == 1
    assert machine.path(host_metrics.FILE).read_bytes() == before
    assert capsys.readouterr().err.startswith("host_metrics: ")


def test_a_file_of_another_version_is_refused(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.path(host_metrics.CONFIG).write_text('{"unitz": []}')
    monkeypatch.setattr(host_metrics, "LocalHost", lambda _root: machine)
    assert host_metrics.main([]) == 1
    assert "does not know unitz" in capsys.readouterr().err


def test_the_file_can_be_read_by_all_and_prometheus_reads_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_metrics, "LocalHost", lambda _root: machine)
    assert host_metrics.main([]) == 0
    file = machine.path(host_metrics.FILE)
    assert file.stat().st_mode & 0o777 == 0o644
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    done = subprocess.run([promtool, "check", "metrics"], input=file.read_bytes(), capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, "")


def test_every_metric_is_described(machine: Machine) -> None:
    names = {name for name, _, _ in host_metrics.samples(machine, {"units": UNITS})}
    assert names <= host_metrics.HELP.keys()


def test_labels_are_escaped() -> None:
    assert host_metrics.braces({"a": 'x"\\\n', "b": ""}) == '{a="x\\"\\\\\\n"}'


def test_a_unit_of_another_turn_only_rests(machine: Machine) -> None:
    """Without samples of its state, no alert about it fires."""
    store = switch_store
    units = [unit("chat", turns=["night"]), unit("asr", turns=["day"])]
    plan = {**store.NOTHING, "turns": ["day", "night"], "units": units}
    machine.path(f"/{store.PLAN}").write_text(json.dumps(plan))
    switch_state.write(machine, switch_state.State(turn="day"))
    found = written(machine)
    assert found['sparkiac_unit_resting{deployment="chat",unit="sparkiac-chat"}'] == 1
    assert [series for series in found if "sparkiac-chat" in series] == [
        'sparkiac_unit_resting{deployment="chat",unit="sparkiac-chat"}'
    ]
    assert found['sparkiac_unit_ready{unit="sparkiac-asr"}'] == 1
    switch_state.write(machine, switch_state.State(turn="night"))
    assert 'sparkiac_unit_ready{deployment="chat",unit="sparkiac-chat"}' in written(machine)
