"""One deployment over several hosts: a node on each, the first one leading."""

from __future__ import annotations

from sparkiac.plan import Health
from tests.plan.fleets import COMMIT, PAIR, containers


def options(command: tuple[str, ...]) -> dict[str, str]:
    """Return the options after `vllm serve MODEL`, without dashes."""
    return dict(word.removeprefix("--").partition("=")[::2] for word in command[3:])


def test_each_host_has_one_node() -> None:
    nodes = containers(PAIR)
    assert {name: node.server.node for name, node in nodes.items()} == {"spark-01/big": (1, 2), "spark-02/big": (0, 2)}


def test_the_commands_differ_in_rank_address_and_headless_alone() -> None:
    leading, other = (options(containers(PAIR)[f"{host}/big"].command.words) for host in ("spark-02", "spark-01"))
    assert leading == options(()) | {
        "revision": COMMIT,
        "host": "192.168.1.12",
        "port": "8001",
        "tensor-parallel-size": "2",
        "distributed-executor-backend": "mp",
        "nnodes": "2",
        "node-rank": "0",
        "master-addr": "192.168.177.12",
        "master-port": "29501",
        "max-model-len": "65536",
        "gpu-memory-utilization": "0.85",
        "max-num-seqs": "4",
    }
    assert other == leading | {"host": "192.168.1.11", "node-rank": "1", "headless": ""}


def test_nodes_share_their_hosts_network_and_reach_its_rdma_devices() -> None:
    for node in containers(PAIR).values():
        assert (node.network.host, node.network.published, node.confinement.devices) == (
            True,
            None,
            ("/dev/infiniband",),
        )


def test_nodes_without_rdma_get_no_device() -> None:
    for node in containers(PAIR.replace("hca: rocep1s0f1, ", "")).values():
        assert node.confinement.devices == ()


def test_each_node_speaks_from_its_own_fabric_address() -> None:
    nodes = containers(PAIR)
    assert nodes["spark-01/big"].command.env["VLLM_HOST_IP"] == "192.168.177.11"
    assert nodes["spark-02/big"].command.env["VLLM_HOST_IP"] == "192.168.177.12"
    own = containers(PAIR + "    per_host: {spark-01: {env: {VLLM_HOST_IP: 10.9.9.9}}}\n")
    assert own["spark-01/big"].command.env["VLLM_HOST_IP"] == "10.9.9.9"


def test_each_node_binds_its_traffic_to_its_own_links() -> None:
    first = {"NCCL_SOCKET_IFNAME": "enp1s0f1np1", "GLOO_SOCKET_IFNAME": "enp1s0f1np1"}
    second = "{interface: enP2p1s0f1np1, hca: roceP2p1s0f1, address: 192.168.178.12/24}"
    nodes = containers(PAIR.replace("192.168.177.12/24}]", f"192.168.177.12/24}}, {second}]"))
    for host, devices in (("spark-01", "rocep1s0f1"), ("spark-02", "rocep1s0f1,roceP2p1s0f1")):
        env = nodes[f"{host}/big"].command.env
        assert {name: env[name] for name in (*first, "NCCL_IB_HCA")} == first | {"NCCL_IB_HCA": devices}
    for node in containers(PAIR.replace("hca: rocep1s0f1, ", "")).values():
        assert "NCCL_IB_HCA" not in node.command.env
        assert node.command.env.items() >= first.items()


def test_only_the_leading_node_answers_and_is_asked_where_it_listens() -> None:
    nodes = containers(PAIR)
    leading, other = nodes["spark-02/big"], nodes["spark-01/big"]
    assert (leading.network.listen, leading.checks.path) == (("192.168.1.12", 8001), "/health")
    words = ("CMD", "python3", "/run/sparkiac/lib/probe.py", "watch", "/run/sparkiac/promise.json")
    assert leading.checks.health == Health((*words, "--at", "http://192.168.1.12:8001"), interval_s=15, timeout_s=150)
    assert (other.network.listen, other.checks.path, other.server.served) == (None, None, ())
    assert other.checks.health == Health(words, interval_s=15, timeout_s=150)


def test_a_group_that_listens_everywhere_is_asked_on_loopback() -> None:
    leading = containers(PAIR + "    bind: any\n")["spark-02/big"]
    assert options(leading.command.words)["host"] == "0.0.0.0"  # noqa: S104  compared
    assert leading.checks.health is not None
    assert leading.checks.health.command[-1] == "http://127.0.0.1:8001"


def test_a_group_on_the_fabric_listens_there() -> None:
    leading = containers(PAIR + "    bind: fabric\n")["spark-02/big"]
    assert leading.network.listen == ("192.168.177.12", 8001)
    assert options(leading.command.words)["host"] == "192.168.177.12"


def test_pipeline_parallel_groups_set_their_own_sizes() -> None:
    leading = containers(PAIR + "    set: {pipeline_parallel_size: 2}\n")["spark-02/big"]
    found = options(leading.command.words)
    assert found["pipeline-parallel-size"] == "2"
    assert "tensor-parallel-size" not in found


def test_a_tensor_parallel_size_of_the_user_stays() -> None:
    leading = containers(PAIR + "    set: {tensor_parallel_size: 1}\n")["spark-02/big"]
    assert options(leading.command.words)["tensor-parallel-size"] == "1"


def test_settings_of_one_host_are_its_own() -> None:
    nodes = containers(PAIR + "    per_host: {spark-01: {env: {NCCL_DEBUG: INFO}, timeouts: {stop_s: 9}}}\n")
    assert nodes["spark-01/big"].command.env["NCCL_DEBUG"] == "INFO"
    assert (nodes["spark-01/big"].timeouts.stop_s, nodes["spark-02/big"].timeouts.stop_s) == (9, 120)
    assert "NCCL_DEBUG" not in nodes["spark-02/big"].command.env


def test_a_list_of_one_host_is_not_a_group() -> None:
    [alone] = containers(PAIR.replace("hosts: [spark-02, spark-01]", "hosts: [spark-02]")).values()
    assert (alone.server.node, alone.network.host) == (None, False)
    assert alone.network.published is not None
