"""The nodes of a group start together, if all start the same version, and end together. Over loopback."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host.group import link as group_link
from sparkiac.host.group import program as group_program
from sparkiac.host.switch import effective, opening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType

PATIENCE_S = 600
ONE, TWO, THREE = NAMES = ("spark-01", "spark-02", "spark-03")
ALL = "all nodes of the group end and start again"
SERVER = "trap 'echo stopped; exit 0' TERM; echo serving; while :; do sleep 0.05; done"
"""A server that ends as `supervise` does: with status 0 after a requested stop."""


@pytest.fixture(scope="module")
def program() -> ModuleType:
    """Import the program."""
    return group_program


@pytest.fixture
def port() -> int:
    """Return a port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class Fleet:
    """The nodes of one group, in this process."""

    def __init__(self, links: ModuleType, port: int) -> None:
        """Start none of them."""
        self.links, self.port, self.nodes = links, port, dict[str, Any]()

    def file(self, name: str, version: str, members: tuple[str, ...]) -> dict[str, Any]:
        """Return the content of group.json of a host."""
        leader, *workers = members
        found = {"host": name, "leader": leader, "address": "127.0.0.1", "port": self.port, "workers": workers}
        return {**found, "version": version, "files": {}}

    def start(self, *names: str, version: str = "v1", members: tuple[str, ...] = NAMES) -> None:
        """Start the nodes of these hosts."""
        for name in names:
            kind = self.links.Leader if name == members[0] else self.links.Worker
            self.nodes[name] = kind(self.file(name, version, members))

    def end(self, *names: str) -> None:
        """End the nodes of these hosts; the kernel closes their connections."""
        for name in names:
            self.nodes.pop(name).close()

    def until(self, true: Callable[[], object]) -> None:
        """Let all nodes take turns."""
        deadline = time.monotonic() + PATIENCE_S
        while not true():
            assert time.monotonic() < deadline, {name: each.waiting() for name, each in self.nodes.items()}
            self.turn()

    def turn(self) -> None:
        """Let each node take one turn; one that must end has ended."""
        for each in self.nodes.values():
            if not each.fault:
                each.step(0.002)

    def forms(self) -> None:
        """Wait until the group has formed."""
        self.until(lambda: all(each.complete for each in self.nodes.values()))

    def faults(self, *names: str) -> list[str]:
        """Wait until each of these nodes must end, and return why."""
        self.until(lambda: all(self.nodes[name].fault for name in names))
        return [self.nodes[name].fault for name in names]


@pytest.fixture
def fleet(program: ModuleType, port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """Return a group none of whose nodes has started."""
    assert program
    links = group_link
    monkeypatch.setattr(links, "RETRY_S", 0.0)
    monkeypatch.setattr(links, "BEAT_S", 0.01)
    found = Fleet(links, port)
    yield found
    found.end(*list(found.nodes))


@pytest.mark.parametrize("order", list(itertools.permutations(NAMES)))
def test_no_node_is_complete_before_all_are_there(fleet: Fleet, order: tuple[str, ...]) -> None:
    fleet.start(*order[:2])
    for _ in range(20):
        fleet.turn()
    assert not any(each.complete for each in fleet.nodes.values())
    fleet.start(order[2])
    fleet.forms()
    assert not any(each.fault for each in fleet.nodes.values())


def test_a_node_says_for_which_it_waits(fleet: Fleet) -> None:
    fleet.start(TWO)
    assert fleet.nodes[TWO].waiting() == "waiting for the leader spark-01 to start"
    fleet.start(ONE)
    assert fleet.nodes[ONE].waiting() == "waiting for spark-02, spark-03 to start"
    fleet.until(lambda: fleet.nodes[ONE].waiting() == "waiting for spark-03 to start")
    assert fleet.nodes[TWO].waiting() == "waiting for the other workers of spark-01 to start"


@pytest.mark.parametrize("victim", NAMES)
def test_when_one_node_ends_all_must_end_and_the_group_forms_again(fleet: Fleet, victim: str) -> None:
    """Also right after its start, before any health check has run."""
    fleet.start(*NAMES)
    fleet.forms()
    fleet.end(victim)
    first, second = (name for name in NAMES if name != victim)
    assert fleet.faults(first) == [f"{victim} has ended: {ALL}"]
    fleet.end(first)
    gone = victim if victim == ONE else ONE
    assert fleet.faults(second) == [f"{gone} has ended: {ALL}"]
    fleet.end(second)
    fleet.start(*NAMES)
    fleet.forms()


@pytest.mark.parametrize("victim", NAMES)
def test_a_node_that_ends_while_it_waits_ends_no_other(fleet: Fleet, victim: str) -> None:
    first, second = (name for name in NAMES if name != victim)
    fleet.start(victim, first)
    for _ in range(20):
        fleet.turn()
    fleet.end(victim)
    for _ in range(20):
        fleet.turn()
    fleet.start(victim, second)
    fleet.forms()


def test_other_versions_form_no_group(fleet: Fleet) -> None:
    """Both sides name both hosts. After an apply to all of them, the group forms."""
    fleet.start(ONE, TWO)
    fleet.start(THREE, version="v0")
    said = "spark-03 starts version v0 of the group, and spark-01 version v1: apply to all hosts of the group"
    assert fleet.faults(ONE, THREE) == [said, said]
    assert not any(each.complete for each in fleet.nodes.values())
    fleet.end(ONE, THREE)
    fleet.start(ONE, THREE)
    fleet.forms()


def test_a_host_that_is_no_node_of_the_group_is_refused(fleet: Fleet) -> None:
    fleet.start(ONE, members=(ONE, TWO))
    fleet.start(THREE, members=(ONE, THREE))
    assert fleet.faults(THREE) == ["spark-01 has no node of this group on spark-03: apply again"]
    fleet.end(THREE)
    fleet.start(TWO, members=(ONE, TWO))
    fleet.forms()


@pytest.mark.parametrize("complete", [True, False])
def test_a_worker_that_lost_its_power_starts_again(fleet: Fleet, *, complete: bool) -> None:
    """Its former connection lives on at the leader: nothing has closed it. A group that has formed must end."""
    fleet.start(*NAMES[: 3 if complete else 2])
    fleet.until(lambda: TWO in fleet.nodes[ONE].met and fleet.nodes[ONE].complete is complete)
    former = fleet.nodes.pop(TWO)
    fleet.start(TWO)
    if complete:
        assert fleet.faults(ONE) == [f"spark-02 has started again: {ALL}"]
        assert not fleet.nodes[TWO].complete
    else:
        fleet.start(THREE)
        fleet.forms()
    former.close()


def test_a_leader_that_lost_its_power_ends_the_workers_when_it_is_back(fleet: Fleet) -> None:
    """Its kernel does not have the connection any more, and resets it when the next empty line arrives."""
    fleet.start(*NAMES)
    fleet.forms()
    leader = fleet.nodes.pop(ONE)
    for each in leader.met.values():  # a reset instead of an end
        each.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    leader.close()
    assert fleet.faults(TWO, THREE) == [f"spark-01 has ended: {ALL}"] * 2


@pytest.mark.parametrize("victim", NAMES)
def test_a_node_that_is_not_reached_is_named_until_it_is_heard_again(
    fleet: Fleet, victim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection lives on, as after a power cut or with a cable cut. Nothing ends."""
    fleet.start(*NAMES)
    fleet.forms()
    monkeypatch.setattr(group_link, "SILENT_S", 0.5)
    gone = fleet.nodes.pop(victim)
    others = [name for name in NAMES if name != victim and ONE in (name, victim)]
    fleet.until(lambda: all(fleet.nodes[name].silent() == [victim] for name in others))
    fleet.nodes[victim] = gone
    fleet.until(lambda: not any(each.silent() for each in fleet.nodes.values()))
    assert not any(each.fault for each in fleet.nodes.values())


def test_a_node_that_waits_for_others_misses_none(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_link, "SILENT_S", -1.0)
    fleet.start(ONE, TWO)
    fleet.until(lambda: fleet.nodes[ONE].met)
    assert fleet.nodes[ONE].silent() == fleet.nodes[TWO].silent() == []


def test_a_leader_stops_being_ready_in_less_than_15_s_and_not_by_a_hiccup() -> None:
    """The port closes last: `doors` looks every few seconds."""
    assert group_link.SILENT_S + group_program.STEP_S + opening.CHECK_S < 15
    assert group_link.SILENT_S > 3 * group_link.BEAT_S


def test_other_programs_that_connect_change_nothing(fleet: Fleet) -> None:
    fleet.start(ONE, TWO)
    for sent in (b"", b"GET / HTTP/1.1\r\n\r\n", b"[]\n", b'{"go": true}\n', b"\x00" * 70_000) * 5:
        with socket.create_connection(("127.0.0.1", fleet.port)) as stranger:
            stranger.settimeout(0)
            stranger.send(sent)
            fleet.turn()
    fleet.start(THREE)
    fleet.forms()


def started(scripts: Path, folder: Path, fleet: Fleet, name: str, server: str) -> subprocess.Popen[bytes]:
    """Start the main process of the unit of a host."""
    place = folder / f"{name}.json"
    place.write_text(json.dumps(fleet.file(name, "v1", (ONE, TWO))))
    (folder / name).mkdir()
    (folder / name / "ran").touch()
    env = os.environ | {"RUNTIME_DIRECTORY": str(folder / name)}
    with (folder / f"{name}.log").open("w") as log:
        return subprocess.Popen([scripts / "group", place, "sh", "-c", server], stdout=log, stderr=log, env=env)


def test_the_server_of_a_node_runs_while_the_group_does(scripts: Path, tmp_path: Path, fleet: Fleet) -> None:
    """A server that exits well is a failure as well: it must not exit by itself."""
    leader, worker = started(scripts, tmp_path, fleet, ONE, SERVER), started(scripts, tmp_path, fleet, TWO, "exit 0")
    try:
        assert (worker.wait(PATIENCE_S), leader.wait(PATIENCE_S)) == (1, 1)
    finally:
        leader.kill()
        worker.kill()
    lines = (tmp_path / f"{ONE}.log").read_text().splitlines()
    assert lines[0] == "group: waiting for spark-02 to start"
    assert lines[-1] == f"group: spark-02 has ended: {ALL}"
    assert lines[1:-1] in ([], ["stopped"], ["serving", "stopped"])
    counts = {name: (tmp_path / name / "ran").exists() for name in (ONE, TWO)}
    assert counts == {ONE: False, TWO: True}, "the start counts on the node that ended it"


def test_the_main_process_says_which_node_it_does_not_reach(scripts: Path, tmp_path: Path, fleet: Fleet) -> None:
    """The other one is stopped: its kernel keeps the connection. The servers of both run all the time."""
    leader, worker = (started(scripts, tmp_path, fleet, name, SERVER) for name in (ONE, TWO))
    said = tmp_path / ONE / opening.SILENT
    said.write_text("what the last start has left")
    try:
        log = tmp_path / f"{ONE}.log"
        eventually(lambda: "serving" in log.read_text() and not said.exists())
        worker.send_signal(signal.SIGSTOP)
        eventually(said.exists)
        assert said.read_text() == f"no word from {TWO}"
        worker.send_signal(signal.SIGCONT)
        eventually(lambda: not said.exists())
        assert (leader.poll(), worker.poll()) == (None, None)
    finally:
        for each in (leader, worker):
            each.send_signal(signal.SIGCONT)
            each.terminate()
            each.wait(PATIENCE_S)


def eventually(true: Callable[[], object]) -> None:
    """Wait for something that must happen soon."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_node_whose_files_were_edited_does_not_start(
    program: ModuleType, fleet: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other nodes would form a group with it, as its version is still that of the plan."""
    compose, place = tmp_path / "etc/sparkiac/big/compose.yaml", tmp_path / "group.json"
    compose.parent.mkdir(parents=True)
    compose.write_text("# from lab.yaml\nname: big\n")
    path = str(compose).lstrip("/")
    node = fleet.file(ONE, "v1", (ONE,)) | {"files": {path: effective.digest(path, compose.read_bytes())}}
    place.write_text(json.dumps(node))
    assert program.main([str(place), "sh", "-c", "exit 3"]) == 3
    compose.write_text("name: big\ncommand: other\n")
    assert program.main([str(place), "true"]) == 1
    compose.unlink()
    assert program.main([str(place), "true"]) == 1
    said = f"group: edited on this host: /{path}; sparkiac apply installs the generated files again"
    assert capsys.readouterr().err.splitlines()[-2:] == [said, said]


class Group:
    """Other nodes, during which systemd stops the unit."""

    fault, closed = "", False

    def __init__(self, *, complete: bool) -> None:
        """State whether the other nodes are there."""
        self.complete = complete

    def silent(self) -> list[str]:
        """Reach all nodes."""
        return []

    def waiting(self) -> str:
        """Return for whom the node waits."""
        return "waiting for spark-02 to start"

    def step(self, seconds: float) -> None:
        """Get a signal from systemd while the others run."""
        time.sleep(seconds / 50)
        os.kill(os.getpid(), signal.SIGTERM)

    def close(self) -> None:
        """End the connections."""
        self.closed = True


@pytest.fixture
def handlers() -> Iterator[None]:
    """Restore the handlers of the signals."""
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("text", [b"[" * 60_000, b'{"host": ' + b"[" * 900 + b"]" * 900 + b"}", b"{", b"\xff", b"1"])
def test_a_stranger_that_sends_something_else_is_dropped_and_the_group_forms(fleet: Fleet, text: bytes) -> None:
    fleet.start(ONE)
    with socket.create_connection(("127.0.0.1", fleet.port), timeout=PATIENCE_S) as stranger:
        stranger.sendall(text + b"\n")
        fleet.until(lambda: closed(stranger))
    fleet.start(TWO, THREE)
    fleet.forms()
    assert not any(each.fault for each in fleet.nodes.values())


@pytest.mark.parametrize("text", [b"[" * 60_000, b"[]"])
def test_a_leader_that_sends_something_else_is_queried_again(fleet: Fleet, text: bytes) -> None:
    with socket.create_server(("127.0.0.1", fleet.port)) as other:
        fleet.start(TWO)
        fleet.turn()
        other.accept()[0].sendall(text + b"\n")
        fleet.until(lambda: not fleet.nodes[TWO].met)
    assert fleet.nodes[TWO].fault == ""


def closed(connection: socket.socket) -> bool:
    """Return whether the other side has ended a connection."""
    connection.settimeout(0.01)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize("complete", [True, False])
def test_a_requested_stop_succeeds_at_any_time(program: ModuleType, *, complete: bool) -> None:
    link = Group(complete=complete)
    assert program.run(link, ["sleep", "60"]) == (-signal.SIGTERM if complete else 0)  # the status of the server
    assert link.closed


@pytest.mark.usefixtures("handlers")
def test_the_status_of_the_unit_says_what_it_waits_for(
    program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(PATIENCE_S)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        assert program.run(Group(complete=False), ["false"]) == 0
        assert systemd.recv(1000) == b"STATUS=starting waiting for spark-02 to start"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "group: cannot connect the nodes of the group: [Errno 2] No such file or directory"),
        ("{", "group: cannot connect the nodes of the group: Expecting property name"),
        ('{"hosts": 1}', "this group does not know hosts: generate and apply again"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    program: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, said: str
) -> None:
    place = tmp_path / "group.json"
    if text is not None:
        place.write_text(text)
    assert program.main([str(place), "true"]) == 1
    assert said in capsys.readouterr().err


def test_usage(program: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["file"]) == 2
    assert capsys.readouterr().err.startswith("group FILE COMMAND")


def test_a_connection_on_which_nothing_has_arrived_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(1)
        assert group_link.Line(ours).receive() == []
