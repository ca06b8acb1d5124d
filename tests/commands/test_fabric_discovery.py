"""`sparkiac fabric discover` on recorded sysfs trees: two, three and four Sparks. Not verified on hardware."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

SSH = """\
#!/bin/sh
# Stands in for ssh: the program reads the files of the host with the address and calls its `ip` and `ping`.
while [ "$1" != -- ]; do shift; done
PATH="{root}/$2/bin:$PATH"
sed 's|root = Path(\\\\"/\\\\")|root = Path(\\\\"{root}/'"$2"'\\\\")|' | exec sh -c "$3"
"""
IP = """\
#!/bin/sh
# Stands in for ip: it prints what was recorded.
case "$*" in
"-json address") cat "{root}/addresses" ;;
"-json -6 neighbour show dev "*) cat "{root}/neighbours-${{6}}" 2>/dev/null || echo "[]" ;;
*) exit 64 ;;
esac
"""
PING = '#!/bin/sh\n# Stands in for ping: it accepts what the program sends.\n[ "$1 $2 $3 $4 $5" = "-6 -c 2 -w 3" ]\n'
HEAD = "name: lab\ndefaults: {model_store: /srv/models}\nhosts:\n"
NAMES = (("enp1s0f0np0", "rocep1s0f0", "0000:01:00.0"), ("enp1s0f1np1", "rocep1s0f1", "0000:01:00.1"))


def twin_of(interface: str, device: str, slot: str) -> tuple[str, str, str]:
    return interface.replace("enp1", "enP2p1"), device.replace("rocep1", "roceP2p1"), slot.replace("0000:", "0002:")


class Spark:
    """The recorded files of one Spark: two ports with two halves each."""

    def __init__(self, root: Path, number: int) -> None:
        """Write a Spark whose ports are down."""
        self.root, self.number = root / f"10.9.0.{number}", number
        self.held: dict[str, str] = {}
        self.seen: dict[str, list[str]] = {}
        for port in NAMES:
            for half in (port, twin_of(*port)):
                self._half(*half)
        (self.root / "proc/sys/kernel").mkdir(parents=True)
        (self.root / "proc/sys/kernel/hostname").write_text(f"spark-0{number}\n")
        (self.root / "proc/meminfo").write_text("MemTotal: 125458392 kB\n")
        tools = self.root / "bin"
        tools.mkdir()
        for name, text in (("ip", IP.format(root=self.root)), ("ping", PING)):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        self.record()

    def mac(self, interface: str) -> str:
        """Return the MAC address of an interface."""
        port, half = interface[interface.index("f") + 1], "2" if "P2" in interface else "0"
        return f"4c:bb:47:0{half}:0{port}:{self.number:02x}"

    def _half(self, interface: str, device: str, slot: str) -> None:
        net, pci = self.root / "sys/class/net" / interface, self.root / "sys/devices" / slot
        (self.root / "sys/class/infiniband" / device / "device/net" / interface).mkdir(parents=True)
        (self.root / "sys/class/infiniband" / device / "fw_ver").write_text("28.45.4028\n")
        net.mkdir(parents=True)
        pci.mkdir(parents=True)
        (net / "device").symlink_to(pci)
        for name, text in (("operstate", "down"), ("mtu", "1500"), ("address", self.mac(interface))):
            (net / name).write_text(f"{text}\n")

    def plug(self, port: int, address: str | None, other: Spark, there: int) -> None:
        """Bring a port up, with an address, at the cable to the port of another Spark."""
        for interface, _, _ in (NAMES[port], twin_of(*NAMES[port])):
            for name, text in (("operstate", "up"), ("mtu", "9000"), ("speed", "200000")):
                (self.root / "sys/class/net" / interface / name).write_text(f"{text}\n")
        interface = NAMES[port][0]
        if address:
            self.held[interface] = address
        self.seen.setdefault(interface, []).append(other.mac(NAMES[there][0]))
        self.record()

    def record(self) -> None:
        """Write what `ip` prints."""
        entries = [
            {"ifname": name, "addr_info": [{"family": "inet", "local": text.split("/")[0], "prefixlen": 24}]}
            for name, text in self.held.items()
        ]
        (self.root / "addresses").write_text(json.dumps(entries))
        for name, macs in self.seen.items():
            table = [{"dst": "fe80::1", "lladdr": mac, "state": ["REACHABLE"]} for mac in macs]
            (self.root / f"neighbours-{name}").write_text(json.dumps(table))


@pytest.fixture
def sparks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Spark]:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ssh").write_text(SSH.format(root=tmp_path))
    (tools / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return [Spark(tmp_path, number) for number in (1, 2, 3, 4)]


def inventory(count: int, more: str = "") -> str:
    return HEAD + "".join(f"  spark-0{n}: {{address: 10.9.0.{n}}}\n" for n in range(1, count + 1)) + more


def links(text: str, host: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = yaml.safe_load(text)["hosts"][host]["fabric"]["links"]
    return found


def test_a_pair_with_addresses(cli: Cli, sparks: list[Spark], tmp_path: Path) -> None:
    one, two, *_ = sparks
    one.plug(1, "192.168.177.11/24", two, 0)
    two.plug(0, "192.168.177.12/24", one, 1)
    path = tmp_path / "lab.yaml"
    path.write_text(HEAD + "  spark-01:\n    address: 10.9.0.1   # first\n  spark-02: {address: 10.9.0.2}\n# end\n")
    before = path.read_text()
    outcome = cli("fabric", "discover", "lab.yaml")
    assert (outcome.code, path.read_text()) == (0, before)
    assert outcome.err.splitlines() == [
        "spark-01 enp1s0f1np1: cabled to spark-02 enp1s0f0np0",
        "spark-02 enp1s0f0np0: cabled to spark-01 enp1s0f1np1",
    ]
    subprocess.run(("git", "init", "-q"), check=True)
    subprocess.run(("git", "apply"), input=outcome.out.encode(), check=True)
    assert links(path.read_text(), "spark-01") == [
        {
            "interface": "enp1s0f1np1",
            "hca": "rocep1s0f1",
            "address": "192.168.177.11/24",
            "mtu": 9000,
            "speed_gbit": 200,
            "twin": {"interface": "enP2p1s0f1np1", "hca": "roceP2p1s0f1"},
        }
    ]
    assert "# first\n" in path.read_text()
    assert path.read_text().endswith("# end\n")
    assert cli("fabric", "discover", "lab.yaml").out == "", "a second run changes nothing"
    assert cli("check", "lab.yaml").code == 0


FRAME = bytes.fromhex("0180c200000e") + b"%s" + bytes.fromhex("88cc 0207 04") + b"%s" + bytes.fromhex("0602 0078 0000")
"""An LLDP frame: to the group of nearest bridges, from a port, with the chassis and the time to live."""


def frame(mac: str) -> bytes:
    """Return a frame of a port, with its length before it, as systemd-networkd stores it."""
    address = bytes.fromhex(mac.replace(":", ""))
    whole = FRAME % (address, address)
    return len(whole).to_bytes(8, "little") + whole


def without_answers(one: Spark, two: Spark) -> None:
    """Let no address answer a ping: systemd-networkd on the first host and lldpd on the second have received frames.

    The cable is that of the second port of the first host and the first port of the second one; the file also has the
    frame of a switch, and the start of another frame.
    """
    for spark in (one, two):
        spark.seen = {name: [] for name in spark.seen}
        spark.record()
    (one.root / "sys/class/net/enp1s0f1np1/ifindex").write_text("7\n")
    (one.root / "run/systemd/netif/lldp").mkdir(parents=True)
    frames = frame("aa:bb:cc:00:00:01") + frame(two.mac("enp1s0f0np0"))
    (one.root / "run/systemd/netif/lldp/7").write_bytes(frames + frames[:11])
    port = {"id": [{"type": "mac", "value": one.mac("enp1s0f1np1").upper()}]}
    chassis = [{"id": [{"type": "local", "value": "x"}]}]
    told = {"lldp": [{"interface": [{"name": "enp1s0f0np0", "chassis": chassis, "port": [port]}]}]}
    (two.root / "bin/lldpcli").write_text(f"#!/bin/sh\n# Stands in for lldpcli.\necho '{json.dumps(told)}'\n")
    (two.root / "bin/lldpcli").chmod(0o755)


def test_lldp_frames_name_the_other_end_where_nobody_answers_a_ping(
    cli: Cli, sparks: list[Spark], tmp_path: Path
) -> None:
    one, two, *_ = sparks
    one.plug(1, "192.168.177.11/24", two, 0)
    two.plug(0, "192.168.177.12/24", one, 1)
    without_answers(one, two)
    (tmp_path / "lab.yaml").write_text(inventory(2))
    outcome = cli("fabric", "discover", "lab.yaml")
    assert outcome.err.splitlines() == [
        "spark-01 enp1s0f1np1: cabled to spark-02 enp1s0f0np0",
        "spark-02 enp1s0f0np0: cabled to spark-01 enp1s0f1np1",
    ]


@pytest.mark.parametrize("told", ["", "{}", '{"lldp": [{}]}', '{"lldp": [{"interface": [{"name": "enp1s0f1np1"}]}]}'])
def test_unexpected_output_of_lldpd_is_not_a_neighbour(
    cli: Cli, sparks: list[Spark], tmp_path: Path, told: str
) -> None:
    one, *_ = sparks
    one.plug(1, "192.168.177.11/24", one, 1)
    (one.root / "bin/lldpcli").write_text(f"#!/bin/sh\necho '{told}'\n")
    (one.root / "bin/lldpcli").chmod(0o755)
    (tmp_path / "lab.yaml").write_text(inventory(1))
    outcome = cli("fabric", "discover", "lab.yaml")
    assert outcome.err.splitlines() == [
        "spark-01 enp1s0f1np1: other end unknown: no host of this inventory answers there"
    ]


def test_write_gives_what_the_patch_gives(cli: Cli, sparks: list[Spark], tmp_path: Path) -> None:
    one, two, *_ = sparks
    one.plug(1, "192.168.177.11/24", two, 0)
    two.plug(0, "192.168.177.12/24", one, 1)
    path = tmp_path / "lab.yaml"
    path.write_text(inventory(2))
    patch = cli("fabric", "discover", "lab.yaml").out
    assert cli("fabric", "discover", "lab.yaml", "--write").code == 0
    written = path.read_text()
    path.write_text(inventory(2))
    subprocess.run(("git", "init", "-q"), check=True)
    subprocess.run(("git", "apply"), input=patch.encode(), check=True)
    assert path.read_text() == written


def test_three_without_addresses_get_a_network_for_each_cable(cli: Cli, sparks: list[Spark], tmp_path: Path) -> None:
    ring = sparks[:3]
    for index, spark in enumerate(ring):
        spark.plug(0, None, ring[(index + 1) % 3], 1)
        spark.plug(1, None, ring[index - 1], 0)
    path = tmp_path / "lab.yaml"
    names = "[spark-01, spark-02, spark-03]"
    big = f"deployments:\n  big:\n    recipe: base/single-spark\n    model: o/m\n    hosts: {names}\n"
    path.write_text(inventory(3) + big + "    port: 1\n    set: {pipeline_parallel_size: 3}\n")
    path.write_text(path.read_text().replace(": {address: 10.9.0.1}", ":\n    address: 10.9.0.1"))
    assert cli("fabric", "discover", "lab.yaml", "--write").code == 0
    assert path.read_text().count("# proposed: the host has no such address yet") == 2, "comments only fit in blocks"
    outcome = cli("check", "lab.yaml", "--allow-unlocked")
    assert (outcome.code, "MN0" in outcome.err) == (0, False), "each pair shares a network"
    assert len({link["address"] for n in (1, 2, 3) for link in links(path.read_text(), f"spark-0{n}")}) == 6


def test_a_switch_is_one_network(cli: Cli, sparks: list[Spark], tmp_path: Path) -> None:
    for spark in sparks:
        for other in sparks:
            if other is not spark:
                spark.plug(1, None, other, 1)
    path = tmp_path / "lab.yaml"
    path.write_text(inventory(4))
    outcome = cli("fabric", "discover", "lab.yaml", "--write")
    assert outcome.code == 0
    assert "spark-01 enp1s0f1np1: in one network with spark-02 enp1s0f1np1, spark-03 enp1s0f1np1" in outcome.err
    found = [links(path.read_text(), f"spark-0{n}")[0]["address"] for n in (1, 2, 3, 4)]
    assert found == [f"192.168.177.1{n}/24" for n in (1, 2, 3, 4)]


def test_what_is_not_known_is_said(cli: Cli, sparks: list[Spark], tmp_path: Path) -> None:
    one, two, *_ = sparks
    one.plug(1, "192.168.177.11/24", two, 0)
    one.seen["enp1s0f1np1"] = ["aa:bb:cc:00:00:01"]
    one.record()
    (tmp_path / "lab.yaml").write_text(inventory(2))
    outcome = cli("fabric", "discover", "lab.yaml")
    assert outcome.code == 1
    assert outcome.err.splitlines() == [
        "spark-01 enp1s0f1np1: other end unknown: no host of this inventory answers there",
        "spark-02: no link: no port with an RDMA device is up",
    ]


def test_former_links_are_replaced_in_their_layout(cli: Cli, sparks: list[Spark], tmp_path: Path) -> None:
    one, two, *_ = sparks
    one.plug(1, "192.168.177.11/24", two, 0)
    two.plug(0, "192.168.177.12/24", one, 1)
    path = tmp_path / "lab.yaml"
    path.write_text(
        HEAD + "  spark-01:\n    fabric:\n      netplan: true\n      links:\n        - interface: old\n"
        "          address: 10.0.0.1/24\n    address: 10.9.0.1\n"
        "  spark-02: {address: 10.9.0.2, fabric: {links: [{interface: old, address: 10.0.0.2/24}]}}\n"
    )
    assert cli("fabric", "discover", "lab.yaml", "--write").code == 0
    text = path.read_text()
    assert [link["interface"] for n in (1, 2) for link in links(text, f"spark-0{n}")] == ["enp1s0f1np1", "enp1s0f0np0"]
    assert "      netplan: true\n" in text
    assert "    address: 10.9.0.1\n" in text


def test_verify_without_links_says_how_to_find_them(cli: Cli) -> None:
    done = cli("fabric", "verify", "inventories/lab.yaml")
    assert (done.code, done.out) == (0, "no host has links; sparkiac fabric discover INVENTORY finds them\n")
