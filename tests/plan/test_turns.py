"""Turns: what shares a host and never runs together, its memory, and what is wrong with a turn."""

from __future__ import annotations

import json
from typing import Final

import pytest

from sparkiac.plan import memory_use
from sparkiac.render import hosts as rendered
from tests.plan.fleets import ONES, checked, deployment, faults, planned, resolution, said

SMALL: Final = """\
  small:
    {recipe: base/single-spark, model: example/code, hosts: spark-01, port: 8001, set: {gpu_memory_utilization: 0.7}}
"""
ASR: Final = f"""\
services:
  asr: {{kind: container, image: 'example.org/asr@{ONES}', hosts: spark-01, port: 8765, memory_gib: 2}}
"""
FLEET: Final = deployment("set: {gpu_memory_utilization: 0.8}") + SMALL + ASR
TURNS: Final = FLEET + "turns: {day: [chat], night: {run: [small], at: '22:00'}}\n"
CODES: Final = {"MEM010", "MEM103", "NET007"}


def found(text: str) -> list[str]:
    outcome = checked(text, allow_unlocked=True)
    return [each for each in said(outcome.report.findings) if each[:6] in CODES]


def test_both_forms_of_a_turn_give_the_same_plan() -> None:
    [one] = planned(TURNS).hosts
    [other] = planned(TURNS.replace("[chat]", "{run: [chat]}")).hosts
    assert one == other
    assert [(turn.name, turn.at) for turn in one.turns] == [("day", None), ("night", "22:00")]


def test_what_never_meets_has_no_finding() -> None:
    """The same two models without turns exceed the host, share it, and collide on a port."""
    assert {each[:6] for each in found(FLEET)} == CODES
    assert found(TURNS) == []


def test_what_meets_in_a_turn_is_found_in_this_turn() -> None:
    text = TURNS.replace("run: [small]", "run: [small, late]").replace(
        "services:", "  late: {recipe: base/single-spark, model: example/late, hosts: spark-01, port: 8001}\nservices:"
    )
    messages = found(text)
    assert any("spark-01 runs late and small in the turn night" in each for each in messages)
    assert any("port 8001 of spark-01 is used twice, by late and by small" in each for each in messages)
    assert not any("chat" in each for each in messages)


def test_each_turn_has_its_own_memory_proof() -> None:
    [host] = planned(TURNS).hosts
    day, night = memory_use.by_turn(host)
    assert (day.title, night.title) == ("turn day: asr, chat", "turn night from 22:00: asr, small")
    assert {part.owner for part in day.use.parts} == {"chat", None}
    assert {part.owner for part in night.use.parts} == {"small", None}
    assert day.use.most_bytes != night.use.most_bytes
    assert "asr" in {part.name for part in day.use.parts} & {part.name for part in night.use.parts}


def test_what_is_in_no_turn_always_runs() -> None:
    [host] = planned(TURNS).hosts
    assert {unit.name: host.turns_of(unit) for unit in host.units} == {
        "asr": (),
        "chat": ("day",),
        "small": ("night",),
    }


def test_a_host_without_units_in_turns_has_none() -> None:
    hosts = "spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}"
    text = TURNS.replace("hosts: {spark-01: {address: 192.168.1.11}}", f"hosts: {{{hosts}}}")
    one, two = planned(text.replace("hosts: spark-01, port: 8765", "hosts: spark-02, port: 8765")).hosts
    assert (len(one.turns), two.turns) == (2, ())
    assert two.views == (two,)


def test_a_unit_in_two_of_three_turns() -> None:
    text = FLEET + "turns: {day: [chat], evening: [chat], night: [small]}\n"
    [host] = planned(text).hosts
    assert [host.turns_of(unit) for unit in host.units] == [(), ("day", "evening"), ("night",)]


def test_a_turn_with_a_time_has_a_timer() -> None:
    [host] = planned(TURNS).hosts
    files = {each.path.partition("spark-01/")[2]: each.content.decode() for each in rendered.render(host, {})}
    units = json.loads(files["etc/sparkiac/generation.json"])
    assert units["turns"] == ["day", "night"]
    assert [each["name"] for each in units["units"]][-1] == "sparkiac-turn-night.timer"
    assert "OnCalendar=*-*-* 22:00:00\n" in files["etc/systemd/system/sparkiac-turn-night.timer"]
    service = files["etc/systemd/system/sparkiac-turn-night.service"]
    assert "ExecStart=/usr/local/lib/sparkiac/switch turn night\n" in service
    assert not any("turn-day" in path for path in files)


@pytest.mark.parametrize(
    ("turns", "fault", "hint"),
    [
        ("{day: [chat], night: [smal]}", "REF001 15:30 unknown deployment or service 'smal'", "did you mean 'small'?"),
        ("{day: [chat, chat], night: [small]}", "REF002 15:21 turn day lists chat twice", "remove one of them"),
        (
            "{day: [chat, small], night: [small]}",
            "REF002 15:21 small is in every turn, so that it always runs",
            "remove it from `turns`, or add a turn without small",
        ),
        (
            "{day: {run: [chat], at: '22:00'}, night: {run: [small], at: '22:00'}}",
            "REF002 15:68 turns day and night both begin at 22:00",
            "give each turn a different time",
        ),
    ],
)
def test_what_is_wrong_with_a_turn(turns: str, fault: str, hint: str) -> None:
    text = FLEET + f"turns: {turns}\n"
    assert faults(text)[0] == fault
    assert resolution(text)[0][0].hint == hint


@pytest.mark.parametrize("at", ["24:00", "7:00", "22:60", "soon"])
def test_an_invalid_time_of_day_is_refused(at: str) -> None:
    report = checked(FLEET + f"turns: {{day: [chat], night: {{run: [small], at: '{at}'}}}}\n").report
    assert any("a time of the day such as 22:00" in each.message + each.hint for each in report.findings)
