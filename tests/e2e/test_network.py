"""`network.yml` with the real netplan and systemd-networkd on two booted hosts, whose links have different names.

The links are veth pairs, and no udevd runs: what netplan leaves to udev, such as names of interfaces, is not tested.
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import Lab, Recap

if TYPE_CHECKING:
    from tests.e2e.bed import Bed

HOSTS = ("spark-01", "spark-02")
INSTALLED = "/etc/netplan/60-sparkiac.yaml"
FORMER = "/var/lib/sparkiac/network/60-sparkiac.yaml"
CONTROLLER = "10.77.0.1"
CALLBACK = Path(__file__).parent / "callback"
PLAYBOOK = "playbooks/network.yml"
REVERT_S = 30
"""The shortest time that the playbook accepts."""
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

    def killed_before_confirmation(self, host: str, revert_s: int) -> None:
        """Run network.yml for a host, and kill the controller when the links are tried and not confirmed."""
        env = {"ANSIBLE_CALLBACK_PLUGINS": str(CALLBACK), "ANSIBLE_CALLBACKS_ENABLED": "kill_controller"}
        words = ("--limit", host, "-e", f"revert_s={revert_s}")
        with self.applying(*words, playbook=PLAYBOOK, **env, KILL="before network : Open a new connection") as process:
            output, _ = process.communicate(timeout=600)
        assert process.returncode == -signal.SIGKILL, output

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
        """Restore the links that the bed gives both hosts, and remove netplan files."""
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

    first = {host: links.root(host, f"cat {INSTALLED}") for host in HOSTS}
    wanted = links.want("10.80.0", 9000)
    good(links.play(), 2, 2)
    assert links.links() == wanted
    assert links.ping(9000)
    assert {host: links.root(host, f"cat {FORMER}") for host in HOSTS} == first
    assert {host: links.others(host) for host in HOSTS} == before

    links.want("10.80.0", 9000, "spark-01")
    good(links.play(), 0, 2)
    assert links.root("spark-02", "ls /etc/netplan") == ""
    assert links.links() == {"spark-01": wanted["spark-01"], "spark-02": ("", 9000)}
    good(links.play("--check"), 0, 0)


def test_what_cannot_be_right_is_refused_before_anything_changes(links: Links) -> None:
    """The interface of the default route, and one that does not exist."""
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


def reverted(links: Links, host: str) -> bool:
    """Return whether a host has no tried file and no program that reverts one."""
    script = "ls /run/netplan; systemctl is-active --quiet 'sparkiac-network-revert.*' && echo active; true"
    done = links.bed.ssh(host, script, root=True, check=False)
    return done.returncode == 0 and done.stdout == ""


@pytest.mark.deep
@pytest.mark.parametrize("revert_s", [REVERT_S, 90])
@pytest.mark.parametrize("wrong", ["the management address is moved", "the link has the address of the controller"])
def test_a_host_that_is_cut_off_returns_by_itself(links: Links, wrong: str, revert_s: int) -> None:
    host = links.bed.hosts["spark-02"]
    before = links.others("spark-02")
    if wrong == "the management address is moved":
        links.root("spark-02", "ip route delete default")
        interface, address = host.interface, "10.99.0.12/24"
    else:
        interface, address = host.fabric_interface, f"{CONTROLLER}/24"
    links.describe({"spark-02": f"{{netplan: true, links: [{{interface: {interface}, address: {address}}}]}}"})
    recap = links.play("--limit", "spark-02", "-e", f"revert_s={revert_s}")
    assert recap.code != 0
    said = " ".join(recap.output.split())
    assert "The links of spark-02 were changed, but not kept" in said, recap.output
    assert "spark-02 has its former links again" in said, recap.output
    assert reverted(links, "spark-02")
    if wrong == "the management address is moved":
        links.root("spark-02", f"ip route add default via {CONTROLLER}")
    assert links.links() == BY_HAND
    assert links.others("spark-02") == before
    assert links.root("spark-02", "ls /etc/netplan") == ""


@pytest.mark.deep
def test_a_reboot_before_the_confirmation_returns_to_the_former_links(links: Links) -> None:
    former = links.want("10.79.0", 4000)
    good(links.play(), 2, 2)
    tried = links.want("10.80.0", 9000)
    links.killed_before_confirmation("spark-02", 3600)
    assert links.links() == {"spark-01": former["spark-01"], "spark-02": tried["spark-02"]}
    links.bed.reboot("spark-02")
    wait_for(lambda: links.links() == former, "the former links", timeout=600)
    assert reverted(links, "spark-02")
    assert links.ping(4000)


@pytest.mark.deep
def test_without_the_controller_the_former_links_return(links: Links) -> None:
    former = links.want("10.79.0", 4000)
    good(links.play(), 2, 2)
    installed = links.root("spark-01", f"cat {INSTALLED}")
    journal = "journalctl --quiet -o cat -u sparkiac-network-revert | grep -cx reverted || true"
    count = int(links.root("spark-01", journal))
    wanted = links.want("10.80.0", 9000)
    links.killed_before_confirmation("spark-01", REVERT_S)
    began = time.monotonic()
    wait_for(lambda: reverted(links, "spark-01"), "the revert", timeout=REVERT_S + 120)
    print(f"reverted {time.monotonic() - began:.0f} s after the controller was killed")  # noqa: T201
    assert int(links.root("spark-01", journal)) == count + 1
    assert links.links() == former
    assert links.ping(4000)
    assert links.root("spark-01", f"cat {INSTALLED}") == installed
    good(links.play(), 2, 2)
    assert links.links() == wanted
