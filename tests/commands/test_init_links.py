"""`sparkiac init --from-host` states the links that `sparkiac fabric discover` finds. Not verified on hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
import yaml

from tests.commands import test_fabric_discovery
from tests.commands.test_fabric_discovery import links, without_answers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands.test_fabric_discovery import Spark
    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

sparks = test_fabric_discovery.sparks
"""Fixture: recorded trees of four Sparks, and a stand-in for ssh that runs the programs on them."""
GROUP: Final = "nvidia/minimax-m2.7-nvfp4"
"""A recipe for two hosts."""


def read(*numbers: int) -> list[str]:
    """Return the options that read these Sparks."""
    return [word for number in numbers for word in ("--from-host", f"10.9.0.{number}")]


def inventory(folder: Path) -> str:
    return (folder / "made/inventories/made.yaml").read_text()


def test_cables_that_only_lldp_shows_are_the_links_of_a_group(cli: Cli, sparks: list[Spark], tmp_path: Path) -> None:
    """No end has an address, and nobody answers a ping: the cable is known from LLDP frames alone."""
    one, two, *_ = sparks
    one.plug(1, None, two, 0)
    two.plug(0, None, one, 1)
    without_answers(one, two)
    outcome = cli("init", "made", *read(1, 2), "--recipe", GROUP)
    assert outcome.err.splitlines() == [
        "spark-01 enp1s0f1np1: cabled to spark-02 enp1s0f0np0",
        "spark-02 enp1s0f0np0: cabled to spark-01 enp1s0f1np1",
    ]
    assert outcome.code == 0
    text = inventory(tmp_path)
    assert links(text, "spark-01") == [
        {
            "interface": "enp1s0f1np1",
            "hca": "rocep1s0f1",
            "address": "192.168.177.11/24",
            "mtu": 9000,
            "speed_gbit": 200,
            "twin": {"interface": "enP2p1s0f1np1", "hca": "roceP2p1s0f1"},
        }
    ]
    assert "    # enp1s0f0np0: proposed: the host has no such address yet\n    fabric:\n" in text
    again = cli("fabric", "discover", "made/inventories/made.yaml")
    assert (again.code, again.out) == (0, ""), "it finds the same links"


def test_a_ring_gets_a_network_for_each_cable(cli: Cli, sparks: list[Spark], tmp_path: Path) -> None:
    for index, spark in enumerate(sparks):
        spark.plug(0, None, sparks[(index + 1) % 4], 1)
        spark.plug(1, None, sparks[index - 1], 0)
    served = [word for number in (1, 2, 3, 4) for word in ("--recipe", "base/single-spark", "--model", f"o/m{number}")]
    assert cli("init", "made", *read(1, 2, 3, 4), *served).code == 0
    text = inventory(tmp_path)
    found = [links(text, f"spark-0{number}") for number in (1, 2, 3, 4)]
    networks = [{str(link["address"]).rpartition(".")[0] for link in each} for each in found]
    assert [len(one & other) for one, other in zip(networks, networks[1:] + networks[:1], strict=True)] == [1, 1, 1, 1]


def test_links_that_are_typed_replace_those_that_were_found(cli: Cli, sparks: list[Spark], tmp_path: Path) -> None:
    one, two, *_ = sparks
    one.plug(1, "192.168.177.11/24", two, 0)
    two.plug(0, "192.168.177.12/24", one, 1)
    typed = ("--link", "spark-01=enp1s0f0np0,rocep1s0f0,10.0.0.1/24")
    assert cli("init", "made", *read(1), *typed, "--recipe", "base/single-spark", "--model", "o/m").code == 0
    assert links(inventory(tmp_path), "spark-01") == [
        {
            "interface": "enp1s0f0np0",
            "hca": "rocep1s0f0",
            "address": "10.0.0.1/24",
            "twin": {"interface": "enP2p1s0f0np0", "hca": "roceP2p1s0f0"},
        }
    ]


@pytest.mark.parametrize(
    ("interface", "device", "twin"),
    [
        ("enP2p1s0f1np1", "roceP2p1s0f1", {"interface": "enp1s0f1np1", "hca": "rocep1s0f1"}),
        ("ens1np0", "mlx5_0", None),
    ],
)
def test_the_other_half_of_a_typed_port_is_that_of_a_spark(
    cli: Cli, folder: Path, interface: str, device: str, twin: object
) -> None:
    host = ("--host", "spark-01=192.168.1.11", "--link", f"spark-01={interface},{device},10.0.0.1/24")
    assert cli("init", "made", *host, "--recipe", "base/single-spark", "--model", "o/m").code == 0
    [link] = links(inventory(folder), "spark-01")
    assert link.get("twin") == twin


def test_a_link_without_an_address_and_a_known_end_is_left_out(cli: Cli, sparks: list[Spark], tmp_path: Path) -> None:
    one, two, *_ = sparks
    one.plug(1, None, two, 0)
    outcome = cli("init", "made", *read(1), "--recipe", "base/single-spark", "--model", "o/m")
    assert outcome.code == 0
    assert outcome.err.splitlines() == [
        "spark-01 enp1s0f1np1: other end unknown: no host of this inventory answers there",
        "spark-01: left out: enp1s0f1np1 has no IPv4 address, and its other end is unknown; give it an address",
    ]
    assert "fabric" not in yaml.safe_load(inventory(tmp_path))["hosts"]["spark-01"]


def test_ports_that_cannot_be_read_are_named(cli: Cli, sparks: list[Spark], tmp_path: Path) -> None:
    one, two, *_ = sparks
    one.plug(1, "192.168.177.11/24", two, 0)
    (one.root / "bin/ip").write_text("#!/bin/sh\necho 'ip: no table' >&2\nexit 1\n")
    outcome = cli("init", "made", *read(1), "--recipe", "base/single-spark", "--model", "o/m")
    assert (outcome.code, outcome.err) == (0, "spark-01: its ports are unknown: ip: no table\n")
    assert "fabric" not in yaml.safe_load(inventory(tmp_path))["hosts"]["spark-01"]
    outcome = cli("fabric", "discover", "made/inventories/made.yaml")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "spark-01: its ports are unknown: ip: no table\n"
