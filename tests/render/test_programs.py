"""What a program of the host and a configuration file become: files, variables of Ansible, rows of the plan."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from sparkiac.commands import terminal
from sparkiac.words import plan as words
from tests.plan.fleets import ONES, deployment, planned
from tests.render.test_ansible import variables
from tests.render.test_generation import SERVICE, generation
from tests.render.test_hosts import unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pytest

    from sparkiac.report.artifact import Artifact

    Rendered = Callable[[str], Mapping[str, Artifact]]

ROOT = "hosts/spark-01/"
SERVICES = f"""\
services:
  agent:
    kind: hermes-agent
    hosts: spark-01
    uses: chat
    api_key: {{secret: hermes_key}}
    program: /home/spark/.local/bin/hermes
    user: spark
    description: 100 % of "help"
  claw: {{kind: openclaw, hosts: spark-01, description: models | aliases, aliases: {{deep: {{to: chat}}}}}}
  front: {{kind: open-webui, image: 'example.org/webui@{ONES}', hosts: spark-01, uses: [agent]}}
  ollama: {{kind: ollama, image: 'example.org/ollama@{ONES}', hosts: spark-01, models: [tiny]}}
"""
FLEET = deployment("api_key: {secret: team_key}", "bind: loopback") + SERVICES


def test_the_files_of_a_program_and_of_a_document(rendered: Rendered) -> None:
    tree = rendered(FLEET)
    assert {path for path in tree if "/agent/" in path or "/claw/" in path} == {
        f"{ROOT}etc/sparkiac/agent/config.yaml",
        f"{ROOT}etc/sparkiac/agent/environment",
        f"{ROOT}etc/sparkiac/claw/openclaw.json",
    }
    config = yaml.safe_load(tree[f"{ROOT}etc/sparkiac/agent/config.yaml"].content)
    assert config["model"]["base_url"] == "http://127.0.0.1:8001/v1"
    aliases = json.loads(tree[f"{ROOT}etc/sparkiac/claw/openclaw.json"].content)
    assert aliases["models"]["providers"]["deep"]["baseUrl"] == "http://127.0.0.1:8001/v1"


def test_the_unit_of_a_program(rendered: Rendered) -> None:
    found = unit(rendered(FLEET)[f"{ROOT}etc/systemd/system/sparkiac-agent.service"])
    assert found["Unit"]["Description"] == ['100 %% of "help"']
    assert found["Unit"]["After"] == ["network-online.target sparkiac-recover.service sparkiac-chat.service"]
    assert found["Unit"]["AssertFileIsExecutable"] == ["/home/spark/.local/bin/hermes"]
    section = found["Service"]
    assert (section["User"], section["StateDirectory"]) == (["spark"], ["sparkiac/agent"])
    assert section["LoadCredential"] == [
        "hermes_key:/etc/sparkiac/secrets/hermes_key",
        "team_key:/etc/sparkiac/secrets/team_key",
    ]
    assert (section["TimeoutStartSec"], section["TimeoutStopSec"], section["RestartSec"]) == (["120"], ["60"], ["2"])


def test_a_front_end_starts_after_what_it_asks_on_its_host(rendered: Rendered) -> None:
    found = unit(rendered(FLEET)[f"{ROOT}etc/systemd/system/sparkiac-front.service"])
    assert found["Unit"]["After"][0].split()[-1] == "sparkiac-agent.service"


def test_what_a_program_restarts_by(rendered: Rendered) -> None:
    found = {each["name"]: each for each in generation(rendered(FLEET))["units"]}
    assert list(found) == ["sparkiac-chat", "sparkiac-ollama", "sparkiac-agent", "sparkiac-front"]
    agent = found["sparkiac-agent"]
    assert agent["files"] == [
        "etc/systemd/system/sparkiac-agent.service",
        "etc/sparkiac/agent/environment",
        "etc/sparkiac/agent/config.yaml",
    ]
    assert agent["secrets"] == ["hermes_key", "team_key"]
    service = unit(rendered(FLEET)[f"{ROOT}etc/systemd/system/sparkiac-agent.service"])["Service"]
    assert "+/usr/local/lib/sparkiac/switch started sparkiac-agent" in service["ExecStartPre"]
    probe, opened = service["ExecStartPost"]
    assert "probe.py check" in probe
    assert opened == "+/usr/local/lib/sparkiac/switch opened sparkiac-agent"


def test_the_promise_of_a_program(rendered: Rendered) -> None:
    agent = next(each for each in generation(rendered(FLEET))["units"] if each["name"] == "sparkiac-agent")
    assert (agent["ready_timeout_s"], agent["drain_s"], agent["group"]) == (120, 0, False)
    assert agent["promise"] == {
        **SERVICE,
        "unit": "sparkiac-agent",
        "url": "http://192.168.1.11:8642",
        "health": "/health",
        "models": ["hermes-agent"],
        "api_key": "hermes_key",
    }


def test_the_variables_of_a_program_for_ansible(rendered: Rendered) -> None:
    found = variables(rendered(FLEET))
    assert found["secrets"] == ["hermes_key", "team_key"]
    assert found["pulls"] == [{"unit": "sparkiac-ollama", "model": "tiny:latest"}]
    assert found["networks"] == []


def test_a_key_of_what_is_asked_is_not_the_askers_own(rendered: Rendered) -> None:
    [front] = [each for each in generation(rendered(FLEET))["units"] if each["name"] == "sparkiac-front"]
    assert front["promise"]["api_key"] is None
    assert front["secrets"] == ["hermes_key"]


def test_data_has_directories_and_a_way_to_them(rendered: Rendered) -> None:
    modes = {each["path"]: each["mode"] for each in variables(rendered(FLEET))["directories"]}
    assert next(iter(modes.items())) == ("/var/lib/sparkiac", "0755")
    assert modes["/var/lib/sparkiac/front"] == modes["/var/lib/sparkiac/ollama"] == "0700"
    assert "/var/lib/sparkiac/agent" not in modes, "systemd makes it, for the program's user"
    assert not [path for path in variables(rendered(deployment()))["directories"] if "/var/lib" in path["path"]]


def test_the_plan_shows_which_unit_calls_which(rendered: Rendered) -> None:
    text = rendered(FLEET)["PLAN.md"].content.decode()
    assert "Program on the host, runs as user spark. Start timeout 120 s" in text
    assert "| chat | http://127.0.0.1:8001/v1 | example/model | team_key |" in text
    assert "| agent | http://192.168.1.11:8642/v1 | hermes-agent | hermes_key |" in text
    assert "### /etc/sparkiac/claw/openclaw.json\n\nmodels \\| aliases: a configuration file without a unit." in text


def test_the_table_shows_programs_and_documents(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:  # noqa: ANN401
    monkeypatch.setenv("COLUMNS", "120")
    terminal.show(words.tables(planned(FLEET), terminal.width()))
    shown = capsys.readouterr().out
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert "192.168.1.11:8642" in rows["agent"]
    assert "/home/spark/.local/bin/hermes" in shown
    assert "/etc/sparkiac/claw/openclaw.json" in shown
