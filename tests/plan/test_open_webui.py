"""Open WebUI: what it is told of those it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.plan import Export, Secret
from tests.plan.fleets import LOCK, ONES, checked, containers, deployment, webui

if TYPE_CHECKING:
    from sparkiac.plan import Container

AGENT = """\
  agent:
    {kind: hermes-agent, hosts: spark-01, uses: chat, api_key: {secret: hermes_key}, program: /usr/bin/h, user: spark}
"""
TWO = deployment("api_key: {secret: team_key}") + f"services:\n{AGENT}"


def front(uses: str, *lines: str) -> Container:
    """Return the planned front end beside a deployment with a key and an agent."""
    image = f"example.org/webui@{ONES}"
    head = f"  front:\n    kind: open-webui\n    image: '{image}'\n    hosts: spark-01\n    uses: {uses}\n"
    return containers(TWO + head + "".join(f"    {line}\n" for line in lines), locked=LOCK)["spark-01/front"]


def test_urls_and_keys_are_paired_by_position() -> None:
    found = front("[agent, chat]", "urls: ['http://192.168.1.10:8009/v1/']")
    assert found.command.env["OPENAI_API_BASE_URLS"].split(";") == [
        "http://192.168.1.11:8642/v1",
        "http://chat:8000/v1",
        "http://192.168.1.10:8009/v1",
    ]
    assert found.command.exports == (Export("OPENAI_API_KEYS", ("hermes_key", "team_key", None)),)
    assert found.secrets == (
        Secret("hermes_key", "/run/secrets/hermes_key"),
        Secret("team_key", "/run/secrets/team_key"),
    )
    assert (found.command.env["ENABLE_OPENAI_API"], found.command.env["ENABLE_OLLAMA_API"]) == ("True", "False")


def test_without_any_key_nothing_wraps_the_start() -> None:
    [found] = containers(webui("urls: ['http://192.168.1.10:8009/v1']")).values()
    assert (found.command.exports, found.secrets, found.command.needs_shell) == ((), (), False)


def test_what_is_not_used_is_off_because_an_empty_list_means_the_internet() -> None:
    [found] = containers(webui()).values()
    assert (found.command.env["ENABLE_OPENAI_API"], found.command.env["ENABLE_OLLAMA_API"]) == ("False", "False")
    assert {"OPENAI_API_BASE_URLS", "OLLAMA_BASE_URLS"}.isdisjoint(found.command.env)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AIOHTTP_CLIENT_TIMEOUT_MODEL_LIST", "30"),
        ("ENABLE_PERSISTENT_CONFIG", "False"),
        ("OFFLINE_MODE", "true"),
        ("ANONYMIZED_TELEMETRY", "false"),
    ],
)
def test_what_it_is_told_besides(variable: str, value: str) -> None:
    """The time for lists of models is the Spark guide's (L627-628)."""
    [found] = containers(webui()).values()
    assert found.command.env[variable] == value


def test_the_key_of_sessions_is_kept_with_the_data_or_given() -> None:
    [kept] = containers(webui()).values()
    [given] = containers(webui("secret_key: {secret: webui_key}")).values()
    paths = [each.command.env["WEBUI_SECRET_KEY_FILE"] for each in (kept, given)]
    assert paths == ["/app/backend/data/.webui_secret_key", "/run/secrets/webui_secret_key"]
    assert given.secrets == (Secret("webui_key", "/run/secrets/webui_secret_key"),)
    assert (given.command.exports, kept.storage.data) == ((), "/var/lib/sparkiac/chat")


def test_a_variable_of_the_user_wins() -> None:
    [found] = containers(webui("env: {ENABLE_OLLAMA_API: 'True', OFFLINE_MODE: null}")).values()
    assert found.command.env["ENABLE_OLLAMA_API"] == "True"
    assert "OFFLINE_MODE" not in found.command.env


def test_an_image_of_which_nothing_is_known_cannot_be_wrapped() -> None:
    """The keys are read by a shell that must then start the image's own command (ENT100)."""
    assert front("[chat]").command.needs_shell
    head = f"  front: {{kind: open-webui, image: 'example.org/webui@{ONES}', hosts: spark-01, uses: [chat]}}\n"
    assert "ENT100" in [finding.code for finding in checked(TWO + head).report.findings]
