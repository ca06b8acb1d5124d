"""What a node of a group needs follows from the links of its host, and every layer above can change it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkiac import catalog
from sparkiac.resolve import explain, fabric
from tests.plan.fleets import resolved

if TYPE_CHECKING:
    from sparkiac.model.tables import GroupSetting

ROOT = Path(__file__).parents[2]
HOSTS = """
hosts:
  a: {address: 192.168.1.11, fabric: {links: [%s]}}
  b: {address: 192.168.1.12, fabric: {links: [{interface: eth9, address: 10.0.0.2/24%s}]}}
deployments:
  big: {recipe: base/single-spark, model: o/m, hosts: [a, b], port: 8001%s}
"""
LINK = "{interface: enp1s0f1np1, hca: rocep1s0f1, address: 10.0.0.1/24}"
TWIN = LINK[:-1] + ", twin: {interface: enP2p1s0f1np1, hca: roceP2p1s0f1}}"
RDMA = ", hca: mlx5_0"


def environment(link: str = LINK, other: str = RDMA, more: str = "") -> dict[str, dict[str, object]]:
    fleet = resolved(f"name: pair\ndefaults: {{model_store: /srv/models}}\n{HOSTS % (link, other, more)}").fleet
    return {host: dict(values.env) for host, values in fleet.deployments["big"].items()}


def test_each_host_gets_the_names_of_its_own_links() -> None:
    found = environment()
    names = ("VLLM_HOST_IP", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA")
    assert [found["a"][name] for name in names] == ["10.0.0.1", "enp1s0f1np1", "enp1s0f1np1", "rocep1s0f1"]
    assert [found["b"][name] for name in names] == ["10.0.0.2", "eth9", "eth9", "mlx5_0"]


def test_both_halves_of_a_port_carry_rdma() -> None:
    assert environment(TWIN)["a"]["NCCL_IB_HCA"] == "rocep1s0f1,roceP2p1s0f1"


def test_without_an_rdma_device_nccl_uses_tcp() -> None:
    found = environment(other="")["b"]
    assert found["NCCL_IB_DISABLE"] == 1
    assert not {"NCCL_IB_HCA", "NCCL_NET_PLUGIN", "NCCL_IB_TIMEOUT"} & set(found)
    assert "NCCL_IB_DISABLE" not in environment()["a"]


def test_in_a_mesh_the_hosts_connect_over_the_lan() -> None:
    """Three cables between three hosts: each pair has a network, and no network reaches all."""
    links = {"a": ("1.1", "3.1"), "b": ("1.2", "2.1"), "c": ("2.2", "3.2")}
    hosts = "".join(
        f"  {name}:\n    address: 192.168.1.{number}\n    fabric:\n      links:\n"
        f"        - {{interface: p0, hca: d0, address: 10.0.{first}/24}}\n"
        f"        - {{interface: p1, hca: d1, address: 10.0.{second}/24}}\n"
        for number, (name, (first, second)) in enumerate(links.items(), 11)
    )
    big = (
        "  big: {recipe: base/single-spark, model: o/m, hosts: [a, b, c], port: 8001, set: {pipeline_parallel_size: 3}}"
    )
    found = resolved(f"name: ring\ndefaults: {{model_store: /srv/models}}\nhosts:\n{hosts}deployments:\n{big}\n").fleet
    env = found.deployments["big"]["b"].env
    assert env["VLLM_HOST_IP"] == "192.168.1.12"
    assert (env["NCCL_IB_SUBNET_AWARE_ROUTING"], env["NCCL_IB_MERGE_NICS"], env["NCCL_IB_HCA"]) == (1, 0, "d0,d1")
    assert not {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"} & env.keys()


def test_a_deployment_changes_and_removes_values() -> None:
    found = environment(more=", env: {NCCL_IB_TIMEOUT: 18, NCCL_NET_PLUGIN: null}")
    assert found["a"]["NCCL_IB_TIMEOUT"] == 18
    assert "NCCL_NET_PLUGIN" not in found["a"]


def test_a_deployment_on_one_host_gets_none_of_them() -> None:
    text = f"name: one\ndefaults: {{model_store: /srv/models}}\n{HOSTS % (LINK, RDMA, '')}".replace("[a, b]", "[a]")
    assert not {name for name in resolved(text).fleet.deployments["big"]["a"].env if name.startswith(("NCCL", "GLOO"))}


def test_explain_gives_the_reason_and_the_source() -> None:
    text = f"name: pair\ndefaults: {{model_store: /srv/models}}\n{HOSTS % (LINK, RDMA, '')}"
    [found] = explain(resolved(text), "deployments.big.env.NCCL_NET_PLUGIN")
    [(value, origin)] = found.values
    assert value == "none"
    assert str(origin) == ("group: a network plugin in the image can make NCCL fall back to TCP (SM121 reference L44)")


@pytest.mark.parametrize("decision", catalog.group_settings(), ids=lambda each: ".".join(each.path))
def test_the_documentation_has_each_row(decision: GroupSetting) -> None:
    only = {("mp", "ray"): "vLLM", ("ray",): "Ray"}.get(decision.executors, "")
    condition = ", ".join(each for each in (only, decision.when) if each not in {"", "always"})
    shown = decision.shown or str(decision.value)
    cells = (f"`{'.'.join(decision.path)}`", shown, condition, decision.reason, decision.source)
    row = f"| {' | '.join(cells)} |"
    assert row in (ROOT / "docs/cluster.md").read_text().splitlines()


def ring(names: str) -> str:
    """Return four hosts with four cables, each to the next one in alphabetical order, and a group on them."""
    hosts = "".join(
        f"  {name}:\n    address: 192.168.1.{number}\n    fabric:\n      links:\n"
        f"        - {{interface: p0, hca: d0, address: 10.0.{number}.1/24}}\n"
        f"        - {{interface: p1, hca: d1, address: 10.0.{number - 1 or 4}.2/24}}\n"
        for number, name in enumerate("abcd", 1)
    )
    split = "set: {pipeline_parallel_size: 4}"
    big = f"  big: {{recipe: base/single-spark, model: o/m, hosts: [{names}], port: 1, {split}}}"
    return f"name: ring\ndefaults: {{model_store: /srv/models}}\nhosts:\n{hosts}deployments:\n{big}\n"


def test_in_a_ring_nccl_uses_its_ring() -> None:
    env = resolved(ring("a, b, c, d")).fleet.deployments["big"]["c"].env
    assert (env["NCCL_ALGO"], env["NCCL_IB_SUBNET_AWARE_ROUTING"], env["VLLM_HOST_IP"]) == ("Ring", 1, "192.168.1.3")


def test_a_ring_is_closed_in_the_order_of_the_group() -> None:
    links = {name: fabric.links_of(host) for name, host in resolved(ring("a, b, c, d")).fleet.hosts.items()}
    assert fabric.unlinked([links[name] for name in "abcd"]) == []
    assert fabric.unlinked([links[name] for name in "bcda"]) == []
    assert fabric.unlinked([links[name] for name in "acbd"]) == [(0, 1), (2, 3)]
    assert fabric.unlinked([links[name] for name in "abc"]) == [(0, 2)]
