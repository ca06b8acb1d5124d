"""A plain compose project, read by the real docker-compose of the development environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sparkiac import foreign
from tests.plan.fleets import PAIR, deployment, planned

COMPOSE = Path(sys.executable).with_name("docker-compose")


def exported(text: str, name: str = "chat") -> str:
    return foreign.exporter("compose").write(foreign.nodes(planned(text), name)).text


def read(text: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    (folder / "compose.yaml").write_text(text)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)} | env
    return subprocess.run([COMPOSE, "config"], cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not COMPOSE.exists(), reason="docker-compose is not installed")
def test_compose_reads_it_and_wants_the_key(tmp_path: Path) -> None:
    text = exported(deployment("api_key: {secret: team_key}", "env: {MONEY: '$5 ${x}'}"))
    assert "team_key" not in text
    refused = read(text, tmp_path)
    assert refused.returncode != 0
    assert "must contain the key" in refused.stdout + refused.stderr
    done = read(text, tmp_path, VLLM_API_KEY="s3cret")
    assert done.returncode == 0, done.stderr
    server = yaml.safe_load(done.stdout)["services"]["chat"]
    assert server["environment"]["VLLM_API_KEY"] == "s3cret"
    assert server["environment"]["MONEY"].replace("$$", "$") == "$5 ${x}"


def test_nothing_in_it_is_of_sparkiac(tmp_path: Path) -> None:
    """No probe of its own, no files of systemd's credentials, no slice, and Docker restarts it."""
    data = yaml.safe_load(exported(deployment("api_key: {secret: team_key}")))
    [server] = data["services"].values()
    assert server["restart"] == "unless-stopped"
    assert "sparkiac" not in str(data)
    assert data["volumes"] == {"chat-cache": {"name": "chat-cache"}}
    assert server["healthcheck"]["test"][:3] == ["CMD", "python3", "-c"]
    assert server["healthcheck"]["test"][-1] == "http://127.0.0.1:8000/health"
    assert not [*tmp_path.iterdir()]


def test_a_group_has_a_service_for_each_machine() -> None:
    text = exported(PAIR, "big")
    assert list(yaml.safe_load(text)["services"]) == ["spark-02", "spark-01"]
    assert "# on spark-01: docker compose up --detach spark-01\n" in text


def test_one_machine_publishes_its_port_and_the_machines_of_a_group_are_in_the_network_of_their_hosts() -> None:
    [server] = yaml.safe_load(exported(deployment()))["services"].values()
    assert "network_mode" not in server
    assert [(each["host_ip"], each["published"]) for each in server["ports"]] == [("192.168.1.11", "8001")]
    for node in yaml.safe_load(exported(PAIR, "big"))["services"].values():
        assert node["network_mode"] == "host"
        assert "ports" not in node


@pytest.mark.parametrize(("bind", "address"), [("any", "127.0.0.1"), ("lan", "192.168.1.12")])
def test_the_leader_of_a_group_is_checked_where_it_listens(bind: str, address: str) -> None:
    leader = yaml.safe_load(exported(f"{PAIR}    bind: {bind}\n", "big"))["services"]["spark-02"]
    assert leader["healthcheck"]["test"][-1] == f"http://{address}:8001/health"
