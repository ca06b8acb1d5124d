"""What a container on the same host is served while a version is new: over its Docker network, and the host's bridge.

It asks ten times a second in each of three ways. The counts are printed with -s, as a table. The server listens for
IPv6 too, which engines do only if they are told to; `bind: any` publishes its port for IPv4 only.
"""

from __future__ import annotations

import shlex
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e import asks
from tests.e2e.bed.shell import wait_for
from tests.e2e.faults import IMAGE, RECIPE, SERVED, UNITS
from tests.e2e.lab import IMAGES, Lab
from tests.e2e.served import ContainedClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
HOST, GATEWAY = "spark-01", "10.99.0.1"
NETWORK = f"{UNITS[HOST]}_default"
LABELS = {"com.docker.compose.project": UNITS[HOST], "com.docker.compose.network": "default"}
"""Compose takes an existing network with these labels for its own. One that Compose makes has no addresses of IPv6."""
WAYS = {
    "its network, IPv4": ("http://server:8000", "4"),
    "its network, IPv6": ("http://server:8000", "6"),
    "the address of the bridge": (f"http://{GATEWAY}:8001", "4"),
}
SETTINGS = """\
    env: {STANDIN_BEHAVIOUR: ok, STANDIN_HOST: "::"}
    bind: any
    timeouts: {ready_s: 200, drain_s: 0}
"""
FILTERS = ("iptables", "ip6tables")
PATIENCE_S = 300
Clients = dict[str, ContainedClient]


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab, of which nothing is applied; a container on its first host is in the network of the server."""
    found = Lab(bed, tmp_path_factory.mktemp("lab"))
    found.write()
    found.edit(f"{RECIPE}\n", f"{RECIPE}\n{SETTINGS}")
    found.generate()
    found.stage()
    image = f"{bed.registry}/{IMAGES[IMAGE][0]}"
    labels = " ".join(f"--label {key}={value}" for key, value in LABELS.items())
    program = shlex.quote(Path(asks.__file__).read_text())
    bed.ssh(HOST, f"printf %s {program} >/run/asks.py", root=True)
    subnets = f"--subnet 10.99.0.0/24 --gateway {GATEWAY} --subnet fd99::/64"
    bed.ssh(HOST, f"docker network create --ipv6 {subnets} {labels} {NETWORK}", root=True)
    run = f"docker run --detach --name neighbour --network {NETWORK} --volume /run/asks.py:/asks.py:ro"
    bed.ssh(HOST, f"{run} --entrypoint python3 {image} -c 'import signal; signal.pause()'", root=True)
    return found


@pytest.fixture(scope="module")
def clients(lab: Lab) -> Iterator[Clients]:
    """Yield the clients in that container."""
    model = SERVED[HOST]
    found = {way: ContainedClient(lab.bed, HOST, "neighbour", url, model, ip) for way, (url, ip) in WAYS.items()}
    with ExitStack() as stack:
        for client in found.values():
            stack.enter_context(client)
        yield found


@pytest.mark.parametrize("filtered", ["0", "1"])
def test_a_version_that_answers_wrongly_is_never_seen(lab: Lab, clients: Clients, filtered: str) -> None:
    """Whether Linux passes packets in bridges to the rules for IP or not."""
    settings = " ".join(f"net.bridge.bridge-nf-call-{each}={filtered}" for each in FILTERS)
    lab.bed.ssh(HOST, f"sysctl --write {settings}", root=True)
    began = time.monotonic()
    switch(lab, "ok", 0)
    wait_until_right(clients)
    switch(lab, "garbage", 2)
    wait_until_right(clients)
    print(f"\n| bridge-nf-call {filtered} | right | wrong | refused | no answer |\n|---|--:|--:|--:|--:|")  # noqa: T201
    for way, client in clients.items():
        print(f"| {way} | {client.told(began, time.monotonic())} |")  # noqa: T201 - shown with -s
    assert {way: client.since(began).count(asks.WRONG) for way, client in clients.items()} == dict.fromkeys(WAYS, 0)
    assert lab.bed.ssh(HOST, f"sysctl --values {settings.replace(f'={filtered}', '')}").stdout.split() == [filtered] * 2


def switch(lab: Lab, behaviour: str, code: int) -> None:
    """Apply a version that behaves so; the gate says what is wrong with one that is refused."""
    text = lab.inventory.read_text()
    lab.edit("BEHAVIOUR: ok", f"BEHAVIOUR: {behaviour}")
    lab.generate()
    recap = lab.apply("--limit", HOST)
    assert recap.code == code, recap.output
    assert (code == 0) or "one token repeated" in " ".join(recap.output.split()), recap.output
    lab.inventory.write_text(text)


def wait_until_right(clients: Clients) -> None:
    """Wait until all clients get right answers."""
    for way, client in clients.items():
        wait_for(lambda client=client: client.last() == {asks.RIGHT}, way, timeout=PATIENCE_S)  # type: ignore[misc]
