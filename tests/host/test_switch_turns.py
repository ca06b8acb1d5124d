"""Turns: units that share a host and never run together, on stand-ins for systemd and the model servers."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.generation import PlacedFile, generation_id
from sparkiac.host.switch import drift as switch_drift
from sparkiac.host.switch import lease as switch_lease
from tests.host.switching import (
    PROGRAM,
    Host,
    KilledError,
    Made,
    committed,
    generation,
    runs,
    starts,
    state,
    store,
    switch,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_fsync")
TURNS = {"day": ["qwen36", "gemma4"], "night": ["ds4"]}
FLEET = generation({"ds4": "ds4 1", "gemma4": "gemma4 1", "qwen36": "qwen36 1", "web": "web 1"}, turns=TURNS)
BAD = generation({"ds4": "crash", "gemma4": "gemma4 1", "qwen36": "qwen36 1", "web": "web 1"}, turns=TURNS)
WRONG = generation({"ds4": "wrong", "gemma4": "gemma4 1", "qwen36": "qwen36 1", "web": "web 1"}, turns=TURNS)
DAY = {"sparkiac-gemma4": "gemma4 1", "sparkiac-qwen36": "qwen36 1", "sparkiac-web": "web 1"}
NIGHT = {"sparkiac-ds4": "ds4 1", "sparkiac-web": "web 1"}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    found = Host(tmp_path)
    switch(found, FLEET, "first")
    return found


def turn(host: Host, name: str, made: Made = FLEET) -> dict[str, Any]:
    """Switch to a turn of the generation that is committed."""
    return switch(host, made, f"to {name}", turn=name)


def enabled(host: Host) -> list[str]:
    return sorted(name for name, unit in host.units.items() if unit.enabled and "recover" not in name)


def drift(host: Host) -> list[dict[str, Any]]:
    current = state.read(host).current
    return list(switch_drift.drift(host, current)["units"])


def test_the_first_turn_is_current_after_the_first_apply(host: Host) -> None:
    assert host.serving() == DAY
    assert enabled(host) == sorted(DAY)
    assert state.read(host).turn == "day"
    assert drift(host) == []


def test_day_night_day(host: Host) -> None:
    """The old turn stops before the new one starts; what is in no turn goes on."""
    before = host.units["sparkiac-web"].invocation
    host.log.clear()
    night = turn(host, "night")
    assert (night["outcome"], night["turn"], night["changed"]) == ("committed", "night", True)
    assert host.serving() == NIGHT
    assert enabled(host) == sorted(NIGHT)
    stops = [host.log.index(f"disable sparkiac-{name}") for name in TURNS["day"]]
    assert max(stops) < host.log.index("restart sparkiac-ds4")
    assert drift(host) == []
    day = turn(host, "day")
    assert (day["outcome"], day["turn"]) == ("committed", "day")
    assert host.serving() == DAY
    assert enabled(host) == sorted(DAY)
    assert host.units["sparkiac-web"].invocation == before
    assert state.read(host).previous is None


def test_units_of_two_turns_never_run_together(host: Host) -> None:
    seen = []
    host.watch = lambda: seen.append(set(host.serving()))
    for name in ("night", "day", "night"):
        turn(host, name)
    assert seen
    assert not [each for each in seen if "sparkiac-ds4" in each and each & {"sparkiac-qwen36", "sparkiac-gemma4"}]


def test_the_turn_that_runs_drains_before_it_stops(tmp_path: Path) -> None:
    host = Host(tmp_path)
    made = edited(FLEET, lambda plan: [unit.update(drain_s=1, listen="0.0.0.0:8001") for unit in plan["units"]])
    switch(host, made, "first")
    host.log.clear()
    turn(host, "night", made)
    at = host.log.index("disable sparkiac-qwen36")
    assert host.log[at - 1] == "drain"
    assert "undrain" in host.log[at : at + 3]


def edited(made: Made, change: Callable[[dict[str, Any]], object]) -> Made:
    """Return a generation whose plan is changed."""
    files = [dict(each) for each in made.staged["files"]]
    [file] = [each for each in files if each["path"] == store.PLAN]
    plan = json.loads(file["text"])
    change(plan)
    file["text"] = json.dumps(plan)
    file["sha256"] = sha256(file["text"].encode()).hexdigest()
    name = generation_id([PlacedFile(each["path"], each["mode"], each["sha256"]) for each in files])
    return Made(name, {"generation": name, "files": files})


@pytest.mark.parametrize(
    ("made", "why"), [(BAD, "sparkiac-ds4 did not become ready"), (WRONG, "does not answer as its clients need")]
)
def test_a_turn_that_fails_goes_back_to_the_former_one(tmp_path: Path, made: Made, why: str) -> None:
    host = Host(tmp_path)
    assert switch(host, made, "first")["outcome"] == "committed"
    result = turn(host, "night", made)
    assert result["outcome"] == "back"
    assert why in result["failed"][0]
    assert result["failed"][0].endswith(
        f"The host went back to generation {made.name} in the turn day, which runs again."
    )
    assert host.serving() == DAY
    assert enabled(host) == sorted(DAY)
    assert state.read(host).turn == "day"
    assert drift(host) == []


def test_an_apply_keeps_the_turn(host: Host) -> None:
    turn(host, "night")
    second = generation({"ds4": "ds4 2", "gemma4": "gemma4 2", "qwen36": "qwen36 2", "web": "web 1"}, turns=TURNS)
    assert switch(host, second, "apply")["outcome"] == "committed"
    assert host.serving() == {"sparkiac-ds4": "ds4 2", "sparkiac-web": "web 1"}
    assert state.read(host).turn == "night"
    turn(host, "day", second)
    assert host.serving()["sparkiac-qwen36"] == "qwen36 2"


def test_an_apply_without_the_current_turn_begins_the_first_one(host: Host) -> None:
    turn(host, "night")
    other = generation({"qwen36": "qwen36 1", "ds4": "ds4 1"}, turns={"early": ["qwen36"], "late": ["ds4"]})
    switch(host, other, "apply")
    assert (host.serving(), state.read(host).turn) == ({"sparkiac-qwen36": "qwen36 1"}, "early")
    plain = generation({"qwen36": "qwen36 1", "ds4": "ds4 1"})
    switch(host, plain, "again")
    assert (sorted(host.serving()), state.read(host).turn) == (["sparkiac-ds4", "sparkiac-qwen36"], None)


def test_an_apply_that_fails_goes_back_to_the_turn(host: Host) -> None:
    turn(host, "night")
    assert switch(host, BAD, "apply")["outcome"] == "back"
    assert (host.serving(), state.read(host).turn, committed(host)) == (NIGHT, "night", FLEET.name)


def test_an_unknown_turn_changes_nothing(host: Host) -> None:
    host.log.clear()
    with pytest.raises(runs.GenerationError, match="this host has no turn noon; it has day, night"):
        turn(host, "noon")
    assert host.log == []
    plain = Host(host.root / "plain")
    with pytest.raises(runs.GenerationError, match="this host has no turn day; it has none"):
        switch(plain, generation({"a": "a"}), turn="day")


def test_a_unit_of_another_turn_that_was_started_by_hand_is_drift_and_is_stopped(host: Host) -> None:
    host.change("start", "sparkiac-ds4", ())
    assert [(each["unit"], each["action"], each["because"]) for each in drift(host)] == [
        ("sparkiac-ds4", "stop", "not in the turn day")
    ]
    switch(host, FLEET, "apply")
    assert host.serving() == DAY


def test_a_reboot_starts_the_current_turn_only(host: Host) -> None:
    turn(host, "night")
    host.reboot()
    host.boot()
    assert host.serving() == NIGHT


@pytest.mark.parametrize("boots", [False, True])
def test_a_switch_that_is_killed_anywhere_ends_in_one_turn(tmp_path: Path, boots: bool) -> None:  # noqa: FBT001
    """Kill the program, or cut the power, before each of its operations."""
    kill_at, committed_night = 1, 0
    while True:
        host = Host(tmp_path / str(kill_at))
        switch(host, FLEET, "first")
        host.operations, host.kill_at = 0, kill_at
        try:
            turn(host, "night")
        except KilledError:
            pass
        else:
            break
        if boots:
            host.reboot()
            host.boot()
        else:
            host.dead, host.kill_at = False, None
            runs.run(host, None)
        wanted = {"day": DAY, "night": NIGHT}[state.read(host).turn]
        assert (host.serving(), enabled(host)) == (wanted, sorted(wanted)), kill_at
        committed_night += wanted == NIGHT
        assert committed(host) == FLEET.name
        kill_at += 1
    assert kill_at > 10
    assert committed_night < kill_at / 2


def test_status_names_the_turn_and_all_turns(host: Host) -> None:
    turn(host, "night")
    found = PROGRAM.status(host)
    assert (found["turn"], found["turns"]) == ("night", ["day", "night"])


def test_a_drain_without_names_is_for_the_current_turn(host: Host) -> None:
    assert [unit["name"] for unit in PROGRAM.units_of(host, [])] == sorted(DAY)
    assert [unit["name"] for unit in PROGRAM.units_of(host, ["sparkiac-ds4"])] == ["sparkiac-ds4"]


class Launching(Host):
    """A host that runs the switch at once when systemd-run is asked to."""

    def run(self, *argv: str) -> Any:  # noqa: ANN401
        """Run a command, and after `systemd-run` what it starts."""
        done = super().run(*argv)
        if argv[0] == "systemd-run" and argv[-1] == "run":
            starts.run(self)
        return done


def test_the_timer_switches_without_a_controller(tmp_path: Path) -> None:
    host = Launching(tmp_path)
    switch(host, FLEET, "first")
    result = PROGRAM.COMMANDS["turn"](host, PROGRAM.parse(["turn", "night"]))
    assert (result["outcome"], host.serving()) == ("committed", NIGHT)
    assert switch_lease.read(host) is None


def test_a_timer_that_fails_says_why(tmp_path: Path) -> None:
    host = Launching(tmp_path)
    switch(host, BAD, "first")
    with pytest.raises(RuntimeError, match="sparkiac-ds4 did not become ready"):
        PROGRAM.COMMANDS["turn"](host, PROGRAM.parse(["turn", "night"]))
    assert host.serving() == DAY
    assert switch_lease.read(host) is None


def test_a_timer_leaves_an_apply_alone(tmp_path: Path) -> None:
    host = Launching(tmp_path)
    switch(host, FLEET, "first")
    switch_lease.take(host, "apply", "ada@desk, pid 4711")
    with pytest.raises(switch_lease.LeaseHeldError, match="ada@desk"):
        PROGRAM.COMMANDS["turn"](host, PROGRAM.parse(["turn", "night"]))
    assert host.serving() == DAY
