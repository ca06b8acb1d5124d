"""Which check finds a server that fails behind a live port, and after how many seconds: the table of docs/verify.md.

The stand-in is told to fail. The check that asks the model every 5 minutes is due at once here, and the fleet timer
runs every minute.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.faults import SERVED
from tests.e2e.lab import Lab
from tests.e2e.test_apply import behave, set_last_answer
from tests.e2e.test_fleet_timer import MONITORING, RECEIVER, WATCHER

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
NAMES = {"spark-01": "qwen36", "spark-02": "gemma4"}
RECIPES = {"spark-01": "redhatai/qwen3.6-35b-a3b-nvfp4", "spark-02": "google/gemma-4-26b-a4b-it-fp8"}
SETTINGS = """\
    env: {STANDIN_BEHAVIOUR: ok, STANDIN_SLOW_SECONDS: "11"}
    clients: [tools]
    timeouts: {ready_s: 200, drain_s: 0, answer_s: 60}
"""


class Fault(NamedTuple):
    """How a server fails."""

    host: str
    """Where it is tried."""
    behaviour: str
    """What the stand-in is told."""
    said: str
    """What the journal of the unit says then."""
    silent: frozenset[str] = frozenset()
    """Who must not find it."""
    hangs: bool = False
    """Whether requests are never answered: the unit is then restarted."""


BY_THEMSELVES = frozenset({"health check", "status", "fleet timer"})
IN_TIME = frozenset({"start", "apply", "health check", "status"})
"""Who allows more than the 11 s of a slow answer; the fleet timer allows 10 s with this period."""
FAULTS = {
    "completions hang behind a live `/health`": Fault("spark-01", "stall", "no answer within|no token for", hangs=True),
    "garbage": Fault("spark-02", "garbage", "one token repeated"),
    "tools are refused": Fault("spark-01", "refuse-tools", "tools is rejected", BY_THEMSELVES),
    "wrong answer": Fault("spark-02", "wrong", "wrong answer"),
    "the KV cache is full": Fault("spark-02", "kv-full", "5 waiting", frozenset({"fleet timer"}), hangs=True),
    "null answer": Fault("spark-02", "null", "null answer"),
    "the first token is slow": Fault("spark-01", "slow", "first token", IN_TIME),
    "the container is killed every second": Fault("spark-02", "crash", "the container exited, status"),
}
"""Tools are requested at the start, by an apply and by `verify`, which alone measures the time to the first token. The
fleet timer sends no request while others wait."""
COLUMNS = ("start", "apply", "verify", "health check", "status", "fleet timer", "new container")
LIMIT_S = 150
FORGET = """\
import json, pathlib, sys
path = pathlib.Path("/var/lib/private/sparkiac-fleet/state.json")
if path.exists():  # the first check may not have ended
    state = json.loads(path.read_text())
    state["records"].pop(sys.argv[1], None)
    path.write_text(json.dumps(state))
"""
"""Remove an endpoint from the state of the fleet timer, which reports one that changes often more rarely."""
ONE_AT_A_TIME = Lock()
LOOP = "while :; do docker kill {unit}-server-1; sleep 1; done"


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab with a fleet timer, applied; its stand-ins can be told by their compose file how to begin."""
    folder: Path = tmp_path_factory.mktemp("lab")
    found = Lab(bed, folder)
    found.write()
    text = found.inventory.read_text() + MONITORING.replace("every_min: 15", "every_min: 1")
    for recipe in RECIPES.values():
        text = text.replace(f"    recipe: {recipe}\n", f"    recipe: {recipe}\n{SETTINGS}")
    found.inventory.write_text(text)
    found.generate()
    found.stage()
    receive = shlex.join(["systemd-run", "--quiet", "--unit=receiver", "python3", "-c", RECEIVER])
    bed.ssh(WATCHER, f"touch /run/received; {receive}", root=True)
    recap = found.apply()
    assert recap.code == 0, recap.output
    return found


@dataclass
class Server:
    """The model server of a host, and a fault of it."""

    lab: Lab
    fault: Fault

    @property
    def host(self) -> str:
        """Name of the host."""
        return self.fault.host

    @property
    def name(self) -> str:
        """Name of the deployment."""
        return NAMES[self.host]

    @property
    def endpoint(self) -> str:
        """Name of it in messages of the fleet timer."""
        return f"{self.name} on {self.host}"

    @property
    def unit(self) -> str:
        """Name of its unit."""
        return f"sparkiac-{self.name}"

    @property
    def restart(self) -> str:
        """Command that restarts it; afterwards the unit is not active before it is ready."""
        return f"systemctl stop {self.unit}; systemctl start --no-block {self.unit}"

    def root(self, command: str) -> str:
        """Run a command on the host."""
        return self.lab.bed.ssh(self.host, command, root=True, check=False).stdout.strip()

    def container(self) -> str:
        """Return the ID of the container that runs."""
        return self.root(f"docker ps -q --no-trunc --filter name={self.unit}-server")

    def answered(self, seconds_ago: float) -> None:
        """Set the age of the last answer; after 300 s the health check requests another one."""
        set_last_answer(self.lab.bed, self.host, seconds_ago)

    def begin(self) -> None:
        """Begin the fault while the server runs."""
        if self.fault.behaviour == "crash":
            self.root(f"systemd-run --quiet --unit=crash-loop sh -c {shlex.quote(LOOP.format(unit=self.unit))}")
        else:
            behave(self.lab.bed, self.host, self.fault.behaviour)

    def end(self) -> None:
        """End it, with a new container, and wait until the server is ready."""
        stop = "systemctl service-watchdogs yes; systemctl stop crash-loop"
        self.root(f"{stop}; {self.restart}")
        wait_for(self.active, "the unit", timeout=300, every=1)
        assert self.lab.served(self.host) == [SERVED[self.host]]

    def active(self) -> bool:
        """Return whether its unit is ready."""
        return self.root(f"systemctl is-active {self.unit}") == "active"

    def logged(self, since: float) -> int:
        """Return how often the journal of the unit names the cause since a time."""
        said = self.root(f"journalctl --unit={self.unit} --output=cat --since=@{since:.0f}")
        return len(re.findall(self.fault.said, said))


def until(condition: Callable[[], bool], limit_s: float = LIMIT_S) -> float | None:
    """Return after how many seconds a condition holds; None if it does not in time."""
    began = time.monotonic()
    while time.monotonic() - began < limit_s:
        if condition():
            return time.monotonic() - began
        time.sleep(1)
    return None


def start(server: Server) -> float | None:
    """Start the server with the fault, and wait until the log of its start names it."""
    compose = f"/etc/sparkiac/{server.name}/compose.yaml"
    wanted = "sed -i 's/STANDIN_BEHAVIOUR: .*/STANDIN_BEHAVIOUR: \"{}\"/' " + compose
    server.root(wanted.format(server.fault.behaviour))
    since = time.time()
    server.root(server.restart)
    found = until(lambda: server.logged(since) > 0 or server.active())
    ready = server.active()
    server.root(wanted.format("ok"))
    return None if ready else found


def verify(server: Server) -> float | None:
    """Run `sparkiac verify`."""
    began = time.monotonic()
    done = server.lab.sparkiac("verify", "inventories/lab.yaml", server.name)
    return time.monotonic() - began if done.returncode == 1 else None


def apply(server: Server) -> float | None:
    """Apply, without a change."""
    began = time.monotonic()
    recap = server.lab.apply("--limit", server.host)
    return time.monotonic() - began if recap.code == 2 else None


def in_status(server: Server) -> bool:
    """Return whether `sparkiac status` reports the server."""
    done = server.lab.sparkiac("status", "inventories/lab.yaml", "--format", "json")
    assert done.stdout, done.stderr
    hosts = {host["name"]: host["units"] for host in json.loads(done.stdout)["hosts"]}
    states = {unit["name"]: unit["state"] for unit in hosts.get(server.host, ())}
    return done.returncode == 1 and states.get(server.name, "ready") != "ready"  # a host may not answer in time


def messages(server: Server) -> list[dict[str, Any]]:
    """Return the alerts about the server that the fleet timer has sent."""
    sent = server.lab.bed.ssh(WATCHER, "cat /run/received", root=True).stdout.splitlines()
    alerts = [alert for line in sent for alert in json.loads(line)["alerts"]]
    return [each for each in alerts if each["labels"]["endpoint"] == server.endpoint]


def forget(server: Server) -> None:
    """Let the fleet timer forget the endpoint, while it does not run."""
    words = shlex.join(["python3", "-c", FORGET, server.endpoint])
    with ONE_AT_A_TIME:
        stop = "systemctl stop sparkiac-fleet.timer sparkiac-fleet.service"
        server.lab.bed.ssh(WATCHER, f"{stop} && {words} && systemctl start sparkiac-fleet.timer", root=True)


def by_themselves(server: Server) -> dict[str, float | None]:
    """Begin the fault, and wait for the checks that run by themselves, and for `status`."""
    forget(server)
    container, since, sent = server.container(), time.time(), len(messages(server))
    crashes = 2 if server.fault.behaviour == "crash" else 1
    server.begin()
    if server.fault.behaviour != "crash":
        server.answered(1_000_000)
    with ThreadPoolExecutor() as pool:
        found = {
            "health check": pool.submit(until, lambda: server.logged(since) >= crashes),
            "status": pool.submit(until, lambda: in_status(server)),
            "fleet timer": pool.submit(
                until, lambda: any(each["status"] == "firing" for each in messages(server)[sent:])
            ),
        }
        if server.fault.hangs:
            found["new container"] = pool.submit(until, lambda: server.container() not in {"", container}, 3 * LIMIT_S)
    return {who: each.result() for who, each in found.items()}


def found_by(server: Server) -> dict[str, float | None]:
    """Return after how many seconds each check finds a fault."""
    found = by_themselves(server)
    server.end()
    found["start"] = start(server)
    server.end()
    for who, check in (("verify", verify), ("apply", apply)):
        server.root("systemctl service-watchdogs no")  # a hang lasts longer than the check: no new container meanwhile
        server.answered(0)  # the health check does not ask the model meanwhile
        server.begin()
        found[who] = check(server)
        server.end()
    return found


def row(fault: str, found: dict[str, float | None]) -> str:
    """Return a row of the table in docs/verify.md."""
    cells = (f"{seconds:.0f}" if (seconds := found.get(who)) else "" for who in COLUMNS)
    return f"| {fault} | {' | '.join(cells)} |".replace("  ", " ")


def test_who_finds_a_fault(lab: Lab) -> None:
    """The faults of one host follow each other; both hosts at the same time."""

    def tried(host: str) -> dict[str, dict[str, float | None]]:
        found = {}
        for name, fault in FAULTS.items():
            if fault.host == host:
                found[name] = found_by(Server(lab, fault))
                print(row(name, found[name]), flush=True)  # noqa: T201 - shown with -s
        return found

    with ThreadPoolExecutor() as pool:
        found = {name: who for each in pool.map(tried, NAMES) for name, who in each.items()}
    silent = {name: {who for who, seconds in each.items() if seconds is None} for name, each in found.items()}
    assert silent == {name: set(fault.silent) for name, fault in FAULTS.items()}
