"""Only the nodes of a group reach the ports that it opens: the rules, and what they do to real connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac.host.network import peers
from tests.host.test_preflight_start import DOCKER, FILES, prepared
from tests.host.traffic import Caller

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from tests.host.traffic import Network

    Make = Callable[..., Any]

STORE = {"ports": ["29501", "29510-29599"], "peers": ["192.168.177.12", "fd00::12"]}


def test_the_rules_name_the_peers(preflight: ModuleType, machine: Make) -> None:
    host = machine({**DOCKER, "nft --file": ""}, **FILES)
    lines = prepared(preflight, host, "big-one", group_ports=STORE)
    [line] = [line for line in lines if line.check == "port 29501, 29510-29599"]
    assert (line.state, line.found) == ("ok", "open for 192.168.177.12, fd00::12 only")
    text = host.path("/run/sparkiac/store.nft").read_text()
    assert "add table inet sparkiac_store_big_one\ndelete table inet sparkiac_store_big_one\n" in text
    accepted = [line.partition(" tcp ")[2] for line in text.splitlines() if line.endswith("accept")]
    port = "dport { 29501, 29510-29599 }"
    assert accepted == [
        f'{port} iifname "lo" accept',
        f"{port} ip saddr 192.168.177.12 accept",
        f"{port} ip6 saddr fd00::12 accept",
    ]
    assert text.endswith("arriving tcp dport { 29501, 29510-29599 } drop\n")


def test_without_nftables_the_start_goes_on_with_a_warning(preflight: ModuleType, machine: Make) -> None:
    lines = prepared(preflight, machine(DOCKER, **FILES), "big", group_ports=STORE)
    [line] = [line for line in lines if line.check == "port 29501, 29510-29599"]
    assert line.state == "warn"
    assert "install nftables" in line.hint
    assert not [line for line in lines if line.state == "FAIL"]


def test_real_nftables_refuse_other_hosts(preflight: ModuleType, network: Network) -> None:
    assert preflight
    rules = peers.commands("big", {"ports": ["9000"], "peers": ["10.77.1.2"]})
    network.nft("-f", "-", rules="\n".join(rules))
    try:
        assert Caller(network, "client").call("once", "10.77.1.1:9000") == "ok"
        assert Caller(network, "host").call("once", "127.0.0.1:9000") == "ok"
        assert Caller(network, "container").call("once", "10.77.2.1:9000") == "TimeoutError"
        assert Caller(network, "container").call("once", "10.77.2.1:9001") == "ok"
    finally:
        network.nft("delete", "table", "inet", "sparkiac_store_big")


def test_real_nftables_load_the_rules_again_and_leave_other_tables(
    preflight: ModuleType,
    network: Network,
) -> None:
    assert preflight
    rules = "\n".join(peers.commands("big", STORE))
    assert "flush" not in rules
    network.nft("add", "table", "inet", "mine")
    try:
        network.nft("-f", "-", rules=rules)
        once = network.rules()
        network.nft("-f", "-", rules=rules)
        assert network.rules() == once
        assert "table inet mine" in once
        assert "ip6 saddr fd00::12 accept" in once
    finally:
        for table in ("sparkiac_store_big", "mine"):
            network.nft("delete", "table", "inet", table)
