"""The objects for Kubernetes of the shipped inventories and golden cases, read by published schemas and kustomize."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import jsonschema
import kubernetes_validate
import pytest
import yaml

from sparkiac import pipeline
from sparkiac.pipeline import InputFile
from sparkiac.render.kubernetes.objects import Node
from tests import kubelet
from tests.conftest import ROOT
from tests.plan.fleets import ONES

if TYPE_CHECKING:
    from pathlib import Path

    from sparkiac.plan import Plan
    from sparkiac.report.artifact import Artifact

SHIPPED: Final = [
    each for each in sorted((ROOT / "inventories").glob("*.yaml")) if not each.name.endswith(".lock.yaml")
]
CASES: Final = (
    *("llama-cpp", "mirror", "monitoring", "ollama"),
    *("open-webui", "openclaw", "pair", "ring", "services", "sglang", "tensorrt-llm"),
)
GOLDEN: Final = [ROOT / f"tests/golden/{name}/inventory.yaml" for name in CASES]
RELEASES: Final = ("1.30", "1.37")
"""Oldest release with the pre-stop action `sleep` by default, and the newest whose schemas the validator has."""
COUNT: Final = {"type": "integer", "minimum": 0}
READ_NODE: Final = ' set -a; . "/run/sparkiac/nodes/$NODE_NAME.env"; set +a;'
LWS: Final = {
    "additionalProperties": False,
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "leaderworkerset.x-k8s.io/v1"},
        "kind": {"const": "LeaderWorkerSet"},
        "metadata": {"type": "object", "required": ["name"]},
        "spec": {
            "additionalProperties": False,
            "required": ["leaderWorkerTemplate"],
            "properties": {
                "replicas": COUNT,
                "startupPolicy": {"enum": ["LeaderCreated", "LeaderReady"]},
                "rolloutStrategy": {
                    "additionalProperties": False,
                    "required": ["type"],
                    "properties": {
                        "type": {"enum": ["RollingUpdate"]},
                        "rollingUpdateConfiguration": {
                            "additionalProperties": False,
                            "properties": {"partition": COUNT, "maxUnavailable": COUNT, "maxSurge": COUNT},
                        },
                    },
                },
                "leaderWorkerTemplate": {
                    "additionalProperties": False,
                    "required": ["workerTemplate"],
                    "properties": {
                        "size": {"type": "integer", "minimum": 1},
                        "restartPolicy": {
                            "enum": ["RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None", "Default"]
                        },
                        "leaderTemplate": {"type": "object"},
                        "workerTemplate": {"type": "object"},
                    },
                },
            },
        },
    },
}
"""The fields of a LeaderWorkerSet, without those that only other uses need: networkConfig, subGroupPolicy and claims.

Source: kubernetes-sigs/lws, api/leaderworkerset/v1/leaderworkerset_types.go. Its pod templates are those of Kubernetes.
"""


def plan_of(inventory: Path) -> Plan:
    """Return the plan of an inventory with its lock, to which the records of builds are added."""
    file = inventory.with_suffix(".lock.yaml")
    lock = file.read_bytes() if file.is_file() else b"version: 1\nimages: {}\n"
    plan = planned(inventory, lock)
    if not plan.builds or b"builds:" in lock:
        return plan
    records = (f"  {each.name}: {{id: '{ONES}', spec: '{each.digest}', entrypoint: []}}\n" for each in plan.builds)
    return planned(inventory, lock + f"builds:\n{''.join(records)}".encode())


def planned(inventory: Path, lock: bytes) -> Plan:
    outcome = pipeline.check(InputFile(inventory.name, inventory.read_bytes()), InputFile("x.lock.yaml", lock))
    assert outcome.plan is not None
    return outcome.plan


@pytest.fixture(scope="module", params=[*SHIPPED, *GOLDEN], ids=lambda path: f"{path.parent.name}-{path.stem}")
def plan(request: pytest.FixtureRequest) -> Plan:
    """Return the plan of an inventory."""
    return plan_of(request.param)


@pytest.fixture(scope="module")
def artifacts(plan: Plan) -> tuple[Artifact, ...]:
    """Return its files for Kubernetes."""
    return pipeline.render_kubernetes(plan).artifacts


def validate(found: dict[str, Any], release: str) -> None:
    """Validate an object, strictly: unknown keys are refused."""
    if found["kind"] == "Kustomization":
        return
    if found["kind"] != "LeaderWorkerSet":
        kubernetes_validate.validate(found, release, strict=True)
        return
    jsonschema.Draft202012Validator(LWS).validate(found)
    template = found["spec"]["leaderWorkerTemplate"]
    for each in (template["leaderTemplate"], template["workerTemplate"]):
        pod = {"apiVersion": "v1", "kind": "PodTemplate", "template": each}
        kubernetes_validate.validate(pod, release, strict=True)


@pytest.mark.parametrize("release", RELEASES)
def test_every_object_is_valid(artifacts: tuple[Artifact, ...], release: str) -> None:
    for found in kubelet.objects(artifacts).values():
        validate(found, release)


def test_invalid_objects_are_found() -> None:
    tree = pipeline.render_kubernetes(plan_of(ROOT / "tests/golden/pair/inventory.yaml")).artifacts
    group = kubelet.objects(tree)["LeaderWorkerSet", "big"]
    group["spec"]["leaderWorkerTemplate"]["restartPolcy"] = "None"
    with pytest.raises(jsonschema.ValidationError, match="restartPolcy"):
        validate(group, RELEASES[0])
    del group["spec"]["leaderWorkerTemplate"]["restartPolcy"]
    validate(group, RELEASES[0])
    kubelet.server(group["spec"]["leaderWorkerTemplate"]["workerTemplate"])["arguments"] = []
    with pytest.raises(kubernetes_validate.ValidationError, match="arguments"):
        validate(group, RELEASES[0])


def test_the_kustomization_lists_every_file(artifacts: tuple[Artifact, ...]) -> None:
    paths = {each.path for each in artifacts}
    [found] = [yaml.safe_load(each.content) for each in artifacts if each.path == "kustomization.yaml"]
    configured = {path for each in found.get("configMapGenerator", ()) for path in each["files"]}
    assert {*found["resources"], *configured} == paths - {"kustomization.yaml", "NOTES.md"}
    objects = kubelet.objects(artifacts)
    used = {
        volume["configMap"]["name"]
        for kind, name in objects
        if kind in {"Deployment", "LeaderWorkerSet"}
        for pod in kubelet.pods(objects, name)
        for volume in pod["spec"]["volumes"]
        if "configMap" in volume
    }
    assert used == {each["name"] for each in found.get("configMapGenerator", ())}


def test_no_object_has_the_value_of_a_secret_and_every_pod_names_the_key(plan: Plan) -> None:
    found = kubelet.objects(pipeline.render_kubernetes(plan).artifacts)
    assert not [name for kind, name in found if kind == "Secret"]
    for host in plan.hosts:
        for container in (each for each in host.containers if ("Deployment", each.name) in found):
            [pod] = kubelet.pods(found, container.name)
            keys = [
                item["key"] for volume in pod["spec"]["volumes"] for item in volume.get("secret", {}).get("items", ())
            ]
            assert keys == [secret.name for secret in container.secrets]


@pytest.fixture(scope="module")
def composed(plan: Plan) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the compose services: host and name → service."""
    found = ((each.path.split("/"), each.content) for each in pipeline.render(plan))
    return {
        (path[1], path[-2]): yaml.safe_load(text.replace(b"$$", b"$"))["services"]["server"]
        for path, text in found
        if path[-1] == "compose.yaml"
    }


def of_cluster(wanted: dict[str, Any], node: Node) -> dict[str, str]:
    """Return the variables that the cluster gives a pod on this node of a group."""
    rank, size = node.container.server.node or (0, 1)
    options = dict(word.partition("=")[::2] for word in wanted.get("command", ()))
    return {
        "LWS_LEADER_ADDRESS": options.get("--master-addr", ""),
        "LWS_GROUP_SIZE": str(size),
        "LWS_WORKER_INDEX": str(rank),
        "NODE_NAME": node.host.name,
        "NODE_ADDRESS": options.get("--host", ""),
    }


def test_the_argv_and_environment_of_each_pod_are_those_of_compose(
    plan: Plan, composed: dict[tuple[str, str], dict[str, Any]]
) -> None:
    """Compare all nodes; those of a group after the cluster's variables have their values on that node."""
    tree = pipeline.render_kubernetes(plan)
    found = kubelet.objects(tree.artifacts)
    for node in (Node(host, each) for host in plan.hosts for each in host.containers if each.path[0] != "monitoring"):
        host, container = node
        name = container.name
        if not {("Deployment", name), ("LeaderWorkerSet", name)} & found.keys():
            assert any(each.startswith(f"{name}: not rendered") for each in tree.uncovered)
            continue
        server = kubelet.server(kubelet.pods(found, name)[0 if container.server.leads else 1])
        wanted = composed[host.name, name]
        known = of_cluster(wanted, node)
        env = kubelet.environment(server, known)
        assert [kubelet.expanded(word, env) for word in server.get("args", ())] == wanted.get("command", [])
        own = [each.content.decode() for each in tree.artifacts if each.path == f"{name}/nodes/{host.name}.env"]
        env |= dict(line.partition("=")[::2] for text in own for line in text.splitlines())
        assert {key: value for key, value in env.items() if key not in known} == wanted.get("environment", {})
        command = [kubelet.expanded(word, env) for word in server.get("command", ())]
        assert any(READ_NODE in word for word in command) == bool(own)
        assert [word.replace(READ_NODE, "") for word in command] == wanted.get("entrypoint", [])
        built = f"{container.image.repository}:{wanted['image'].removeprefix('sha256:')[:12]}"
        assert server["image"] == (wanted["image"] if container.image.build is None else built)


def written(artifacts: tuple[Artifact, ...], folder: Path) -> Path:
    for artifact in artifacts:
        path = folder / artifact.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(artifact.content)
    return folder


def test_kubectl_builds_the_kustomization(artifacts: tuple[Artifact, ...], plan: Plan, tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("opt-in: kubectl is not installed")
    written(artifacts, tmp_path)
    done = subprocess.run(["kubectl", "kustomize", str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    built = list(yaml.safe_load_all(done.stdout))
    for each in built:
        if each["kind"] == "ConfigMap":
            validate(each, RELEASES[-1])
        assert each["kind"] == "Namespace" or each["metadata"]["namespace"] == plan.name
    objects = kubelet.objects(artifacts).keys() - {("Kustomization", "")}
    assert {(each["kind"], each["metadata"]["name"]) for each in built if each["kind"] != "ConfigMap"} == objects


def test_the_probe_of_the_config_map_runs(tmp_path: Path) -> None:
    """A ConfigMap has no folders; the kubelet writes each key to its path, and links the first folders to them."""
    artifacts = pipeline.render_kubernetes(plan_of(ROOT / "inventories/lab.yaml")).artifacts
    tree, pod = written(artifacts, tmp_path / "tree"), tmp_path / "pod"
    [server] = kubelet.pods(kubelet.objects(artifacts), "qwen36")
    [items] = [each["configMap"]["items"] for each in server["spec"]["volumes"] if each["name"] == "probe"]
    assert {item["key"] for item in items} == {path.name for path in (tree / "probe").iterdir()}
    for item in items:
        path = pod / "..data" / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((tree / "probe" / item["key"]).read_bytes())
    for name in ("probe.py", "host"):
        (pod / name).symlink_to(f"..data/{name}")
    probe = [sys.executable, "-E", str(pod / "probe.py"), "watch", str(tree / "qwen36/promise.json")]
    options = ["--at", "http://127.0.0.1:1", "--state", str(tmp_path / "state.json")]
    done = subprocess.run([*probe, *options], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "refused" in done.stderr


def test_a_worker_reads_the_variables_of_its_node_and_the_key(tmp_path: Path) -> None:
    """Run the start command of a worker, with the paths of its volumes replaced."""
    tree = pipeline.render_kubernetes(plan_of(ROOT / "tests/golden/ring/inventory.yaml")).artifacts
    written(tree, tmp_path)
    (tmp_path / "vllm_api_key").write_text("s3cret $a\n")
    server = kubelet.server(kubelet.pods(kubelet.objects(tree), "big")[1])
    shell, flag, script, name, *_ = (kubelet.expanded(word, {}) for word in server["command"])
    script = script.replace("/run/sparkiac/nodes", str(tmp_path / "big/nodes")).replace("/run/secrets", str(tmp_path))
    tell = [sys.executable, "-c", "import json, os, sys; print(json.dumps([dict(os.environ), sys.argv[1:]]))", "a $b"]
    done = subprocess.run(
        [shell, flag, script, name, *tell],
        env={"PATH": os.environ["PATH"], "NODE_NAME": "spark-03"},
        capture_output=True,
        text=True,
        check=True,
    )
    env, words = json.loads(done.stdout)
    assert words == ["a $b"]
    assert (env["VLLM_HOST_IP"], env["VLLM_API_KEY"]) == ("192.168.1.13", "s3cret $a\n")
