"""The fleet timer in a generation: it is enabled and started, goes when its generation goes, and is uninstalled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.host.switch import actions as look
from sparkiac.host.switch import store as switch_store
from sparkiac.host.switch import uninstall
from tests.host.switching import TIMER, Host, Result, generation, switch

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_fsync")
NAME = "sparkiac-fleet.timer"
WITHOUT = generation({"a": "a 1"})
FIRST = generation({"a": "a 1"}, timer="every 15 min")
SECOND = generation({"a": "a 1"}, timer="every 30 min")
BAD = generation({"a": "crash"}, timer="every 60 min")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return a host that runs the first generation."""
    found = Host(tmp_path)
    assert switch(found, FIRST, "first")["outcome"] == "committed"
    return found


def texts(host: Host) -> set[str]:
    """Return the content of the installed files of the timer."""
    return {host.path(path).read_text() for path in TIMER if host.path(path).exists()}


def test_it_is_started_and_enabled_and_nothing_remains_to_be_done(host: Host) -> None:
    assert (host.units[NAME].active, host.units[NAME].enabled) == ("active", True)
    assert f"{NAME}.service" not in host.units
    assert "sparkiac-fleet" not in host.units
    assert look.steps(host, host_plan(host), tree={}) == []
    host.reboot()
    host.boot()
    host.units[NAME].active = "active"  # by timers.target
    assert [step for step in look.steps(host, host_plan(host), tree={}) if step.unit == NAME] == []


def host_plan(host: Host) -> dict[str, object]:
    """Return the plan of the installed generation."""
    return dict(switch_store.installed(host))


def test_systemd_reads_a_changed_timer_again(host: Host) -> None:
    host.log.clear()
    found = switch(host, SECOND, "second")
    assert (found["outcome"], found["done"]) == ("committed", [])
    assert texts(host) == {"every 30 min"}
    assert "daemon-reload" in " ".join(host.log)


def test_a_timer_goes_with_what_its_service_left_in_systemd(host: Host) -> None:
    host.log.clear()
    assert switch(host, WITHOUT, "without")["outcome"] == "committed"
    assert f"disable {NAME}" in host.log
    assert "reset-failed sparkiac-fleet" in host.log


def test_a_timer_that_was_stopped_or_disabled_by_hand_is_drift(host: Host) -> None:
    host.units[NAME].enabled = False
    assert [tuple(step) for step in look.steps(host, host_plan(host), tree={})] == [
        (NAME, "enable", "not enabled at boot")
    ]
    host.units[NAME].active = "inactive"
    [step] = switch(host, FIRST, "again")["done"]
    assert step == {"unit": NAME, "action": "start", "because": "not running"}
    assert (host.units[NAME].active, host.units[NAME].enabled) == ("active", True)


def test_it_goes_with_its_generation(host: Host) -> None:
    assert switch(host, WITHOUT, "without")["outcome"] == "committed"
    assert (host.units[NAME].active, host.units[NAME].enabled) == ("inactive", False)
    assert texts(host) == set()


def test_it_comes_back_when_the_host_goes_back(host: Host) -> None:
    assert switch(host, BAD, "bad")["outcome"] == "back"
    assert host.units[NAME].active == "active"
    assert texts(host) == {"every 15 min"}


def test_an_uninstall_stops_the_timer_before_its_service_and_removes_its_state(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "run", lambda *_: Result(1, "", "not here"))  # no docker, no user, no rules of nft
    files = uninstall.installed(host)
    assert set(TIMER) < set(files)
    names = uninstall.units_of(host, files)
    assert names.index(NAME) < names.index("sparkiac-fleet.service")
    private = host.root / "var/lib/private/sparkiac-fleet"
    private.mkdir(parents=True)
    (private / "state.json").write_text("{}")
    (host.root / "var/lib/sparkiac-fleet").symlink_to("private/sparkiac-fleet")
    removed = [step.name for step in uninstall.steps(host, weights=False) if "fleet" in step.name]
    assert removed == [
        f"unit {NAME}",
        "unit sparkiac-fleet.service",
        "/etc/systemd/system/sparkiac-fleet.service",
        "/etc/systemd/system/sparkiac-fleet.timer",
        "/var/lib/sparkiac-fleet",
        "/var/lib/private/sparkiac-fleet",
    ]
    for path in ("/var/lib/sparkiac-fleet", "/var/lib/private/sparkiac-fleet"):
        uninstall.tree_step(host, path).remove()
    assert not private.exists()
    assert not (host.root / "var/lib/sparkiac-fleet").is_symlink()
