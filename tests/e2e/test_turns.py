"""Turns on booted hosts: by day a model on each, by night a group on both; and what the load of a model changes there.

The bed has no block device of its own and stands in for the kernel settings below vm with files of each host, also for
drop_caches: the read-ahead is not shown here, and that a drop frees memory is not either.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import Lab
from tests.e2e.pair import HOSTS, MODEL, STATUS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
GEMMA = "google/gemma-4-26B-A4B-it"
ANSWERS = {"day": {"spark-01": [MODEL], "spark-02": [GEMMA]}, "night": {"spark-01": ["night"], "spark-02": []}}
"""Turn → what each host serves on port 8001; a worker of a group serves nothing."""
NIGHT = """  night:
    recipe: redhatai/qwen3.6-35b-a3b-nvfp4
    hosts: [spark-01, spark-02]
    port: 8001
    served_names: [night]
    env: {STANDIN_BEHAVIOUR: garbage}
    timeouts: {ready_s: 90, drain_s: 0}
    allow: [{code: MN002, reason: the bed has no RDMA}]
turns: {day: [qwen36, gemma4], night: [night]}
"""
LOADING = "load_memory: {drop_caches_every_s: 1, sysctl: {vm.dirty_ratio: 7}}"
LOAD_S = 10
LOADED, RECORD, KEPT = "sparkiac-qwen36", "/run/sparkiac/load-memory.json", "/proc/sys/vm/dirty_ratio"
DROPPED = "/proc/sys/vm/drop_caches"
NO_RESTART = "/run/systemd/system/sparkiac-qwen36.service.d"


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab with two turns, applied: it is day. The night answers badly."""
    found = Lab(bed, tmp_path_factory.mktemp("turns"))
    found.write()
    text = found.inventory.read_text()
    for host in bed.hosts.values():
        link = f"{{interface: {host.fabric_interface}, address: {host.fabric_address}/24}}"
        text = text.replace(f"  {host.name}:\n", f"  {host.name}:\n    fabric: {{links: [{link}]}}\n", 1)
    own = f"    timeouts: {{ready_s: 90, drain_s: 0}}\n    env: {{STANDIN_LOAD_SECONDS: '{LOAD_S}'}}\n    {LOADING}\n"
    recipe = "    recipe: redhatai/qwen3.6-35b-a3b-nvfp4\n"
    start = text.index("\nplatforms:")
    found.inventory.write_text(text[:start].replace(recipe, recipe + own) + "\n" + NIGHT + text[start:])
    found.generate()
    found.stage()
    recap = found.apply()
    assert recap.code == 0, recap.output
    return found


def turns(lab: Lab) -> dict[str, str]:
    """Return the turn of each host."""
    done = {host: lab.bed.ssh(host, STATUS, root=True) for host in HOSTS}
    return {host: json.loads(each.stdout)["turn"] for host, each in done.items()}


def served(lab: Lab) -> dict[str, list[str]]:
    """Return what each host serves."""
    return {host: lab.served(host) for host in HOSTS}


def to(lab: Lab, turn: str) -> tuple[int, str]:
    """Switch as an operator does; return the exit status and the output."""
    recap = lab.apply("-e", f"turn={turn}", playbook="playbooks/turn.yml")
    return recap.code, recap.output


def test_the_first_turn_is_the_current_one(lab: Lab) -> None:
    assert (turns(lab), served(lab)) == (dict.fromkeys(HOSTS, "day"), ANSWERS["day"])


def test_a_turn_that_answers_badly_is_left_again(lab: Lab) -> None:
    code, output = to(lab, "night")
    assert code != 0
    assert "one token repeated" in " ".join(output.split()), output
    assert (turns(lab), served(lab)) == (dict.fromkeys(HOSTS, "day"), ANSWERS["day"])


def test_day_night_day(lab: Lab) -> None:
    """The night is mended by an apply, which restarts nothing that is current."""
    before = lab.bed.ssh("spark-01", "docker ps -q --no-trunc", root=True).stdout
    lab.edit("    env: {STANDIN_BEHAVIOUR: garbage}\n", "")
    lab.generate()
    recap = lab.apply()
    assert recap.code == 0, recap.output
    assert lab.bed.ssh("spark-01", "docker ps -q --no-trunc", root=True).stdout == before
    for turn in ("night", "day"):
        code, output = to(lab, turn)
        assert code == 0, output
        assert (turns(lab), served(lab)) == (dict.fromkeys(HOSTS, turn), ANSWERS[turn])


class Load:
    """The load of the model on the first host."""

    def __init__(self, lab: Lab) -> None:
        """Read the setting as it is while nothing loads."""
        self.lab = lab
        self.before = self.read(KEPT)

    def root(self, command: str) -> str:
        """Run a command on the host."""
        return self.lab.bed.ssh("spark-01", command, root=True, check=False).stdout.strip()

    def read(self, path: str) -> str:
        """Return the content of a file; empty if there is none."""
        return self.root(f"cat {path} 2>/dev/null")

    def begin(self) -> None:
        """Start the unit again, and wait until its load has changed the setting."""
        self.root(f"systemctl stop {LOADED}; systemctl reset-failed {LOADED}; systemctl start --no-block {LOADED}")
        wait_for(lambda: self.read(KEPT) == "7", "the setting of the load", timeout=120, every=0.2)

    def state(self) -> str:
        """Return the state of the unit."""
        return self.root(f"systemctl show --property=ActiveState --value {LOADED}")

    def undone(self) -> bool:
        """Return whether everything is as before, and nothing drops the page cache any more."""
        holds = self.root("systemctl is-active 'sparkiac-load-memory@qwen36'")
        record = json.loads(self.read(RECORD))
        return (self.read(KEPT), holds, record) == (self.before, "inactive", {"original": {}, "wanted": {}})


@pytest.fixture
def load(lab: Lab) -> Iterator[Load]:
    """Return the load of a unit that systemd does not start again by itself; afterwards it serves."""
    found = Load(lab)
    assert found.before not in {"", "7"}
    found.root(f"mkdir -p {NO_RESTART}; printf '[Service]\\nRestart=no\\n' >{NO_RESTART}/test.conf")
    found.root("systemctl daemon-reload")
    yield found
    found.root(f"rm -r {NO_RESTART}; systemctl daemon-reload; systemctl reset-failed {LOADED}")
    found.root(f"systemctl start {LOADED}")
    assert lab.served("spark-01") == [MODEL]


def test_a_load_that_succeeds_is_undone(load: Load) -> None:
    load.begin()
    load.root(f"echo 0 >{DROPPED}")
    wait_for(lambda: load.read(DROPPED) == "3", "a drop of the page cache", timeout=30, every=0.2)
    wait_for(lambda: load.state() == "active", "the end of the load", timeout=120)
    wait_for(load.undone, "the former state", timeout=60)
    load.root(f"echo 0 >{DROPPED}")
    time.sleep(3)
    assert load.read(DROPPED) == "0"


@pytest.mark.parametrize(
    "fault",
    [
        "docker kill $(docker ps -q --filter name=sparkiac-qwen36-server)",
        f"systemctl kill --kill-whom=main --signal=KILL {LOADED}",
        f"systemctl kill --signal=KILL sparkiac-load-memory@qwen36; systemctl kill --kill-whom=main -s KILL {LOADED}",
        f"systemctl stop {LOADED}",
    ],
    ids=["the container", "the unit", "the unit and the program", "a stop"],
)
def test_a_load_that_ends_early_is_undone(load: Load, fault: str) -> None:
    load.begin()
    wait_for(lambda: load.root("docker ps -q --filter name=sparkiac-qwen36-server"), "the container", timeout=60)
    load.root(fault)
    wait_for(lambda: load.state() in {"failed", "inactive"}, "the end of the unit", timeout=120)
    wait_for(load.undone, "the former state", timeout=60)
