"""Who is served while a version is new, after a crash or a power cut, and after the table of nftables was flushed.

A client on the control station asks each host ten times a second for an answer that it knows: spark-01 over IPv4,
spark-02 over IPv6. The counts of each phase are printed with -s, as a table.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.e2e.asks import REFUSED, RIGHT, WRONG
from tests.e2e.bed.shell import wait_for
from tests.e2e.faults import SERVED, UNITS, container
from tests.e2e.lab import STORE, Lab
from tests.e2e.served import Client
from tests.e2e.test_apply import behave

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
CONTROL, SIXTH = "fd77::1", "fd77::12"
URLS = {"spark-01": "http://10.77.0.11:8001", "spark-02": f"http://[{SIXTH}]:8001"}
NAMES = {"spark-01": "qwen36", "spark-02": "gemma4"}
RECIPES = {"spark-01": "redhatai/qwen3.6-35b-a3b-nvfp4", "spark-02": "google/gemma-4-26b-a4b-it-fp8"}
FILE = "behaviour"
"""In the model store, which no version is made of: the next start of the same version behaves as it says."""
SETTINGS = f"""\
    env: {{STANDIN_BEHAVIOUR: ok, STANDIN_LOAD_SECONDS: "5", STANDIN_BEHAVIOUR_FILE: /root/.cache/huggingface/{FILE}}}
    timeouts: {{ready_s: 200, drain_s: 0}}
"""
PATIENCE_S = 400
REPAIR_S = 15
"""A table that somebody has flushed is written again within this time."""


@dataclass
class Fleet:
    """The lab, and a client of each of its servers."""

    lab: Lab
    clients: dict[str, Client]

    def root(self, host: str, command: str) -> str:
        """Run a command on a host as root and return its output."""
        return self.lab.bed.ssh(host, command, root=True).stdout.strip()

    def show(self, host: str, name: str) -> str:
        """Return a property of the host's unit."""
        return self.root(host, f"systemctl show --property={name} --value {UNITS[host]}")

    def behave(self, host: str, behaviour: str) -> None:
        """Tell the server that runs how to answer; root reaches it also while its port is closed."""
        behave(self.lab.bed, host, behaviour, URLS[host])

    def start_as(self, behaviour: str) -> None:
        """Say how the next start of each server behaves."""
        for host in URLS:
            self.root(host, f"echo {behaviour} >{STORE}/{FILE}")

    def wait(self, *outcomes: str) -> None:
        """Wait until the clients of all hosts see only such outcomes."""
        for host, client in self.clients.items():
            wait_for(lambda client=client: client.last() <= set(outcomes), f"{outcomes} of {host}", timeout=PATIENCE_S)  # type: ignore[misc]

    def wait_ready(self) -> None:
        """Wait until all units are ready and their clients get right answers."""
        for host in URLS:
            wait_for(lambda host=host: self.show(host, "ActiveState") == "active", host, timeout=PATIENCE_S)  # type: ignore[misc]
        self.wait(RIGHT)

    def cut_power(self) -> None:
        """Cut the power of both hosts, and switch them on again."""
        for host in URLS:
            self.root(host, "sync")
            self.lab.bed.cut_power(host)
        for host in URLS:
            self.lab.bed.power_on(host)

    @contextmanager
    def counted(self, phase: str, *, wrong: bool = False) -> Iterator[float]:
        """Count what is served meanwhile, and print it; yield the time. No wrong answer may be, unless `wrong`."""
        began = time.monotonic()
        yield began
        time.sleep(1)  # for the last answers
        ended = time.monotonic()
        for host, client in self.clients.items():
            row = client.told(began, ended)
            print(f"| {phase} | {host} | {ended - began:5.0f} s | {row} |", flush=True)  # noqa: T201 - shown with -s
        if not wrong:
            assert {host: client.since(began).count(WRONG) for host, client in self.clients.items()} == dict.fromkeys(
                URLS, 0
            )


@pytest.fixture(scope="module")
def fleet(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Yield the lab, not applied yet; spark-02 serves at an IPv6 address."""
    lab = Lab(bed, tmp_path_factory.mktemp("lab"))
    second = bed.hosts["spark-02"].interface
    bed.run(["ip", "address", "add", f"{CONTROL}/64", "dev", "mgmt0", "nodad"])
    bed.ssh("spark-02", f"ip address add {SIXTH}/64 dev {second} nodad", root=True)
    lab.write()
    for recipe in RECIPES.values():
        lab.edit(f"    recipe: {recipe}\n", f"    recipe: {recipe}\n{SETTINGS}")
    lab.edit("  gemma4:\n", "  gemma4:\n    bind: fabric\n")
    link = f"{{interface: {second}, address: '{SIXTH}/64', mtu: 1500}}"
    lab.edit("  spark-02:\n", f"  spark-02:\n    fabric: {{links: [{link}]}}\n")
    lab.generate()
    lab.stage()
    clients = {host: Client(bed, URLS[host], SERVED[host]) for host in URLS}
    with ExitStack() as stack:
        for client in clients.values():
            stack.enter_context(client)
        print("\n| phase | client of | time | right | wrong | refused | no answer |\n|---|---|--:|--:|--:|--:|--:|")  # noqa: T201
        fleet = Fleet(lab, clients)
        fleet.start_as("")  # mounts of the container are single files of the store, which exist before it starts
        yield fleet


def test_the_first_start_of_a_good_version(fleet: Fleet) -> None:
    with fleet.counted("first start of a good version"):
        recap = fleet.lab.apply()
        assert recap.code == 0, recap.output
        fleet.wait(RIGHT)


@pytest.mark.parametrize("host", URLS)
def test_a_switch_to_a_version_that_answers_wrongly(fleet: Fleet, host: str) -> None:
    """It must pass its gate and does not: no client meets it, and the former version is back."""
    text = fleet.lab.inventory.read_text()
    start = text.index(RECIPES[host])
    fleet.lab.inventory.write_text(text[:start] + text[start:].replace("BEHAVIOUR: ok", "BEHAVIOUR: garbage", 1))
    fleet.lab.generate()
    with fleet.counted(f"switch of {host} to a version that answers wrongly"):
        recap = fleet.lab.apply("--limit", host)
        assert recap.code == 2, recap.output
        assert "one token repeated" in " ".join(recap.output.split()), recap.output
        fleet.wait_ready()
    fleet.lab.inventory.write_text(text)
    fleet.lab.generate()


def test_a_crash_of_a_version_that_has_passed(fleet: Fleet) -> None:
    before = {host: container(fleet.lab, host) for host in URLS}
    with fleet.counted("crash of a version that has passed"):
        for host in URLS:
            fleet.root(host, f"docker kill {before[host]}")
        fleet.wait(REFUSED)
        fleet.wait_ready()
    assert not set(before.values()) & {container(fleet.lab, host) for host in URLS}


@pytest.mark.parametrize("behaviour", ["ok", "odd"])
def test_a_power_cut_of_a_version_that_has_passed(fleet: Fleet, behaviour: str) -> None:
    """One odd answer to the health check closes no port and ends no start."""
    fleet.start_as(behaviour)
    with fleet.counted(f"power cut, and it answers: {behaviour}"):
        fleet.cut_power()
        fleet.wait_ready()
        opened = time.monotonic()
        for host in URLS:
            wait_for(lambda host=host: asked(fleet, host), "the gate", timeout=PATIENCE_S)  # type: ignore[misc]
            log = f"journalctl --boot --unit={UNITS[host]} --output=cat"
            assert ("sparkiac-alert: " in fleet.root(host, log)) == (behaviour == "odd")
    for host, client in fleet.clients.items():
        assert REFUSED not in client.since(opened)
        assert fleet.show(host, "NRestarts") == "0"


def asked(fleet: Fleet, host: str) -> bool:
    """Return whether the health check of a host's server has had a right answer."""
    state = fleet.root(host, f"docker exec {container(fleet.lab, host)} cat /tmp/sparkiac-probe.json || true")
    return '"answered": null' not in state


def test_a_power_cut_of_a_version_that_has_passed_and_answers_wrongly_now(fleet: Fleet) -> None:
    """It opens at health, closes after two wrong answers, is not restarted, and opens again when its gate passes."""
    fleet.start_as("garbage")
    with fleet.counted("power cut, and it answers: garbage, until its port closes", wrong=True) as began:
        fleet.cut_power()
        for client in fleet.clients.values():
            wait_for(lambda client=client: WRONG in client.since(began), "a wrong answer", timeout=PATIENCE_S)  # type: ignore[misc]
        fleet.wait(REFUSED)
    with fleet.counted("after its port has closed"):
        time.sleep(90)  # more than three starts took until they were given up
    for host in URLS:
        assert (fleet.show(host, "ActiveState"), fleet.show(host, "NRestarts")) == ("active", "0")
    status = fleet.lab.sparkiac("status", "inventories/lab.yaml").stdout
    assert "2 times in a row; port closed" in " ".join(status.split()), status


def test_a_table_that_is_flushed_by_hand_is_repaired(fleet: Fleet) -> None:
    """The servers answer wrongly, and their ports are closed."""
    with fleet.counted("flush of the table of a closed port", wrong=True) as began:
        for host in URLS:
            fleet.root(host, "nft delete table inet sparkiac")
        time.sleep(REPAIR_S + 5)
    for client in fleet.clients.values():
        wrong = [each.at_s for each in client.asked if each.at_s >= began and each.outcome == WRONG]
        print(f"wrong answers for {wrong[-1] - wrong[0]:.1f} s" if wrong else "no wrong answer")  # noqa: T201
        assert not wrong or wrong[-1] - wrong[0] < REPAIR_S
        assert client.last() == {REFUSED}


def test_a_closed_port_opens_when_the_gate_passes(fleet: Fleet) -> None:
    before = {host: container(fleet.lab, host) for host in URLS}
    with fleet.counted("its answers are right again"):
        for host in URLS:
            fleet.behave(host, "ok")
        fleet.wait(RIGHT)
    assert {host: container(fleet.lab, host) for host in URLS} == before
    recap = fleet.lab.apply()
    assert (recap.code, recap.changed) == (0, {"spark-01": 0, "spark-02": 0}), recap.output
