"""The nodes of groups on Ray, SGLang and llama.cpp: what each host runs, opens and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.plan.links import group_numbers
from sparkiac.report import Severity
from tests.plan.fleets import LOCK, ONES, PAIR, checked, containers, faults

if TYPE_CHECKING:
    from sparkiac.plan import Container

RAY = PAIR + "    executor: ray\n    image: vllm/vllm-openai:gemma4-0505-arm64-cu130\n"
SGLANG = PAIR.replace("base/single-spark", "base/sglang") + "    image: lmsysorg/sglang:v0.5.23\n"
LLAMA = PAIR.replace("base/single-spark", "base/llama-cpp") + (
    "    image: example.org/llama.cpp:rpc\n    model_file: m.gguf\n    api_key: {secret: team_key}\n"
)
LOCKED = LOCK.replace(
    "models:\n",
    f'  lmsysorg/sglang:v0.5.23: {{digest: "{ONES}"}}\n'
    f'  example.org/llama.cpp:rpc: {{digest: "{ONES}", entrypoint: [/app/llama-server]}}\nmodels:\n',
).replace("gemma4-0505-arm64-cu130: {", "gemma4-0505-arm64-cu130: {entrypoint: [vllm, serve], ")


def nodes(text: str) -> tuple[Container, Container]:
    """Return the leader and the worker."""
    found = containers(text, locked=LOCKED)
    return found["spark-02/big"], found["spark-01/big"]


def test_a_head_starts_ray_waits_for_all_nodes_and_then_starts_vllm() -> None:
    head, _ = nodes(RAY)
    start, wait = head.command.pre_start
    assert start[:3] == ("ray", "start", "--head")
    assert {"--dashboard-host=127.0.0.1", "--node-ip-address=192.168.177.12", "--port=29501"} < {*start}
    assert wait == ("python3", "/run/sparkiac/lib/ray_group.py", "nodes", "2", "192.168.177.12:29501")
    assert head.argv[:3] == ("vllm", "serve", "example/big")
    assert {"--distributed-executor-backend=ray", "--tensor-parallel-size=2"} < {*head.argv}
    assert not [word for word in head.argv if word.startswith(("--nnodes", "--master", "--node-rank"))]


def test_a_worker_of_ray_runs_ray_instead_of_the_image_s_vllm() -> None:
    _, worker = nodes(RAY)
    assert worker.command.pre_start == (
        ("python3", "/run/sparkiac/lib/ray_group.py", "head", "192.168.177.12:29501", "192.168.177.12:29502"),
    )
    assert worker.argv[:3] == ("ray", "start", "--address=192.168.177.12:29501")
    assert worker.argv[-1] == "--block"
    assert "--node-ip-address=192.168.177.11" in worker.argv


def test_both_halves_of_ray_bound_its_memory_and_name_its_ports() -> None:
    head, worker = nodes(RAY)
    for words in (head.command.pre_start[0], worker.argv):
        assert {"--object-store-memory=1073741824", "--num-gpus=1", "--object-manager-port=29503"} < {*words}
    for node in (head, worker):
        assert node.command.env["RAY_memory_monitor_refresh_ms"] == "0"
        assert node.server.store == "192.168.177.12:29501"
    ports = [node.network.group_ports for node in (head, worker)]
    assert [each.peers for each in ports if each] == [("192.168.177.11",), ("192.168.177.12",)]
    assert [each.ports[0] for each in ports if each] == ["29501", "29502"]
    assert all("29510-29599" in each.ports for each in ports if each)


def test_vllm_s_own_processes_open_one_port_on_the_leader() -> None:
    leader, worker = nodes(PAIR)
    assert leader.network.group_ports == (("29501", "7349"), ("192.168.177.11",))
    assert leader.network.link == worker.network.link == ("spark-02", "192.168.177.12", 7349, ("spark-01",))
    assert worker.network.group_ports is None
    assert not [name for node in (leader, worker) for name in node.command.env if name.startswith("RAY")]


def test_sglang_gets_its_own_names_and_no_variable_of_vllm() -> None:
    leader, worker = nodes(SGLANG)
    group = {"--dist-init-addr=192.168.177.12:29501", "--nnodes=2", "--tp-size=2"}
    assert group | {"--node-rank=0", "--host=192.168.1.12"} < {*leader.argv}
    assert group | {"--node-rank=1", "--host=192.168.1.11"} < {*worker.argv}
    assert worker.command.env["NCCL_SOCKET_IFNAME"] == worker.command.env["GLOO_SOCKET_IFNAME"] == "enp1s0f1np1"
    assert "VLLM_HOST_IP" not in worker.command.env
    assert (leader.server.store, worker.server.store) == ("192.168.177.12:29501",) * 2
    assert worker.checks.health is not None
    assert worker.checks.health.command[-1] == "/run/sparkiac/promise.json"


@pytest.mark.parametrize("option", ["pp_size: 2", "pipeline_parallel_size: 2", "tensor_parallel_size: 2"])
def test_sglang_is_divided_as_the_deployment_says(option: str) -> None:
    leader, _ = nodes(f"{SGLANG}    set: {{{option}}}\n")
    assert "--tp-size=2" not in leader.argv
    assert not [
        each
        for each in checked(f"{SGLANG}    set: {{{option}}}\n", locked=LOCKED).report.findings
        if each.code == "FLG010"
    ]


def test_a_worker_of_llama_cpp_lends_its_gpu_to_the_leader_alone() -> None:
    leader, worker = nodes(LLAMA)
    assert worker.argv == ("/app/ggml-rpc-server", "--host", "192.168.177.11", "--port", "50052")
    assert (worker.weights.models, worker.weights.directories, worker.secrets) == ((), (), ())
    assert worker.network.group_ports == (("50052",), ("192.168.177.12",))
    assert leader.argv[leader.argv.index("--rpc") + 1] == "192.168.177.11:50052"
    [[*_, address, port]] = leader.command.pre_start
    assert (address, port) == ("192.168.177.11", "50052")
    for node in (leader, worker):
        assert not [name for name in node.command.env if name.startswith(("NCCL", "GLOO", "VLLM"))]
        assert (node.confinement.devices, node.confinement.ulimits) == ((), {})


def test_the_checks_of_llama_cpp_read_the_connections_of_the_kernel() -> None:
    leader, worker = nodes(LLAMA)
    assert leader.checks.health is not None
    assert worker.checks.health is not None
    end = "0BB1A8C0:C384"  # 192.168.177.11:50052
    assert leader.checks.health.command[3] == (
        "curl -fsS -m 4 -o /dev/null http://192.168.1.12:8001/health && grep -q ' " + end + " 01 ' /proc/net/tcp"
    )
    assert worker.checks.health.command[3] == f"grep -q ' {end} 00000000:0000 0A ' /proc/net/tcp"


def mesh(text: str) -> str:
    """Write the inventory of a pair for three hosts, with a cable between each two."""
    links = {"a": ("1.1", "3.1"), "b": ("1.2", "2.1"), "c": ("2.2", "3.2")}
    hosts = "".join(
        f"  {name}:\n    address: 192.168.1.{number}\n    fabric:\n      links:\n"
        f"        - {{interface: p0, hca: h0, address: 10.0.{first}/24}}\n"
        f"        - {{interface: p1, hca: h1, address: 10.0.{second}/24}}\n"
        for number, (name, (first, second)) in enumerate(links.items(), 11)
    )
    head, _, rest = text.partition("hosts:\n")
    deployments = rest[rest.index("deployments:") :].replace("[spark-02, spark-01]", "[a, b, c]")
    return f"{head}hosts:\n{hosts}{deployments}"


def test_in_a_mesh_llama_cpp_takes_the_cable_of_each_pair() -> None:
    found = containers(mesh(LLAMA), locked=LOCKED)
    leader = found["a/big"]
    assert leader.argv[leader.argv.index("--rpc") + 1] == "10.0.1.2:50052,10.0.3.2:50052"
    ports = [found[f"{host}/big"].network.group_ports for host in "bc"]
    assert [each.peers[0] for each in ports if each] == ["10.0.1.1", "10.0.3.1"]
    # No cable reaches all hosts, so the units of the workers connect over the LAN.
    assert leader.network.link == ("a", "192.168.1.11", 7349, ("b", "c"))
    assert leader.network.group_ports == (("7349",), ("192.168.1.12", "192.168.1.13"))


def test_a_node_of_a_mesh_looks_up_its_links_and_without_rdma_its_interface_alone() -> None:
    text = mesh(PAIR) + "    set: {pipeline_parallel_size: 3}\n"
    found = containers(text, locked=LOCKED)["b/big"].network.fabric
    assert found is not None
    assert [each.device for each in found.rdma] == ["h0", "h1"]
    found = containers(text + "    env: {NCCL_IB_DISABLE: 1}\n", locked=LOCKED)["b/big"].network.fabric
    assert found == ((), "192.168.1.12")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (SGLANG + "    executor: ray\n", "SGLang connects the hosts of a group in its own way"),
        (LLAMA + "    executor: mp\n", "llama.cpp connects the hosts of a group in its own way"),
        (RAY.replace("[spark-02, spark-01]", "spark-01"), "it runs on one host"),
    ],
)
def test_an_executor_without_effect(text: str, why: str) -> None:
    [found] = {each.partition(" ")[2].partition(" ")[2] for each in faults(text)}
    assert found == f"executor of big has no effect: {why}"


@pytest.mark.parametrize("option", ["dist_init_addr: 10.0.0.1:5", "nnodes: 2"])
def test_what_the_hosts_decide_is_not_set_for_sglang(option: str) -> None:
    assert any("is computed from the hosts of the group" in each for each in faults(f"{SGLANG}    set: {{{option}}}\n"))


def test_the_release_of_sglang_has_the_options_of_a_group() -> None:
    """Its oldest tables have them too, so no release is refused for them."""
    for text, image in ((SGLANG, ""), (SGLANG.replace("v0.5.23", "v0.4.7"), "v0.4.7")):
        found = checked(text, locked=LOCKED, allow_unlocked=True).report.findings
        assert not [each for each in found if each.code in {"ENG001", "ENG005"} and "dist_init" in each.message], image


def test_vllm_before_0_11_1_has_no_native_groups() -> None:
    old = PAIR + "    image: vllm/vllm-openai:v0.11.0\n"
    found = checked(old, locked=LOCKED, allow_unlocked=True).report.findings
    assert {each.message.partition(" ")[0] for each in found if each.code == "FLG101"} >= {"nnodes"}


def test_ray_in_an_image_without_it() -> None:
    for image in ("nvcr.io/nvidia/vllm:26.04-py3", "vllm/vllm-openai:v0.25.1"):
        found = checked(f"{PAIR}    executor: ray\n    image: {image}\n", locked=LOCKED, allow_unlocked=True)
        assert [each.code for each in found.report.findings if each.code == "IMG005"], image


def together(*entries: str) -> dict[str, Container]:
    """Return the nodes of several deployments on the hosts of PAIR."""
    head, _, _ = PAIR.partition("deployments:\n")
    return containers(f"{head}deployments:\n" + "".join(f"  {entry}\n" for entry in entries), locked=LOCKED)


_MP = "{recipe: base/single-spark, model: example/big, hosts: [spark-02, spark-01], port: PORT}"
_RAY = _MP.replace("}", ", executor: ray, image: 'vllm/vllm-openai:gemma4-0505-arm64-cu130'}")
_SGLANG = _MP.replace("base/single-spark", "base/sglang").replace("}", ", image: 'lmsysorg/sglang:v0.5.23'}")
_LLAMA = _MP.replace("base/single-spark", "base/llama-cpp").replace(
    "}", ", image: 'example.org/llama.cpp:rpc', model_file: m.gguf, api_key: {secret: k}}"
)


def test_groups_on_the_same_hosts_have_different_ports_of_every_executor() -> None:
    entries = [text.replace("PORT", str(8000 + n)) for n, text in enumerate([_MP, _RAY, _RAY, _SGLANG, _LLAMA, _LLAMA])]
    found = together(*(f"{name}: {text}" for name, text in zip("fedcba", entries, strict=True)))
    for host in ("spark-01", "spark-02"):
        opened = [port for name in "fedcba" for _, port in found[f"{host}/{name}"].network.opened]
        ports = [port for port in opened if port not in {"10001", "44217", "44227"}]
        assert len(ports) == len({*ports})
    assert "--master-port=29501" in found["spark-01/f"].argv
    assert [found[f"spark-01/{name}"].server.store for name in "fedc"] == [
        f"192.168.177.12:{port}" for port in (29501, 29601, 29701, 29801)
    ]
    head = found["spark-02/e"].command.pre_start
    assert {"--port=29601", "--node-manager-port=29602", "--max-worker-port=29699"} < {*head[0]}
    assert head[1][-1] == "192.168.177.12:29601"
    assert found["spark-02/a"].argv[found["spark-02/a"].argv.index("--rpc") + 1] == "192.168.177.11:50057"
    assert "192.168.177.11:50056" in found["spark-02/b"].argv
    checks = [found[f"spark-01/{name}"].checks.health for name in "ba"]
    assert [":C388 " in check.command[3] for check in checks if check] == [True, False]


def test_a_group_at_the_end_of_the_inventory_moves_no_port() -> None:
    first = together("z: " + _MP.replace("PORT", "8001"))
    both = together("z: " + _MP.replace("PORT", "8001"), "a: " + _MP.replace("PORT", "8002"))
    assert first["spark-01/z"].argv == both["spark-01/z"].argv
    assert "--master-port=29601" in both["spark-01/a"].argv


def test_groups_without_a_common_host_use_the_same_port() -> None:
    placed = {"one": ("a", "b"), "alone": ("a",), "two": ("c", "d"), "three": ("b", "c")}
    assert group_numbers(placed) == {"one": 0, "alone": 0, "two": 0, "three": 1}


@pytest.mark.parametrize(
    ("group", "host", "bind", "port", "collides"),
    [
        (_MP, "spark-02", "lan", 29501, True),
        (_MP, "spark-01", "lan", 29501, False),
        (_MP, "spark-02", "lan", 29502, False),
        (_RAY, "spark-01", "lan", 29555, True),
        (_LLAMA, "spark-01", "any", 50052, True),
        (_LLAMA, "spark-01", "lan", 50052, False),
    ],
)
def test_a_unit_that_takes_a_port_of_a_group_is_found(
    group: str, host: str, bind: str, port: int, *, collides: bool
) -> None:
    head, _, _ = PAIR.partition("deployments:\n")
    service = f"{{kind: container, image: 'example.org/a@{ONES}', hosts: {host}, port: {port}, bind: {bind}}}"
    text = f"{head}deployments:\n  big: {group.replace('PORT', '8001')}\nservices:\n  asr: {service}\n"
    found = [each.message for each in checked(text, locked=LOCKED).report.findings if each.code == "NET007"]
    assert found == ([f"port {port} of {host} is used by asr, and by the nodes of group big"] if collides else [])


HEADS = "num_attention_heads: 8, num_key_value_heads: 2"


@pytest.mark.parametrize(
    ("options", "config", "fault"),
    [
        ("tp_size: 2", HEADS, ""),
        ("tp_size: 8", HEADS, ""),
        ("tp_size: 1, pp_size: 2", HEADS, ""),
        ("tp_size: 3", HEADS, "the 8 attention heads of example/big cannot be divided by tp_size 3"),
        (
            "tensor_parallel_size: 3",
            HEADS,
            "the 8 attention heads of example/big cannot be divided by tensor_parallel_size 3",
        ),
        ("tp_size: 2", HEADS.replace(": 2", ": 1"), ""),
        ("tp_size: 2", HEADS.replace(": 2", ": 5"), "the 5 KV heads of example/big cannot be divided by tp_size 2"),
        ("tp_size: 4", HEADS.replace(": 2", ": 8"), ""),
        ("tp_size: 3, enable_dp_attention: true", HEADS, ""),
        ("tp_size: 3, attn_cp_size: 3", HEADS, ""),
        ("tp_size: 3, attention_context_parallel_size: 3", HEADS, ""),
        ("tp_size: 4", HEADS.replace("8", "null"), ""),
    ],
)
def test_the_heads_of_a_model_of_sglang_are_divided(options: str, config: str, fault: str) -> None:
    """(ENG010) A group gets tp_size by itself; the same check reads it."""
    locked = LOCKED.replace(HEADS, config)
    found = checked(f"{SGLANG}    set: {{{options}}}\n", locked=locked).report.findings
    shown = [each.message for each in found if each.code == "ENG010"]
    assert shown == ([f"SGLang 0.5.23 does not start: {fault}"] if fault else [])


@pytest.mark.parametrize(
    ("text", "locked", "severities"),
    [
        (SGLANG, LOCKED.replace("num_attention_heads: 8", "num_attention_heads: 9"), [Severity.ERROR]),
        (SGLANG, LOCKED.replace("num_attention_heads: 8", "num_attention_heads: 9").replace("qwen3", "qwen9"), []),
        (PAIR, LOCKED.replace("num_attention_heads: 8", "num_attention_heads: 9"), []),
    ],
)
def test_only_models_of_sglang_whose_code_was_read_are_refused(
    text: str, locked: str, severities: list[Severity]
) -> None:
    """(ENG010) tp_size is that of the group."""
    found = checked(text, locked=locked).report.findings
    assert [each.severity for each in found if each.code == "ENG010"] == severities
