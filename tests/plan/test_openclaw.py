"""OpenClaw's table of models: aliases as in the dual-Spark post, and presets of a model."""

from __future__ import annotations

from typing import Any

from tests.plan.fleets import ONES, deployment, planned

OLLAMA = (
    f"  ollama: {{kind: ollama, image: 'example.org/ollama@{ONES}', hosts: spark-01, models: ['qwen3:8b', tiny]}}\n"
)


def table(*aliases: str, more: str = "") -> dict[str, Any]:
    """Return the content of the file for these aliases."""
    lines = "".join(f"      {alias}\n" for alias in aliases)
    claw = f"  claw:\n    kind: openclaw\n    hosts: spark-01\n    aliases:\n{lines}"
    [host] = planned(deployment("api_key: {secret: team-key}") + f"services:\n{OLLAMA}{claw}{more}").hosts
    [found] = host.config_files
    assert found.file == "etc/sparkiac/claw/openclaw.json"
    assert "claw" not in [unit.name for unit in host.units]
    return dict(found.content)


def test_each_alias_is_a_provider_with_one_model() -> None:
    found = table("deep: {to: chat, use: heavy reasoning}", "spark8b: {to: ollama}")
    assert found["models"]["providers"] == {
        "deep": {
            "baseUrl": "http://192.168.1.11:8001/v1",
            "apiKey": "${TEAM_KEY}",
            "api": "openai-completions",
            "models": [{"id": "example/model", "name": "example/model (heavy reasoning)"}],
        },
        "spark8b": {
            "baseUrl": "http://192.168.1.11:11434/v1",
            "apiKey": "none",
            "api": "openai-completions",
            "models": [{"id": "qwen3:8b", "name": "qwen3:8b"}],
        },
    }
    assert found["agents"]["defaults"]["models"] == {
        "deep/example/model": {"alias": "deep"},
        "spark8b/qwen3:8b": {"alias": "spark8b"},
    }


def test_two_aliases_for_one_server() -> None:
    found = table("a: {to: ollama}", "b: {to: ollama, model: tiny}")
    models = [provider["models"][0]["id"] for provider in found["models"]["providers"].values()]
    assert models == ["qwen3:8b", "tiny"]


def test_presets_go_into_each_request() -> None:
    found = table("a: {to: chat, thinking: false, sampling: {temperature: 0.6, top_p: 0.95, max_tokens: 1024}}")
    assert found["agents"]["defaults"]["models"]["a/example/model"]["params"] == {
        "temperature": 0.6,
        "maxTokens": 1024,
        "extra_body": {"top_p": 0.95},
        "chat_template_kwargs": {"enable_thinking": False},
    }


def test_what_is_not_said_is_the_models_own() -> None:
    found = table("a: {to: chat, sampling: {temperature: 0}}")
    assert found["agents"]["defaults"]["models"]["a/example/model"]["params"] == {"temperature": 0}


def test_an_agent_can_stand_behind_an_alias() -> None:
    agent = "  agent: {kind: hermes-agent, hosts: spark-01, uses: chat, api_key: {secret: k}, program: /h, user: s}\n"
    found = table("a: {to: agent}", more=agent)
    assert found["models"]["providers"]["a"]["baseUrl"] == "http://192.168.1.11:8642/v1"
    assert found["models"]["providers"]["a"]["models"][0]["id"] == "hermes-agent"
