"""Hosts that change together: their coordinator and the address at which it collects the votes."""

from __future__ import annotations

from sparkiac.host.generation import ChangeGroup
from tests.plan.fleets import PAIR, deployment, planned


def groups(text: str) -> dict[str, ChangeGroup | None]:
    return {host.name: host.group for host in planned(text).hosts}


def test_the_coordinator_listens_on_the_link_that_all_share() -> None:
    found = ChangeGroup(
        ("spark-01", "spark-02"), "spark-01", "192.168.177.11", 7348, ("192.168.1.12", "192.168.177.12")
    )
    assert groups(PAIR) == {"spark-01": found, "spark-02": found}


def test_the_second_link_if_only_that_one_is_shared() -> None:
    first = "links: [{interface: enp1s0f0np0, address: 10.1.0.1/24}, "
    both = PAIR.replace("links: [", first, 1).replace("hca: rocep1s0f1, ", "")
    assert {found.address for found in groups(both).values() if found} == {"192.168.177.11"}


def test_the_address_of_the_host_if_no_link_is_shared() -> None:
    apart = PAIR.replace("192.168.177.12", "192.168.178.12")
    assert {found.address for found in groups(apart).values() if found} == {"192.168.1.11"}


def test_the_coordinator_accepts_every_address_of_the_others() -> None:
    """Which one a host connects from is the choice of its kernel."""
    twin = "address: 192.168.177.12/24, twin: {interface: enP2p1s0f1np1, hca: roceP2p1s0f1, address: 192.168.178.12/24}"
    twins = PAIR.replace("address: 192.168.177.12/24", twin)
    assert {found.peers for found in groups(twins).values() if found} == {
        ("192.168.1.12", "192.168.177.12", "192.168.178.12")
    }
    named = PAIR.replace("address: 192.168.1.12", "address: box2.lan") + "    bind: loopback\n"
    assert {found.peers for found in groups(named).values() if found} == {()}


def test_a_host_without_a_group_changes_alone() -> None:
    assert groups(deployment()) == {"spark-01": None}
    third = PAIR.replace("hosts:\n", "hosts:\n  spark-00: {address: 192.168.1.10}\n", 1)
    assert groups(third)["spark-00"] is None
