"""Whatever hosts and servers answer: no traceback, a documented exit code, and a sentence that names the host.

`make test` tries some answers from a seed, `make test-deep` all of them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.bench import client, counters
from sparkiac.commands.init import repository
from sparkiac.report.characters import REFUSED
from sparkiac.upstream import programs
from sparkiac.upstream.streaming import Arrival, ServerError
from tests import hostile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tests.conftest import Outcome
    from tests.hostile import HostileAnswer

    Cli = Callable[..., Outcome]
    Reader = Callable[[Cli, pytest.MonkeyPatch, str], None]

ONE: Final = "10.9.0.1"
TWO: Final = "10.9.0.2"
FACTS: Final = {
    "name": "spark-01",
    "architecture": "aarch64",
    "memory_bytes": 128_469_393_408,
    "gpus": [["NVIDIA GB10", "12.1", "580.142"]],
    "disks": [{"path": "/srv/models", "free_bytes": 10**12}],
    "unknown": {"x": "y"},
}
SOFTWARE: Final = {
    "kernel": "6.17.0-1031-nvidia",
    "next_kernel": "7.0.0-1019-nvidia",
    "cmdline": "ro",
    "kexec_crash_size": 0,
    "driver": "580.142",
    "modules": "open",
    "secure_boot": False,
    "docker_firewall": "iptables",
    "toolkit_mode": "auto",
    "packages": {"docker-ce": "5:29.2.1-1"},
    "others": {"nvsm": "25.06"},
    "firmware": {"bios": "5.36"},
    "updates": [{"package": "docker-ce", "version": "5:29.3.0-1", "security": True}],
    "moved": [{"package": "docker-ce", "before": None, "after": "1", "at": "2026-09-12", "command": "apt upgrade"}],
}
MACS: Final = ("aa:bb:cc:00:00:01", "aa:bb:cc:00:00:02")
STEP: Final = {"name": "health", "state": "ok", "evidence": "/health returns 200", "seconds": 0.01}
STATE: Final = {
    "clock": {"begin_s": 0.0, "end_s": 0.1},
    "machine": {
        "driver": "580.142",
        "driver_fault": "Unknown Error",
        "gpu": {"clock_mhz": 2400.0, "max_clock_mhz": 3003.0, "temperature_c": 61.0, "power_w": 80.5},
        "kernel": "6.17.0-1031-nvidia",
        "unpinnable": None,
        "links": {"enp1s0f0np0": "200000"},
        "firmware": "5.36",
        "memory": {"total_bytes": 128_469_393_408, "available_bytes": 10**10, "page_cache_bytes": 10**9},
        "uptime_s": 5000,
        "software": SOFTWARE,
    },
    "generation": {"current": "1a", "committed": "1a", "turn": "a", "pending": {"generation": "2b", "phase": "gate"}},
    "drift": {
        "files": [{"path": "/etc/x", "kind": "changed"}],
        "sysctls": ["vm.swappiness"],
        "units": ["sparkiac-chat"],
        "packages": [{"package": "docker-ce", "found": "1", "wanted": "2", "because": "the lock"}],
    },
    "doors": "no table",
    "units": [
        {
            "name": "chat",
            "group": False,
            "resting": False,
            "turns": [],
            "loaded": "loaded",
            "active": "active",
            "sub": "running",
            "enabled": "enabled",
            "result": "success",
            "health": "healthy",
            "restarts": 2,
            "active_for_s": 900,
            "restart": {"ago_s": 90, "cause": "crash", "detail": "oom"},
            "asked": True,
            "fault": None,
            "served": ["m"],
            "promised": ["m"],
            "wrong": {"ago_s": 5, "fault": "!!!!"},
            "closed": True,
            "gave_up": "5 starts",
            "readings": [
                {"at_s": at, "values": {"vllm:num_requests_running": [1.0], "vllm:generation_tokens_total": [at]}}
                for at in (1.0, 2.0)
            ],
        }
    ],
    "root": True,
    "unread": {"firmware": "no dmidecode"},
}
COUNTERS: Final = "vllm:num_requests_running 0.0\nvllm:generation_tokens_total 5.0\n"
PAGES: Final = [
    COUNTERS.replace("0.0", value).replace("5.0", other)
    for value, other in (
        ("nan", "1"),
        ("+Inf", "1"),
        ("1", "NaN"),
        ("1e308", "1e308\nvllm:generation_tokens_total 1e308"),
    )
]
MODELS: Final = {"data": [{"id": "m", "max_model_len": 4096, "root": "org/m"}]}
TOKEN: Final = {"choices": [{"delta": {"content": "a"}}], "usage": None}
USAGE: Final = {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 4}}
MESSAGE: Final = {"content": "a", "tool_calls": [{"function": {"name": "get_time", "arguments": '{"city": "Paris"}'}}]}
CHAT: Final = {"choices": [{"message": MESSAGE}]}


def ports(mac: str, peer: str, addresses: Sequence[str]) -> dict[str, Any]:
    """Return what a host with one cable reports."""
    first = {
        "interface": "enp1s0f0np0",
        "hca": "rocep1s0f0",
        "mac": mac,
        "up": True,
        "mtu": 9000,
        "speed_mbit": 200_000,
    }
    first |= {"firmware": "28.45", "addresses": [*addresses], "gids": {"3": "::1"}}
    twin = first | {"interface": "enP2p1s0f0np0", "hca": "roceP2p1s0f0", "addresses": ["192.168.178.11/24"]}
    rest = {"driver": "580.142", "memory_bytes": 10**11, "memlock_bytes": -1, "tools": ["ping"], "unknown": {}}
    return {"neighbours": {"enp1s0f0np0": [peer]}, "ports": [first | {"twin": twin}]} | rest


PORTS: Final = {ONE: ports(*MACS, ["192.168.177.11/24"]), TWO: ports(*reversed(MACS), [])}


def printing(cli: Cli) -> Cli:
    """Return a function that runs a command, which prints nothing that a terminal would execute or hide."""

    def call(*arguments: str) -> Outcome:
        outcome = cli(*arguments)
        assert re.search(f"[{REFUSED}]", outcome.text) is None, outcome.text[:2_000]
        return outcome

    return call


def answers(monkeypatch: pytest.MonkeyPatch, answer: Callable[[str, Sequence[str]], str]) -> None:
    """Let hosts answer to ssh: `answer` gives the output of a command at an address."""

    def run(target: str | None, words: Sequence[str], **_: object) -> programs.Completed:
        assert target is not None
        return programs.Completed(0, answer(target, words).encode(errors="surrogatepass"))

    monkeypatch.setattr(programs, "run", run)


def initialised(cli: Cli, monkeypatch: pytest.MonkeyPatch, given: Mapping[tuple[str, str], str]) -> None:
    """Run `init` for two hosts, of which one answers these texts."""

    def answer(target: str, words: Sequence[str]) -> str:
        kind = "facts" if "/srv/models" in words else "ports"
        return given.get((target, kind), json.dumps(FACTS if kind == "facts" else PORTS[target]))

    answers(monkeypatch, answer)
    monkeypatch.setattr(repository, "write", lambda *_: None)
    hosts = ("--from-host", ONE, "--from-host", TWO)
    outcome = cli("init", "made", *hosts, "--recipe", "base/single-spark", "--model", "o/m")
    assert outcome.code in {0, 2}, outcome.text
    if outcome.code:
        assert "Error: 10.9.0.1: " in outcome.err or "spark-01" in outcome.err, outcome.err
        assert len(outcome.err) < 10_000


def facts_of_init(cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    initialised(cli, monkeypatch, {(ONE, "facts"): text})


def ports_of_init(cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    initialised(cli, monkeypatch, {(ONE, "ports"): text})


def software_of_lock(cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Pin the host of `lab`; what is written is a lock that can be read."""
    answers(monkeypatch, lambda *_: text)
    for words in ((), ("--upgrade", "--format", "json")):
        outcome = cli("lock", "lab.yaml", "--hosts", *words)
        assert outcome.code in {0, 6}, outcome.text
        assert len(outcome.out) < 100_000
    assert cli("lock", "lab.yaml", "--hosts", "--dry-run").code in {0, 6}


def test_init_proposes_addresses_while_there_are_networks(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The networks 192.168.177 to 192.168.255 are fewer than these cables."""

    def cables(mac: str, peer: str) -> dict[str, Any]:
        one = ports(mac, peer, [])
        names = [f"enp1s{number}" for number in range(100)]
        listed = [
            one["ports"][0] | {"interface": name, "mac": f"{mac[:-2]}{number:02x}", "twin": None}
            for number, name in enumerate(names)
        ]
        peers = {name: [f"{peer[:-2]}{number:02x}"] for number, name in enumerate(names)}
        return one | {"ports": listed, "neighbours": peers}

    first, second = "aa:bb:cc:00:01:00", "aa:bb:cc:00:02:00"
    given = {(ONE, "ports"): json.dumps(cables(first, second)), (TWO, "ports"): json.dumps(cables(second, first))}
    initialised(cli, monkeypatch, given)


def state_of_status(cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Ask the host of `lab` how it is."""
    answers(monkeypatch, lambda *_: text)
    for output in ("text", "json"):
        outcome = cli("status", "lab.yaml", "--format", output)
        assert outcome.code in {0, 1}, outcome.text
        assert "spark-01" in outcome.out
        assert len(outcome.out) < 50_000


def steps_of_verify(cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Run `verify` for the deployment of `lab`."""
    answers(monkeypatch, lambda *_: text)
    for output in ("text", "json"):
        outcome = cli("verify", "lab.yaml", "--format", output)
        assert outcome.code in {0, 1, 6}, outcome.text
        assert "spark-01" in outcome.out
        assert outcome.code != 6 or "the prober: " in " ".join(outcome.out.split()), outcome.out
        assert len(outcome.out) < 10_000


class FakeServer:
    """A model server without sockets: text answers by the end of their URL, and the events of its streams."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand in for the functions that send requests."""
        self.texts = {"/models": json.dumps(MODELS), "/metrics": COUNTERS, "/completions": json.dumps(CHAT)}
        self.events = [json.dumps(TOKEN), json.dumps(TOKEN), json.dumps(USAGE)]
        monkeypatch.setattr(client, "fetch", self.fetch)
        monkeypatch.setattr(counters, "fetch", self.fetch)
        monkeypatch.setattr(client, "stream", self.stream)

    def fetch(self, request: Any) -> str:  # noqa: ANN401
        """Answer a request."""
        found = [text for end, text in self.texts.items() if request.url.endswith(end)]
        if not found:
            raise ServerError(request.url)
        return found[0]

    def stream(self, *_: object) -> Iterator[Arrival]:
        """Answer with a stream."""
        for number, event in enumerate(self.events):
            yield Arrival(0.1 * (number + 1), event)

    def benched(self, cli: Cli, mode: str = "single") -> int:
        """Run a short bench, which ends with a documented exit code, and return that."""
        sizes = (
            ("--prompt-tokens", "60", "--output-tokens", "4", "--runs", "2") if mode == "single" else ("--runs", "1")
        )
        outcome = cli("bench", "--url", "http://127.0.0.1:1", mode, *sizes, "--yes", "--format", "json")
        assert outcome.code in {0, 1, 2, 6}, outcome.text
        assert len(outcome.err) < 10_000
        if outcome.out:
            json.loads(outcome.out, parse_constant=pytest.fail)
        return outcome.code


@pytest.mark.parametrize("page", PAGES)
def test_bench_reads_any_metrics(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    assert folder
    server = FakeServer(monkeypatch)
    server.texts["/metrics"] = page
    assert server.benched(cli) == 0


def usage_of_bench(cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    server = FakeServer(monkeypatch)
    server.events.append(text)
    server.benched(cli)


def token_of_bench(cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    server = FakeServer(monkeypatch)
    server.events.insert(1, text)
    server.benched(cli)


def models_of_bench(cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    server = FakeServer(monkeypatch)
    server.texts["/models"] = text
    server.benched(cli)


def calls_of_bench(cli: Cli, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    server = FakeServer(monkeypatch)
    server.texts["/completions"] = text
    server.benched(cli, "tools")


READERS: Final[dict[Reader, object]] = {
    facts_of_init: FACTS,
    ports_of_init: PORTS[ONE],
    software_of_lock: FACTS | {"software": SOFTWARE},
    state_of_status: STATE,
    steps_of_verify: {"steps": [STEP]},
    usage_of_bench: USAGE,
    token_of_bench: TOKEN,
    models_of_bench: MODELS,
    calls_of_bench: CHAT,
}
"""What runs a command with an answer → a valid answer."""
TRIES: Final = 12
SOME: Final = [
    pytest.param(reader, each, id=f"{reader.__name__}: {each}")
    for reader, valid in READERS.items()
    for each in hostile.some_of(valid, seed=reader.__name__, count=TRIES)
]


@pytest.mark.parametrize(("reader", "answer"), SOME)
def test_an_answer_is_read_or_refused(
    cli: Cli, lab: Path, monkeypatch: pytest.MonkeyPatch, reader: Reader, answer: HostileAnswer
) -> None:
    assert lab
    reader(printing(cli), monkeypatch, answer.text)


@pytest.mark.deep
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_every_answer_is_read_or_refused(cli: Cli, lab: Path, monkeypatch: pytest.MonkeyPatch, reader: Reader) -> None:
    assert lab
    failed = dict[str, str]()
    for answer in hostile.all_of(READERS[reader]):
        try:
            reader(printing(cli), monkeypatch, answer.text)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001  all failures are shown together
            failed[str(answer)] = repr(error)[:200]
    assert failed == {}


@pytest.mark.parametrize("size", ["total", "available", "page_cache"])
def test_a_size_that_no_machine_has_is_a_sentence(
    cli: Cli, lab: Path, monkeypatch: pytest.MonkeyPatch, size: str
) -> None:
    assert lab
    path = ("machine", "memory", f"{size}_bytes")
    answers(monkeypatch, lambda *_: json.dumps(hostile.put(STATE, path, 10**400)))
    outcome = cli("status", "lab.yaml")
    assert outcome.code == 1
    assert f"unexpected output, at {'.'.join(path)}" in " ".join(outcome.out.split())


@pytest.mark.parametrize(
    "words",
    [
        f"--hf-overrides.{'a.' * 1_500}b=1",
        f"--hf-overrides.{'a.' * 1_500} 1",
        f"--hf_overrides.{'a.' * 1_500}b=1",
        f"--hf-overrides.{'a.' * 400}b=1",
        f"--hf-overrides.a '{'[' * 100_000}'",
        f"--hf-overrides.a '{'[' * 980}1{']' * 980}'",
        f"--hf-overrides '{'{' * 100_000}'",
    ],
    ids=["keys", "keys and a value", "other spelling", "fewer keys", "value", "closed value", "value alone"],
)
def test_import_reads_options_that_are_nested_deeply(cli: Cli, folder: Path, words: str) -> None:
    assert folder
    start = "docker run --gpus all vllm/vllm-openai:v0.33.0 --model o/m --max-model-len 4096"
    Path("run.sh").write_text(f"{start} {words} --seed 7\n")
    outcome = cli("import", "run.sh")
    assert outcome.code in {0, 1}, outcome.text[:2_000]
    assert "      seed: 7\n" in outcome.out, "the other options are kept"
    assert "--seed" not in outcome.out.partition("deployments:")[2], "none is the value of another one"
