"""A group on Ray on two booted hosts: real Ray as rendered, and a stand-in of vLLM that places real actors.

The first run builds the image, with some 100 MB from the package registry. The seconds are printed with -s.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.pair import HOSTS, MODEL, UNIT, applied, container, containers, journal
from tests.e2e.ray_pair import RayPair, sessions
from tests.e2e.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep

PATIENCE_S = 1800
"""Only ends a test that fails: Ray starts slowly on a busy machine."""
WORKERS = {"0": ["10.78.0.1", "enp1s0f0np0"], "1": ["10.78.0.2", "enP2p1s0f0np0"]}
"""The actors: the address of the node, and the interface that its container was given."""
NODES = ["10.78.0.1", "10.78.0.2"]
DASHBOARD = 8265
CONNECT = """
import socket, sys, threading
def connect(port):
    try:
        socket.create_connection((sys.argv[1], port), timeout=10).close()
    except OSError:
        return
    print(port)
for port in map(int, sys.argv[2:]):
    threading.Thread(target=connect, args=[port]).start()
"""


@pytest.fixture(scope="module")
def pair(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> RayPair:
    """Return the group, applied: it serves."""
    bed.prefer()  # Ray gives up if a node has not joined within 30 s
    found = RayPair(bed, tmp_path_factory.mktemp("pair"))
    began = time.monotonic()
    applied(found)
    say(f"applied, with the copy of the image, after {time.monotonic() - began:.0f} s")
    return found


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - shown with -s


def complete(pair: RayPair) -> None:
    """Check that the group is whole: two nodes of one session of Ray, an actor on each, and an answer of both."""
    assert pair.answer() == "391"
    assert pair.workers() == WORKERS
    assert pair.nodes() == NODES
    [[session], [other]] = sessions(pair.bed).values()
    assert session == other


@contextlib.contextmanager
def coming_back(pair: RayPair, fault: str) -> Iterator[None]:
    """Check that after a fault the nodes end together, and that the group serves again without a controller."""
    for host in HOSTS:  # systemd waits longer before each further start: the seconds are those of a first fault
        pair.bed.ssh(host, f"systemctl reset-failed {UNIT}", root=True)
    before, length = containers(pair), pair.length()
    began = time.monotonic()
    with Watch(pair.bed, sessions) as watch:
        yield
        wait_for(lambda: not set(before) & set(containers(pair)), "both nodes to end", timeout=PATIENCE_S)
        ended = time.monotonic() - began
        pair.settle(PATIENCE_S)
    say(f"{fault}: both nodes had ended after {ended:.1f} s, serving after {time.monotonic() - began:.0f} s")
    assert watch.mixed == []
    assert pair.length() == length
    complete(pair)


def listening(pair: RayPair, host: str) -> set[int]:
    """Return the ports on which a host accepts connections from outside."""
    lines = pair.bed.ssh(host, "ss -Hltn").stdout.splitlines()
    ends = [line.split()[3].rpartition(":") for line in lines]
    return {int(port) for address, _, port in ends if not address.startswith(("127.", "[::1]"))}


def reached(pair: RayPair, host: str, ports: set[int], *, source: str | None = None) -> set[int]:
    """Return the ports of a host to which a connection is accepted: from the other host by the link, or by the LAN."""
    words = [sys.executable, "-c", CONNECT, pair.bed.hosts[host].address, *map(str, sorted(ports))]
    if source is None:
        return {int(port) for port in pair.bed.run(words).stdout.split()}
    script = f"python3 -c '{CONNECT}' {pair.bed.hosts[host].fabric_address} {' '.join(map(str, sorted(ports)))}"
    return {int(port) for port in pair.bed.ssh(source, script).stdout.split()}


def filtered(pair: RayPair, host: str) -> set[int]:
    """Return the ports that preflight opens for the other node only."""
    needs = json.loads((pair.tree / f"hosts/{host}/etc/sparkiac/preflight.json").read_text())
    ranges = [each.partition("-") for each in needs["units"]["qwen36"]["group_ports"]["ports"]]
    return {port for first, _, last in ranges for port in range(int(first), int(last or first) + 1)}


def test_the_first_apply_forms_the_group(pair: RayPair) -> None:
    assert pair.served("spark-01") == [MODEL]
    complete(pair)


def test_an_apply_without_a_change_changes_nothing(pair: RayPair) -> None:
    before = containers(pair)
    recap = pair.apply()
    assert (recap.code, recap.changed) == (0, {"spark-01": 0, "spark-02": 0}), recap.output
    assert containers(pair) == before


@pytest.mark.parametrize(("host", "other"), [HOSTS, HOSTS[::-1]])
def test_only_the_other_node_reaches_the_ports_of_ray(pair: RayPair, host: str, other: str) -> None:
    """All that Ray opens to the outside is filtered, also what no option turns off. The dashboard opens no port."""
    own = {22, 8001} if host == "spark-01" else {22}
    found = listening(pair, host)
    assert found - own <= filtered(pair, host)
    assert DASHBOARD not in found
    assert reached(pair, host, found) == own
    assert reached(pair, host, found, source=other) == found - {8001}
    say(f"{host} listens on {sorted(found)}")


@pytest.mark.parametrize(("first", "second"), [HOSTS, HOSTS[::-1]])
def test_the_units_start_in_either_order(pair: RayPair, first: str, second: str) -> None:
    for host in HOSTS:
        pair.bed.ssh(host, f"systemctl stop {UNIT}; journalctl --rotate --vacuum-time=1s", root=True)
    assert containers(pair) == ["", ""]
    pair.bed.ssh(first, f"systemctl start --no-block {UNIT}", root=True)
    wait_for(lambda: "group: waiting for" in journal(pair, first), f"{first} to wait", timeout=PATIENCE_S)
    assert containers(pair) == ["", ""]
    began = time.monotonic()
    pair.bed.ssh(second, f"systemctl start --no-block {UNIT}", root=True)
    pair.settle(PATIENCE_S)
    say(f"{first} first: serving {time.monotonic() - began:.0f} s after the start of {second}")
    complete(pair)


@pytest.mark.parametrize("victim", HOSTS)
def test_when_a_container_is_killed_both_nodes_start_again(pair: RayPair, victim: str) -> None:
    killed = container(pair, victim)
    with coming_back(pair, f"container of {victim} killed"):
        pair.bed.ssh(victim, f"docker kill {killed}", root=True)


@pytest.mark.parametrize(("victim", "process"), [("spark-01", "gcs_server"), ("spark-02", "raylet")])
def test_when_a_process_of_ray_is_killed_both_nodes_start_again(pair: RayPair, victim: str, process: str) -> None:
    """The store of the head, or the node of a worker: no request is needed to find that."""
    with coming_back(pair, f"{process} of {victim} killed"):
        kill(pair, victim, process)


@pytest.mark.parametrize(("victim", "process"), [("spark-01", "raylet"), ("spark-02", "ray::Worker")])
def test_when_a_part_of_the_model_is_killed_a_request_finds_it(pair: RayPair, victim: str, process: str) -> None:
    """The node of the head, or an actor. A health check requests an answer every 5 minutes; a client may be earlier."""
    with coming_back(pair, f"{process} of {victim} killed, then a request"):
        kill(pair, victim, process)
        wait_for(lambda: pair.answer() is None, "the end of the actor", timeout=PATIENCE_S)


def kill(pair: RayPair, victim: str, process: str) -> None:
    """Kill a process in a container that runs on."""
    pair.bed.ssh(victim, f"pkill --signal KILL --exact {process}", root=True)


@pytest.mark.parametrize("victim", HOSTS)
def test_when_a_host_reboots_the_group_comes_back(pair: RayPair, victim: str) -> None:
    with coming_back(pair, f"{victim} rebooted"):
        pair.bed.reboot(victim)


def test_a_switch_ends_with_one_generation_on_both(pair: RayPair) -> None:
    """Watched all the time, the nodes of Ray never belong to two sessions."""
    before, old = pair.states(), pair.length()
    pair.want(old - 1024)
    began = time.monotonic()
    with Watch(pair.bed, sessions) as watch:
        recap = pair.apply()
    assert recap.code == 0, recap.output
    say(f"switched after {time.monotonic() - began:.0f} s, {watch.looks} looks")
    assert watch.mixed == []
    assert len(watch.seen) == 2
    assert pair.length() == old - 1024
    after = pair.states()
    assert all(after[host]["committed"] not in {None, before[host]["committed"]} for host in HOSTS)
    assert len({version(pair, host) for host in HOSTS}) == 1
    complete(pair)


def version(pair: RayPair, host: str) -> str:
    """Return the version of the group that a host has installed."""
    found: str = json.loads(pair.bed.ssh(host, "cat /etc/sparkiac/qwen36/group.json", root=True).stdout)["version"]
    return found
