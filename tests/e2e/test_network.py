"""`network.yml` with the real netplan and systemd-networkd on two booted hosts, whose links have different names.

The links are veth pairs, and no udevd runs: what netplan leaves to udev, such as names of interfaces, is not tested.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.lab import Lab, Recap

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.bed import Bed

HOSTS = ("spark-01", "spark-02")
INSTALLED = "/etc/netplan/60-sparkiac.yaml"
FORMER = "/var/lib/sparkiac/network/60-sparkiac.yaml"
PLAYBOOK = "playbooks/network.yml"
PATIENT = ("-e", "revert_s=900")
"""No load of the machine delays a confirmation for so long."""
BY_HAND = {"spark-01": ("10.78.0.1/24", 9000), "spark-02": ("10.78.0.2/24", 9000)}
"""Address and MTU of the links as the bed sets them: without netplan."""


class Links(Lab):
    """An inventory without deployments, whose links netplan sets."""

    def want(self, network: str, mtu: int, *hosts: str) -> dict[str, tuple[str, int]]:
        """Generate the tree with links in a network, of all hosts or of some; return what each link will have."""
        links = {host: (f"{network}.{number}/24", mtu) for number, host in enumerate(HOSTS, start=1)}
        self.describe(
            {
                host: f"{{netplan: true, links: [{{interface: {self.link(host)}, address: {address}, mtu: {mtu}}}]}}"
                for host, (address, mtu) in links.items()
                if host in (hosts or HOSTS)
            }
        )
        return links

    def describe(self, fabrics: dict[str, str]) -> None:
        """Generate the tree from `fabric:` of hosts; those without one have no links."""
        self.inventory.parent.mkdir(exist_ok=True)
        lines = ["name: lab", "defaults: {user: spark}", "deployments: {}", "hosts:"]
        for host in HOSTS:
            lines += [f"  {host}:", f"    address: {self.bed.hosts[host].address}"]
            lines += [f"    fabric: {fabrics[host]}"] if host in fabrics else []
        self.inventory.write_text("\n".join(lines) + "\n")
        (self.folder / "secrets.json").write_text("{}")
        self.generate()

    def play(self, *options: str) -> Recap:
        """Run network.yml and print how long it took."""
        began = time.monotonic()
        recap = self.apply(*PATIENT, *options, playbook=PLAYBOOK)
        print(f"network.yml {' '.join(options)}: {time.monotonic() - began:.0f} s, rc {recap.code}")  # noqa: T201
        return recap

    def link(self, host: str) -> str:
        """Return the name of a host's link."""
        return self.bed.hosts[host].fabric_interface

    def root(self, host: str, command: str) -> str:
        """Run a command on a host as root and return its output."""
        return self.bed.ssh(host, command, root=True).stdout

    def addresses(self, host: str) -> dict[str, tuple[list[str], int]]:
        """Return the IPv4 addresses and the MTU of each interface."""
        found: dict[str, tuple[list[str], int]] = {}
        for each in json.loads(self.root(host, "ip -json address show")):
            listed = [one for one in each["addr_info"] if one["family"] == "inet"]
            found[each["ifname"]] = ([f"{one['local']}/{one['prefixlen']}" for one in listed], each["mtu"])
        return found

    def links(self) -> dict[str, tuple[str, int]]:
        """Return address and MTU of the link of each host."""
        found = {host: self.addresses(host)[self.link(host)] for host in HOSTS}
        return {host: (" ".join(has), mtu) for host, (has, mtu) in found.items()}

    def others(self, host: str) -> object:
        """Return everything else of a host's network: interfaces, routes and rules."""
        link = self.link(host)
        found = {name: each for name, each in self.addresses(host).items() if name != link}
        routes = self.root(host, "ip route show table all; ip -6 route show table all; ip rule; ip -6 rule")
        return found, sorted(line for line in routes.splitlines() if f" {link} " not in f"{line} ")

    def ping(self, size: int) -> bool:
        """Return whether the first host reaches the second one over the link with packets of a size."""
        address, _ = self.links()["spark-02"]
        command = f"ping -c 3 -i 0.2 -W 5 -M do -s {size - 28} {address.partition('/')[0]}"
        return self.bed.ssh("spark-01", command, root=True, check=False).returncode == 0

    def reset(self) -> None:
        """Give both hosts the links that the bed gives them, and no file of netplan."""
        for host, (address, mtu) in BY_HAND.items():
            link = self.link(host)
            self.root(
                host,
                f"rm -rf /etc/netplan/* /run/netplan /var/lib/sparkiac; netplan apply;"
                f"systemctl stop systemd-networkd.socket systemd-networkd; ip address flush dev {link} scope global;"
                f"ip address add {address} dev {link}; ip link set {link} mtu {mtu} up",
            )
        assert self.links() == BY_HAND


@pytest.fixture
def links(bed: Bed, tmp_path: Path) -> Links:
    """Return an inventory on hosts that do not use netplan."""
    found = Links(bed, tmp_path)
    found.reset()
    return found


def good(recap: Recap, spark_01: int, spark_02: int) -> None:
    """Require a run that changed so much on each host."""
    assert (recap.code, recap.changed) == (0, {"spark-01": spark_01, "spark-02": spark_02}), recap.output


def test_check_mode_predicts_and_changes_nothing(links: Links) -> None:
    links.want("10.79.0", 4000)
    before = {host: links.others(host) for host in HOSTS}
    good(links.play("--check"), 1, 1)
    assert links.links() == BY_HAND
    assert {host: links.others(host) for host in HOSTS} == before
    for host in HOSTS:
        assert links.root(host, "ls /etc/netplan; ls -d /run/netplan /run/sparkiac/network || true") == ""


def test_it_sets_addresses_and_mtu_and_nothing_else(links: Links) -> None:
    before = {host: links.others(host) for host in HOSTS}
    wanted = links.want("10.79.0", 4000)
    recap = links.play()
    good(recap, 2, 2)
    assert links.links() == wanted
    assert links.ping(4000)
    assert not links.ping(4001)
    assert {host: links.others(host) for host in HOSTS} == before
    good(links.play(), 0, 0)
    good(links.play("--check"), 0, 0)

    first = {host: links.root(host, f"cat {INSTALLED}") for host in HOSTS}
    wanted = links.want("10.80.0", 9000)
    good(links.play(), 2, 2)
    assert links.links() == wanted
    assert links.ping(9000)
    assert {host: links.root(host, f"cat {FORMER}") for host in HOSTS} == first
    assert {host: links.others(host) for host in HOSTS} == before

    links.want("10.80.0", 9000, "spark-01")
    good(links.play("--check"), 0, 1)
    good(links.play(), 0, 2)
    assert links.root("spark-02", "ls /etc/netplan") == ""
    assert links.links() == {"spark-01": wanted["spark-01"], "spark-02": ("", 9000)}
    good(links.play(), 0, 0)


def test_what_cannot_be_right_is_refused_before_anything_changes(links: Links) -> None:
    """The interface of the default route, one that does not exist, and an MTU that the link cannot have."""
    link, management = links.link("spark-01"), links.bed.hosts["spark-01"].interface
    before = links.others("spark-01")
    cases = {
        management: "has the default route of this host",
        "enp9s9": f"this host has no interface enp9s9; it has docker0, {management}, {link}",
    }
    for interface, message in cases.items():
        links.describe({"spark-01": f"{{netplan: true, links: [{{interface: {interface}, address: 10.79.0.1/24}}]}}"})
        recap = links.play("--limit", "spark-01")
        assert recap.code != 0
        assert message in " ".join(recap.output.split()), recap.output
        assert links.root("spark-01", "ls /etc/netplan; ls -d /run/netplan || true") == ""
        assert (links.links(), links.others("spark-01")) == (BY_HAND, before)
