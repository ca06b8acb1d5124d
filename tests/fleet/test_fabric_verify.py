"""Checks and measurements of links on what hosts report; ib_write_bw and NCCL print recorded output."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.fleet.fabric import checks, measuring
from sparkiac.fleet.fabric.measuring import pairs
from sparkiac.fleet.machine import HostPorts
from sparkiac.model import records
from sparkiac.model.records import LinkRecord, MeasuredSpeed
from tests.conftest import ROOT
from tests.plan.fleets import checked

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.plan import Plan

GIB = 1 << 30
SSH = """\
#!/bin/sh
# Stands in for ssh: it runs the command here, with the stand-ins of the tools.
echo "$*" >> "{log}"
while [ "$1" != -- ]; do shift; done
exec sh -c "$3"
"""
IB_WRITE_BW = """\
#!/bin/sh
# Stands in for ib_write_bw: the client prints what the real one prints for such a test.
echo " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
echo " 65536      888300           0.00               93.13              0.177630"
"""
MPIRUN = """\
#!/bin/sh
# Stands in for mpirun: it prints the last lines of all_reduce_perf.
echo "# Out of bounds values : 0 OK"
echo "# Avg bus bandwidth    : 11.5425"
"""


def plan(name: str = "pair") -> Plan:
    found = checked((ROOT / f"inventories/{name}.yaml").read_text()).plan
    assert found is not None
    return found


def ports(number: int, **changes: Any) -> HostPorts:  # noqa: ANN401  values of JSON
    """Return a host of pair.yaml as it reports itself when all is well."""
    half = {"up": True, "mtu": 9000, "speed_mbit": 200000, "mac": None, "firmware": "28.45.4028", "addresses": ()}
    gid = f"0000:0000:0000:0000:0000:ffff:c0a8:b10{'bc'[number - 1]}"
    own = {"addresses": (f"192.168.177.1{number}/24",), "gids": {"3": gid}}
    twin = {**half, "interface": "enP2p1s0f1np1", "hca": "roceP2p1s0f1", "gids": {}}
    port = {**half, "interface": "enp1s0f1np1", "hca": "rocep1s0f1", **own, "twin": twin}
    memory = (121, 119)[number - 1] * GIB
    tools = ("ping", "ib_write_bw", "mpirun", "all_reduce_perf")
    host: dict[str, Any] = {"neighbours": {}, "driver": "580.142", "memory_bytes": memory, "memlock_bytes": -1}
    host |= {"tools": tools, "unknown": {}, "ports": [{**port, **changes.pop("port", {})}], **changes}
    return HostPorts.model_validate_json(json.dumps(host))


def of_host(**changes: Any) -> dict[str, tuple[bool | None, str]]:  # noqa: ANN401
    return {each.name: (each.passed, each.found) for each in checks.of_host(plan().hosts[0], ports(1, **changes))}


def failing(**port: Any) -> dict[str, str]:  # noqa: ANN401
    return {name: found for name, (passed, found) in of_host(port=port).items() if passed is False}


def test_a_good_host_passes_every_check() -> None:
    found = of_host()
    assert {passed for passed, _ in found.values()} == {True}
    assert found["GID of rocep1s0f1"] == (True, "index 3")
    assert found["link enP2p1s0f1np1"] == (True, "up")
    assert found["locked memory"] == (True, "unlimited")


def test_what_is_wrong_is_named() -> None:
    assert failing(up=False) == {"link enp1s0f1np1": "down"}
    assert failing(mtu=1500) == {"MTU of enp1s0f1np1": "1500"}
    assert failing(hca="rocep1s0f0") == {"RDMA device of enp1s0f1np1": "rocep1s0f0"}
    assert failing(gids={}) == {"GID of rocep1s0f1": "none"}
    assert failing(addresses=()) == {"address of enp1s0f1np1": "none"}
    assert failing(twin=None) == {"link enP2p1s0f1np1": "this host has enp1s0f1np1"}


def test_a_limit_on_locked_memory_is_reported() -> None:
    said = "8192 KiB for a login; the containers of groups have no limit"
    assert of_host(memlock_bytes=8 << 20)["locked memory"] == (None, said)


def of_groups(**second: Any) -> dict[str, tuple[bool | None, str]]:  # noqa: ANN401
    read = {"spark-01": ports(1), "spark-02": ports(2, **second)}
    return {each.name: (each.passed, each.found) for each in checks.of_groups(plan(), read)}


def test_the_hosts_of_a_group_are_alike() -> None:
    assert {passed for passed, _ in of_groups().values()} == {True}, "the inventory states 121 and 119 GiB"
    assert of_groups(driver="590.44")["same driver"] == (False, "spark-01 580.142, spark-02 590.44")
    assert of_groups(port={"firmware": "1"})["same firmware"] == (False, "spark-01 28.45.4028, spark-02 1")
    assert of_groups(driver=None)["same driver"] == (None, "spark-01 580.142, spark-02 unknown")
    assert of_groups(memory_bytes=96 * GIB)["memory"] == (False, "spark-01 121.0 GiB, spark-02 96.0 GiB")


@pytest.mark.parametrize("read", [{}, {"spark-01": ports(1)}])
def test_hosts_that_were_not_read_are_not_compared(read: dict[str, HostPorts]) -> None:
    found = list(checks.of_groups(plan(), read))
    assert {each.passed for each in found} == {None}
    assert all("spark-02 unknown" in each.found for each in found)


def test_pairs_are_the_links_of_one_network() -> None:
    assert len(pairs(plan())) == 1
    ring = [(one.host.name, one.link.interface, other.host.name) for one, other in pairs(plan("ring3"))]
    assert ring == [
        ("spark-01", "enp1s0f0np0", "spark-02"),
        ("spark-01", "enp1s0f1np1", "spark-03"),
        ("spark-02", "enp1s0f0np0", "spark-03"),
    ]
    assert len(pairs(plan("switch4"))) == 6


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put stand-ins for ssh and the tools into the PATH; return the log of ssh."""
    log = tmp_path / "log"
    for name, text in (("ssh", SSH.format(log=log)), ("ib_write_bw", IB_WRITE_BW), ("mpirun", MPIRUN)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return log


def test_ib_write_bw_and_nccl_measure_with_the_names_of_each_host(tools: Path) -> None:
    [pair] = pairs(plan())
    results = list(measuring.speeds(pair, {"spark-01": ports(1), "spark-02": ports(2)}))
    speeds = {speed.tool: speed.gbit for _, speed in results if speed}
    assert speeds == {"ib_write_bw": 93.13, "all_reduce_perf": pytest.approx(92.34)}
    assert [step.found for step, _ in results if step.passed is None] == ["not installed on spark-01, spark-02"]
    log = tools.read_text()
    assert "ib_write_bw --ib-dev rocep1s0f1 --gid-index 3 --report_gbits" in log
    assert "-H 192.168.177.12 -x NCCL_SOCKET_IFNAME=enp1s0f1np1 -x NCCL_IB_HCA=rocep1s0f1 all_reduce_perf" in log


@pytest.mark.usefixtures("tools")
def test_an_unexpected_output_fails_and_is_not_recorded(tmp_path: Path) -> None:
    (tmp_path / "mpirun").write_text("#!/bin/sh\necho no slots >&2\nexit 1\n")
    (tmp_path / "ib_write_bw").write_text("#!/bin/sh\necho nothing\n")
    [pair] = pairs(plan())
    results = list(measuring.speeds(pair, {"spark-01": ports(1), "spark-02": ports(2)}))
    found = {step.found: speed for step, speed in results if step.passed is False}
    assert found == {"unexpected output: 'nothing'": None, "spark-01: no slots": None}


def record(*gbit: float) -> LinkRecord:
    found = LinkRecord()
    for each in gbit:
        found = records.updated_links(found, [MeasuredSpeed("a", "b", "p0", "iperf3", each)])
    return found


def test_the_record_keeps_the_best_and_the_latest_speed() -> None:
    [link] = record(90.0, 97.3, 50.123).links
    assert (link.best_gbit, link.latest_gbit, link.slower) == (97.3, 50.12, True)
    assert not record(97.3, 90.0).links[0].slower


def test_the_record_is_byte_stable_and_sorted() -> None:
    one, other = MeasuredSpeed("b", "c", "p0", "iperf3", 1.0), MeasuredSpeed("a", "b", "p0", "iperf3", 2.0)
    texts = [records.links_text(records.updated_links(LinkRecord(), each)) for each in ((one, other), (other, one))]
    assert texts[0] == texts[1]
    assert LinkRecord.from_json(texts[0].encode()) == records.updated_links(LinkRecord(), (one, other))


@pytest.mark.parametrize("raw", [b"", b"{}x", b'{"version": 2}', b'{"links": [{"source": "a"}]}'])
def test_another_file_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"^\S"):
        LinkRecord.from_json(raw)
