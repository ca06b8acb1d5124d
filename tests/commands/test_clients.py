"""`sparkiac clients`: what clients of each deployment need, and a request that works as printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from sparkiac import catalog
from sparkiac.cli import cli
from tests.host.probed import Service
from tests.plan.fleets import ONES, PAIR, deployment, service
from tests.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

CLIENTS = sorted(catalog.clients())
PLACEHOLDERS = {"name", "host", "url", "model", "context", "key_file", "variable", "keyless"}
KEY = """it's "a" $key\\n"""
KEYED = "api_key: {secret: team_key}"
TOOLS = "set: {enable_auto_tool_choice: true, tool_call_parser: hermes, max_model_len: 65536}"
NAMED = "served_names: [example/model, 'my \"model\"']"
EMBEDS = "set: {runner: pooling, convert: embed}"
OLD = f"image: vllm/vllm-openai:v0.11.0@{ONES}"
RELEASE = f"image: vllm/vllm-openai:v0.32.0@{ONES}"


def run(tmp_path: Path, text: str, *words: str) -> tuple[int, str]:
    inventory = tmp_path / "lab.yaml"
    inventory.write_text(text)
    result = CliRunner().invoke(cli, ["clients", str(inventory), *words])
    return result.return_value if isinstance(result.return_value, int) else result.exit_code, result.output


def found(tmp_path: Path, text: str) -> dict[str, Any]:
    """Return the one deployment of an inventory."""
    code, output = run(tmp_path, text, "--format", "json")
    assert code == 0, output
    [deployed] = json.loads(output)["deployments"]
    return dict(deployed)


def settings(client: str, text: str) -> Any:  # noqa: ANN401  settings
    """Read settings as the program does: JSON5 without comments and trailing commas is YAML."""
    match client:
        case "claude-code":
            return json.loads(text)
        case "codex":
            return tomllib.loads(text)
        case _:
            return yaml.safe_load(text)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("lines", [(), (KEYED,), ("bind: loopback",), (KEYED, "bind: loopback")])
def test_the_settings_of_each_client_are_well_formed(tmp_path: Path, client: str, lines: tuple[str, ...]) -> None:
    code, text = run(tmp_path, deployment(TOOLS, NAMED, RELEASE, *lines), "--for", client)
    assert code == 0, text
    read = json.dumps(settings(client, text))
    assert ("http://127.0.0.1:8001" if "bind: loopback" in lines else "http://192.168.1.11:8001") in read
    needs_model = "@model" in catalog.clients()[client].settings
    assert needs_model == (json.dumps('my "model"')[1:-1] in text or "example/model" in text)
    assert ("team_key" in text.lower()) == (KEYED in lines)
    assert not re.search(r"@[a-z_]+", text)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_group_is_reached_at_its_leader(tmp_path: Path, client: str) -> None:
    given = PAIR + f"    {TOOLS}\n    {RELEASE}\n    served_names: [big]\n"
    code, text = run(tmp_path, given, "--for", client)
    assert code == 0, text
    assert "http://192.168.1.12:8001" in text
    assert found(tmp_path, given)["host"] == "spark-02"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_names_its_documentation_and_only_known_values(client: str) -> None:
    known = catalog.clients()[client]
    text = known.settings + "\n".join(known.notes)
    assert set(re.findall(r"@\{?([a-z_]+)", text)) <= PLACEHOLDERS
    assert known.sources
    assert known.read
    assert known.tried or known.not_verified


def test_loopback_is_reached_through_a_tunnel(tmp_path: Path) -> None:
    host = "spark-01: {address: 192.168.1.11, ssh: {user: milo, port: 2222}}"
    deployed = found(tmp_path, deployment("bind: loopback", host=host))
    assert deployed["tunnel"] == "ssh -p 2222 -N -L 8001:127.0.0.1:8001 milo@192.168.1.11"
    assert (deployed["url"], deployed["open_to"]) == ("http://127.0.0.1:8001", "this host")


def test_a_link_is_reached_through_a_tunnel(tmp_path: Path) -> None:
    deployed = found(tmp_path, PAIR.replace("    port: 8001", "    port: 8001\n    bind: fabric"))
    assert deployed["tunnel"] == "ssh -N -L 8001:192.168.177.12:8001 192.168.1.12"
    assert deployed["open_to"] == "hosts on its direct link"


def test_the_lan_needs_no_tunnel(tmp_path: Path) -> None:
    for bind in ("lan", "any"):
        deployed = found(tmp_path, deployment(f"bind: {bind}"))
        assert (deployed["url"], deployed["tunnel"]) == ("http://192.168.1.11:8001", None)


@pytest.mark.parametrize(
    ("client", "lines", "reason"),
    [
        (
            "claude-code",
            (TOOLS, NAMED, OLD),
            "/v1/messages, which vLLM has since 0.11.1",
        ),
        ("claude-code", (TOOLS, RELEASE), "it cannot send the name example/model; add another one to served_names"),
        ("codex", (NAMED, RELEASE), "it sends tools; set enable_auto_tool_choice and tool_call_parser (API001)"),
        (
            "continue",
            ("set: {runner: pooling, convert: embed}",),
            "it needs a chat, and the deployment serves embedding",
        ),
    ],
)
def test_a_client_that_cannot_use_a_server_is_refused(
    tmp_path: Path, client: str, lines: tuple[str, ...], reason: str
) -> None:
    code, text = run(tmp_path, deployment(*lines), "--for", client)
    assert code == 2
    assert reason in " ".join(text.split())
    setup = found(tmp_path, deployment(*lines))["clients"][client]
    assert setup["settings"] is None
    assert reason in setup["obstacle"]


def test_an_engine_without_the_api_is_refused(tmp_path: Path) -> None:
    given = deployment("engine: tensorrt-llm", "image: nvcr.io/nvidia/tensorrt-llm/release:1.3.0").replace(
        "    recipe: base/single-spark\n", ""
    )
    clients = found(tmp_path, given)["clients"]
    assert clients["claude-code"]["obstacle"].endswith("which no release of TensorRT-LLM is known to have")
    assert clients["codex"]["notes"][0] == (
        "TensorRT-LLM has /v1/responses since 1.3.0; the release in this image is unknown."
    )


def test_several_deployments_need_a_name_for_a_file(tmp_path: Path) -> None:
    given = deployment(RELEASE) + deployment(RELEASE, "bind: loopback").partition("deployments:\n")[2].replace(
        "  chat:", "  other:"
    ).replace("8001", "8002")
    code, text = run(tmp_path, given, "--for", "continue")
    assert code == 2
    assert "name one of the deployments: chat, other" in text
    code, text = run(tmp_path, given, "other", "--for", "continue")
    assert code == 0
    assert "http://127.0.0.1:8002/v1" in text
    code, text = run(tmp_path, given, "othre")
    assert code == 2
    assert "did you mean 'other'" in text


def test_an_inventory_without_deployments_is_refused(tmp_path: Path) -> None:
    code, text = run(tmp_path, service())
    assert code == 2
    assert "no deployment of the inventory accepts requests" in text


def test_the_page_has_each_part(tmp_path: Path) -> None:
    code, text = run(tmp_path, deployment(TOOLS, NAMED, RELEASE, KEYED))
    assert code == 0
    page = " ".join(text.split())
    assert "chat on spark-01 address http://192.168.1.11:8001 open to the network of 192.168.1.11" in page
    assert "context 65536 tokens" in page
    assert "key secret team_key: /etc/sparkiac/secrets/team_key on the host, secrets/lab.json here" in page
    assert "ssh 192.168.1.11 sudo cat /etc/sparkiac/secrets/team_key >~/.config/sparkiac/lab/team_key" in page
    assert all(each.title in text for each in catalog.clients().values())


def test_the_value_of_a_key_is_not_printed(tmp_path: Path) -> None:
    """Not even if it lies where the commands read it."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/lab.json").write_text(json.dumps({"sparkiac_secrets": {"team_key": "s3cr3t-canary"}}))
    for words in ((), ("--format", "json"), *(("--for", each) for each in CLIENTS)):
        assert "canary" not in run(tmp_path, deployment(TOOLS, NAMED, RELEASE, KEYED), *words)[1]


@pytest.mark.skipif(shutil.which("curl") is None and "CI" not in os.environ, reason="curl is not installed")
@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest.mark.parametrize("lines", [(), (KEYED,)])
def test_the_request_is_answered_when_it_is_pasted(tmp_path: Path, shell: str, lines: tuple[str, ...]) -> None:
    """The test server answers 401 without the key, which is no argument of curl."""
    key = tmp_path / ".config/sparkiac/lab/team_key"
    key.parent.mkdir(parents=True)
    key.write_text(f"{KEY}\n")
    (tmp_path / "curl").write_text('#!/bin/sh\necho "$@" >"$HOME/arguments"\nexec /usr/bin/curl "$@"\n')
    (tmp_path / "curl").chmod(0o755)
    with serving(Service()) as server:
        if lines:
            server.authorization = f"Bearer {KEY}"
        server.answers["/v1/chat/completions"] = (200, {"choices": [{"message": {"content": "Paris"}}]})
        text = deployment(TOOLS, NAMED, RELEASE, "bind: any", *lines, host="spark-01: {address: 127.0.0.1}")
        request = found(tmp_path, text.replace("8001", str(server.server_port)))["request"]
        env = {"HOME": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}
        done = subprocess.run([shell, "-c", request], env=env, capture_output=True, check=True)
    assert json.loads(done.stdout)["choices"][0]["message"]["content"] == "Paris", done
    assert KEY not in request + (tmp_path / "arguments").read_text()
