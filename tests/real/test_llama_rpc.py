"""A real llama-server with a real RPC server, started and checked with the rendered commands."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.host.nodes import pair
from tests.plan.test_executors import LLAMA, nodes
from tests.real import tiny_gguf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sparkiac.plan import Container
    from tests.host.nodes import Nodes

SERVER, WORKER = shutil.which("llama-server"), shutil.which("ggml-rpc-server")
ASK = (
    "curl",
    "-sS",
    "-d",
    '{"prompt": "hello", "n_predict": 4, "grammar": "root ::= [a-z0-9 ]+"}',
    "http://192.168.1.12:8001/completion",
)


@pytest.fixture
def hosts() -> Iterator[Nodes]:
    """Yield two hosts with the fabric of the group, and the LAN address of the leader."""
    if SERVER is None or WORKER is None:
        pytest.skip("opt-in: needs llama-server and ggml-rpc-server in PATH")
    with pair() as found:
        found.spaces.ip_of("a", "address", "add", "192.168.1.12/24", "dev", "lo")
        yield found


def healthy(hosts: Nodes, host: str, node: Container) -> bool:
    """Return whether the health check of a container succeeds on its host."""
    assert node.checks.health is not None
    words = hosts.spaces.within(host, *node.checks.health.command[1:])
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


def until(hosts: Nodes, host: str, node: Container, *, state: bool) -> None:
    """Wait for a state of the health check; the limit only ends a test that fails."""
    end = time.monotonic() + 60
    while healthy(hosts, host, node) != state:
        assert time.monotonic() < end, hosts.log(host)
        time.sleep(0.2)


def test_a_leader_waits_uses_its_worker_and_notices_its_end(hosts: Nodes) -> None:
    """The leader starts first. A dead worker is invisible in /health while no request runs, but not in the check."""
    model = hosts.root / "model.gguf"
    tiny_gguf.write(model)
    leader, worker = nodes(LLAMA)
    rpc = leader.argv[leader.argv.index("--rpc") :][:2]
    own = (str(SERVER), *rpc, "--model", str(model), "--host", "192.168.1.12", "--port", "8001", "--ctx-size", "256")
    hosts.start("a", *leader.command.pre_start, (*own, "--fit", "off", "--n-gpu-layers", "all"), variables={})
    lends = hosts.start("b", (str(WORKER), *worker.argv[1:]), variables={})
    until(hosts, "b", worker, state=True)
    until(hosts, "a", leader, state=True)
    asked = hosts.spaces.within("a", *ASK)
    said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    assert json.loads(said).get("tokens_predicted") == 4, said + hosts.log("a")
    lends.kill()
    lends.wait()
    until(hosts, "a", leader, state=False)
    until(hosts, "b", worker, state=False)
    health = hosts.spaces.within("a", "curl", "-fsS", "http://192.168.1.12:8001/health")
    assert subprocess.run(health, check=False, capture_output=True).returncode == 0
    hosts.start("b", (str(WORKER), *worker.argv[1:]), variables={})
    until(hosts, "b", worker, state=True)
    assert not healthy(hosts, "a", leader), "the former leader stays without its worker until it starts again"
