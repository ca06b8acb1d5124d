"""turn.yml, and what other playbooks do with units of other turns: by Ansible on this machine, on stand-ins."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.host import tree
from tests.host.test_apply import Bench, make

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = ("spark-01", "spark-02", "spark-03")
PLAN = "hosts/{}/etc/sparkiac/generation.json"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    if os.geteuid() != 0:
        pytest.skip("needs root: files get the owner root")
    made = make(tmp_path, (*tree.PAIR, ("spark-03",)))
    made.serve()
    for host in HOSTS[:2]:
        made.at(host, "turns", "day night")
    return made


def switched(bench: Bench) -> list[str]:
    """Return host, turn and outcome of each switch so far."""
    return [line.strip() for line in (bench.folder / "at/order").read_text().splitlines()]


def edit(bench: Bench, host: str, **unit: object) -> None:
    """Let the generated unit of a host take turns."""
    path = bench.lab / PLAN.format(host)
    plan = json.loads(path.read_text())
    plan["turns"] = ["day", "night"]
    plan["units"][0].update(unit)
    path.write_text(json.dumps(plan))


def test_every_host_that_takes_turns_switches(bench: Bench) -> None:
    done = bench.apply(playbook="playbooks/turn.yml", turn="night")
    assert done.code == 0, done.said
    assert switched(bench) == ["spark-01 night committed", "spark-02 night committed"]
    assert ", turn night in 3 s" in done.sentence
    assert [bench.at(host, "lease.json") for host in HOSTS] == ["", "", ""]


def test_a_turn_that_fails_on_one_host_is_left_by_the_others(bench: Bench) -> None:
    bench.at("spark-02", "outcome", "back")
    done = bench.apply(playbook="playbooks/turn.yml", turn="night")
    assert done.code == 2, done.said
    assert switched(bench) == ["spark-01 night committed", "spark-02 night back", "spark-01 day committed"]
    assert "spark-01: went back too, because another host failed" in done.said
    assert "spark-02: went back to the generation that ran before" in done.said
    assert [bench.at(host, "lease.json") for host in HOSTS] == ["", "", ""]


@pytest.mark.parametrize("given", [{"turn": "noon"}, {}])
def test_an_unknown_turn_changes_nothing(bench: Bench, given: dict[str, str]) -> None:
    done = bench.apply(playbook="playbooks/turn.yml", **given)
    assert done.code != 0
    said = "no turn noon" if given else "-e turn=NAME is missing"
    assert f"Nothing was changed: {said}; the hosts have day, night." in done.sentence
    assert not (bench.folder / "at/order").exists()


def test_a_dry_run_of_a_turn_changes_nothing(bench: Bench) -> None:
    done = bench.apply("--check", playbook="playbooks/turn.yml", turn="night")
    assert done.code == 0, done.said
    assert "would switch spark-01 to the turn night" in done.said
    assert "would switch spark-03" not in done.said
    assert not (bench.folder / "at/order").exists()


def test_a_unit_of_another_turn_is_not_restarted(bench: Bench) -> None:
    edit(bench, "spark-01", turns=["night"])
    done = bench.apply("--limit", "spark-01", playbook="playbooks/restart.yml", unit="qwen36")
    assert done.code != 0
    assert "runs in the turn night, and spark-01 is in the turn day" in done.sentence
    assert not (bench.folder / "at/order").exists()


@pytest.mark.parametrize(("turn", "code"), [("night", 0), ("day", 2)])
def test_only_units_of_the_current_turn_are_verified(bench: Bench, turn: str, code: int) -> None:
    """The stand-in for the probe fails for the unit `bad`."""
    edit(bench, "spark-01", name="bad", turns=[turn])
    done = bench.apply("--limit", "spark-01", playbook="playbooks/verify.yml")
    assert done.code == code, done.said
