"""`sparkiac lock --hosts`: what hosts run becomes pins, which move only on request."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from sparkiac.commands.lock import hosts as command
from sparkiac.console import run
from sparkiac.lock import hosts
from sparkiac.model.lock import HostSet, LockedHosts
from sparkiac.upstream import programs
from tests.conftest import Outcome
from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date
    from pathlib import Path

FLEET: Final = deployment(host="spark-01: {address: 10.9.0.1}, spark-02: {address: 10.9.0.2}")
OLD, NEW = "6.17.0-1031-nvidia", "7.0.0-1019-nvidia"
SOFTWARE: Final[dict[str, Any]] = {
    "kernel": OLD,
    "next_kernel": None,
    "cmdline": "ro",
    "kexec_crash_size": 0,
    "driver": "580.142",
    "modules": "open",
    "secure_boot": False,
    "docker_firewall": "iptables",
    "toolkit_mode": "auto",
    "packages": {"docker-ce": "5:29.2.1-1", "linux-image-nvidia-hwe-24.04": "6.17.0-1031.31"},
    "others": {},
    "firmware": {"bios": "5.36"},
    "updates": [],
    "moved": [],
}
HELD: Final = {"package": "linux-image-nvidia-hwe-24.04", "version": "6.17.0-1032.32", "security": True}


class Fleet:
    """Stand-in for two hosts that answer over SSH, and a clock."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Write the inventory and its lock."""
        self.folder, self.capsys = folder, capsys
        self.software: dict[str, Any] = {f"10.9.0.{number}": SOFTWARE for number in (1, 2)}
        (folder / "lab.yaml").write_text(FLEET)
        (folder / "lab.lock.yaml").write_text(LOCK)

    def answer(self, target: str | None, _words: Sequence[str], **_: object) -> programs.Completed:
        """Answer as a host does; one without software is off."""
        found = self.software[str(target)]
        if found is None:
            return subprocess.CompletedProcess([], programs.FAILED, "", "No route to host")
        facts = {"name": "x", "architecture": "aarch64", "memory_bytes": 1, "gpus": [], "disks": [], "unknown": {}}
        return subprocess.CompletedProcess([], 0, json.dumps(facts | {"software": found}), "")

    def lock(self, *words: str) -> Outcome:
        """Run `sparkiac lock lab.yaml --hosts`."""
        self.capsys.readouterr()
        code = run(["lock", "lab.yaml", "--hosts", *words])
        said = self.capsys.readouterr()
        return Outcome(code, said.out, said.err)

    @property
    def text(self) -> str:
        """Return the text of the lock."""
        return (self.folder / "lab.lock.yaml").read_text()

    @property
    def pins(self) -> dict[str, Any]:
        """Return the pins in the lock."""
        return dict(yaml.safe_load(self.text)["hosts"])


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fleet:
    """Run the test in a folder with an inventory of two hosts, which answer, on the first of September."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    made = Fleet(tmp_path, capsys)
    monkeypatch.setattr(programs, "run", made.answer)
    on(monkeypatch, "2026-09-01")
    return made


def on(monkeypatch: pytest.MonkeyPatch, day: str) -> None:
    """Set the clock of the command."""

    class Clock:
        @staticmethod
        def now(_zone: object) -> Any:  # noqa: ANN401
            return Clock

        @staticmethod
        def date() -> date:
            return command.date.fromisoformat(day)

    monkeypatch.setattr(command, "datetime", Clock)


def test_alike_hosts_share_a_set_and_the_rest_of_the_lock_stays(fleet: Fleet) -> None:
    outcome = fleet.lock()
    assert outcome.code == 0, outcome.text
    assert outcome.out.startswith("+ hosts spark-01, spark-02\n    kernel")
    assert fleet.text.startswith(LOCK)
    assert fleet.pins["members"] == {"spark-01": "a", "spark-02": "a"}
    pinned = fleet.pins["sets"]["a"]
    assert (pinned["since"], pinned["review_by"]) == ("2026-09-01", "2026-10-01")
    assert pinned["packages"] == SOFTWARE["packages"]
    assert '      packages:\n        docker-ce: "5:29.2.1-1"\n' in fleet.text


def test_a_second_run_changes_no_byte_also_on_another_day(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.lock()
    before = fleet.text
    on(monkeypatch, "2026-09-20")
    outcome = fleet.lock()
    assert (outcome.code, fleet.text) == (0, before)
    assert outcome.out == "lab.lock.yaml: up to date\n"


def test_pins_move_only_on_request(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.lock()
    before = fleet.text
    fleet.software["10.9.0.2"] = SOFTWARE | {"kernel": NEW}
    outcome = fleet.lock()
    assert (outcome.code, fleet.text) == (0, before)
    assert f"spark-02: kernel is {NEW}, pinned {OLD}; --upgrade spark-02 pins what runs" in outcome.out
    on(monkeypatch, "2026-09-12")
    assert fleet.lock("--upgrade", "spark-02", "--dry-run").code == 3
    assert fleet.text == before
    assert f"~ host spark-02\n    kernel  {OLD} → {NEW}\n" in fleet.lock("--upgrade", "spark-02").out
    assert fleet.pins["members"] == {"spark-01": "a", "spark-02": "b"}
    assert [each["since"] for each in fleet.pins["sets"].values()] == ["2026-09-01", "2026-09-12"]


def test_a_review_renews_the_pins_of_a_host_that_has_not_changed(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.lock()
    on(monkeypatch, "2026-10-15")
    fleet.software = dict.fromkeys(fleet.software, SOFTWARE | {"updates": [HELD]})
    said = fleet.lock().out
    assert (
        "spark-01: pinned for 44 days, its pins withhold 1 update, 1 of them for security: "
        "linux-image-nvidia-hwe-24.04 6.17.0-1032.32 (security)"
    ) in said
    assert "spark-02: the review of its pins was due on 2026-10-01" in said
    fleet.lock("--upgrade")
    assert fleet.pins["sets"]["a"]["review_by"] == "2026-11-14"
    assert "due on" not in fleet.lock().out


def test_a_host_that_is_off_keeps_its_pins(fleet: Fleet) -> None:
    fleet.lock()
    before = fleet.text
    fleet.software["10.9.0.2"] = None
    outcome = fleet.lock("--upgrade", "spark-02")
    assert (outcome.code, fleet.text) == (6, before)
    assert "spark-02: not read: No route to host" in outcome.out


def test_a_kernel_that_is_installed_and_not_booted_is_told(fleet: Fleet) -> None:
    moved = {"package": f"linux-image-{NEW}", "before": None, "after": "7.0.0-1019.19"}
    moved |= {"at": "2026-09-12 06:11:02", "command": "apt upgrade"}
    fleet.software["10.9.0.1"] = SOFTWARE | {"next_kernel": NEW, "moved": [moved]}
    told = f"the next boot starts kernel {NEW} instead of {OLD}, installed on 2026-09-12 06:11:02 by apt upgrade"
    assert f"spark-01: {told}" in fleet.lock().out


def test_a_package_with_an_impossible_version_is_refused(fleet: Fleet) -> None:
    wrong = {"docker-ce": "1\nPin-Priority: 2000"}
    fleet.software["10.9.0.1"] = SOFTWARE | {"packages": wrong}
    outcome = fleet.lock()
    assert outcome.code == 6
    assert "spark-01: not read: it reports an impossible value: packages.docker-ce" in outcome.out
    assert fleet.pins["members"] == {"spark-02": "a"}


@pytest.mark.parametrize("option", ["--check", "--verify"])
def test_what_excludes_it(fleet: Fleet, option: str) -> None:
    outcome = fleet.lock(option)
    assert outcome.code == 2
    assert f"--hosts and {option} exclude each other" in outcome.err


def test_other_commands_keep_the_pins(fleet: Fleet) -> None:
    fleet.lock()
    pins = fleet.pins
    assert run(["lock", "lab.yaml", "--dry-run"]) in {0, 1, 3, 6}
    assert fleet.pins == pins


def test_a_fleet_of_many_different_hosts_has_names_for_all_sets() -> None:
    found = {f"h{number:03}": HostSet(kernel=str(number), since="2026-09-01", review_by="2026-10-01")
             for number in range(30)}  # fmt: skip
    made: Callable[..., LockedHosts] = hosts.merged
    names = made(LockedHosts(), found, found, upgraded=()).members
    assert [names["h000"], names["h025"], names["h026"], names["h029"]] == ["a", "z", "aa", "ad"]
