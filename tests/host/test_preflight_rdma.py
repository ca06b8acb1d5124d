"""The GID index of each RDMA device, from a tree like that of /sys/class/infiniband; not verified on hardware."""

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
    lines = prepared(preflight, machine(DOCKER, **FILES, **files), "big", rdma=list(links))
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


def test_a_unit_without_rdma_gets_no_file(preflight: ModuleType, machine: Make, tmp_path: Path) -> None:
    assert "RDMA device" not in json.dumps(started(preflight, machine, {}))
    assert not (tmp_path / "run/sparkiac").exists()
