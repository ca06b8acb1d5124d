"""By which URL one service reaches another one: every case of the table in docs/services.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkiac.model.inventory import Fabric, FabricLink
from sparkiac.model.resolved import ResolvedHost
from sparkiac.plan.topology import GATEWAY_ENTRY, NETWORK, ListenAddress, Route, route
from tests.plan.fleets import ONES, PAIR, checked, containers, planned, said

LAN = {"spark-01": "192.168.1.11", "spark-02": "192.168.1.12", "spark-03": "192.168.1.13"}
FABRIC = {"spark-01": "192.168.177.11", "spark-02": "192.168.177.12"}


def _fabric(name: str) -> Fabric | None:
    return Fabric(links=(FabricLink(interface="a", address=f"{FABRIC[name]}/24"),)) if name in FABRIC else None


HOSTS = {
    name: ResolvedHost(title=name, architecture="arm64", address=address, fabric=_fabric(name))
    for name, address in LAN.items()
}
BINDS = {"loopback": "127.0.0.1", "lan": LAN["spark-01"], "fabric": FABRIC["spark-01"], "any": "0.0.0.0"}  # noqa: S104
TABLE = [
    # asker, on, target, bind, where it is reached
    ("container", "spark-01", "container", "loopback", "model:8000 network"),
    ("container", "spark-01", "container", "lan", "model:8000 network"),
    ("container", "spark-01", "container", "fabric", "model:8000 network"),
    ("container", "spark-01", "container", "any", "model:8000 network"),
    ("container", "spark-01", "host", "loopback", "loopback"),
    ("container", "spark-01", "host", "lan", "192.168.1.11:8001"),
    ("container", "spark-01", "host", "fabric", "192.168.177.11:8001"),
    ("container", "spark-01", "host", "any", "host.docker.internal:8001 gateway"),
    ("program", "spark-01", "container", "loopback", "127.0.0.1:8001"),
    ("program", "spark-01", "container", "lan", "192.168.1.11:8001"),
    ("program", "spark-01", "container", "any", "127.0.0.1:8001"),
    ("program", "spark-01", "host", "loopback", "127.0.0.1:8001"),
    ("program", "spark-01", "host", "lan", "192.168.1.11:8001"),
    ("program", "spark-01", "host", "fabric", "192.168.177.11:8001"),
    ("program", "spark-01", "host", "any", "127.0.0.1:8001"),
    ("container", "spark-02", "container", "loopback", "loopback"),
    ("container", "spark-02", "container", "lan", "192.168.1.11:8001"),
    ("container", "spark-02", "container", "fabric", "192.168.177.11:8001"),
    ("container", "spark-02", "container", "any", "192.168.1.11:8001"),
    ("container", "spark-02", "host", "any", "192.168.1.11:8001"),
    ("program", "spark-02", "host", "loopback", "loopback"),
    ("program", "spark-02", "container", "fabric", "192.168.177.11:8001"),
    ("program", "spark-02", "container", "any", "192.168.1.11:8001"),
    ("container", "spark-03", "container", "fabric", "fabric"),
    ("program", "spark-03", "host", "fabric", "fabric"),
    ("program", "spark-03", "host", "lan", "192.168.1.11:8001"),
]


def shown(way: Route) -> str:
    """Write a route in the words of the table."""
    marks = [name for name, given in (("network", way.network), ("gateway", way.gateway)) if given]
    return " ".join([way.origin.removeprefix("http://") if way.origin else str(way.obstacle), *marks])


@pytest.mark.parametrize(("asker", "on", "shape", "bind", "reached"), TABLE)
def test_every_way(asker: str, on: str, shape: str, bind: str, reached: str) -> None:
    target = ListenAddress("model", "spark-01", BINDS[bind], 8001, 8000 if shape == "container" else None)
    assert shown(route(on, target, HOSTS, in_container=asker == "container")) == reached


def test_an_ipv6_address_stands_in_brackets() -> None:
    """Only a link of the fabric can have one."""
    hosts = HOSTS | {"spark-02": HOSTS["spark-02"].model_copy(update={"fabric": HOSTS["spark-01"].fabric})}
    target = ListenAddress("model", "spark-01", "fd00::1", 8001, None)
    ways = {route(host, target, hosts, in_container=inside).origin for host in LAN for inside in (True, False)}
    assert ways == {"http://[fd00::1]:8001"}


WORDS = {
    "model": "its name",
    "192.168.1.11": "the host's address",
    "192.168.177.11": "the address of its link",
    "127.0.0.1": "127.0.0.1",
    "host.docker.internal": "host.docker.internal",
    "loopback": "NET100",
    "fabric": "else NET100",
}


@pytest.mark.parametrize(("asker", "on", "shape", "bind", "reached"), TABLE)
def test_the_page_says_so(asker: str, on: str, shape: str, bind: str, reached: str) -> None:
    page = (Path(__file__).parents[2] / "docs/services.md").read_text()
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in page.splitlines() if "|" in line]
    place, what = ("same", shape) if on == "spark-01" else ("other", "either")
    ways = [row for row in rows if len(row) == 4 and asker in row[0] and place in row[1]]
    [found] = [row[3] for row in ways if what in row[2] and f" {bind}" in row[2]]
    assert WORDS[reached.split(":", maxsplit=1)[0].split(" ", maxsplit=1)[0]] in found


def _fleet(*, webui: str, other: str) -> str:
    hosts = "".join(f"  {name}: {{address: {address}}}\n" for name, address in LAN.items())
    chat = f"  chat:\n    kind: open-webui\n    image: example.org/webui@{ONES}\n{webui}"
    return f"name: lab\nhosts:\n{hosts}services:\n{chat}{other}"


OLLAMA = f"  ollama: {{kind: ollama, image: 'example.org/ollama@{ONES}', hosts: spark-01, bind: loopback}}\n"
TTS = f"  tts: {{kind: chatterbox, image: 'example.org/tts@{ONES}', hosts: spark-01}}\n"


def test_just_those_containers_share_a_network_that_take_part() -> None:
    """Both are attached, the third one is not, and nothing else is made known."""
    found = containers(_fleet(webui="    hosts: spark-01\n    uses: [ollama]\n", other=OLLAMA + TTS))
    networks = {name: each.network.shared for name, each in found.items()}
    assert networks == {"spark-01/chat": NETWORK, "spark-01/ollama": NETWORK, "spark-01/tts": None}
    assert found["spark-01/chat"].command.env["OLLAMA_BASE_URLS"] == "http://ollama:11434"
    assert found["spark-01/chat"].network.extra_hosts == ()


def test_the_host_is_made_known_only_to_a_container_that_asks_it() -> None:
    url = "http://host.docker.internal:9000/v1"
    found = containers(_fleet(webui=f"    hosts: spark-01\n    urls: ['{url}']\n", other=TTS))
    assert found["spark-01/chat"].network.extra_hosts == (GATEWAY_ENTRY,)
    assert found["spark-01/tts"].network.extra_hosts == ()
    assert {each.network.shared for each in found.values()} == {None}


def test_what_cannot_be_reached_is_an_error_with_both_places() -> None:
    outcome = checked(_fleet(webui="    hosts: spark-02\n    uses: [ollama]\n", other=OLLAMA))
    [found] = said(outcome.report.findings)
    assert found.startswith(
        "NET100 11:12 chat on spark-02 cannot reach ollama, which listens on 127.0.0.1:11434 of spark-01"
    )
    assert outcome.report.findings[0].hint == "write `bind: lan` under services.ollama"


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "127.1.2.3"])
def test_localhost_in_a_container_is_an_error(name: str) -> None:
    outcome = checked(_fleet(webui=f"    hosts: spark-01\n    urls: ['http://{name}:8000/v1']\n", other=""))
    assert [finding.code for finding in outcome.report.findings] == ["NET001"]


def test_a_group_is_asked_at_its_leading_node() -> None:
    """Its server is on the host's own network, so a container there cannot use a name."""
    webui = (
        f"services:\n  chat: {{kind: open-webui, image: 'example.org/webui@{ONES}', hosts: spark-02, uses: [big]}}\n"
    )
    [chat] = [each for host in planned(PAIR + webui).hosts for each in host.containers if each.name == "chat"]
    assert chat.command.env["OPENAI_API_BASE_URLS"] == "http://192.168.1.12:8001/v1"
    assert (chat.network.shared, chat.network.extra_hosts) == (None, ())
