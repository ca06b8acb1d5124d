"""One machine and all that it runs."""

from __future__ import annotations

import pytest

from sparkiac.host.preflight.expectations import DockerAccess, ExpectedParameters, UnitExpectation, Versions
from sparkiac.memory.values import Unknown
from sparkiac.render import jsontext
from tests.plan.fleets import COMMIT, ONES, deployment, planned, service

GIB = 1 << 30
PROCESSES = 4423 << 20
"""Most memory of the processes of one vLLM server: 1,042, 516 and 1,230 MiB."""
SECOND = """\
  code:
    {recipe: base/single-spark, model: example/code, hosts: spark-01, port: 8002, set: {gpu_memory_utilization: 0.1}}
"""
ASR = f"services: {{asr: {{kind: container, image: 'example.org/asr@{ONES}', hosts: spark-01, port: 8765}}}}\n"
BOX = """\
platforms:
  box:
    title: Box
    architecture: arm64
    gpu: {name: NVIDIA GB10, compute_capability: "12.1"}
    driver: "580"
    memory_gib: 119
    requires: {docker: "28.0", systemd: "254"}
    kernel_parameters: {nvidia_drm.modeset: "Y"}
    docker_free_gib: 60
"""
PC = "platforms: {pc: {title: PC, architecture: amd64}}\n"


def test_hosts_and_containers_are_sorted_by_name() -> None:
    hosts = "spark-02: {address: 192.168.1.12}, spark-01: {address: 192.168.1.11}"
    plan = planned(deployment(host=hosts) + SECOND + ASR)
    assert (plan.name, [host.name for host in plan.hosts]) == ("lab", ["spark-01", "spark-02"])
    assert [[each.name for each in host.containers] for host in plan.hosts] == [["asr", "chat", "code"], []]


def test_a_hosts_facts() -> None:
    line = (
        "spark-01: {address: 192.168.1.11, ssh: {user: milo, port: 2222}, memory: {total_gib: 121}, driver: '580.142'"
    )
    [host] = planned(deployment(host=line + ", sysctl: {vm.swappiness: 10, net.core.rmem_max: '1 2'}}")).hosts
    assert (host.address, host.user, host.ssh_port) == ("192.168.1.11", "milo", 2222)
    assert (host.values.architecture, host.values.driver, host.memory_bytes) == ("arm64", "580.142", 121 * GIB)
    assert host.values.title.startswith("NVIDIA DGX Spark")
    assert list(host.sysctls.items()) == [("net.core.rmem_max", "1 2"), ("vm.swappiness", "10")]


def test_what_a_machine_of_which_little_is_known_has_not() -> None:
    [host] = planned(deployment(host="spark-01: {address: 192.168.1.11, platform: pc}") + PC).hosts
    assert (host.user, host.ssh_port, host.values.driver, host.memory_bytes, dict(host.sysctls)) == (
        None,
        None,
        None,
        None,
        {},
    )


def test_memory_is_added_up_over_engines_and_what_is_kept() -> None:
    graphs = "measured: {graphs_bytes: 1073741824}"
    [host] = planned(deployment("set: {gpu_memory_utilization: 0.5}", graphs)).hosts
    assert host.budget is not None
    assert [(term.name, term.size_bytes) for term in host.budget.terms] == [
        ("chat", -(-119 * GIB // 2)),
        ("CUDA graphs", GIB),
        ("processes of vLLM", PROCESSES),
        ("system and page cache", 119 * GIB // 10 - PROCESSES),
    ]
    left = host.budget.headroom_bytes
    assert left == 119 * GIB - sum(term.size_bytes or 0 for term in host.budget.terms)


def test_one_term_of_unknown_size_makes_the_sum_unknown() -> None:
    [host] = planned(deployment("set: {gpu_memory_utilization: 0.5}") + ASR).hosts
    assert host.budget is not None
    assert host.budget.headroom_bytes == Unknown(("asr",))
    assert host.budget.most_bytes == pytest.approx(0.4 * 119 * GIB, abs=GIB // 4)


def test_a_machine_of_unknown_size_has_an_unknown_rest() -> None:
    text = service(host="spark-01: {address: 192.168.1.11, platform: pc}") + PC
    [host] = planned(text).hosts
    assert host.budget is not None
    assert (host.budget.total_bytes, host.budget.most_bytes) == (None, None)
    assert isinstance(host.budget.headroom_bytes, Unknown)


def test_what_the_preflight_expects_of_a_machine() -> None:
    host_line = "spark-01: {address: 192.168.1.11, platform: box}"
    text = deployment("api_key: {secret: team_key}", host=host_line) + SECOND + ASR + BOX
    [host] = planned(text).hosts
    wanted = jsontext.plain(host.preflight)
    chat, code = (each for each in host.containers if each.kind == "deployment")
    assert {key: wanted[key] for key in ("host", "architecture", "gpu", "driver", "memory_bytes")} == {
        "host": "spark-01",
        "architecture": "aarch64",
        "gpu": {"name": "NVIDIA GB10", "compute_capability": "12.1"},
        "driver": "580",
        "memory_bytes": 119 * GIB,
    }
    assert wanted["kernel_parameters"] == {"nvidia_drm.modeset": "Y"}
    assert wanted["versions"] == {"docker": "28.0", "compose": None, "container_toolkit": None, "systemd": "254"}
    assert wanted["disk"] == [{"path": "/var/lib/docker", "free_bytes": 60 * GIB}]
    assert wanted["ports"] == [
        {"address": "192.168.1.11", "port": port, "unit": unit}
        for unit, port in (("sparkiac-asr", 8765), ("sparkiac-chat", 8001), ("sparkiac-code", 8002))
    ]
    assert wanted["secrets"] == [{"name": "team_key", "mode": "0600", "header": True}]
    models = ["models--example--code", f"models--example--model@{COMMIT}"]
    unknown: dict[str, object] = {"gated": [], "not_before": {}, "compared": {}}
    assert wanted["store"] == [{"path": "/srv/models", "models": models, **unknown}]
    bare: dict[str, object] = {"files": [], "weights": [], "fabric": None, "group_ports": None}
    assert wanted["units"] == {
        "asr": {
            **bare,
            "image": f"example.org/asr@{ONES}",
            "gpu": False,
            "memory_bytes": None,
            "secrets": [],
            "cache": None,
        },
        "chat": {
            "image": chat.image.pull,
            "gpu": True,
            "memory_bytes": chat.memory_bytes,
            "secrets": ["team_key"],
            "cache": f"/var/cache/sparkiac/chat/{chat.storage.cache_key}",
            **bare,
        },
        "code": {
            "image": code.image.pull,
            "gpu": True,
            "memory_bytes": code.memory_bytes,
            "secrets": [],
            "cache": f"/var/cache/sparkiac/code/{code.storage.cache_key}",
            **bare,
        },
    }


def test_what_is_not_known_is_not_expected() -> None:
    [host] = planned(service(host="spark-01: {address: 192.168.1.11, platform: pc}") + PC).hosts
    assert {key: each for key, each in host.preflight._asdict().items() if each} == {
        "host": "spark-01",
        "architecture": "x86_64",
        "versions": Versions(None, None, None, None),
        "docker_access": DockerAccess("sparkiac", "docker"),
        "parameters": ExpectedParameters(()),
        "units": {"asr": UnitExpectation(f"example.org/asr@{ONES}", None, (), None, (), (), None, None, gpu=False)},
    }


def test_a_deployment_without_a_store_requires_no_weights() -> None:
    [host] = planned(deployment("container: {mounts: null}", defaults="{}")).hosts
    assert not host.preflight.store
