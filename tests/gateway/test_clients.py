"""`sparkiac clients` for a gateway."""

from __future__ import annotations

from sparkiac.words import clients
from tests.gateway.standins import FLEET
from tests.plan.fleets import planned

TOOLS = ", set: {enable_auto_tool_choice: true, tool_call_parser: hermes}}"


def test_the_gateway_comes_first_with_its_routes_and_its_key() -> None:
    found = clients.of(planned(FLEET))
    assert [each.name for each in found] == ["gateway", "one", "two", "spare"]
    assert (found[0].url, found[0].models) == ("http://192.168.1.12:8088", ("both", "safe", "narrow"))
    assert found[0].key is not None
    assert found[0].key.on_host == "/etc/sparkiac/secrets/gate_key"
    assert '"model": "both"' in found[0].request
    assert found[0].clients["codex"].obstacle == (
        "it sends tools; set enable_auto_tool_choice and tool_call_parser (API001)"
    )


def test_a_program_gets_the_first_route_that_it_can_use() -> None:
    text = FLEET.replace("hosts: spark-03, port: 8001}", "hosts: spark-03, port: 8001" + TOOLS)
    text = text.replace("safe: {to: [one], fallback: [spare]}", "safe: {to: [spare]}")
    settings = clients.of(planned(text))[0].clients["codex"].settings
    assert settings is not None
    assert settings.startswith('model = "safe"\nmodel_provider = "sparkiac-gateway"')
    assert 'base_url = "http://192.168.1.12:8088/v1"' in settings


def test_an_encrypted_gateway_is_asked_by_https() -> None:
    text = FLEET.replace("    kind: gateway\n", "    kind: gateway\n    tls: /etc/ssl/gateway.pem\n")
    found = clients.of(planned(text))[0]
    assert (found.url, found.models[0]) == ("https://192.168.1.12:8088", "both")
