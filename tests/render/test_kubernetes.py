"""Objects for Kubernetes: who reaches a port, where pods run, what they may do, and what is not covered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkiac import pipeline
from sparkiac.render import escape, kubernetes
from tests import kubelet
from tests.plan.fleets import LOCK, ONES, PAIR, deployment, planned, service, webui

TRIPLE = """\
name: triple
defaults: {model_store: /srv/models}
hosts:
  spark-01: {address: 192.168.1.11, fabric: {links: [{interface: enp1, hca: roce1, address: 10.0.0.1/24}]}}
  spark-02: {address: 192.168.1.12, fabric: {links: [{interface: enp2, hca: roce2, address: 10.0.0.2/24}]}}
  spark-03: {address: 192.168.1.13, fabric: {links: [{interface: enp3, hca: roce3, address: 10.0.0.3/24}]}}
deployments:
  big:
    recipe: base/single-spark
    model: example/big
    hosts: [spark-01, spark-02, spark-03]
    set: {pipeline_parallel_size: 3}
    port: 8001
"""
ON_FABRIC = "spark-01: {address: 192.168.1.11, fabric: {links: [{interface: enp1, address: 10.0.0.1/24}]}}"


def rendered(text: str, *, locked: str = LOCK) -> kubernetes.Rendering:
    return pipeline.render_kubernetes(planned(text, locked=locked))


def objects(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    return kubelet.objects(rendered(text).artifacts)


def pod(text: str, name: str = "chat") -> dict[str, Any]:
    found: dict[str, Any] = kubelet.pods(objects(text), name)[0]
    return found


def ingress(text: str, name: str = "chat") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = objects(text)["NetworkPolicy", name]["spec"]["ingress"]
    return found


def files(text: str) -> dict[str, str]:
    return {each.path: each.content.decode() for each in rendered(text).artifacts}


SHM = "/dev/shm"  # noqa: S108  in the container
PORTS = [{"port": 8000, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("bind", "host_ip", "rules"),
    [
        ("lan", "192.168.1.11", [{"ports": PORTS}]),
        ("any", None, [{"ports": PORTS}]),
        ("loopback", "127.0.0.1", []),
        ("fabric", "10.0.0.1", [{"from": [{"ipBlock": {"cidr": "10.0.0.0/24"}}], "ports": PORTS}]),
    ],
)
def test_bind_decides_who_reaches_the_port(bind: str, host_ip: str | None, rules: list[dict[str, Any]]) -> None:
    text = deployment(f"bind: {bind}", host=ON_FABRIC)
    [port] = kubelet.server(pod(text))["ports"]
    assert (port["containerPort"], port["hostPort"], port.get("hostIP")) == (8000, 8001, host_ip)
    assert ingress(text) == rules


def test_a_list_of_clients_replaces_everybody() -> None:
    text = deployment("bind: lan", "reachable_from: [10.1.0.0/16, 10.2.0.9]", host=ON_FABRIC)
    blocks = [{"ipBlock": {"cidr": "10.1.0.0/16"}}, {"ipBlock": {"cidr": "10.2.0.9/32"}}]
    assert ingress(text) == [{"from": blocks, "ports": PORTS}]


def test_a_front_end_may_reach_what_it_uses_on_loopback() -> None:
    text = webui("port: 3000", "uses: [talk]") + (
        "deployments:\n  talk: {recipe: base/single-spark, model: example/model, hosts: spark-01, port: 8001, "
        "bind: loopback}\ndefaults: {model_store: /srv/models}\n"
    )
    [rule] = ingress(text, "talk")
    assert rule["from"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "chat"}}}]
    ports = {each["port"]: each["targetPort"] for each in objects(text)["Service", "talk"]["spec"]["ports"]}
    assert ports == {8001: 8000, 8000: 8000}
    assert {"name": "OPENAI_API_BASE_URLS", "value": "http://talk:8000/v1"} in kubelet.server(pod(text))["env"]


def test_a_container_without_a_port_has_no_service_and_accepts_nothing() -> None:
    found = objects(service())
    assert ("Service", "asr") not in found
    assert found["NetworkPolicy", "asr"]["spec"]["ingress"] == []


def test_a_pod_runs_on_the_host_of_the_inventory() -> None:
    assert pod(deployment())["spec"]["nodeSelector"] == {
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/hostname": "spark-01",
    }


def test_workers_run_on_their_hosts_one_each() -> None:
    leader, worker = (each["spec"] for each in kubelet.pods(objects(TRIPLE), "big"))
    assert leader["nodeSelector"]["kubernetes.io/hostname"] == "spark-01"
    affinity = worker["affinity"]
    [term] = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["spark-02", "spark-03"]
    [apart] = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart["topologyKey"] == "kubernetes.io/hostname"


def test_variables_that_differ_between_workers_are_in_a_file_of_the_node() -> None:
    found = files(TRIPLE)
    assert found["big/nodes/spark-03.env"] == (
        "GLOO_SOCKET_IFNAME=enp3\nNCCL_IB_HCA=roce3\nNCCL_SOCKET_IFNAME=enp3\nVLLM_HOST_IP=10.0.0.3\n"
    )
    assert "big/nodes/spark-01.env" not in found
    worker = kubelet.server(kubelet.pods(objects(TRIPLE), "big")[1])
    assert not {"VLLM_HOST_IP", "NCCL_IB_HCA"} & {each["name"] for each in worker["env"]}


def test_two_hosts_need_no_file_of_the_node() -> None:
    assert not [path for path in files(PAIR) if "/nodes/" in path]
    worker = kubelet.server(kubelet.pods(objects(PAIR), "big")[1])
    assert {"name": "VLLM_HOST_IP", "value": "192.168.177.11"} in worker["env"]


def test_workers_that_differ_in_more_are_not_rendered_and_named() -> None:
    differing = "    per_host: {spark-03: {set: {max_num_seqs: 2}, env: {NCCL_DEBUG: INFO}}}\n"
    asr = f"services: {{asr: {{kind: container, image: 'asr@{ONES}', hosts: spark-01}}}}\n"
    found = rendered(TRIPLE + differing + asr)
    [note] = [each for each in found.uncovered if each.startswith("big:")]
    assert note.startswith("big: not rendered, because its workers spark-02 and spark-03 differ in --max-num-seqs=4;")
    assert not [each.path for each in found.artifacts if each.path.startswith("big/")]


def test_unequal_memory_of_workers_requests_that_of_the_smallest() -> None:
    text = TRIPLE.replace("192.168.1.12,", "192.168.1.12, memory: {total_gib: 100},")
    asked = {kubelet.server(each)["resources"]["requests"]["memory"] for each in kubelet.pods(objects(text), "big")}
    assert asked == {str(min(each.memory_bytes for host in planned(text).hosts for each in host.containers))}


def test_a_group_ends_and_starts_as_one() -> None:
    spec = objects(PAIR)["LeaderWorkerSet", "big"]["spec"]
    assert spec["replicas"] == 1
    assert spec["rolloutStrategy"]["rollingUpdateConfiguration"]["maxSurge"] == 0
    template = spec["leaderWorkerTemplate"]
    assert (template["size"], template["restartPolicy"]) == (2, "RecreateGroupOnPodRestart")


def test_the_nodes_of_a_group_expect_the_store_where_they_connect() -> None:
    found = files(PAIR)
    for name in ("leader", "worker"):
        assert '"store": "big-0.big.pair:29501"' in found[f"big/{name}.json"]
    assert '"kind": "worker"' in found["big/worker.json"]


def test_a_group_uses_the_network_and_the_rdma_devices_of_its_nodes() -> None:
    for each in kubelet.pods(objects(PAIR), "big"):
        assert (each["spec"]["hostNetwork"], each["spec"]["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
        limits = kubelet.server(each)["resources"]["limits"]
        assert limits == {"nvidia.com/gpu": "1", "rdma/rdma_shared_device_a": "1"}
        assert kubelet.server(each)["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}
    assert ("NetworkPolicy", "big") not in objects(PAIR)
    assert "big: its pods use the network of their nodes, to which no NetworkPolicy applies" in rendered(PAIR).uncovered


def test_a_service_reaches_a_leader_only_at_the_address_of_its_node() -> None:
    assert objects(PAIR)["Service", "big-leader"]["spec"]["selector"] == {
        "app.kubernetes.io/name": "big",
        "leaderworkerset.sigs.k8s.io/worker-index": "0",
    }
    on_fabric = rendered(PAIR + "    bind: fabric\n")
    assert ("Service", "big-leader") not in kubelet.objects(on_fabric.artifacts)
    assert any("no Service, because it listens on 192.168.177.12 only" in each for each in on_fabric.uncovered)


def test_the_probes_run_the_check_of_the_compose_file() -> None:
    server = kubelet.server(pod(deployment("timeouts: {ready_s: 900}")))
    command = ["python3", "/run/sparkiac/lib/probe.py", "watch", "/run/sparkiac/promise.json"]
    for name, attempts, period_s in (("startupProbe", 180, 5), ("livenessProbe", 4, 15)):
        probe = server[name]
        assert probe["exec"]["command"] == [*command, "--at", "http://127.0.0.1:8000"]
        assert (probe["failureThreshold"], probe["periodSeconds"], probe["timeoutSeconds"]) == (attempts, period_s, 150)
    assert server["readinessProbe"]["httpGet"] == {"path": "/health", "port": 8000}


def test_a_worker_has_no_http_to_be_ready_by() -> None:
    leader, worker = map(kubelet.server, kubelet.pods(objects(PAIR), "big"))
    assert leader["readinessProbe"]["httpGet"]["host"] == "192.168.1.12"
    assert "readinessProbe" not in worker
    assert "lifecycle" not in worker


def test_a_service_without_health_check_has_no_probe() -> None:
    assert not {"startupProbe", "livenessProbe", "readinessProbe"} & kubelet.server(pod(service(), "asr")).keys()


def test_a_shell_health_check_runs_in_a_shell() -> None:
    server = kubelet.server(pod(service("port: 80", "health: /up"), "asr"))
    assert server["startupProbe"]["exec"]["command"][:2] == ["/bin/sh", "-c"]


def test_a_pod_is_confined_like_the_container() -> None:
    plan = planned(service("port: 80", "read_only: false"))
    [host] = plan.hosts
    [asr] = host.containers
    root = asr._replace(confinement=asr.confinement._replace(user="1000:100"))
    changed = plan._replace(hosts=(host._replace(containers=(root,)),))
    [found] = kubelet.pods(kubelet.objects(pipeline.render_kubernetes(changed).artifacts), "asr")
    assert kubelet.server(found)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": False,
        "runAsUser": 1000,
        "runAsGroup": 100,
    }
    assert found["spec"]["automountServiceAccountToken"] is False
    assert found["spec"]["enableServiceLinks"] is False


def volumes(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return mount path → volume."""
    by_name = {each["name"]: each for each in found["spec"]["volumes"]}
    return {each["mountPath"]: by_name[each["name"]] for each in kubelet.server(found)["volumeMounts"]}


def test_shared_memory_is_a_volume() -> None:
    assert volumes(pod(deployment("container: {ipc: host}")))[SHM]["emptyDir"] == {"medium": "Memory"}
    private = pod(deployment("container: {ipc: private, shm_size_gib: 2}"))
    assert volumes(private)[SHM]["emptyDir"] == {"medium": "Memory", "sizeLimit": str(2 << 30)}
    assert SHM not in volumes(pod(deployment("container: {shm_size_gib: null}")))


def test_directories_of_the_node() -> None:
    found = volumes(pod(deployment()))
    assert found["/models"]["hostPath"] == {"path": "/srv/models", "type": "Directory"}
    assert found["/cache"]["hostPath"]["type"] == "DirectoryOrCreate"
    assert found["/run/sparkiac/lib"]["configMap"]["name"] == "sparkiac-probe"


def test_a_changed_promise_restarts_the_pod() -> None:
    one, other = (
        pod(deployment(f"served_names: [{name}]"))["metadata"]["annotations"]["sparkiac/files"] for name in ("a", "b")
    )
    assert one != other
    assert "annotations" not in pod(service(), "asr")["metadata"]


def test_a_built_image_is_never_pulled() -> None:
    source = f"repository: 'https://example.org/a.git', commit: '{'3' * 40}', install: [make], why: test"
    builds = f"builds: {{own: {{base: 'nvcr.io/nvidia/vllm:26.04-py3', {source}}}}}\n"
    text = service().replace(f"example.org/asr@{ONES}", "own") + builds
    server = kubelet.server(pod(text, "asr"))
    assert (server["image"], server["imagePullPolicy"]) == ("own:UNLOCKED", "Never")
    assert "- spark-01: the image own:UNLOCKED, built from source" in files(text)["NOTES.md"]


def test_changes_to_the_host_while_a_model_loads_are_named_as_missing() -> None:
    why = "no program drops the page cache of the node while the model loads"
    note = f"- chat: load_memory.drop_caches_every_s is not rendered; {why}"
    assert note in files(deployment("load_memory: {drop_caches_every_s: 1}"))["NOTES.md"]
    assert "load_memory" not in files(deployment())["NOTES.md"]


def test_a_copied_image_is_pulled_by_its_digest() -> None:
    text = deployment(host="spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}")
    image = kubelet.server(pod(text))["image"]
    assert image == f"nvcr.io/nvidia/vllm@{ONES}"


def test_the_host_of_a_front_end_has_a_name_in_its_pod() -> None:
    text = webui("port: 3000", 'urls: ["http://host.docker.internal:9000/v1"]', "bind: loopback")
    alias = {"ip": "192.168.1.11", "hostnames": ["host.docker.internal"]}
    assert pod(text)["spec"]["hostAliases"] == [alias]
    named = text.replace("192.168.1.11", "spark.example")
    assert "hostAliases" not in pod(named)["spec"]
    note = "chat: spark.example is a name, so host.docker.internal is unknown in the pod"
    assert note in rendered(named).uncovered


def test_the_gpu_of_two_pods_is_named() -> None:
    text = deployment() + f"services: {{tts: {{kind: container, image: 'tts@{ONES}', hosts: spark-01, gpu: true}}}}\n"
    assert (
        "spark-01: chat, tts share its GPU; the NVIDIA device plugin must offer it 2 times" in rendered(text).uncovered
    )


def test_an_inventory_of_which_nothing_can_run_is_refused() -> None:
    differing = "    per_host: {spark-03: {set: {max_num_seqs: 2}}}\n"
    with pytest.raises(kubernetes.KubernetesError, match=r"nothing of triple can run on Kubernetes: big: its workers"):
        rendered(TRIPLE + differing)
    with pytest.raises(
        kubernetes.KubernetesError, match=r"^nothing of lab can run on Kubernetes: it has no container$"
    ):
        rendered("name: lab\nhosts: {spark-01: {address: 192.168.1.11}}\n")


def test_names_that_kubernetes_refuses_are_refused() -> None:
    with pytest.raises(kubernetes.KubernetesError, match="do not end with a hyphen: rename chat-"):
        rendered(deployment().replace("  chat:", "  chat-:"))


@given(st.text(st.characters(exclude_characters=set("\r\x00"), exclude_categories=["Cs"])))
def test_a_kubelet_reads_each_word_as_it_was(text: str) -> None:
    try:
        encoded = escape.kubernetes(text)
    except ValueError:
        return
    assert kubelet.expanded(encoded, {"A": "x", "": "y"}) == text


@pytest.mark.parametrize("text", ["$(A)", "$$(A)", "$A ${A}", "$", "$$", "100 %", "$(A", "a$"])
def test_no_reference_is_replaced(text: str) -> None:
    assert kubelet.expanded(escape.kubernetes(text), {"A": "x"}) == text
