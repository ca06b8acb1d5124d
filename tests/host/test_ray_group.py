"""The nodes of a group on Ray wait for each other; with real Ray, they join and end as rendered."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
from pathlib import Path
from socket import create_server
from typing import TYPE_CHECKING, Final

import pytest

from sparkiac.host.group import ray_group
from tests.host.nodes import pair
from tests.plan.fleets import PAIR, containers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from tests.host.nodes import Nodes

RAY: Final = shutil.which("ray")


@pytest.fixture
def module() -> ModuleType:
    """Load the program."""
    return ray_group


def test_a_worker_waits_until_the_head_accepts_connections_at_all_ports(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.ExitStack() as free:
        ports = [free.enter_context(create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(2)]
    left = list(ports)

    with contextlib.ExitStack() as servers:
        monkeypatch.setattr(
            module.time, "sleep", lambda _: servers.enter_context(create_server(("127.0.0.1", left.pop())))
        )
        words = [f"127.0.0.1:{port}" for port in ports]
        assert module.main(["head", *words]) == 0
    assert left == []
    assert capsys.readouterr().out == f"ray_group: waiting for the head at {', '.join(words)}\n"


def test_the_head_waits_for_all_nodes_that_are_alive(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A node of a former start is listed for a while, and is not alive."""
    seen = [[("a", True), ("b", False)], [("a", True)], [("a", True), ("c", True)]]

    class Stand:
        """A stand-in for Ray."""

        @staticmethod
        def nodes() -> list[dict[str, object]]:
            return [{"NodeManagerAddress": name, "Alive": alive} for name, alive in seen.pop(0)]

        init = shutdown = staticmethod(lambda **_: None)

    monkeypatch.setitem(sys.modules, "ray", Stand())
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    monkeypatch.setenv("VLLM_CONFIG_ROOT", str(tmp_path / "config"))
    for name in ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "GLOO_SOCKET_IFNAME"):
        monkeypatch.setenv(name, "x")
    assert module.main(["nodes", "2", "10.0.0.1:29501"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ray_group: 1 of 2 nodes have joined: a",
        "ray_group: 2 of 2 nodes have joined: a, c",
    ]
    kept = json.loads((tmp_path / "config/ray_non_carry_over_env_vars.json").read_text())
    assert {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "GLOO_SOCKET_IFNAME"} <= {*kept}


def test_wrong_words_print_the_usage(module: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["head"], ["nodes", "two", "a:1"], ["nodes", "2"]):
        assert module.main(words) == 2
    assert "ray_group.py nodes COUNT HOST:PORT" in capsys.readouterr().err


@pytest.fixture
def hosts() -> Iterator[Nodes]:
    """Yield two hosts with the fabric of PAIR."""
    if RAY is None:
        pytest.skip("opt-in: needs Ray: put the directory of a `ray` program into PATH")
    with pair() as found:
        yield found


def test_a_real_head_and_worker_join_with_the_rendered_commands(hosts: Nodes) -> None:
    """The worker starts first and waits. When the head ends, the worker's Ray ends too."""
    nodes = containers(PAIR + "    executor: ray\n")
    head, worker = nodes["spark-02/big"], nodes["spark-01/big"]
    config = {
        "VLLM_CONFIG_ROOT": str(hosts.root / "config"),
        "RAY_gcs_rpc_server_reconnect_timeout_s": "5",
        "RAY_TMPDIR": str(hosts.root),
        "PATH": f"{Path(str(RAY)).resolve().parent}:{os.environ['PATH']}",
    }
    joins = worker.argv[worker.argv.index("ray") :]
    working = hosts.start("b", *worker.command.pre_start, joins, variables={**worker.command.env, **config})
    hosts.wait("b", "waiting for the head at 192.168.177.12:29501, 192.168.177.12:29502")
    leading = hosts.start("a", *head.command.pre_start, ("sleep", "600"), variables={**head.command.env, **config})
    hosts.wait("a", "2 of 2 nodes have joined: 192.168.177.11, 192.168.177.12")
    assert working.poll() is None
    leading.kill()
    leading.wait()
    done = threading.Event()
    threading.Thread(target=lambda: (working.wait(120), done.set()), daemon=True).start()
    assert done.wait(120), "the worker goes on without its head"
    assert working.returncode != 0
