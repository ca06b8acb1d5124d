"""Draining: what still runs is counted, and new connections are refused by a real nftables in network namespaces."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import local as units_host
from sparkiac.host.switch import drain as switch_drain
from tests.host.traffic import Caller

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from tests.host.probed import Service
    from tests.host.traffic import Network

VLLM = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a{b}c"} %s.0
vllm:num_requests_waiting{engine="0",model_name="a{b}c"} 1.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="a",reason="capacity"} 7.0
vllm:num_requests_running{engine="1",model_name="a"} 2e+00
"""
NONE = 'vllm:num_requests_running{engine="0"} 0.0\nvllm:num_requests_waiting{engine="0"} 0.0\n'
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F41 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:1F41 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
   2: 0100007F:1F41 0100007F:C351 06 00000000:00000000 00:00000000 00000000     0        0 3 1 0 20 4 30 10 -1
   3: 0100007F:C350 0100007F:1F41 01 00000000:00000000 00:00000000 00000000     0        0 4 1 0 20 4 30 10 -1
"""
CONNTRACK = """\
ipv4 2 tcp 6 8 ESTABLISHED src=10.1.1.2 dst=10.1.1.1 sport=5 dport=8001 src=172.18.0.2 dst=10.1.1.2 sport=80 dport=5
ipv4 2 tcp 6 8 ESTABLISHED src=10.1.1.2 dst=10.1.1.1 sport=6 dport=8001 src=172.18.0.2 dst=10.1.1.2 sport=80 dport=6
ipv4 2 tcp 6 8 ESTABLISHED src=10.1.1.2 dst=10.1.1.9 sport=7 dport=8001 src=172.18.0.2 dst=10.1.1.2 sport=80 dport=7
ipv4 2 tcp 6 8 TIME_WAIT src=10.1.1.2 dst=10.1.1.1 sport=8 dport=8001 src=172.18.0.2 dst=10.1.1.2 sport=80 dport=8
ipv4 2 udp 17 86 src=10.1.1.2 dst=10.1.1.1 sport=8 dport=8001 src=172.18.0.2 dst=10.1.1.2 sport=80 dport=8
ipv4 2 tcp 6 8 ESTABLISHED src=10.1.1.1 dst=10.1.1.2 sport=8001 dport=9 src=10.1.1.2 dst=10.1.1.1 sport=9 dport=8001
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the module, with a short time between two looks at the metrics."""
    found = switch_drain
    monkeypatch.setattr(found, "POLL_S", 0.02)
    return found


@pytest.fixture
def machine(module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401
    """Return a host without nft."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert module
    return units_host.LocalHost(tmp_path / "root")


def write(machine: Any, name: str, text: str) -> None:  # noqa: ANN401
    """Write a file of the host."""
    path = machine.path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def unit(name: str = "a", listen: str | None = "127.0.0.1:8001", url: str | None = None) -> dict[str, Any]:
    """Make what a generation says of a unit, as far as draining reads it."""
    return {"name": name, "listen": listen, "promise": url and {"url": url, "api_key": None}}


def test_requests_are_counted_over_all_engines(module: ModuleType, machine: Any, service: Service) -> None:  # noqa: ANN401
    service.answers["/metrics"] = (200, (VLLM % 3).encode())
    assert module.running_of(machine, unit(url=service.url)) == 6


@pytest.mark.parametrize(
    ("text", "running"),
    [
        ('sglang:num_running_reqs{model_name="a"} 2.0\nsglang:num_queue_reqs{model_name="a"} 1.0\n', 3),
        ("llamacpp:requests_processing 1\nllamacpp:requests_deferred 4\n", 5),
        (NONE, 0),
        ("vllm:num_requests_running 1e400\nvllm:num_requests_waiting 2.0\n", 2),
        ("vllm:num_requests_running 1e308\n" * 20 + "vllm:num_requests_waiting NaN\n", 1),  # no count: connections
    ],
)
def test_metrics_of_each_engine(module: ModuleType, machine: Any, service: Service, text: str, running: int) -> None:  # noqa: ANN401
    service.answers["/metrics"] = (200, text.encode())
    write(machine, "/proc/net/tcp", TCP)  # is read only without metrics
    assert module.running_of(machine, unit(url=service.url)) == running


@pytest.mark.parametrize("answer", [(404, {}), (200, b"# nothing of requests\n"), (500, b"")])
def test_an_engine_without_metrics_is_drained_by_its_connections(
    module: ModuleType,
    machine: Any,  # noqa: ANN401
    service: Service,
    answer: tuple[int, Any],
) -> None:
    service.answers["/metrics"] = answer
    assert module.running_of(machine, unit(url=service.url)) == 0
    write(machine, "/proc/net/tcp", TCP)
    assert module.running_of(machine, unit(url=service.url)) == 1
    write(machine, "/proc/net/tcp6", TCP)
    assert module.running_of(machine, unit(listen="0.0.0.0:8001")) == 2


def test_forwarded_connections_count(module: ModuleType, machine: Any) -> None:  # noqa: ANN401
    write(machine, "/proc/net/nf_conntrack", CONNTRACK)
    assert module.running_of(machine, unit(listen="10.1.1.1:8001")) == 2
    assert module.running_of(machine, unit(listen="0.0.0.0:8001")) == 3
    assert module.running_of(machine, unit(listen="10.1.1.1:8002")) == 0


def test_metrics_may_need_the_api_key(module: ModuleType, machine: Any, service: Service) -> None:  # noqa: ANN401
    seen = []
    promise = {"url": service.url, "api_key": "key"}
    service.answers["/metrics"] = (200, (VLLM % 0).encode())
    write(machine, "/etc/sparkiac/secrets/key", "secret\n")
    original = service.RequestHandlerClass.answer

    class Handler(service.RequestHandlerClass):  # type: ignore[name-defined, misc]
        """Notes the header."""

        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            seen.append(self.headers.get("Authorization"))
            original(self)

    service.RequestHandlerClass = Handler
    assert module.running_of(machine, {**unit(), "promise": promise}) == 3
    assert seen == ["Bearer secret"]
    machine.path("/etc/sparkiac/secrets/key").unlink()
    assert module.running_of(machine, {**unit(), "promise": promise}) == 0, "no key, no metrics: connections"


def test_a_drain_waits_for_two_idle_looks_in_a_row(module: ModuleType, machine: Any, service: Service) -> None:  # noqa: ANN401
    looks = [(VLLM % 1), NONE, (VLLM % 0), NONE, NONE, "never read"]
    service.answers["/metrics"] = (200, b"")
    counted = iter(looks)
    text = module.metrics
    module.metrics = lambda *_: next(counted)
    try:
        [found] = module.drain(machine, [unit(url=service.url), unit("none", None)], 60)
    finally:
        module.metrics = text
    assert (found.unit, found.running, found.refused) == ("a", 0, False)
    assert next(counted) == "never read"
    without = "; new connections were not refused, because nft does not work on this host"
    assert found.line() == f"a: drained in {found.seconds} s{without}"


def test_a_drain_ends_in_any_case_and_says_what_still_ran(
    module: ModuleType,
    machine: Any,  # noqa: ANN401
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "METRICS_TIMEOUT_S", 0.2)
    service.answers["/metrics"] = 5.0  # hangs
    write(machine, "/proc/net/tcp", TCP)
    began = time.monotonic()
    found = module.drain(machine, [unit(url=service.url), unit("b", "127.0.0.1:8002")], 1)
    assert 1 <= time.monotonic() - began < 4
    assert [(each.unit, each.running) for each in found] == [("a", 1), ("b", 0)]
    assert found[0].line().startswith("a: 1 requests or connections were left after 1 s; new")
    assert module.drain(machine, [unit(url=service.url)], 0)[0].running == 1
    assert module.drain(machine, [], 60) == []


def test_metrics_that_trickle_are_given_up(module: ModuleType, machine: Any, service: Service) -> None:  # noqa: ANN401
    module.METRICS_TIMEOUT_S = 1

    class Handler(service.RequestHandlerClass):  # type: ignore[name-defined, misc]
        """Sends one byte at a time."""

        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while not self.server.hang.wait(0.1):
                    self.wfile.write(b"#")

    service.RequestHandlerClass = Handler
    began = time.monotonic()
    assert module.running_of(machine, unit(url=service.url)) == 0
    assert time.monotonic() - began < 10


PUBLISHED, OWN, OTHER, SIXTH = "10.77.1.1:8001", "10.77.1.1:9000", "10.77.1.1:9001", "fd77:1::1:9006"
REFUSED = "ConnectionRefusedError"


def test_new_connections_are_refused_and_those_that_exist_go_on(module: ModuleType, network: Network) -> None:
    machine, before = network.machine, network.rules()
    client, root, user = Caller(network, "client"), Caller(network, "host"), Caller(network, "host", 65534)
    places = [PUBLISHED, OWN, SIXTH]
    units = [unit("a", PUBLISHED), unit("b", OWN), unit("c", SIXTH)]
    assert [client.call("hold", place) for place in [*places, OTHER]] == ["ok"] * 4
    assert [user.call("hold", place) for place in places] == ["ok"] * 3
    found = module.drain(machine, units, 0)
    assert [each.refused for each in found] == [True] * 3
    assert module.drained(machine) == [PUBLISHED, OWN, "[fd77:1::1]:9006"]
    for caller in (client, user):
        assert [caller.call("once", place) for place in places] == [REFUSED] * 3
        assert [caller.call("again", place) for place in places] == ["ok"] * 3
    assert [root.call("once", place) for place in places] == ["ok"] * 3, "the gate and health checks pass"
    assert client.call("once", OTHER) == "ok", "another port"
    assert client.call("once", "10.77.1.9:9000") == "ok", "another address of the host"
    module.undrain(machine)
    assert [client.call("once", place) for place in places] == ["ok"] * 3
    assert network.rules() == before
    module.undrain(machine)
    assert network.rules() == before


def test_units_are_drained_and_undrained_one_by_one(module: ModuleType, network: Network) -> None:
    machine, client = network.machine, Caller(network, "client")
    published, everywhere = unit("a", PUBLISHED), unit("b", "0.0.0.0:9000")
    module.drain(machine, [published], 0)
    module.drain(machine, [published, everywhere], 0)
    assert module.drained(machine) == ["*:9000", PUBLISHED]
    assert client.call("once", "10.77.1.9:9000") == REFUSED
    module.undrain(machine, [published])
    assert (client.call("once", PUBLISHED), client.call("once", OWN)) == ("ok", REFUSED)
    module.undrain(machine, [published, everywhere, unit("c", None)])
    assert client.call("once", OWN) == "ok"
    assert "sparkiac" not in network.rules()
    assert module.drained(machine) == []


def test_units_of_different_turns_at_one_place_are_undrained(module: ModuleType, network: Network) -> None:
    """Otherwise the unit of the new turn would refuse its clients for ever."""
    day, night = unit("day", OWN), unit("night", OWN)
    module.drain(network.machine, [night], 0)
    module.undrain(network.machine, [day, night])
    assert Caller(network, "client").call("once", OWN) == "ok"
    assert module.drained(network.machine) == []


def test_refusing_reads_no_state_that_does_not_exist_yet(module: ModuleType, network: Network) -> None:
    """Without connection tracking in use, the kernel takes the next packet of any connection for a new one."""
    machine, client = network.machine, Caller(network, "client")
    machine.run("nft", "delete", "table", "ip", "docker")
    try:
        assert client.call("hold", OWN) == "ok"
        module.drain(machine, [unit("b", OWN)], 0)
        assert (client.call("again", OWN), client.call("once", OWN)) == ("ok", REFUSED)
    finally:
        module.undrain(machine)
        network.publish()
