"""The tables of nftables: what real ones refuse in network namespaces, and what is never touched."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local
from sparkiac.host.network import doors
from sparkiac.host.switch import opening
from tests.host.traffic import Caller

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.host.traffic import Network

PUBLISHED, OWN, OTHER, SIXTH = "10.77.1.1:8001", "10.77.1.1:9000", "10.77.1.1:9001", "fd77:1::1:9006"
PLACES = {"sparkiac-a": PUBLISHED, "sparkiac-b": OWN, "sparkiac-c": "[fd77:1::1]:9006"}
REFUSED = "ConnectionRefusedError"
STORE = {"ports": ["29501", "29510-29599"], "peers": ["192.168.177.12", "fd00::12"]}


@pytest.fixture
def machine(network: Network) -> Iterator[Any]:
    """Yield the host; afterwards it has no table of ours."""
    found = network.machine
    try:
        yield found
    finally:
        doors.change(found, lambda _: doors.Doors())
        assert "sparkiac" not in network.rules()


def reach(caller: Caller, *places: str) -> list[str]:
    """Open a connection to each place; return what comes of it."""
    return [caller.call("once", place) for place in places]


def test_a_closed_port_takes_no_new_connection_until_its_unit_has_passed(network: Network, machine: Any) -> None:  # noqa: ANN401
    client, root, user = Caller(network, "client"), Caller(network, "host"), Caller(network, "host", 65534)
    container = Caller(network, "container")
    places = [PUBLISHED, OWN, SIXTH]
    assert [client.call("hold", place) for place in places] == ["ok"] * 3
    for unit, listen in PLACES.items():
        doors.close(machine, unit, listen)
    assert reach(client, *places, OTHER) == [*[REFUSED] * 3, "ok"]
    assert reach(user, *places) == [REFUSED] * 3
    assert reach(container, OWN) == [REFUSED], "a container reaches the port of the host"
    assert reach(root, *places) == ["ok"] * 3, "the gate and health checks"
    assert [client.call("again", place) for place in places] == ["ok"] * 3, "connections that exist go on"
    doors.passed(machine, "sparkiac-a", PUBLISHED)
    assert reach(client, *places) == ["ok", REFUSED, REFUSED]
    for unit, listen in PLACES.items():
        doors.passed(machine, unit, listen)
    assert reach(client, *places) == ["ok"] * 3


@pytest.mark.parametrize("filtered", ["0", "1"])
def test_a_closed_port_takes_none_from_a_container_on_the_same_host(
    network: Network,
    machine: Any,  # noqa: ANN401
    filtered: str,
) -> None:
    """Also through the bridge, whether bridged packets pass the table for IP or not."""
    if not network.filter_bridges(filtered) and filtered == "1":
        pytest.skip("needs the kernel module br_netfilter")
    neighbour, root = Caller(network, "neighbour"), Caller(network, "host")
    inside, outside = ["10.77.2.2:8000", "fd77:2::2:8006"], [PUBLISHED, OWN, "10.77.2.1:9000", SIXTH]
    assert [neighbour.call("hold", place) for place in (*inside, *outside)] == ["ok"] * 6
    for unit, listen in {**PLACES, "sparkiac-b": "0.0.0.0:9000"}.items():
        doors.close(machine, unit, listen)
    assert "ok" not in reach(neighbour, *inside)
    assert reach(neighbour, *outside) == [REFUSED] * 4
    assert reach(neighbour, OTHER, "10.77.2.1:9001") == ["ok"] * 2, "what is not closed"
    assert reach(Caller(network, "container"), "10.77.2.3:8000") == ["ok"], "what the closed one asks of others"
    assert reach(root, *inside) == ["ok"] * 2, "docker-proxy"
    assert [neighbour.call("again", place) for place in (*inside, *outside)] == ["ok"] * 6
    doors.drain(machine, {"sparkiac-a": PUBLISHED})
    doors.passed(machine, "sparkiac-a", PUBLISHED)
    assert reach(neighbour, inside[0]) != ["ok"], "it is still drained"
    doors.undrain(machine, None)
    assert reach(neighbour, *inside, PUBLISHED) == ["ok"] * 3


@pytest.mark.parametrize("listen", ["0.0.0.0:9000", "spark-01.lan:9000"])
def test_a_port_on_all_addresses_is_closed_on_all(network: Network, machine: Any, listen: str) -> None:  # noqa: ANN401
    client = Caller(network, "client")
    doors.close(machine, "sparkiac-a", listen)
    assert reach(client, OWN, "10.77.1.9:9000", OTHER) == [REFUSED, REFUSED, "ok"]


def test_a_drained_port_stays_so_when_its_unit_has_passed(network: Network, machine: Any) -> None:  # noqa: ANN401
    client = Caller(network, "client")
    doors.drain(machine, {"sparkiac-b": OWN})
    doors.close(machine, "sparkiac-b", OWN)
    doors.passed(machine, "sparkiac-b", OWN)
    assert reach(client, OWN) == [REFUSED]
    doors.undrain(machine, [OWN])
    assert reach(client, OWN) == ["ok"]


def test_a_unit_of_another_turn_at_the_place_does_not_keep_it_closed(network: Network, machine: Any) -> None:  # noqa: ANN401
    doors.close(machine, "sparkiac-day", "0.0.0.0:9000")
    doors.close(machine, "sparkiac-night", OWN)
    doors.passed(machine, "sparkiac-night", OWN)
    assert reach(Caller(network, "client"), OWN) == ["ok"]


def test_only_peers_reach_their_ports(network: Network, machine: Any) -> None:  # noqa: ANN401
    client, container = Caller(network, "client"), Caller(network, "container")
    assert container.call("hold", "10.77.2.1:9000") == "ok"
    doors.admit(machine, "big", ["9000"], ["10.77.1.2"])
    doors.admit(machine, "_9001", ["9001"], ["10.77.1.2"])
    doors.admit(machine, "big", ["9000"], ["10.77.1.2", "fd77:1::2"])
    assert reach(client, OWN, OTHER) == ["ok", "ok"]
    assert reach(Caller(network, "host"), "127.0.0.1:9000") == ["ok"]
    assert reach(container, "10.77.2.1:9000", "10.77.2.1:9001") == ["TimeoutError"] * 2
    assert container.call("again", "10.77.2.1:9000") == "ok"


def test_tables_of_former_versions_go_and_others_stay(network: Network, machine: Any) -> None:  # noqa: ANN401
    for name in ("sparkiac_drain", "sparkiac_store_big_one", "sparkiac_store__7348", "mine"):
        network.nft("add", "table", "inet", name)
    try:
        doors.admit(machine, "big-one", **STORE)
        assert doors.tables(machine) == ["inet sparkiac", "inet sparkiac_store__7348"], "of the coordinator"
        doors.admit(machine, "_7348", ["7348"], ["10.77.1.2"])
        assert doors.tables(machine) == ["inet sparkiac"]
        assert "table inet mine" in network.rules()
    finally:
        network.nft("delete", "table", "inet", "mine")


def test_what_cannot_be_written_changes_nothing(network: Network, machine: Any) -> None:  # noqa: ANN401
    doors.close(machine, "sparkiac-b", OWN)
    before, record = network.rules(), doors.read(machine)
    with pytest.raises(doors.DoorsError, match="nft does not work on this host"):
        doors.admit(machine, "big", ["70000"], ["10.77.1.2"])
    assert (network.rules(), doors.read(machine)) == (before, record)


@pytest.mark.parametrize(
    "flush",
    [
        "flush ruleset",
        "flush table inet sparkiac",
        "delete element inet sparkiac x",
        "flush table bridge sparkiac",
        "delete table bridge sparkiac",
    ],
)
def test_a_table_that_somebody_else_has_changed_is_written_again(
    network: Network,
    machine: Any,  # noqa: ANN401
    flush: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(opening.store, "installed", lambda _: {"units": [{"name": "sparkiac-b", "listen": None}]})
    doors.close(machine, "sparkiac-b", OWN)
    before = network.rules()
    opening.restore(machine)
    assert (network.rules(), capsys.readouterr().err) == (before, "")
    element = "closed_places4 { 10.77.1.1 . 9000 }"
    network.nft("-f", "-", rules=flush.replace("x", element))
    assert not doors.is_whole(machine, doors.read(machine))
    opening.restore(machine)
    assert reach(Caller(network, "client"), OWN) == [REFUSED]
    assert doors.is_whole(machine, doors.read(machine))
    assert capsys.readouterr().err == (
        "table inet sparkiac or bridge sparkiac was changed by another program; both are written again\n"
    )
    if flush == "flush ruleset":
        network.publish()


def test_what_is_no_longer_installed_is_forgotten(
    network: Network,
    machine: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opening.store, "installed", lambda _: {"units": [{"name": "sparkiac-c", "listen": None}]})
    doors.close(machine, "sparkiac-b", OWN)
    doors.admit(machine, "big", ["9001"], ["10.77.1.9"])
    doors.admit(machine, "_7348", ["7348"], ["10.77.1.2"])
    opening.restore(machine)
    assert reach(Caller(network, "client"), OWN, OTHER) == ["ok", "ok"]
    assert list(doors.read(machine).peers) == ["_7348"]


def test_a_port_that_is_held_open_closes_again(
    network: Network,
    machine: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opening.store, "installed", lambda _: {"units": [{"name": "sparkiac-b", "listen": None}]})
    client, now = Caller(network, "client"), time.monotonic()
    doors.close(machine, "sparkiac-b", OWN)
    opening.hold_open(machine, "sparkiac-b", 3600)
    assert reach(client, OWN) == ["ok"]
    doors.close(machine, "sparkiac-b", OWN)  # it crashed, and starts again
    opening.restore(machine)
    assert reach(client, OWN) == ["ok"]
    monkeypatch.setattr(time, "monotonic", lambda: now + 3700)
    opening.restore(machine)
    assert reach(client, OWN) == [REFUSED]


class Machine(local.LocalHost):
    """A host of which only the answers of commands matter."""

    def __init__(self, root: Path, **answers: str) -> None:
        """Store the output of each command; the others are not installed."""
        super().__init__(root)
        self.answers = answers

    def run(self, *argv: str) -> local.CommandResult:
        """Answer."""
        if argv[0] not in self.answers:
            raise FileNotFoundError(2, "No such file or directory")
        return local.CommandResult(0, self.answers[argv[0]], "")


class Kernel(Machine):
    """A stand-in for kernels that can, or cannot, answer a packet in a bridge."""

    answers_in_bridges = True

    def run(self, *argv: str) -> local.CommandResult:
        """Refuse such a rule."""
        refused = (
            argv[:2] == ("nft", "--file")
            and "@refused" in (text := self.read(doors.RULES))
            and ("reject" in text.rpartition("@refused")[2] and not self.answers_in_bridges)
        )
        return local.CommandResult(1, "", "No such file") if refused else super().run(*argv)


@pytest.mark.parametrize(("answers", "refusal"), [(True, "reject with tcp reset"), (False, "drop")])
def test_a_kernel_that_cannot_answer_in_a_bridge_drops(tmp_path: Path, answers: bool, refusal: str) -> None:  # noqa: FBT001
    machine = Kernel(tmp_path, nft="")
    machine.answers_in_bridges = answers
    doors.close(machine, "sparkiac-a", PUBLISHED)
    rules = machine.read(doors.RULES)
    assert "add element bridge sparkiac refused { 02:" in rules
    assert f"add rule bridge sparkiac arriving ether daddr @refused {doors.SYN} {refusal}\n" in rules
    doors.passed(machine, "sparkiac-a", PUBLISHED)
    assert machine.read(doors.RULES).count("bridge") == 2, "it is only removed"


SOCKET = "Listen=0.0.0.0:2200 (Stream)\nListen=[::]:2200 (Stream)\n"


@pytest.mark.parametrize(
    ("answers", "ports"),
    [
        ({}, {22}),
        ({"sshd": "port 22\nport 2222\naddressfamily any\n"}, {22, 2222}),
        ({"sshd": "port 22\n", "systemctl": SOCKET}, {22, 2200}),
        ({"systemctl": "Listen=\n"}, {22}),
    ],
)
def test_the_port_of_ssh_is_never_closed(tmp_path: Path, answers: dict[str, str], ports: set[int]) -> None:
    machine = Machine(tmp_path, nft="", **answers)
    assert doors.ssh_ports(machine) == ports
    for port in ports:
        message = f"port {port} is the SSH port of this host"
        with pytest.raises(doors.DoorsError, match=message):
            doors.close(machine, "sparkiac-a", f"0.0.0.0:{port}")
        with pytest.raises(doors.DoorsError, match=message):
            doors.drain(machine, {"sparkiac-a": f"10.0.0.1:{port}"})
        with pytest.raises(doors.DoorsError, match=message):
            doors.admit(machine, "big", [f"{port - 2}-{port + 2}"], ["10.0.0.2"])
    assert doors.read(machine) == doors.Doors()
    doors.close(machine, "sparkiac-a", "0.0.0.0:2223")
