"""What preflight looks up about links, from a tree like that of /sys/class/infiniband; not verified on hardware."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.host.test_preflight_start import DOCKER, FILES, prepared

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    Make = Callable[..., Any]

SYS = "sys/class/infiniband"
FIRST = {"device": "rocep1s0f1", "interface": "enp1s0f1np1", "address": "192.168.177.11"}
SECOND = {"device": "roceP2p1s0f1", "interface": "enP2p1s0f1np1", "address": "192.168.178.11"}
LOCAL = "fe80:0000:0000:0000:4ebb:47ff:fe00:0001"
UNUSED = "0000:0000:0000:0000:0000:0000:0000:0000"


def gid(address: str) -> str:
    one, two, three, four = (int(part) for part in address.split("."))
    return f"0000:0000:0000:0000:0000:ffff:{one:02x}{two:02x}:{three:02x}{four:02x}"


def device(link: dict[str, str], *, ahead: int = 0) -> dict[str, str]:
    """Return the files of a device: two link-local GIDs, `ahead` GIDs of another address, two of its own address."""
    table = [(LOCAL, "IB/RoCE v1"), (LOCAL, "RoCE v2"), *[(gid("10.9.9.9"), "RoCE v2")] * ahead]
    table += [(gid(link["address"]), "IB/RoCE v1"), (gid(link["address"]), "RoCE v2"), (UNUSED, "")]
    port = f"{SYS}/{link['device']}/ports/1"
    files = {}
    for index, (address, kind) in enumerate(table):
        files[f"{port}/gids/{index}"] = f"{address}\n"
        files[f"{port}/gid_attrs/types/{index}"] = f"{kind}\n"
        files[f"{port}/gid_attrs/ndevs/{index}"] = f"{link['interface']}\n" if kind else ""
    return files


def started(preflight: ModuleType, machine: Make, files: dict[str, str], *links: dict[str, Any]) -> dict[str, Any]:
    lines = prepared(preflight, machine(DOCKER, **FILES, **files), "big", fabric={"rdma": list(links)})
    return {line.check: (line.state, line.found, line.wanted) for line in lines}


def variables(tmp_path: Path) -> str:
    return (tmp_path / "run/sparkiac/fabric/big.env").read_text()


def test_the_index_is_that_of_the_address(preflight: ModuleType, machine: Make, tmp_path: Path) -> None:
    lines = started(preflight, machine, device(FIRST), FIRST)
    assert lines["RDMA device"] == ("ok", "rocep1s0f1 on enp1s0f1np1", "enp1s0f1np1")
    assert lines["GID of rocep1s0f1"] == ("ok", "index 3", "RoCE v2 for 192.168.177.11")
    assert variables(tmp_path) == "NCCL_IB_GID_INDEX=3\n"
    assert (tmp_path / "run/sparkiac/fabric/big.env").stat().st_mode & 0o777 == 0o644


def test_another_order_gives_another_index(preflight: ModuleType, machine: Make, tmp_path: Path) -> None:
    assert started(preflight, machine, device(FIRST, ahead=2), FIRST)["GID of rocep1s0f1"][1] == "index 5"
    assert variables(tmp_path) == "NCCL_IB_GID_INDEX=5\n"


def test_one_variable_holds_for_all_devices(preflight: ModuleType, machine: Make, tmp_path: Path) -> None:
    """If the indexes differ, or a twin has no address, NCCL finds the GIDs itself."""
    cases = [(0, SECOND, "NCCL_IB_GID_INDEX=3\n"), (1, SECOND, ""), (0, {**SECOND, "address": None}, "")]
    for ahead, second, written in cases:
        lines = started(preflight, machine, device(FIRST) | device(SECOND, ahead=ahead), FIRST, second)
        assert {state for state, _, _ in lines.values()} == {"ok"}
        assert variables(tmp_path) == written


def test_a_missing_device_fails(preflight: ModuleType, machine: Make) -> None:
    found = started(preflight, machine, device(SECOND), FIRST)
    assert found["RDMA device"] == (
        "FAIL",
        "rocep1s0f1 on no interface; this host has roceP2p1s0f1",
        "enp1s0f1np1",
    )
    assert started(preflight, machine, {}, FIRST)["GID of rocep1s0f1"][:2] == ("FAIL", "none")


def test_a_device_of_another_interface_fails(preflight: ModuleType, machine: Make) -> None:
    found = started(preflight, machine, device(FIRST), {**FIRST, "interface": "enp1s0f0np0"})
    assert found["RDMA device"] == ("FAIL", "rocep1s0f1 on enp1s0f1np1", "enp1s0f0np0")


def test_an_address_that_the_interface_lacks_fails(preflight: ModuleType, machine: Make) -> None:
    found = started(preflight, machine, device(FIRST), {**FIRST, "address": "192.168.177.99"})
    assert found["GID of rocep1s0f1"] == ("FAIL", "none", "RoCE v2 for 192.168.177.99")


def test_the_sockets_of_a_mesh_use_the_interface_of_the_hosts_address(
    preflight: ModuleType, machine: Make, tmp_path: Path
) -> None:
    addresses = [
        {"ifname": "lo", "addr_info": [{"local": "127.0.0.1"}]},
        {"ifname": "enP7s7", "addr_info": [{"local": "192.168.1.11"}, {"local": "fe80::1"}]},
    ]
    host = machine({**DOCKER, "ip -json address": json.dumps(addresses)}, **FILES, **device(FIRST))
    wanted = {"rdma": [FIRST], "sockets": "192.168.1.11"}
    lines = prepared(preflight, host, "big", fabric=wanted)
    assert {line.state for line in lines} == {"ok"}
    assert variables(tmp_path) == "NCCL_IB_GID_INDEX=3\nNCCL_SOCKET_IFNAME=enP7s7\nGLOO_SOCKET_IFNAME=enP7s7\n"
    missing = prepared(preflight, host, "big", fabric={**wanted, "sockets": "192.168.1.12"})
    assert [(line.found, line.wanted) for line in missing if line.state == "FAIL"] == [("none", "with 192.168.1.12")]


ADDRESSES = json.dumps([{"ifname": "p0", "addr_info": [{"local": "10.0.0.1", "prefixlen": 24}]}])
NET = {
    "sys/class/net/p0/operstate": "up\n",
    "sys/class/net/p0/mtu": "9000\n",
    "sys/class/net/lo/operstate": "unknown\n",
}
LINK = {"interface": "p0", "address": "10.0.0.1/24", "mtu": 9000, "speed_gbit": None}


def linked(preflight: ModuleType, machine: Make, wanted: dict[str, Any], **files: str) -> dict[str, tuple[str, str]]:
    host = machine({"ip -json address show dev p0": ADDRESSES}, **{**NET, **files})
    lines = preflight.run_check("links", preflight.CHECKS["links"], wanted, host)
    return {line.check: (line.state, line.found) for line in lines}


def test_a_link_is_up_and_has_its_address_and_mtu(preflight: ModuleType, machine: Make) -> None:
    found = linked(preflight, machine, LINK)
    assert found == {"link p0": ("ok", "up"), "address of p0": ("ok", "10.0.0.1/24"), "MTU of p0": ("ok", "9000")}


def test_what_is_wrong_with_a_link_is_found_and_named(preflight: ModuleType, machine: Make) -> None:
    down = linked(preflight, machine, LINK, **{"sys/class/net/p0/operstate": "down\n"})
    assert down["link p0"] == ("FAIL", "down")
    small = linked(preflight, machine, LINK, **{"sys/class/net/p0/mtu": "1500\n"})
    assert small["MTU of p0"] == ("FAIL", "1500")
    assert "MTU of p0" not in linked(preflight, machine, {**LINK, "mtu": None})
    other = linked(preflight, machine, {**LINK, "address": "10.0.0.9/24"})
    assert other["address of p0"] == ("FAIL", "10.0.0.1/24")
    missing = linked(preflight, machine, {**LINK, "interface": "enp1"})
    assert missing == {"link enp1": ("FAIL", "no such interface; this host has lo, p0")}


def test_a_slower_interface_fails(preflight: ModuleType, machine: Make) -> None:
    wanted = {**LINK, "speed_gbit": 200.0}
    for speed, state in (("200000", "ok"), ("100000", "FAIL")):
        found = linked(preflight, machine, wanted, **{"sys/class/net/p0/speed": f"{speed}\n"})
        assert found["speed of p0"] == (state, f"{int(speed) // 1000} Gbit/s")


def test_a_unit_without_links_gets_no_file(preflight: ModuleType, machine: Make, tmp_path: Path) -> None:
    prepared(preflight, machine(DOCKER, **FILES), "big")
    assert not (tmp_path / "run/sparkiac").exists()
