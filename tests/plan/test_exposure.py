"""Who can reach what: ports, their keys, and what a server answers without one."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

from sparkiac.plan import exposure
from sparkiac.plan.exposure import OpenPort
from sparkiac.render import compose, generation
from sparkiac.words import audit
from tests.gateway.standins import FLEET as GATEWAY
from tests.plan.fleets import ONES, PAIR, SPARK, deployment, planned, service


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


TWO = f"{SPARK}, spark-02: {{address: 192.168.1.12, fabric: {{links: [{{interface: e, address: 192.168.177.12/24}}]}}}}"
LISTED = deployment("reachable_from: [10.0.0.0/8]", host=TWO)
CHAT = f"services:\n  web: {{kind: open-webui, image: example.org/w@{ONES}, hosts: HOST, uses: [chat]}}\n"


def lists(text: str) -> dict[str, list[str]]:
    """Return unit → who may connect to it, as its host reads it."""
    found = {}
    for host in planned(text).hosts:
        for name, each in json.loads(generation.render(host, defaultdict(tuple)).content)["clients"].items():
            found[f"{host.name}/{name.removeprefix('sparkiac-')}"] = [*each["networks"], *each["units"]]
    return found


def test_without_a_list_nothing_is_restricted() -> None:
    assert lists(deployment()) == {}


def test_a_port_on_loopback_needs_no_list() -> None:
    text = deployment("reachable_from: [10.0.0.0/8]", "bind: loopback")
    assert (lists(text), ports(text)[0].reach) == ({}, "this host")


def test_the_list_of_a_deployment_replaces_that_of_its_host_and_that_replaces_the_default() -> None:
    host = "spark-01: {address: 192.168.1.11, reachable_from: [10.2.0.0/16]}"
    defaults = "{model_store: /srv/models, reachable_from: [10.1.0.0/16]}"
    of_service = f"services:\n  asr: {{kind: container, image: example.org/a@{ONES}, hosts: spark-01, port: 1234}}\n"
    found = [
        lists(deployment(*lines, defaults=defaults, host=each) + of_service)
        for lines, each in (((), SPARK), ((), host), (("reachable_from: []",), host), (("reachable_from: null",), host))
    ]
    assert [each.get("spark-01/chat") for each in found] == [["10.1.0.0/16"], ["10.2.0.0/16"], [], None]
    assert [each["spark-01/asr"] for each in found] == [["10.1.0.0/16"], *[["10.2.0.0/16"]] * 3]


def test_another_host_that_uses_a_server_is_added_with_all_its_addresses_and_shown() -> None:
    text = LISTED + CHAT.replace("HOST", "spark-02")
    assert lists(text) == {"spark-01/chat": ["10.0.0.0/8", "192.168.1.12", "192.168.177.12"]}
    assert lists(LISTED) == {"spark-01/chat": ["10.0.0.0/8"]}
    [chat] = [port for port in ports(text) if port.unit == "chat"]
    assert chat.reach == "this host, 10.0.0.0/8, spark-02 (192.168.1.12, 192.168.177.12)"


def test_a_container_in_the_same_docker_network_is_shown() -> None:
    text = LISTED + CHAT.replace("HOST", "spark-01")
    [chat] = [port for port in ports(text) if port.unit == "chat"]
    assert chat.reach == ("this host, 10.0.0.0/8, containers in its Docker network sparkiac")


def test_a_container_that_uses_a_program_of_its_host_is_added() -> None:
    agent = (
        "  agent: {kind: hermes-agent, hosts: spark-01, uses: chat, api_key: {secret: k}, program: /srv/hermes,"
        " user: spark, reachable_from: [10.0.0.0/8]}\n"
    )
    text = deployment() + CHAT.replace("HOST", "spark-01").replace("[chat]", "[chat, agent]") + agent
    assert lists(text) == {"spark-01/agent": ["10.0.0.0/8", "sparkiac-web"]}
    [port] = [port for port in ports(text) if port.unit == "agent"]
    assert port.reach == "this host, 10.0.0.0/8, the container of web"


def test_hosts_that_watch_servers_are_added_and_exporters_have_the_list_of_their_host() -> None:
    text = deployment(host=TWO.replace(".11}", ".11, reachable_from: [10.0.0.0/8]}"))
    found = lists(text + "monitoring: {prometheus: {hosts: spark-02}}\n")
    assert found == {
        f"spark-01/{name}": ["10.0.0.0/8", "192.168.1.12", "192.168.177.12"]
        for name in ("chat", "gpu-exporter", "node-exporter")
    }


@pytest.mark.parametrize(
    ("line", "egress", "dns"),
    [
        ("bind: lan", [], ["127.0.0.1"]),
        ("egress: [10.9.0.0/16]", ["10.9.0.0/16"], None),
        ("egress: null", [], ["127.0.0.1"]),
    ],
)
def test_a_model_server_connects_to_what_the_inventory_lists(
    line: str, egress: list[str], dns: list[str] | None
) -> None:
    [host] = planned(deployment(line)).hosts
    assert json.loads(generation.render(host, defaultdict(tuple)).content)["egress"] == {"sparkiac-chat": egress}
    assert yaml.safe_load(compose.project(host.containers[0]))["services"]["server"].get("dns") == dns
    assert host.preflight.nft


def test_groups_and_services_connect_to_everything_and_the_audit_says_so() -> None:
    for text in (PAIR, service("port: 9000")):
        for host in planned(text).hosts:
            assert json.loads(generation.render(host, defaultdict(tuple)).content)["egress"] == {}
        assert all("connects to everything" in may for _, _, may in audit.privileges(planned(text)))
    assert "connects" not in str([*audit.privileges(planned(deployment()))])


def test_a_host_whose_servers_are_on_loopback_needs_nft_too() -> None:
    [host] = planned(deployment("bind: loopback")).hosts
    assert host.preflight.nft


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


def test_a_gateway_reloads_and_serves_no_name_itself() -> None:
    found = [*exposure.readers(planned(GATEWAY), "team_key")]
    assert [(each.host, each.unit, each.alone, each.reloads) for each in found] == [
        ("spark-01", "one", ("narrow",), False),
        ("spark-02", "gateway", (), True),
        ("spark-02", "two", (), False),
        ("spark-03", "spare", ("example/big",), False),
    ]
    shown = str([*audit.rotation(planned(GATEWAY), "team_key")])
    assert "('spark-02', 'gateway', 'reloads, before a server restarts')" in shown
    assert "('spark-02', 'two', 'restarts')" in shown
