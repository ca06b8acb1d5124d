"""The tables of nftables: what real ones refuse in network namespaces, and what is never touched."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from functools import partial
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local
from sparkiac.host.generation import Clients
from sparkiac.host.network import doors, rules
from sparkiac.host.state import Pending, State
from sparkiac.host.switch import opening
from sparkiac.plan import exposure
from sparkiac.render import generation
from tests.host.traffic import Caller
from tests.plan.fleets import ONES, planned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.host.traffic import Network

PUBLISHED, OWN, OTHER, SIXTH = "10.77.1.1:8001", "10.77.1.1:9000", "10.77.1.1:9001", "fd77:1::1:9006"
PLACES = {"sparkiac-a": PUBLISHED, "sparkiac-b": OWN, "sparkiac-c": "[fd77:1::1]:9006"}
PORT6 = 9006
"""Port of the server that listens with IPv6."""
REFUSED = "ConnectionRefusedError"
STORE = {"ports": ["29501", "29510-29599"], "peers": ["192.168.177.12", "fd00::12"]}


def installed(name: str) -> dict[str, Any]:
    """Return a plan with one unit."""
    return {"units": [{"name": name, "listen": None, "turns": []}], "turns": [], "clients": {}, "egress": {}}


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


CLIENT, OTHERS = "10.77.1.0/24", "10.9.0.0/16"


def listing(*networks: str, units: tuple[str, ...] = ()) -> Clients:
    """Return a list as a host reads it."""
    return Clients([*networks], [*units])  # type: ignore[arg-type]  lists of JSON


def allow(machine: Any, lists: dict[str, Clients]) -> None:  # noqa: ANN401
    doors.change(machine, lambda found: found._replace(clients=lists))


def test_only_listed_clients_reach_a_port_and_no_one_else_is_touched(network: Network, machine: Any) -> None:  # noqa: ANN401
    """Published ports and ports of the host, IPv4 and IPv6; a list can be changed under a connection."""
    client, neighbour, root = Caller(network, "client"), Caller(network, "neighbour"), Caller(network, "host")
    places = [PUBLISHED, OWN, SIXTH]
    assert [client.call("hold", place) for place in places] == ["ok"] * 3
    allow(machine, {PUBLISHED: listing(OTHERS), "0.0.0.0:9000": listing(OTHERS), f"[{SIXTH[:-5]}]:9006": listing()})
    assert reach(client, *places, "10.77.1.9:9000", OTHER) == [*[REFUSED] * 4, "ok"]
    assert reach(neighbour, PUBLISHED, OWN, SIXTH, OTHER) == [*[REFUSED] * 3, "ok"]
    assert reach(root, *places, "127.0.0.1:9000") == ["ok"] * 4
    assert reach(Caller(network, "host", 65534), *places) == ["ok"] * 3, "every user of the host"
    assert [client.call("again", place) for place in places] == ["ok"] * 3
    allow(
        machine,
        {
            PUBLISHED: listing(OTHERS, CLIENT),
            "0.0.0.0:9000": listing("10.77.1.2"),
            f"[{SIXTH[:-5]}]:9006": listing("fd77:1::/64", "10.77.1.2"),
        },
    )
    assert reach(client, *places) == ["ok"] * 3
    assert reach(neighbour, PUBLISHED, OWN, SIXTH) == [REFUSED] * 3
    allow(machine, {})
    assert reach(neighbour, *places) == ["ok"] * 3
    assert "clients" not in network.rules()


def test_a_container_of_the_host_that_uses_a_port_is_told_apart_from_others(network: Network, machine: Any) -> None:  # noqa: ANN401
    user, other = Caller(network, "container"), Caller(network, "neighbour")
    allow(machine, {OWN: listing(OTHERS, units=("sparkiac-a",))})
    assert (reach(user, OWN), reach(other, OWN)) == (["ok"], [REFUSED])
    doors.close(machine, "sparkiac-b", OWN)
    assert reach(user, OWN) == [REFUSED], "a list opens nothing that is closed"


def test_a_port_that_is_held_open_stays_closed_to_those_that_are_not_listed(network: Network, machine: Any) -> None:  # noqa: ANN401
    client = Caller(network, "client")
    doors.close(machine, "sparkiac-b", OWN)
    allow(machine, {OWN: listing(OTHERS)})
    opening.hold_open(machine, "sparkiac-b", 100)
    assert (reach(client, OWN), reach(Caller(network, "host", 65534), OWN)) == ([REFUSED], ["ok"])
    allow(machine, {OWN: listing(CLIENT)})
    assert reach(client, OWN) == ["ok"]


def test_each_rule_of_a_list_is_needed(network: Network, machine: Any) -> None:  # noqa: ANN401
    """Without one of its rules, somebody reaches the port who should not, or is refused who should reach it."""
    callers = [Caller(network, where) for where in ("client", "container", "neighbour")]
    lists = {"0.0.0.0:9000": listing("10.77.1.2", units=("sparkiac-a",)), f"[{SIXTH[:-5]}]:9006": listing("fd77:1::2")}
    allow(machine, lists)

    def scan() -> list[str]:
        return [found for caller in callers for found in reach(caller, OWN, SIXTH)]

    wanted = ["ok", "ok", "ok", REFUSED, REFUSED, REFUSED]
    assert scan() == wanted
    lines = [line for line in doors.commands(doors.read(machine), "drop") if "clients" in line or "accept" in line]
    lines = [line for line in lines if line.startswith(("add rule inet sparkiac arriving", "add element"))]
    whole = doors.commands(doors.read(machine), "drop")
    without = {}
    for left_out in lines:
        network.nft("-f", "-", rules="\n".join(line for line in whole if line != left_out))
        without[left_out] = scan() != wanted
    assert [line for line, seen in without.items() if not seen] == [
        line for line in lines if "ip6 saddr" in line and "local" in line
    ], "nothing listens on 9000 with IPv6 here"


SCANNED = """\
name: lab
defaults: {model_store: /srv/models}
hosts: {spark-01: {address: 10.77.1.1, reachable_from: [10.77.1.2]}, spark-02: {address: 10.77.2.3}}
deployments:
  chat: {recipe: base/single-spark, model: example/model, hosts: spark-01, port: 8001}
  small: {recipe: base/single-spark, model: example/model, hosts: spark-01, port: 9000, bind: any, reachable_from: []}
services:
  open: {kind: container, image: IMAGE, hosts: spark-01, port: 9001, reachable_from: null}
  asr: {kind: container, image: IMAGE, hosts: spark-01, port: 9006, bind: any, reachable_from: ["fd77:1::/64"]}
  web: {kind: open-webui, image: IMAGE, hosts: spark-02, uses: [small]}
"""


@pytest.fixture
def scanned(machine: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[str, int]]:  # noqa: ANN401
    """Return what the plan prints about each port of a host that has its lists: who reaches it, and the port."""
    host = planned(SCANNED.replace("IMAGE", f"example.org/i@{ONES}")).hosts[0]
    generated = json.loads(generation.render(host, {unit.unit: () for unit in host.units}).content)
    monkeypatch.setattr(opening.switch_state, "readable", lambda _: State())
    opening.allow(machine, generated)
    return {port.unit: (port.reach, int(port.port)) for port in exposure.of(host)}


def test_a_port_scan_finds_what_the_plan_prints(network: Network, scanned: dict[str, tuple[str, int]]) -> None:
    callers = {
        ("10.77.1.2", "fd77:1::2"): Caller(network, "client"),
        ("10.77.2.2", "fd77:2::2"): Caller(network, "container"),
        ("10.77.2.3", "fd77:2::3"): Caller(network, "neighbour"),
    }
    wrong, seen = [], set()
    for who, (reach_text, port) in scanned.items():
        listed = [
            ip_network(each)
            for each in re.findall(r"[0-9a-f:.]+(?:/\d+)?(?=[,)]|$)", reach_text)
            if "." in each or ":" in each
        ]
        for sources, caller in callers.items():
            for source, place in zip(sources, ("10.77.1.1", "fd77:1::1"), strict=True):
                if (":" in place) is (port != PORT6):  # what listens there is a stand-in of one family
                    continue
                everybody = "this host" not in reach_text
                wanted = everybody or any(ip_address(source) in each for each in listed)
                if (caller.call("once", f"{place}:{port}") == "ok") is not wanted:
                    wrong.append((who, source))
                seen.add((who, wanted))
    assert wrong == []
    assert seen == {
        *(("chat", each) for each in (True, False)),
        *(("small", each) for each in (True, False)),
        *(("asr", each) for each in (True, False)),
        ("open", True),
    }


def test_the_clients_are_those_of_the_units_that_run(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401
    unit = {"listen": OWN, "turns": []}
    units = [{**unit, "name": "day", "turns": ["d"]}, {**unit, "name": "night", "turns": ["n"]}]
    lists = {name: {"networks": [network], "units": []} for name, network in (("day", CLIENT), ("night", OTHERS))}
    plan = {"turns": ["d", "n"], "units": units, "clients": lists, "egress": {}, "nft_optional": False}
    monkeypatch.setattr(opening.store, "installed", lambda _: plan)
    monkeypatch.setattr(opening, "wrong_units", lambda *_: {})
    found = []
    for state in (State(), State(turn="n"), State(turn="d", pending=Pending("g", "r", "", "trying", [], "n"))):
        monkeypatch.setattr(opening.switch_state, "readable", lambda _, state=state: state)
        allow(machine, {OTHER: listing(CLIENT)})
        opening.restore(machine)
        found.append({listen: each.networks for listen, each in doors.read(machine).clients.items()})
    assert found == [{OWN: [CLIENT]}, {OWN: [OTHERS]}, {OTHER: [CLIENT], OWN: [OTHERS]}]


UDP = """
import socket, sys
found = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
if sys.argv[2:]:
    found.bind((sys.argv[1], 53))
    print("ready", flush=True)
    sys.stdin.readline()  # the query was sent
    found.settimeout(1)
    try:
        print(found.recv(9).decode())
    except TimeoutError:
        print("nothing")
else:
    found.sendto(b"query", (sys.argv[1], 53))
"""

AS_USER = "import encodings.idna, os; os.setuid(65534)"


def query(network: Network, address: str, group: Path | None = None) -> str:
    """Send a query to the port of DNS of the client, from the container or a group of the host; return what arrives."""
    server = network.start("client", UDP, address, "serve")
    assert server.stdout
    assert server.stdout.readline() == "ready\n"
    if group is None:
        network.start("container", UDP, address).wait()
    else:
        argv = network.spaces.within(
            "host", sys.executable, "-ISc", UDP.replace("found =", f"{AS_USER}\nfound =", 1), address
        )
        enter = partial((group / "cgroup.procs").write_text, "0")
        subprocess.run(argv, preexec_fn=enter, check=False, stderr=subprocess.DEVNULL)
    return server.communicate("sent\n")[0].strip()


@pytest.mark.parametrize("filtered", ["0", "1"])
def test_a_confined_container_answers_and_connects_to_nothing(network: Network, machine: Any, filtered: str) -> None:  # noqa: ANN401
    """Neither to the host, to its neighbours nor to other machines, by TCP, by UDP and by a query for a name."""
    if not network.filter_bridges(filtered) and filtered == "1":
        pytest.skip("needs the kernel module br_netfilter")
    container, client, neighbour = (Caller(network, where) for where in ("container", "client", "neighbour"))
    places = ["10.77.1.2:9100", "fd77:1::2:9106", "10.77.2.1:9000", "10.77.2.3:8000"]
    inside = [PUBLISHED, "fd77:2::2:8006"]
    assert reach(container, *places) == ["ok"] * 4
    assert [query(network, each) for each in ("10.77.1.2", "fd77:1::2")] == ["query"] * 2
    doors.change(machine, lambda found: found._replace(egress={"sparkiac-a": []}))
    assert "ok" not in reach(container, *places)
    assert [query(network, each) for each in ("10.77.1.2", "fd77:1::2")] == ["nothing"] * 2
    network.spaces.ip_of("container", "neigh", "flush", "all")
    assert (reach(client, *inside), reach(neighbour, "10.77.2.2:8000")) == (["ok"] * 2, ["ok"])
    assert reach(neighbour, *places[:3]) == ["ok"] * 3, "the others"
    doors.change(machine, lambda found: found._replace(egress={"sparkiac-a": ["10.77.1.2", "fd77:1::/64"]}))
    assert [each == "ok" for each in reach(container, *places)] == [True, True, False, False]
    assert query(network, "10.77.1.2") == "query"


GROUP = f"sparkiac-test{os.getpid()}.slice/sparkiac-agent.service"
MOUNTED = 'mount -t cgroup2 none /sys/fs/cgroup; exec "$@"'
"""`ip netns exec` has mounted another /sys."""


@pytest.fixture
def group(network: Network, machine: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:  # noqa: ANN401
    """Yield the directory of a control group, which nft finds and systemctl names; skip without unified ones."""
    found = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    mounted = next((Path(words[1]) for words in found if words[2] == "cgroup2"), None)
    if mounted is None:
        pytest.skip("needs unified control groups")
    within, run = network.spaces.within, local.LocalHost.run

    def told(self: Any, *argv: str) -> Any:  # noqa: ANN401
        if argv[0] == "systemctl":
            return local.CommandResult(0, f"/{GROUP}\n", "")
        return run(self, *within("host", "sh", "-c", MOUNTED, "sh", *argv))

    monkeypatch.setattr(type(machine), "run", told)
    link = machine.path("/sys/fs/cgroup")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(mounted)
    (mounted / GROUP).mkdir(parents=True)
    yield mounted / GROUP
    doors.change(machine, lambda _: doors.Doors())
    link.unlink()
    leave(mounted / GROUP)
    (mounted / GROUP).parent.rmdir()


def leave(group: Path) -> None:
    """Take all processes out of a control group and remove it, as the end of its unit does."""
    for process in (group / "cgroup.procs").read_text().split():
        (group.parents[1] / "cgroup.procs").write_text(process)
    group.rmdir()


def test_a_program_of_the_host_connects_to_what_its_list_names(
    network: Network,
    machine: Any,  # noqa: ANN401
    group: Path,
) -> None:
    """By TCP, by UDP and by a query for a name, over IPv4, IPv6 and loopback; other programs of its user are free."""
    agent, other, root = (Caller(network, "host", uid) for uid in (65534, 65534, 0))
    for each in (agent, root):
        (group / "cgroup.procs").write_text(str(each.process.pid))
    places = ["10.77.1.2:9100", "fd77:1::2:9106", "127.0.0.1:9001", "10.77.2.3:8000"]
    assert agent.call("hold", places[0]) == "ok"
    unit = {"name": "sparkiac-agent", "listen": OWN, "turns": []}
    plan = {"turns": [], "units": [unit], "clients": {}, "nft_optional": False}

    def reached(*egress: str) -> list[bool]:
        opening.allow(machine, {**plan, "egress": {"sparkiac-agent": [*egress]}})
        return [found == "ok" for found in reach(agent, *places)]

    assert [query(network, each, group) for each in ("10.77.1.2", "fd77:1::2")] == ["query"] * 2
    assert reached() == [False] * 4
    assert [query(network, each, group) for each in ("10.77.1.2", "fd77:1::2")] == ["nothing"] * 2
    assert agent.call("again", places[0]) == "ok"
    assert [reach(each, *places) for each in (other, root)] == [["ok"] * 4] * 2, "and the gate in its unit"
    assert reach(Caller(network, "client"), OWN) == ["ok"]
    assert reached("10.77.1.2") == [True, False, False, False]
    assert query(network, "10.77.1.2", group) == "query"
    assert reached("fd77:1::/64", "127.0.0.1") == [False, True, True, False]
    assert reached("0.0.0.0/0", "::/0") == [True] * 4


def test_a_program_that_nft_would_not_know_does_not_start(machine: Any, group: Path) -> None:  # noqa: ANN401
    leave(group)
    plan = {**installed("sparkiac-agent"), "egress": {"sparkiac-agent": []}, "nft_optional": False}
    plan["units"] = [{"name": "sparkiac-agent", "listen": OWN, "turns": []}]
    with pytest.raises(doors.DoorsError, match="sparkiac-agent: no unified control group"):
        opening.close(machine, plan, "sparkiac-agent")
    opening.close(machine, {**plan, "nft_optional": True}, "sparkiac-agent")
    assert list(doors.read(machine).closed) == ["sparkiac-agent"]
    group.mkdir()


def test_a_program_that_starts_again_is_confined_again(
    network: Network,
    machine: Any,  # noqa: ANN401
    group: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its control group is another one then; between the two, the rules of others can be written."""
    plan = {**installed("sparkiac-agent"), "egress": {"sparkiac-agent": []}, "nft_optional": False}
    opening.allow(machine, plan)
    leave(group)
    doors.close(machine, "sparkiac-b", OTHER)
    group.mkdir()
    opening.allow(machine, plan)
    agent = Caller(network, "host", 65534)
    (group / "cgroup.procs").write_text(str(agent.process.pid))
    assert reach(agent, "10.77.1.2:9100") == [REFUSED]
    assert "changed by another program" not in capsys.readouterr().err


def test_a_record_of_a_former_version_keeps_what_it_has(machine: Any) -> None:  # noqa: ANN401
    doors.admit(machine, "_9001", ["9001"], ["10.77.1.2"])
    path = machine.path(doors.RECORD)
    former = {
        key: value
        for key, value in json.loads(path.read_text()).items()
        if key not in {"clients", "egress", "programs"}
    }
    path.write_text(json.dumps(former))
    assert list(doors.read(machine).peers) == ["_9001"]


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
    monkeypatch.setattr(opening.store, "installed", lambda _: installed("sparkiac-b"))
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
    monkeypatch.setattr(opening.store, "installed", lambda _: installed("sparkiac-c"))
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
    monkeypatch.setattr(opening.store, "installed", lambda _: installed("sparkiac-b"))
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
    written = machine.read(doors.RULES)
    assert "add element bridge sparkiac refused { 02:" in written
    assert f"add rule bridge sparkiac arriving ether daddr @refused {rules.SYN} {refusal}\n" in written
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
