"""etc/sparkiac/generation.json: units in start order with their promises, kernel settings, the group, what it needs."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import yaml

from sparkiac.render import playbooks, render
from tests.plan.fleets import LOCK, ONES, PAIR, TWOS, deployment, planned, service
from tests.render.test_ansible import variables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pytest

    from sparkiac.report.artifact import Artifact

    Rendered = Callable[[str], Mapping[str, Artifact]]

SERVICE = {
    "kind": "service",
    "url": None,
    "health": None,
    "models": [],
    "api_key": None,
    "clients": [],
    "reasoning": False,
    "structured": False,
    "vision": False,
    "max_model_len": None,
    "dimensions": None,
    "speculative": False,
    "metrics": None,
    "answer_s": 120,
    "store": None,
    "workers": 0,
}
"""What a unit promises of which nothing is known but its timeout."""
PROGRAMS = "playbooks/roles/programs/files/"


def generation(tree: Mapping[str, Artifact], host: str = "spark-01") -> dict[str, Any]:
    """Read the file of a host."""
    found: dict[str, Any] = json.loads(tree[f"hosts/{host}/etc/sparkiac/generation.json"].content)
    return found


def promises(tree: Mapping[str, Artifact], host: str = "spark-01") -> dict[str, Any]:
    """Return the promise of each unit of a host."""
    return {unit["name"]: unit["promise"] for unit in generation(tree, host)["units"]}


def test_a_deployment(rendered: Rendered) -> None:
    tree = rendered(deployment("api_key: {secret: team_key}"))
    found = generation(tree)
    [unit] = found["units"]
    assert (found["host"], found["group"], found["sysctls"]) == (
        "spark-01",
        None,
        [{"key": "vm.swappiness", "value": "1"}],
    )
    assert (unit["ready_timeout_s"], unit["drain_s"], unit["group"]) == (1200, 30, False)
    assert unit["promise"] == {
        **SERVICE,
        "unit": "sparkiac-chat",
        "kind": "generate",
        "url": "http://192.168.1.11:8001",
        "health": "/health",
        "models": ["example/model"],
        "api_key": "team_key",
        "structured": True,
        "max_model_len": 65536,
        "metrics": "/metrics",
    }
    [directory] = variables(tree)["directories"]
    assert found["needs"] == {
        "images": [f"nvcr.io/nvidia/vllm@{ONES}"],
        "stores": [],
        "extra_files": [],
        "caches": [directory["path"]],
    }


def test_the_timeouts_of_an_apply(rendered: Rendered) -> None:
    [unit] = generation(rendered(deployment("timeouts: {drain_s: 0, answer_s: 300}")))["units"]
    assert (unit["drain_s"], unit["promise"]["answer_s"]) == (0, 300)
    [unit] = generation(rendered(service("port: 8765", "timeouts: {drain_s: 9}")))["units"]
    assert (unit["drain_s"], unit["promise"]["answer_s"]) == (9, 120)


def test_the_promise_of_a_service(rendered: Rendered) -> None:
    [unit] = generation(rendered(service("port: 8765", "health: /health")))["units"]
    assert unit["drain_s"] == 0
    assert unit["promise"] == {
        **SERVICE,
        "unit": "sparkiac-asr",
        "url": "http://192.168.1.11:8765",
        "health": "/health",
    }


def test_a_unit_on_every_address_is_checked_on_loopback(rendered: Rendered) -> None:
    assert promises(rendered(service("port: 8765", "bind: any")))["sparkiac-asr"]["url"] == "http://127.0.0.1:8765"


def test_a_unit_without_a_port_promises_nothing(rendered: Rendered) -> None:
    assert promises(rendered(service())) == {"sparkiac-asr": None}


def test_a_group_and_its_leader(rendered: Rendered) -> None:
    tree = rendered(PAIR)
    for host in ("spark-01", "spark-02"):
        found = generation(tree, host)
        assert [unit["group"] for unit in found["units"]] == [True]
        assert found["group"] == {
            "members": ["spark-01", "spark-02"],
            "coordinator": "spark-01",
            "address": "192.168.177.11",
            "port": 7348,
            "peers": ["192.168.1.12", "192.168.177.12"],
        }
    assert promises(tree, "spark-02")["sparkiac-big"]["url"] == "http://192.168.1.12:8001"
    assert promises(tree, "spark-01") == {
        "sparkiac-big": {
            **SERVICE,
            "unit": "sparkiac-big",
            "kind": "worker",
            "store": "192.168.177.12:29501",
            "workers": 1,
        }
    }


def test_a_unit_restarts_for_its_own_files_alone(rendered: Rendered) -> None:
    extra = f"services: {{asr: {{kind: container, image: 'example.org/asr@{ONES}', hosts: spark-01}}}}\n"
    tree = rendered(deployment() + extra)
    files = {unit["name"]: unit["files"] for unit in generation(tree)["units"]}
    scripts = "usr/local/lib/sparkiac"
    assert files == {
        "sparkiac-asr": [
            "etc/systemd/system/sparkiac-asr.service",
            "etc/sparkiac/asr/compose.yaml",
            f"{scripts}/supervise",
        ],
        "sparkiac-chat": [
            "etc/systemd/system/sparkiac-chat.service",
            "etc/sparkiac/chat/compose.yaml",
            f"{scripts}/supervise",
            "etc/sparkiac/chat/promise.json",
        ],
    }
    roots = ("hosts/spark-01/", PROGRAMS)
    assert all(any(f"{root}{path}" in tree for root in roots) for paths in files.values() for path in paths)


def test_memory_and_ports_in_start_order(rendered: Rendered) -> None:
    extra = f"services: {{asr: {{kind: container, image: 'example.org/asr@{ONES}', hosts: spark-01, port: 8765}}}}\n"
    host = "spark-01: {address: 192.168.1.11, memory: {total_gib: 119, reserve_gib: 9}}"
    text = deployment("set: {gpu_memory_utilization: 0.5}", "api_key: {secret: k}", host=host) + extra
    found = generation(rendered(text))
    assert found["memory_bytes"] == 110 << 30
    chat, asr = found["units"]
    assert (chat["name"], chat["secrets"], chat["listen"]) == ("sparkiac-chat", ["k"], "192.168.1.11:8001")
    assert chat["memory_bytes"] == (119 << 30) // 2
    assert (asr["name"], asr["secrets"], asr["listen"]) == ("sparkiac-asr", [], "192.168.1.11:8765")
    assert asr["memory_bytes"] is None


def test_copied_images_are_kept_by_their_ids() -> None:
    copied = LOCK.replace(f'digest: "{ONES}"', f'digest: "{ONES}", config: "{TWOS}"')
    host = "spark-01: {address: 192.168.1.11, images_from: spark-02}, spark-02: {address: 192.168.1.12}"
    plan = planned(deployment(host=host), locked=copied)
    tree = {artifact.path: artifact for artifact in render(plan)}
    assert generation(tree)["needs"]["images"] == [TWOS]


def test_a_host_that_runs_nothing(rendered: Rendered) -> None:
    found = generation(rendered("name: lab\nhosts: {spark-01: {address: 192.168.1.11, sysctl: null}}\n"))
    assert (found["units"], found["sysctls"], found["group"]) == ([], [], None)
    assert found["needs"] == {"images": [], "stores": [], "extra_files": [], "caches": []}


def test_the_id_is_a_hash_of_all_files_and_their_modes(rendered: Rendered) -> None:
    """The host computes the same from the files that it received."""
    tree = rendered(PAIR)
    found = variables(tree, "spark-02")
    placed = found["files"] + yaml.safe_load(tree["group_vars/all.yml"].content)["sparkiac_programs"]
    for file in placed:
        own, shared = f"hosts/spark-02/{file['path']}", f"{PROGRAMS}{file['path']}"
        assert file["sha256"] == hashlib.sha256(tree[own if own in tree else shared].content).hexdigest()
    lines = sorted((file["path"], f"{file['mode']} {file['sha256']} {file['path']}\n") for file in placed)
    whole = hashlib.sha256("".join(line for _, line in lines).encode()).hexdigest()
    assert found["generation"] == whole[:16]
    assert found["generation"] != variables(tree, "spark-01")["generation"]


def test_another_program_or_mode_is_another_generation(rendered: Rendered, monkeypatch: pytest.MonkeyPatch) -> None:
    before = variables(rendered(PAIR))["generation"]
    assert variables(rendered(PAIR))["generation"] == before
    first, *others = playbooks.on_every_host()
    for changed in (first._replace(content=first.content + b"# changed\n"), first._replace(mode=0o600)):
        with monkeypatch.context() as patch:
            patch.setattr(playbooks, "on_every_host", lambda changed=changed: (changed, *others))
            assert variables(rendered(PAIR))["generation"] != before
