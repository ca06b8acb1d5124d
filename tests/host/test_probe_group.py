"""The nodes of a group end together: each one ends when its connection to another one is gone."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from sparkiac.host.probe import metrics as probe_metrics
from sparkiac.host.probe import watch as probe_watch

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from tests.host.probed import Ask, Service

STORE = "192.168.177.11:29501"
WORKER = {"kind": "worker", "store": STORE, "workers": 2, "health": None, "models": []}
LEADER = {"store": STORE, "workers": 2}
GONE = "the connection to {} is gone: this node ends and starts again with the others\n"


class Group:
    """The connections that the kernel lists on one host, and the signals that its server gets."""

    def __init__(self, folder: Path) -> None:
        """Keep the place of the table."""
        self.table, self.signals = folder / "tcp", list[tuple[int, int]]()

    def has(self, *connections: tuple[str, str]) -> None:
        """Write the established connections, as local end and remote end."""
        lines = [f"   0: {self.end(one)} {self.end(other)} 01 0 0 0 0 0 0\n" for one, other in connections]
        self.table.write_text("  sl  local_address rem_address   st\n" + "".join(lines))

    def end(self, text: str) -> str:
        """Return an end as the kernel writes it on this machine: words in the order of x86 and ARM."""
        address, _, port = text.partition(":")
        return f"{bytes(reversed([int(each) for each in address.split('.')])).hex().upper()}:{int(port):04X}"


@pytest.fixture
def group(probe: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Group:
    """Return the connections of a host, without any."""
    assert probe
    found = Group(tmp_path)
    monkeypatch.setattr(probe_metrics, "TABLES", (found.table, tmp_path / "tcp6"))
    monkeypatch.setattr(probe_watch.os, "kill", lambda *signal: found.signals.append(signal))
    found.has()
    return found


def worker(port: int) -> tuple[str, str]:
    return f"192.168.177.12:{port}", STORE


def leader(number: int, port: int) -> tuple[str, str]:
    return STORE, f"192.168.177.{number}:{port}"


def test_a_worker_ends_when_its_leader_has_gone(watch: Ask, group: Group) -> None:
    group.has(worker(50_000))
    assert [watch(None, **WORKER) for _ in range(3)] == [(0, "")] * 3
    group.has()
    assert watch(None, **WORKER) == (1, GONE.format("192.168.177.11"))
    assert group.signals == [(1, signal.SIGTERM)]


def test_a_node_that_waits_for_the_others_does_not_end(watch: Ask, group: Group) -> None:
    assert [watch(None, **WORKER)[0] for _ in range(5)] == [1] * 5
    assert group.signals == []


def test_a_leader_ends_when_one_worker_has_gone(service: Service, watch: Ask, group: Group) -> None:
    group.has(leader(12, 50_000), leader(13, 50_001))
    assert [watch(service.url, **LEADER)[0] for _ in range(3)] == [0] * 3
    group.has(leader(12, 50_000))
    assert watch(service.url, **LEADER) == (1, GONE.format("192.168.177.13"))
    assert group.signals == [(1, signal.SIGTERM)]


def test_a_worker_that_started_again_between_two_checks_has_gone(service: Service, watch: Ask, group: Group) -> None:
    """It joined the old store, where it waits for ever."""
    group.has(leader(12, 50_000), leader(13, 50_001))
    watch(service.url, **LEADER)
    watch(service.url, **LEADER)
    group.has(leader(12, 50_000), leader(13, 60_002))
    assert watch(service.url, **LEADER) == (1, GONE.format("192.168.177.13"))


def test_further_connections_come_and_go(service: Service, watch: Ask, group: Group) -> None:
    """Only when no recorded connection to a node is left has it gone."""
    lasting = (leader(12, 50_000), leader(13, 50_001))
    for number in range(6):
        passing = [leader(12, 51_000 + number), leader(14, 52_000 + number)]
        group.has(*lasting, *passing)
        assert watch(service.url, **LEADER) == (0, "")
    group.has(*lasting)
    assert watch(service.url, **LEADER) == (0, "")
    assert group.signals == []


def test_a_connection_while_the_group_forms_is_not_recorded(watch: Ask, group: Group) -> None:
    for number in range(4):
        group.has(worker(50_000 + number))
        assert watch(None, **WORKER) == (0, "")
    assert group.signals == []


def test_a_connection_that_one_check_saw_fails_every_later_check(watch: Ask, group: Group) -> None:
    """Four in a row make the container unhealthy, and the watchdog of its unit ends it."""
    group.has(worker(50_000))
    assert watch(None, **WORKER) == (0, "")
    group.has()
    assert [watch(None, **WORKER) for _ in range(4)] == [(1, f"no connection to the leader's store at {STORE}\n")] * 4
    assert group.signals == []


def test_the_connections_of_a_single_host_are_not_watched(service: Service, watch: Ask, group: Group) -> None:
    group.has(leader(12, 50_000))
    watch(service.url)
    watch(service.url)
    group.has()
    assert watch(service.url) == (0, "")
    assert group.signals == []


def test_a_new_probe_does_not_end_a_server_that_waits_for_its_restart(service: Service, watch: Ask) -> None:
    """An apply has replaced the programs, and restarts one unit after the other."""
    unknown = "this probe does not know later: generate and apply again"
    code, said = watch(service.url, later=True)
    assert (code, unknown in said) == (1, True)
    assert watch(service.url) == (0, "")
    code, said = watch(service.url, later=True)
    assert (code, unknown in said) == (0, True)
