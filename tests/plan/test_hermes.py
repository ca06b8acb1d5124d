"""Hermes Agent: a program with an API of its own."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from sparkiac.model.resolved import ResolvedTimeouts
from sparkiac.plan import Export, Secret
from sparkiac.render import generation
from sparkiac.words import audit
from tests.plan.fleets import checked, deployment, planned, said

if TYPE_CHECKING:
    from sparkiac.plan.container import Program

AGENT = (
    "kind: hermes-agent, hosts: spark-01, api_key: {secret: hermes_key}, program: /home/spark/bin/hermes, user: spark"
)
TOOLS = "set: {enable_auto_tool_choice: true, tool_call_parser: qwen3_xml}"


def fleet(*lines: str, more: str = "", uses: str = "chat") -> str:
    return deployment(TOOLS, *lines) + f"services:\n  agent: {{{AGENT}, uses: {uses}{more}}}\n"


def agent(*lines: str, more: str = "") -> Program:
    [host] = planned(fleet(*lines, more=more)).hosts
    [found] = host.programs
    return found


def test_what_it_runs() -> None:
    found = agent()
    assert (found.name, found.unit, found.user) == ("agent", "sparkiac-agent", "spark")
    assert found.argv == ("/home/spark/bin/hermes", "gateway", "run")
    assert (found.listen, found.health_path, found.server.served) == (
        ("192.168.1.11", 8642),
        "/health",
        ("hermes-agent",),
    )
    assert found.timeouts == ResolvedTimeouts(ready_s=120, stop_s=60, restart_delay_s=2, drain_s=0, answer_s=120)
    assert found.env["API_SERVER_ENABLED"] == "true"
    assert (found.env["API_SERVER_HOST"], found.env["API_SERVER_PORT"]) == ("192.168.1.11", "8642")
    assert found.env["HERMES_HOME"] == found.state == "/var/lib/sparkiac/agent"
    assert found.env["PATH"].startswith("/home/spark/bin:/usr/local/sbin:")


def test_where_it_thinks_stands_in_its_configuration_and_the_key_does_not() -> None:
    found = agent("api_key: {secret: team_key}")
    assert found.config == {
        "model": {
            "provider": "custom",
            "default": "example/model",
            "base_url": "http://192.168.1.11:8001/v1",
            "api_key": "${SPARKIAC_MODEL_KEY}",
        }
    }
    assert found.exports == (
        Export("API_SERVER_KEY", ("hermes_key",)),
        Export("SPARKIAC_MODEL_KEY", ("team_key",)),
    )
    assert [secret.name for secret in found.secrets] == ["hermes_key", "team_key"]
    assert found.secrets[0] == Secret("hermes_key", "/run/credentials/sparkiac-agent.service/hermes_key")


def test_a_model_without_a_key_needs_none() -> None:
    found = agent()
    assert "api_key" not in found.config["model"]
    assert [export.variable for export in found.exports] == ["API_SERVER_KEY"]


def test_one_secret_for_both_is_loaded_once() -> None:
    found = agent("api_key: {secret: hermes_key}")
    assert (len(found.secrets), len(found.exports)) == (1, 2)


@pytest.mark.parametrize(
    ("bind", "listens"),
    [("loopback", "127.0.0.1"), ("any", "0.0.0.0"), ("lan", "192.168.1.11")],  # noqa: S104
)
def test_it_listens_where_bind_says(bind: str, listens: str) -> None:
    assert agent(more=f", bind: {bind}").env["API_SERVER_HOST"] == listens


def test_it_asks_a_model_beside_it_on_loopback() -> None:
    assert agent("bind: loopback").config["model"]["base_url"] == "http://127.0.0.1:8001/v1"


@pytest.mark.parametrize(
    ("lines", "more", "egress"),
    [
        ((), "", ("192.168.1.11",)),
        (("bind: fabric",), "", ("fd77::11",)),
        (("bind: loopback",), "", ("127.0.0.1",)),
        ((), ", egress: []", ()),
        ((), ", egress: [192.168.1.11, 10.9.0.0/16]", ("192.168.1.11", "10.9.0.0/16")),
    ],
)
def test_it_connects_to_its_model_unless_the_inventory_lists_more(
    lines: tuple[str, ...], more: str, egress: tuple[str, ...]
) -> None:
    link = ", fabric: {links: [{interface: e, address: 'fd77::11/64'}]}}"
    plan = planned(fleet(*lines, more=more).replace("192.168.1.11}", f"192.168.1.11{link}"))
    [host] = plan.hosts
    [found] = host.programs
    assert found.network.egress == egress
    assert json.loads(generation.render(host, defaultdict(tuple)).content)["egress"]["sparkiac-agent"] == [*egress]
    shown = " and ".join(egress) or "nothing"
    assert ("spark-01", "agent", f"runs on the host as spark, without a container; connects to {shown}") in [
        *audit.privileges(plan)
    ]


def test_a_model_whose_host_has_a_name_restricts_nothing_and_the_audit_says_so() -> None:
    hosts = "spark-01: {address: spark-01.lan}, spark-02: {address: 192.168.1.12}"
    text = deployment(TOOLS, "bind: any", host=hosts) + f"services:\n  agent: {{{AGENT}, uses: chat}}\n"
    text = text.replace("hermes-agent, hosts: spark-01", "hermes-agent, hosts: spark-02")
    assert "without a container; connects to everything" in str([*audit.privileges(planned(text))])


def test_another_model_port_and_variable() -> None:
    found = agent("served_names: [fast, deep]", more=", model: deep, port: 9642, env: {LOG: 1}, description: Helper")
    assert found.config["model"]["default"] == "deep"
    assert (found.listen[1], found.env["API_SERVER_PORT"], found.env["LOG"]) == (9642, "9642", "1")
    assert found.description == "Helper"


def test_its_port_and_its_secrets_are_looked_at_before_anything_starts() -> None:
    """Its port collides like any other, and there is no image to look for."""
    [host] = planned(fleet()).hosts
    ports = [(each.unit, each.port) for each in host.preflight.ports]
    assert ports == [("sparkiac-agent", 8642), ("sparkiac-chat", 8001)]
    assert [each.name for each in host.preflight.secrets] == ["hermes_key"]
    assert list(host.preflight.units) == ["chat"]
    outcome = checked(fleet(more=", port: 8001"))
    assert said(outcome.report.findings)[0].endswith("port 8001 of spark-01 is used twice, by agent and by chat")


def test_on_loopback_no_container_reaches_it() -> None:
    """The default of the agent itself, and why the Spark guide changes it (L633-636)."""
    front = "  front: {kind: open-webui, image: 'example.org/webui:1', hosts: spark-01, uses: [agent]}\n"
    outcome = checked(fleet(more=", bind: loopback") + front, allow_unlocked=True)
    assert "NET100" in [finding.code for finding in outcome.report.findings]
    outcome = checked(fleet(more=", bind: any") + front, allow_unlocked=True)
    assert "NET100" not in [finding.code for finding in outcome.report.findings]


def test_a_model_that_takes_no_tools_is_refused() -> None:
    """Row 10.4."""
    outcome = checked(fleet().replace(TOOLS, "set: {max_num_seqs: 4}"))
    assert [finding.code for finding in outcome.report.findings] == ["API001"]
