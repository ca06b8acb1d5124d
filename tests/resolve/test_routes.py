"""Routes: their names, and what they change in the deployments that they name."""

from __future__ import annotations

import pytest

from tests.gateway.standins import FLEET
from tests.plan.fleets import planned, resolution, resolved, said

_ON = f"image: 'example.org/o@sha256:{'1' * 64}', hosts: spark-01"
OLLAMA = f"  ollama: {{kind: ollama, {_ON}, models: ['q:8b']}}\nroutes:\n"


def changed(old: str, new: str) -> str:
    assert old in FLEET
    return FLEET.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed("{to: [one, two]}", "{to: [one, tow]}"), "unknown deployment or service 'tow'"),
        (changed("{to: [one, two]}", "{to: [one, one]}"), "route both lists one twice"),
        (changed("{to: [one, two]}", "{to: [one, gateway]}"), "gateway serves no model of its own"),
        (changed("{to: [one, two]}", "{to: [one], weights: {two: 2}}"), "route both has no two under `to`"),
        (changed("  both: {", "  two: {"), "two is also a deployment or service, so that `uses: two` has two meanings"),
        (FLEET[: FLEET.index("routes:")], "gateway gateway has no routes"),
        (FLEET[: FLEET.index("services:")] + FLEET[FLEET.index("routes:") :], "no gateway serves the routes"),
        (
            changed("model: example/big,", "model: example/big, api_key: {secret: other_key},"),
            "the servers of route safe have different keys: one has team_key, spare has other_key",
        ),
        (
            changed("routes:\n", OLLAMA + "  small: {to: [ollama]}\n"),
            "ollama has no model 'small', and Ollama serves models under their own names",
        ),
        (
            changed(", api_key: {secret: team_key}}", "}").replace("    api_key: {secret: gate_key}\n", ""),
            "service gateway has no api_key: neither the catalog nor the inventory sets it",
        ),
    ],
)
def test_a_fault_is_named(text: str, message: str) -> None:
    findings, _ = resolution(text)
    assert [each for each in said(findings) if each.endswith(message)], said(findings)


def test_a_route_is_a_further_served_name_of_everybody_who_serves_it() -> None:
    found = resolved(FLEET).fleet.deployments
    names = {name: next(iter(nodes.values())).served_names for name, nodes in found.items()}
    assert names == {
        "one": ("example/model", "both", "safe", "narrow"),
        "two": ("example/model", "both"),
        "spare": ("example/big", "safe"),
    }


def test_an_ollama_model_is_routed_under_its_own_name() -> None:
    text = changed("routes:\n", OLLAMA + "  'q:8b': {to: [ollama]}\n")
    [gateway] = [each for host in planned(text).hosts for each in host.containers if each.name == "gateway"]
    assert [
        each["servers"][0]["name"] for each in gateway.documents[0].content["routes"] if each["alias"] == "q:8b"
    ] == ["ollama"]
