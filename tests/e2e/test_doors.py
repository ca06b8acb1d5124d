"""A port scan of two booted hosts from a third machine: it finds what the plan prints, and nothing else.

The guest has two addresses of each version of IP, of which one is listed. spark-01 publishes a port of a container and
has two programs of its own, one without a list; spark-02 publishes its port at an IPv6 address. All the while, the
address that is not listed tries the closed ports ten times a second.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import sys
import time
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.bed.network import GUEST_ADDRESS
from tests.e2e.bed.shell import run, wait_for
from tests.e2e.faults import RECIPE, UNITS
from tests.e2e.lab import KEY, Lab
from tests.e2e.polls import PrintingModule
from tests.e2e.test_services import AGENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
LISTED, OTHER = (GUEST_ADDRESS, "fd77::5"), ("10.77.0.6", "fd77::6")
ADDRESSES = {"spark-01": ("10.77.0.11", "fd77::11"), "spark-02": ("10.77.0.12", "fd77::12")}
SSH = 22
"""Not ours, and open for everybody."""
EVERY_PORT, LOW_PORTS, OURS = "1-65535", "1-10240", "22 8000-8700"
CLOSED = {"10.77.0.11": ("8001", "8642"), "fd77::12": ("8001",)}
"""What the address that is not listed tries all the time."""
LIST = f"reachable_from: [{LISTED[0]}, '{LISTED[1]}']"
SETTINGS = f"    {LIST}\n    timeouts: {{ready_s: 200, drain_s: 0}}\n"
SERVICES = f"""
services:
  agent:
    kind: hermes-agent
    hosts: spark-01
    uses: qwen36
    api_key: {{secret: hermes_key}}
    program: /home/spark/.local/bin/hermes
    user: spark
    {LIST}
  open:
    kind: hermes-agent
    hosts: spark-01
    uses: qwen36
    api_key: {{secret: hermes_key}}
    program: /home/spark/.local/bin/hermes
    user: spark
    port: 8643
"""
OUTWARD = """
import json, socket
found = []
for place in (("10.77.0.11", 8001), ("10.77.0.1", 5000), ("10.77.0.12", 22), ("127.0.0.1", 22)):
    try:
        socket.create_connection(place, timeout=5).close()
        found.append(True)
    except OSError:
        found.append(False)
query = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    found.append(query.sendto(b"query", ("10.77.0.1", 53)) > 0)
except OSError:
    found.append(False)
print(json.dumps(found))
"""
"""Connects to the model, the registry, two SSH servers, and sends a query for a name."""
PATIENCE_S = 400


class Attempts(PrintingModule):
    """The attempts of the address that is not listed, at one address of a host."""

    def __init__(self, bed: Bed, address: str) -> None:
        """Try nothing yet."""
        words = ("tests.e2e.scan", "always", OTHER[":" in address], address, *CLOSED[address])
        super().__init__(bed, *words, where="guest")
        self.opened: list[tuple[float, str]] = []

    def take(self, at_s: str, address: str, port: str) -> None:
        """Keep a connection that was accepted."""
        self.opened.append((float(at_s), f"{address} {port}"))


@dataclass
class Site:
    """The lab, applied, and who tries its closed ports."""

    lab: Lab
    attempts: list[Attempts] = field(default_factory=list)

    def root(self, host: str, command: str) -> str:
        """Run a command on a host as root and return its output."""
        return self.lab.bed.ssh(host, command, root=True).stdout.strip()

    def ports(self) -> list[dict[str, Any]]:
        """Return the rows of the plan about ports."""
        done = self.lab.sparkiac("audit", "inventories/lab.yaml", "--format", "json")
        rows: list[dict[str, Any]] = json.loads(done.stdout)["ports"]
        printed = (self.lab.tree / "PLAN.md").read_text()
        assert all(row["reach"] in printed for row in rows)
        return [row for row in rows if "during an apply" not in row["reach"]]

    def planned(self) -> dict[tuple[str, str], list[int]]:
        """Return (source, address) → the ports that are open, as the rows say."""
        listens = {host: self.listens(host) for host in ADDRESSES}
        found = {}
        for source in (*LISTED, *OTHER):
            for host, addresses in ADDRESSES.items():
                address = addresses[":" in source]
                mine = [row for row in self.ports_of(host) if listens[host][row["unit"]] == address]
                found[source, address] = sorted(
                    [SSH, *(int(row["port"]) for row in mine if reaches(row["reach"], source))]
                )
        return found

    def ports_of(self, host: str) -> list[dict[str, Any]]:
        """Return the rows of one host."""
        return [row for row in self.ports() if row["host"] == host]

    def listens(self, host: str) -> dict[str, str]:
        """Return unit → the address of its port."""
        units = json.loads((self.lab.tree / f"hosts/{host}/etc/sparkiac/generation.json").read_text())["units"]
        return {each["name"].removeprefix("sparkiac-"): each["listen"].rpartition(":")[0].strip("[]") for each in units}

    def scanned(self, ports: str = LOW_PORTS) -> dict[tuple[str, str], list[int]]:
        """Return the same as `planned`, as the guest finds it."""
        found = {}
        for source in (*LISTED, *OTHER):
            for addresses in ADDRESSES.values():
                address = addresses[":" in source]
                argv = [sys.executable, "-m", "tests.e2e.scan", "once", source, address, *ports.split()]
                done = run(self.lab.bed.inside(argv, name="guest"), timeout=600)
                found[source, address] = json.loads(done.stdout)
        return found

    def wait_ready(self) -> None:
        """Wait until all units are ready."""
        for host, units in {
            "spark-01": f"{UNITS['spark-01']} sparkiac-agent sparkiac-open",
            "spark-02": UNITS["spark-02"],
        }.items():
            each = f'for each in {units}; do systemctl --quiet is-active "$each" || exit 1; done'
            self.lab.bed.wait_until(host, f"sh -c '{each}'", timeout=PATIENCE_S)

    @contextlib.contextmanager
    def phase(self, name: str, ports: str = LOW_PORTS) -> Iterator[None]:
        """Compare scan and plan after what is done meanwhile, and print a row."""
        began = time.monotonic()
        yield
        self.wait_ready()
        planned = self.planned()
        wait_for(lambda: self.scanned(OURS) == planned, f"the ports of the plan after {name}", timeout=PATIENCE_S)
        scanned = self.scanned(ports)
        opened = [each for attempts in self.attempts for each in attempts.opened if each[0] >= began]
        counts = " | ".join(str(sum(len(found[key]) for key in found)) for found in (planned, scanned))
        print(f"| {name} | {ports} | {counts} | {len(opened)} |", flush=True)  # noqa: T201 - shown with -s
        assert scanned == planned
        assert opened == []


def reaches(reach: str, source: str) -> bool:
    """Return whether a row of the plan lets an address connect."""
    listed = [each for each in re.findall(r"[0-9a-f:.]+(?:/\d+)?(?=[,)]|$)", reach) if "." in each or ":" in each]
    return "this host" not in reach or any(ip_address(source) in ip_network(each) for each in listed)


@pytest.fixture(scope="module")
def site(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield the lab, generated and not applied."""
    lab = Lab(bed, tmp_path_factory.mktemp("lab"))
    addresses = [
        ("control", "mgmt0", "fd77::1/64"),
        *(("guest", "eth0", f"{each}/64") for each in (OTHER[1], LISTED[1])),
    ]
    addresses += [("guest", "eth0", f"{OTHER[0]}/24")]
    addresses += [(host, bed.hosts[host].interface, f"{each[1]}/64") for host, each in ADDRESSES.items()]
    for name, interface, address in addresses:
        nodad = ["nodad"] if ":" in address else []
        run(bed.inside(["ip", "address", "add", address, "dev", interface, *nodad], name=name))
    lab.write()
    lab.edit(f"{RECIPE}\n", f"{RECIPE}\n{SETTINGS}")
    second = "    recipe: google/gemma-4-26b-a4b-it-fp8\n"
    lab.edit(second, f"{second}    bind: fabric\n{SETTINGS}")
    link = f"{{interface: {bed.hosts['spark-02'].interface}, address: '{ADDRESSES['spark-02'][1]}/64', mtu: 1500}}"
    lab.edit("  spark-02:\n", f"  spark-02:\n    fabric: {{links: [{link}]}}\n")
    lab.inventory.write_text(lab.inventory.read_text() + SERVICES)
    secrets = {"vllm_api_key": KEY, "hermes_key": "canary-of-the-agents-9c41"}
    (lab.folder / "secrets.json").write_text(json.dumps({"sparkiac_secrets": secrets}))
    lab.generate()
    lab.stage()
    install = f"mkdir -p ~/.local/bin && cat >~/.local/bin/hermes <<'END'\n{AGENT}END\nchmod +x ~/.local/bin/hermes"
    bed.ssh("spark-01", install)
    found = Site(lab, [Attempts(bed, address) for address in CLOSED])
    print("\n| after | ports | open in the plan | open in the scan | opened meanwhile |\n|---|---|--:|--:|--:|")  # noqa: T201
    with contextlib.ExitStack() as stack:
        for attempts in found.attempts:
            stack.enter_context(attempts)
        yield found


def test_the_first_apply(site: Site) -> None:
    with site.phase("the first apply", EVERY_PORT):
        recap = site.lab.apply()
        assert recap.code == 0, recap.output
    assert site.planned() == {
        (LISTED[0], "10.77.0.11"): [SSH, 8001, 8642, 8643],
        (LISTED[0], "10.77.0.12"): [SSH],
        (LISTED[1], "fd77::11"): [SSH],
        (LISTED[1], "fd77::12"): [SSH, 8001],
        (OTHER[0], "10.77.0.11"): [SSH, 8643],
        (OTHER[0], "10.77.0.12"): [SSH],
        (OTHER[1], "fd77::11"): [SSH],
        (OTHER[1], "fd77::12"): [SSH],
    }


def test_a_restart_of_docker(site: Site) -> None:
    with site.phase("a restart of docker"):
        for host in ADDRESSES:
            site.root(host, "systemctl restart docker.service")


def test_a_reboot(site: Site) -> None:
    with site.phase("a reboot of both hosts"):
        for host in ADDRESSES:
            site.lab.bed.reboot(host)


def test_a_longer_list_and_a_rollback(site: Site) -> None:
    text = site.lab.inventory.read_text()
    tree = site.planned()
    site.lab.inventory.write_text(
        text.replace(
            "    bind: fabric\n" + SETTINGS, "    bind: fabric\n" + SETTINGS.replace("'fd77::5'", "'fd77::/64'")
        )
    )
    site.lab.generate()
    recap = site.lab.apply()
    assert recap.code == 0, recap.output
    site.wait_ready()
    assert site.scanned() == site.planned() != tree
    site.lab.inventory.write_text(text)
    site.lab.generate()
    recap = site.lab.apply("--limit", "spark-02", playbook="playbooks/rollback.yml")
    assert recap.code == 0, recap.output
    with site.phase("a rollback"):
        pass


def test_an_agent_connects_to_its_model_only(site: Site) -> None:
    """Also after the reboot: neither to the registry, to SSH servers nor for a name; other programs of its user do."""
    enter = "echo 0 >/sys/fs/cgroup/unified/system.slice/sparkiac-agent.service/cgroup.procs"
    program = f"setpriv --reuid=spark --clear-groups python3 -c {shlex.quote(OUTWARD)}"
    found = [json.loads(site.root("spark-01", command)) for command in (f"{enter} && {program}", program)]
    print(f"| the agent, other programs of its user: {found} | | | | |")  # noqa: T201
    assert found == [[True, False, False, False, False], [True] * 5]


@pytest.mark.parametrize("host", ADDRESSES)
def test_each_rule_is_needed(site: Site, host: str) -> None:
    """The keeper of the table is stopped meanwhile; then it writes the rule again."""
    planned, without = site.planned(), {}
    for left_out in rules_of(site, host):
        site.root(host, "systemctl kill --signal=STOP sparkiac-doors.service")
        site.root(host, f"nft '{left_out}'")
        without[left_out] = site.scanned() != planned
        site.root(host, "systemctl kill --signal=CONT sparkiac-doors.service")
        wait_for(lambda: site.scanned(OURS) == planned, f"{left_out} to be undone", timeout=60)
    row = f"{host} without one of {len(without)} rules, each by itself | {LOW_PORTS} | | {sum(without.values())} differ"
    print(f"| {row} | |")  # noqa: T201
    assert len(without) == {"spark-01": 4, "spark-02": 2}[host]
    assert all(without.values()), without


def rules_of(site: Site, host: str) -> list[str]:
    """Return the commands that delete one rule about clients, or one element of their sets."""
    found = json.loads(site.root(host, "nft --json --handle list table inet sparkiac"))["nftables"]
    rules = [each["rule"] for each in found if "@clients" in json.dumps(each.get("rule", ""))]
    sets = [each["set"] for each in found if each.get("set", {}).get("name", "").startswith("clients")]
    return [
        *(f"delete rule inet sparkiac arriving handle {each['handle']}" for each in rules),
        *(f"delete element inet sparkiac {each['name']} {{ {one} }}" for each in sets for one in each.get("elem", [])),
    ]
