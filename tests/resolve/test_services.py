"""A service's layers, what it must have, and what it uses of others."""

from __future__ import annotations

import pytest

from sparkiac.resolve import check_names
from tests.plan.fleets import ONES, deployment, faults, resolution, resolved, service, webui
from tests.source.reading import source

OLLAMA = f"  ollama: {{kind: ollama, image: 'example.org/ollama@{ONES}', hosts: spark-01%s}}\n"
AGENT = (
    "  %s: {kind: hermes-agent, hosts: spark-01, uses: %s, api_key: {secret: k}, program: /usr/bin/h, user: spark%s}\n"
)
ASR = f"  asr: {{kind: parakeet, image: 'example.org/asr@{ONES}', hosts: spark-01}}\n"


def beside(*services: str) -> str:
    return deployment("served_names: [fast, deep]") + "services:\n" + "".join(services)


def test_the_layers_of_a_service_and_where_each_value_comes_from() -> None:
    text = service("timeouts: {stop_s: 9}", "bind: any", defaults="{bind: loopback}")
    leaves = resolved(text.replace("kind: container", "kind: gpu-exporter")).leaves
    found = {path[2:]: (value, origin.layer) for path, (value, origin) in leaves.items() if path[0] == "services"}
    assert found["timeouts", "ready_s"] == (300, "service default")
    assert found["port",] == (9835, "service kind gpu-exporter")
    assert found["gpu",] == (True, "service kind gpu-exporter")
    assert found["bind",] == ("any", "inventory")
    assert found["timeouts", "stop_s"] == (9, "inventory")
    origin = leaves["services", "asr", "port"][1]
    assert str(origin) == "service kind gpu-exporter catalog/services/gpu-exporter.yaml:9"


def test_bind_of_the_defaults_overrides_the_kind() -> None:
    leaves = resolved(service(defaults="{bind: loopback}").replace("kind: container", "kind: ollama")).leaves
    assert leaves["services", "asr", "bind"][0] == "loopback"
    assert leaves["services", "asr", "set", "no_cloud"][1].layer == "engine ollama"


@pytest.mark.parametrize("kind", ["container", "parakeet", "chatterbox", "ollama", "open-webui"])
def test_no_image_is_invented(kind: str) -> None:
    fleet = "name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n"
    text = f"{fleet}services:\n  x: {{kind: {kind}, hosts: spark-01}}\n"
    [finding] = resolution(text)[0]
    assert (finding.code, finding.loc and finding.loc.mark[:2]) == ("REF003", (4, 3))
    assert finding.message in {
        "service x has no image",
        f"service x has no image, and the catalog has none for kind {kind}",
    }
    assert ("catalog" in finding.message) is (kind != "container")
    assert "add `image:`" in finding.hint


def test_a_kind_needs_its_port_and_a_plain_container_does_not() -> None:
    assert faults(service("port: null")) == []
    text = service("port: null").replace("kind: container", "kind: parakeet")
    assert faults(text) == ["REF003 9:11 service asr has no port: neither the catalog nor the inventory sets it"]


def test_a_program_needs_an_address_that_it_can_listen_on() -> None:
    text = beside(AGENT % ("agent", "chat", ", bind: fabric"))
    assert faults(text) == ["REF003 12:122 bind: fabric needs a fabric link, but spark-01 has none"]


@pytest.mark.parametrize(
    ("services", "said", "hint"),
    [
        (
            [AGENT % ("agent", "caht", "")],
            "REF001 12:54 unknown deployment or service 'caht'",
            "did you mean 'chat'?",
        ),
        ([AGENT % ("agent", "agent", "")], "REF005 12:54 agent uses itself", "known: chat"),
        ([ASR, AGENT % ("agent", "asr", "")], "REF005 13:54 asr has no API that agent can use", "known: chat"),
        (
            [AGENT % ("one", "chat", ""), AGENT % ("two", "one", "")],
            "REF005 13:52 agent two uses one, which is an agent itself",
            "use a deployment or an Ollama server",
        ),
        (
            [AGENT % ("agent", "chat", ", model: depp")],
            "REF001 12:123 chat does not serve the model 'depp'",
            "did you mean 'deep'?",
        ),
        (
            [OLLAMA % "", AGENT % ("agent", "ollama", "")],
            "REF003 13:54 service agent uses ollama, but no model is set",
            "add `model:` or services.ollama.models",
        ),
    ],
)  # fmt: skip
def test_what_a_service_cannot_use(services: list[str], said: str, hint: str) -> None:
    text = beside(*services)
    assert faults(text) == [said]
    assert resolution(text)[0][0].hint == hint


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("uses: [nobody]", ["REF001 8:12 unknown deployment or service 'nobody'"]),
        ("uses: [chat]", ["REF005 8:12 chat uses itself"]),
    ],
)
def test_what_a_front_end_cannot_use(line: str, said: list[str]) -> None:
    assert faults(webui(line)) == said


def test_one_name_twice() -> None:
    text = beside(
        OLLAMA % ", models: [a]",
        f"  web: {{kind: open-webui, image: 'x@{ONES}', hosts: spark-01, uses: [chat, chat]}}\n",
    )
    assert [fault.split(" ", 2)[2] for fault in faults(text)] == ["chat is listed twice"]


def test_each_alias_leads_to_something_that_is_there() -> None:
    """Row 11.1. Two aliases may lead to the same server."""
    claw = "  claw: {kind: openclaw, hosts: spark-01, aliases: {%s}}\n"
    right = claw % "a: {to: chat}, b: {to: chat, model: deep}, c: {to: ollama, model: tiny}"
    assert faults(beside(OLLAMA % ", models: [tiny]", right)) == []
    wrong = claw % "a: {to: caht}, b: {to: chat, model: slow}, c: {to: asr}"
    found = faults(beside(ASR, wrong))
    assert [fault.split(" ", 2)[2] for fault in found] == [
        "unknown deployment or service 'caht'",
        "asr has no API that claw can use",
    ]
    assert faults(beside(claw % "b: {to: chat, model: slow}")) == ["REF001 12:74 chat does not serve the model 'slow'"]


def test_an_ollama_that_names_no_models_may_hold_any() -> None:
    assert faults(beside(OLLAMA % "", AGENT % ("agent", "ollama", ", model: any"))) == []


@pytest.mark.parametrize("uses", ["5", "[5]", "{a: b}", "'../x'", "null"])
def test_a_name_of_the_wrong_shape_is_the_models_business(uses: str) -> None:
    """References are read from faulty files as well, and must not trip over one."""
    assert check_names(source(beside(AGENT % ("agent", uses, "")))) == ()
