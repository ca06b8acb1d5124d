"""Who can reach what: ports, their keys, and what a server answers without one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkiac.plan import exposure
from sparkiac.plan.exposure import OpenPort
from tests.plan.fleets import ONES, PAIR, deployment, planned, service


def ports(text: str) -> list[OpenPort]:
    return [port for host in planned(text).hosts for port in exposure.of(host)]


@pytest.mark.parametrize(
    ("line", "reach"),
    [
        ("bind: loopback", "this host"),
        ("bind: any", "every network of this host"),
        ("bind: lan", "the network of 192.168.1.11"),
    ],
)
def test_a_port_is_reachable_where_it_is_bound(line: str, reach: str) -> None:
    [port] = ports(deployment(line))
    assert (port.port, port.unit, port.reach, port.key) == ("8001", "chat", reach, None)


def test_a_key_is_named_and_what_the_server_answers_without_it() -> None:
    [port] = ports(deployment("api_key: {secret: k}", f"image: vllm/vllm-openai:v0.33.0@{ONES}"))
    assert port.key == "k"
    assert {"/invocations", "/metrics"} <= set(port.keyless)
    assert not [path for path in port.keyless if path.startswith("/v1")]


@pytest.mark.parametrize("lines", [(f"image: vllm/vllm-openai:v0.33.0@{ONES}",), ("api_key: {secret: k}",)])
def test_no_path_is_listed_without_a_key_or_for_an_unknown_release(lines: tuple[str, ...]) -> None:
    unknown = f"image: example.org/own@{ONES}"
    [port] = ports(deployment(*(lines if "image" in lines[0] else (*lines, unknown))))
    assert port.keyless == ()


def test_the_ports_between_nodes_are_for_the_other_nodes_alone() -> None:
    found = ports(PAIR)
    assert [(each.host, each.port) for each in found if each.unit == ""] == [("spark-01", "7348")]
    [served] = [each for each in found if not each.reach.startswith("only ")]
    assert (served.host, served.reach) == ("spark-02", "the network of 192.168.1.12")
    assert len(found) > 2


def test_a_service_is_listed_too() -> None:
    assert [(each.unit, each.port) for each in ports(service("port: 9000"))] == [("asr", "9000")]


def test_the_port_for_copies_is_that_of_the_playbooks() -> None:
    text = Path("playbooks/roles/stage/defaults/main.yml").read_text()
    assert re.findall(r"^stage_share_port: (\d+)$", text, re.MULTILINE) == [str(exposure.COPIES)]


def test_who_reads_a_secret_and_which_names_nothing_else_serves_meanwhile() -> None:
    line = "{{recipe: base/single-spark, model: example/model, port: 8001, hosts: {}, served_names: {}}}"
    two = f"""
name: lab
defaults: {{model_store: /srv/models, api_key: {{secret: k}}}}
hub: {{api_key: {{secret: hub_token}}}}
hosts: {{spark-01: {{address: 192.168.1.11}}, spark-02: {{address: 192.168.1.12}}}}
deployments:
  chat: {line.format("spark-01", "[chat, only-here]")}
  same: {line.format("spark-02", "[chat]")}
"""
    plan = planned(two)
    found = [*exposure.readers(plan, "k")]
    assert [(each.host, each.unit, each.alone) for each in found] == [
        ("spark-01", "chat", ("only-here",)),
        ("spark-02", "same", ()),
    ]
    assert all(each.ready_s > 0 for each in found)
    assert {each.unit for each in exposure.readers(plan, "hub_token")} <= {""}
    assert [*exposure.readers(plan, "nosuch")] == []
