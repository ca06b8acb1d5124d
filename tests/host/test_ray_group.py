"""The nodes of a group on Ray wait for each other; with real Ray, they join and end as rendered."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from socket import create_server
from typing import TYPE_CHECKING, Final

import pytest

from tests.host.conftest import load
from tests.plan.fleets import PAIR, containers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

LIBRARY: Final = Path(__file__).parents[2] / "playbooks/roles/programs/files/usr/local/lib/sparkiac"
RAY: Final = shutil.which("ray")


@pytest.fixture
def module() -> ModuleType:
    """Load the program."""
    return load("ray_group.py")


def test_a_worker_waits_until_the_head_accepts_connections(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    servers = []

    def appear(_seconds: float) -> None:
        servers.append(create_server(("127.0.0.1", port)))

    monkeypatch.setattr(module.time, "sleep", appear)
    assert module.main(["head", f"127.0.0.1:{port}"]) == 0
    assert len(servers) == 1
    assert capsys.readouterr().out == f"ray_group: waiting for the head at 127.0.0.1:{port}\n"
    servers[0].close()


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


class Hosts:
    """Two network namespaces as two hosts, and the processes in them."""

    def __init__(self) -> None:
        """Connect them by a cable with the addresses of the rendered group."""
        self.name, self.root = f"ray{os.getpid()}", Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
        self.running: list[subprocess.Popen[str]] = []
        for host in "ab":
            self.ip("netns", "add", f"{self.name}{host}")
            self.ip("-n", f"{self.name}{host}", "link", "set", "lo", "up")
        self.ip(
            "-n",
            f"{self.name}a",
            "link",
            "add",
            "cable",
            "type",
            "veth",
            "peer",
            "name",
            "cable",
            "netns",
            f"{self.name}b",
        )
        for host, address in (("a", "192.168.177.12"), ("b", "192.168.177.11")):
            self.ip("-n", f"{self.name}{host}", "addr", "add", f"{address}/24", "dev", "cable")
            self.ip("-n", f"{self.name}{host}", "link", "set", "cable", "up")

    def ip(self, *words: str) -> None:
        """Run ip."""
        subprocess.run(["ip", *words], check=True, capture_output=True)

    def start(self, host: str, *commands: tuple[str, ...], variables: dict[str, str]) -> subprocess.Popen[str]:
        """Run commands on a host as the entrypoint of its container does, in a PID namespace that ends with it."""
        lines = "; ".join(("set -eu", *(shlex.join(words) for words in commands)))
        own = lines.replace("/run/sparkiac/lib", str(LIBRARY))
        python = Path(RAY or "").resolve().parent
        env = {**os.environ, **variables, "PATH": f"{python}:{os.environ['PATH']}", "RAY_TMPDIR": str(self.root)}
        argv = [
            "ip",
            "netns",
            "exec",
            f"{self.name}{host}",
            "unshare",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ]
        log = (self.root / f"{host}.log").open("a")
        found = subprocess.Popen([*argv, "sh", "-c", own], env=env, stdout=log, stderr=log, text=True)
        self.running.append(found)
        return found

    def log(self, host: str) -> str:
        """Return the log of a host."""
        return (self.root / f"{host}.log").read_text()

    def wait(self, host: str, text: str) -> None:
        """Wait for a line in the log of a host; the limit only ends a test that fails."""
        end = time.monotonic() + 120
        while text not in self.log(host):
            assert time.monotonic() < end, self.log(host)
            time.sleep(0.2)

    def remove(self) -> None:
        """End the processes and remove the hosts."""
        for each in self.running:
            each.kill()
            each.wait()
        for host in "ab":
            subprocess.run(["ip", "netns", "del", f"{self.name}{host}"], check=False, capture_output=True)
        shutil.rmtree(self.root, ignore_errors=True)


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    """Give two hosts with the fabric of PAIR."""
    if RAY is None:
        pytest.skip("opt-in: needs Ray: put the directory of a `ray` program into PATH")
    if os.getuid() != 0 or not shutil.which("ip"):
        pytest.skip("needs root and ip, to build network namespaces")
    found = Hosts()
    try:
        yield found
    finally:
        found.remove()


def test_a_real_head_and_worker_join_with_the_rendered_commands(hosts: Hosts) -> None:
    """The worker starts first and waits. When the head ends, the worker's Ray ends too."""
    nodes = containers(PAIR + "    executor: ray\n")
    head, worker = nodes["spark-02/big"], nodes["spark-01/big"]
    config = {"VLLM_CONFIG_ROOT": str(hosts.root / "config"), "RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
    joins = worker.argv[worker.argv.index("ray") :]
    working = hosts.start("b", *worker.command.pre_start, joins, variables={**worker.command.env, **config})
    hosts.wait("b", "waiting for the head at 192.168.177.12:29501")
    leading = hosts.start("a", *head.command.pre_start, ("sleep", "600"), variables={**head.command.env, **config})
    hosts.wait("a", "2 of 2 nodes have joined: 192.168.177.11, 192.168.177.12")
    assert working.poll() is None
    leading.kill()
    leading.wait()
    done = threading.Event()
    threading.Thread(target=lambda: (working.wait(120), done.set()), daemon=True).start()
    assert done.wait(120), "the worker goes on without its head"
    assert working.returncode != 0
