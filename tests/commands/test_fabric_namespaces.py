"""`sparkiac fabric verify` between two network namespaces, with real pings and iperf3; ssh is a stand-in."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.namespaces import namespaces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Outcome
    from tests.namespaces import Namespaces

    Cli = Callable[..., Outcome]

SSH = """\
#!/bin/sh
# Stands in for ssh: it runs the command in the network namespace that is named after the address.
while [ "$1" != -- ]; do shift; done
exec ip netns exec "{prefix}$2" sh -c "$3"
"""
INVENTORY = """\
name: pair
defaults: {model_store: /srv/models}
hosts:
  spark-01:
    address: 10.99.0.1
    fabric: {links: [{interface: left, address: 10.98.0.1/24, mtu: 9000}]}
  spark-02:
    address: 10.99.0.2
    fabric: {links: [{interface: right, address: 10.98.0.2/24, mtu: 9000}]}
deployments:
  big: {recipe: base/single-spark, model: example/big, hosts: [spark-01, spark-02], port: 8001}
"""


@pytest.fixture
def spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Namespaces]:
    """Make two namespaces with a cable of MTU 9000 between them, and a stand-in of ssh that enters them."""
    one, other = "10.99.0.1", "10.99.0.2"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pair.yaml").write_text(INVENTORY)
    with namespaces("fab", one, other, tools=("tc", "ping", "iperf3")) as found:
        tools = tmp_path / "tools"
        tools.mkdir()
        (tools / "ssh").write_text(SSH.format(prefix=found.prefix))
        (tools / "ssh").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
        found.cable((one, "left", "10.98.0.1/24"), (other, "right", "10.98.0.2/24"))
        found.ip_of(one, "link", "set", "left", "mtu", "9000")
        found.ip_of(other, "link", "set", "right", "mtu", "9000")
        yield found


def steps(cli: Cli, *options: str) -> dict[str, tuple[bool | None, str]]:
    found = json.loads(cli("fabric", "verify", "pair.yaml", "--format", "json", *options).out)["steps"]
    return {f"{each['host']}: {each['name']}": (each["passed"], each["found"]) for each in found}


PING = "spark-01: full-size packets to spark-02 over left"
IPERF = "spark-01: iperf3 to spark-02 over left"


@pytest.mark.usefixtures("spaces")
def test_a_good_pair_is_measured_and_recorded(cli: Cli, tmp_path: Path) -> None:
    found = steps(cli)
    assert found["spark-01: link left"] == (True, "up")
    assert found["spark-02: address of right"] == (True, "10.98.0.2/24")
    assert found["spark-02: MTU of right"] == (True, "9000")
    assert found[PING] == (True, "8972 bytes arrive")
    assert found[IPERF][0] is True
    [speed] = json.loads((tmp_path / "pair.links.json").read_text())["links"]
    assert found[IPERF][1] == f"{speed['latest_gbit']:.2f} Gbit/s"
    assert speed["best_gbit"] == speed["latest_gbit"] > 0
    assert (speed["source"], speed["target"], speed["tool"]) == ("spark-01", "spark-02", "iperf3")


def test_a_later_slower_link_is_found_by_check(cli: Cli, spaces: Namespaces, tmp_path: Path) -> None:
    steps(cli)
    assert "MN104" not in cli("check", "pair.yaml").err
    before = json.loads((tmp_path / "pair.links.json").read_text())["links"][0]["best_gbit"]
    limit = ("qdisc", "add", "dev", "left", "root", "tbf", "rate", "50mbit", "burst", "64kb", "latency", "50ms")
    subprocess.run(spaces.within("10.99.0.1", "tc", *limit), check=True, capture_output=True)
    assert steps(cli)[IPERF][0] is True
    [speed] = json.loads((tmp_path / "pair.links.json").read_text())["links"]
    assert speed["latest_gbit"] < before == speed["best_gbit"]
    said = cli("check", "pair.yaml").err
    assert f"warning MN104 slower-link: iperf3 measured {speed['latest_gbit']} Gbit/s" in said
    assert f"{before} Gbit/s" in said


def test_a_smaller_mtu_in_between_is_found(cli: Cli, spaces: Namespaces) -> None:
    spaces.ip_of("10.99.0.2", "link", "set", "right", "mtu", "1500")
    found = steps(cli)
    assert found["spark-02: MTU of right"] == (False, "1500")
    assert found[PING][0] is False
    assert IPERF not in found


def test_a_link_that_is_down_and_a_wrong_name_are_found(cli: Cli, spaces: Namespaces, tmp_path: Path) -> None:
    spaces.ip_of("10.99.0.2", "link", "set", "right", "down")
    (tmp_path / "pair.yaml").write_text(INVENTORY.replace("interface: left", "interface: enp9"))
    found = steps(cli, "--no-speed")
    assert found["spark-02: link right"] == (False, "down")
    assert found["spark-01: link enp9"] == (False, "this host has none")
    assert cli("fabric", "verify", "pair.yaml", "--no-speed").code == 1
