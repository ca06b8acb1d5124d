"""Two hosts that switch as a group: on stand-ins for systemd, with real votes over HTTP.

Whatever fails, no two hosts ever run units of different generations at the same time, and both end on the same one.
"""

from __future__ import annotations

import errno
import json
import os
import random
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import durable
from sparkiac.host.generation import GenerationPlan, PlacedFile
from sparkiac.host.network import rules
from sparkiac.host.switch import http
from sparkiac.host.switch import vote as votes
from tests.host.staging import free_port
from tests.host.switching import Host, KilledError, Made, Result, committed, generation, runs, starts, state, store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.usefixtures("no_fsync"),
    # The threads of a killed program end in the middle.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]
NAMES = ("spark-01", "spark-02")
PEERS = ["127.0.0.2", "fd00::2"]
FAULTS = ("program", "host", "cut", "both")
FIRST = {"host", "memory_bytes", "turns", "units", "sysctls", "group", "needs"}
"""Keys that each plan has had since there are generations."""


class Fleet:
    """Two hosts of a group; every change of a unit checks that they do not run different generations."""

    def __init__(self, folder: Path) -> None:
        """Start both hosts with the first generation."""
        self.hosts = [Host(folder / name, name=name) for name in NAMES]
        self.mixed: list[tuple[str, str]] = []
        self.cut = False
        self.port = free_port()
        group: dict[str, Any] = {
            "members": [*NAMES],
            "coordinator": NAMES[0],
            "address": "127.0.0.1",
            "port": self.port,
        }
        group["peers"] = PEERS
        self.group = group
        self.first = self.made("g 1", group)
        self.second = self.made("g 2", group)
        self.joined: dict[str, Any] = {}
        for host in self.hosts:
            host.watch = self.check
        self.switch(self.first, "first")

    def made(self, text: str, group: dict[str, Any]) -> list[Made]:
        """Return a generation for each host; "crash" in the text is for the second host only."""
        texts = [text.replace("crash", "ok"), text]
        pairs = zip(texts, NAMES, strict=True)
        return [generation({"g": each, "solo": "s"}, group=group, host=name) for each, name in pairs]

    def check(self) -> None:
        """Remember it if both hosts run the unit of the group, from different generations."""
        one, two = ((host.units.get("sparkiac-g") or Host.nothing).runs for host in self.hosts)
        if one is not None and two is not None and counting_part(one) != counting_part(two):
            self.mixed.append((one, two))

    def starts(self, *names: str) -> list[list[str]]:
        """Return for each host systemd's IDs of the last starts of units, which another start changes."""
        return [[host.units[f"sparkiac-{name}"].invocation for name in names] for host in self.hosts]

    def ends(self, made: list[Made], run: str) -> list[str]:
        """Switch both hosts at the same time and return the outcomes."""
        return [str(each and each["outcome"]) for each in self.switch(made, run)]

    def switch(self, made: list[Made], run: str) -> list[dict[str, Any] | None]:
        """Switch both hosts at the same time; None for a host that was killed."""
        for host, each in zip(self.hosts, made, strict=True):
            store.stage(host, each.staged)
        requests = [runs.Request(each.name, run, "secret", []) for each in made]
        return self.together([lambda h=h, r=r: self.run(h, r) for h, r in zip(self.hosts, requests, strict=True)])

    def together(self, calls: list[Any]) -> list[dict[str, Any] | None]:
        """Run a call for each host in a thread of its own."""
        found: list[dict[str, Any] | None] = [None] * len(calls)
        errors: list[BaseException] = []

        def work(number: int) -> None:
            try:
                found[number] = calls[number]()
            except KilledError:
                self.bury(self.hosts[number])
            except BaseException as error:  # noqa: BLE001 - reported below
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(600)
            assert not thread.is_alive(), "a switch does not end"
        assert not errors, errors
        return found

    def bury(self, host: Host) -> None:
        """End the threads of a program that was killed."""
        joined = self.joined.get(host.name)
        if joined is not None:
            joined.over.set()
            if isinstance(joined, votes.Coordinator):
                joined.server.shutdown()
                joined.server.server_close()

    def revive(self, host: Host, *, power: bool) -> dict[str, Any] | None:
        """Start the program of a host again, as systemd does, or boot the host."""
        host.dead, host.kill_at = False, None
        if power:
            host.reboot()
            host.launched.clear()
            host.boot()
            if "run" not in host.launched:
                self.answer(host)
                return None
        return self.run(host, None)

    def run(self, host: Host, request: Any) -> dict[str, Any]:  # noqa: ANN401
        """Do what sparkiac-switch.service does, and start sparkiac-answer.service if it asks for it."""
        if request is not None:
            host.write("/run/sparkiac/request.json", json.dumps(request._asdict()))
        found = dict(starts.run(host))
        self.answer(host)
        return found

    def answer(self, host: Host) -> None:
        """Run sparkiac-answer.service if it was started."""
        if "answer" in host.launched:
            host.launched.remove("answer")
            threading.Thread(target=starts.answer, args=(host,), daemon=True).start()


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """Return two hosts of a group that run the first generation."""
    monkeypatch.setattr(votes, "POLL_S", 0.02)
    plain_join, plain_ask = runs.join, votes.ask
    made: list[Fleet] = []

    def join(host: Host, *words: Any, **values: Any) -> Any:  # noqa: ANN401
        found = plain_join(host, *words, **values)
        if made:
            made[0].joined[host.name] = found.votes
        return found

    def ask(*words: Any, **values: Any) -> Any:  # noqa: ANN401
        return None if made and made[0].cut else plain_ask(*words, **values)

    monkeypatch.setattr(runs, "join", join)
    monkeypatch.setattr(votes, "ask", ask)
    found = Fleet(tmp_path)
    made.append(found)
    yield found
    for host in found.hosts:
        found.bury(host)


def counting_part(text: str) -> str:
    """Return what the compose files of both hosts must have in common, such as `g 1`: without their first comment."""
    return text.rpartition("\n")[2][:3]


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the times after which hosts take each other as lost; their order stays."""
    for name, seconds in {"FIRST_CONTACT_S": 2.0, "LOST_S": 0.3, "SILENT_S": 1.2, "DOWN_S": 3.0}.items():
        monkeypatch.setattr(votes, name, seconds)


def turning(fleet: Fleet, *, crash: bool = False) -> list[Made]:
    """Return a generation in which the group `g` runs at night and `solo` by day."""
    group = store.load(fleet.hosts[0], fleet.first[0].name).plan["group"]
    turns = {"day": ["solo"], "night": ["g"]}
    texts = ["g 2", "g 2 crash" if crash else "g 2"]
    pairs = zip(texts, NAMES, strict=True)
    return [generation({"g": each, "solo": "s"}, group=group, host=name, turns=turns) for each, name in pairs]


def to_turn(fleet: Fleet, made: list[Made], turn: str) -> list[dict[str, Any] | None]:
    """Switch both hosts to a turn, as their timers do: the token comes from the last switch."""
    requests = []
    for host, each in zip(fleet.hosts, made, strict=True):
        requests.append(runs.Request(each.name, f"to {turn}", str(state.read(host).secret), [], turn))
    return fleet.together([lambda h=h, r=r: fleet.run(h, r) for h, r in zip(fleet.hosts, requests, strict=True)])


def test_a_group_takes_its_turn_on_all_hosts_and_gives_it_back(fleet: Fleet) -> None:
    made = turning(fleet)
    assert [each and each["outcome"] for each in fleet.switch(made, "second")] == ["committed"] * 2
    assert [sorted(host.serving()) for host in fleet.hosts] == [["sparkiac-solo"]] * 2
    for turn, unit in (("night", "sparkiac-g"), ("day", "sparkiac-solo"), ("night", "sparkiac-g")):
        assert [each and each["outcome"] for each in to_turn(fleet, made, turn)] == ["committed"] * 2
        assert [sorted(host.serving()) for host in fleet.hosts] == [[unit]] * 2
        assert [state.read(host).turn for host in fleet.hosts] == [turn] * 2
        assert len({state.read(host).secret for host in fleet.hosts}) == 1
    assert fleet.mixed == []


def test_a_turn_that_fails_on_one_host_goes_back_on_all(fleet: Fleet) -> None:
    made = turning(fleet, crash=True)
    fleet.switch(made, "second")
    found = to_turn(fleet, made, "night")
    assert [each and each["outcome"] for each in found] == ["back", "back"]
    assert "did not become ready" in str(found[1])
    assert [sorted(host.serving()) for host in fleet.hosts] == [["sparkiac-solo"]] * 2
    assert [state.read(host).turn for host in fleet.hosts] == ["day", "day"]


def names(made: list[Made]) -> list[str]:
    return [each.name for each in made]


def test_both_hosts_switch(fleet: Fleet) -> None:
    found = fleet.switch(fleet.second, "second")
    assert [each and each["outcome"] for each in found] == ["committed", "committed"]
    assert [committed(host) for host in fleet.hosts] == names(fleet.second)
    assert fleet.mixed == []
    assert [state.read(host).decision for host in fleet.hosts] == [None, None]
    assert [starts.answer(host) for host in fleet.hosts] == [{}, {}], "nothing is left to tell"


def test_a_group_keeps_running_if_nothing_that_counts_changed_on_any_host(fleet: Fleet) -> None:
    before = fleet.starts("g")
    made = fleet.made("# another description\ng 1", fleet.group)
    for host in fleet.hosts:
        host.log.clear()
    assert fleet.ends(made, "second") == ["committed"] * 2
    assert [committed(host) for host in fleet.hosts] == names(made)
    assert fleet.starts("g") == before
    assert fleet.ends(fleet.first, "rollback") == ["committed"] * 2
    assert fleet.starts("g") == before
    assert not any("stop sparkiac-g" in host.log for host in fleet.hosts)


@pytest.mark.parametrize("changed", [0, 1])
def test_a_change_on_one_host_restarts_the_group_on_all(fleet: Fleet, changed: int) -> None:
    """The hosts decide so by themselves: no request names the unit."""
    before = fleet.starts("g")
    texts = ["g 1 more" if number == changed else "g 1" for number in range(2)]
    pairs = zip(texts, NAMES, strict=True)
    made = [generation({"g": text, "solo": "s"}, group=fleet.group, host=name) for text, name in pairs]
    assert fleet.ends(made, "second") == ["committed"] * 2
    assert not any(one == other for one, other in zip(before, fleet.starts("g"), strict=True))
    assert fleet.mixed == []


def test_only_the_group_that_changes_restarts(fleet: Fleet) -> None:
    def two(text: str) -> list[Made]:
        units = {"g": "g 1", "h": text, "solo": "s"}
        return [generation(units, group=fleet.group, host=name) for name in NAMES]

    assert fleet.ends(two("h 1"), "second") == ["committed"] * 2
    before, other = fleet.starts("g"), fleet.starts("h")
    assert fleet.ends(two("h 2"), "third") == ["committed"] * 2
    assert fleet.starts("g") == before
    assert not any(one == now for one, now in zip(other, fleet.starts("h"), strict=True))


def test_a_unit_that_was_requested_restarts_on_all_hosts(fleet: Fleet) -> None:
    before = fleet.starts("g")
    requests = [runs.Request(each.name, "restart", "secret", ["sparkiac-g"]) for each in fleet.first]
    fleet.together([lambda h=h, r=r: fleet.run(h, r) for h, r in zip(fleet.hosts, requests, strict=True)])
    assert not any(one == now for one, now in zip(before, fleet.starts("g"), strict=True))


def test_a_group_keeps_running_while_another_unit_fails_and_goes_back(fleet: Fleet) -> None:
    before = fleet.starts("g")
    solos = ["s", "s crash"]
    made = [
        generation({"g": "# another description\ng 1", "solo": solo}, group=fleet.group, host=name)
        for solo, name in zip(solos, NAMES, strict=True)
    ]
    assert fleet.ends(made, "second") == ["back", "back"]
    assert [committed(host) for host in fleet.hosts] == names(fleet.first)
    assert fleet.starts("g") == before
    assert [host.units["sparkiac-solo"].runs for host in fleet.hosts] == ["s", "s"]


def test_no_host_stops_its_unit_while_requests_run_on_another(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader drains; its workers have no port of their own, and must answer the same requests with it."""
    leader, worker = fleet.hosts
    serving: list[set[str]] = []

    def drain(machine: Host, *_: object) -> None:
        if machine is leader:
            time.sleep(0.3)  # the worker has time for a mistake
            serving.append({*worker.serving()})

    monkeypatch.setattr(runs.drain, "drain", drain)
    found = fleet.switch(fleet.second, "second")
    assert serving[0] == {"sparkiac-g", "sparkiac-solo"}
    assert [each and each["outcome"] for each in found] == ["committed", "committed"]


def test_both_go_back_if_one_fails(fleet: Fleet) -> None:
    bad = fleet.made("g 2 crash", store.load(fleet.hosts[0], fleet.first[0].name).plan["group"])
    found = fleet.switch(bad, "second")
    assert [each and each["outcome"] for each in found] == ["back", "back"]
    assert [committed(host) for host in fleet.hosts] == names(fleet.first)
    assert [host.units["sparkiac-g"].runs for host in fleet.hosts] == ["g 1", "g 1"]
    assert "another host of the group failed" in str(found[0])
    assert "did not become ready" in str(found[1])
    assert fleet.mixed == []


def test_a_host_whose_units_another_host_stopped_does_not_blame_them(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other host fails while the units of this one still start."""
    bad = fleet.made("g 2 crash", store.load(fleet.hosts[0], fleet.first[0].name).plan["group"])
    plain = runs.restarted

    def slow(switch: Any, *, back: bool = False) -> dict[str, Any]:  # noqa: ANN401
        found = plain(switch, back=back)
        if switch.machine is fleet.hosts[0] and not back:
            while not switch.votes.brake.pulled:
                time.sleep(0.01)
            found["failed"] = ["sparkiac-solo did not become ready"]
        return dict(found)

    monkeypatch.setattr(runs, "restarted", slow)
    found = fleet.switch(bad, "second")
    assert [each and each["outcome"] for each in found] == ["back", "back"]
    assert "another host of the group failed or cannot be reached" in str(found[0])
    assert "solo" not in str(found[0] and found[0]["failed"])
    assert "did not become ready" in str(found[1])


def test_a_host_that_cannot_be_reached_keeps_its_group_back(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    fleet.cut = True
    found = fleet.switch(fleet.second, "second")
    assert [each and each["outcome"] for each in found] == ["back", "back"]
    assert [host.units["sparkiac-g"].runs for host in fleet.hosts] == ["g 1", "g 1"]
    assert fleet.mixed == []


def test_a_unit_that_stops_slowly_has_stopped_before_the_former_generation_starts(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is cut while both run the new generation; a stop takes longer than noticing that."""
    hurry(monkeypatch)
    monkeypatch.setattr(runs, "stop_s", lambda *_generations: 4)
    member = fleet.hosts[1]
    member.stop_seconds = 3.0
    crash = fleet.made("g 2 hang", store.load(fleet.hosts[0], fleet.first[0].name).plan["group"])

    def check() -> None:
        Fleet.check(fleet)
        fleet.cut = fleet.cut or all((host.units["sparkiac-g"].runs or "").startswith("g 2") for host in fleet.hosts)

    for host in fleet.hosts:
        host.watch = check
    fleet.switch(crash, "second")
    assert fleet.cut
    assert fleet.mixed == []
    assert [host.units["sparkiac-g"].runs for host in fleet.hosts] == ["g 1", "g 1"]


def test_systemd_is_given_its_time_to_stop_a_unit() -> None:
    text = "[Service]\nTimeoutStopSec=600\n"
    plan = {"units": [{"name": "sparkiac-g", "group": True}, {"name": "sparkiac-solo", "group": False}]}
    path = "etc/systemd/system/sparkiac-g.service"

    class Kept(store.Generation):  # type: ignore[misc, name-defined]
        def content(self, path: str) -> bytes:
            return {"etc/systemd/system/sparkiac-g.service": text.encode()}[path]

    found = Kept("0" * 16, (PlacedFile(path, "0644", ""),), plan, None)
    assert runs.stop_s(found) == 600
    assert runs.stop_s(store.Generation(None, (), store.NOTHING, None)) == 0


def test_plans_of_older_versions_can_be_read(fleet: Fleet) -> None:
    """Each key since the first version has a value for plans without it: a host reads its former plan at an upgrade."""
    assert {*GenerationPlan._fields} - {*store.ADDED} == FIRST
    texts = {each["path"]: each["text"] for each in fleet.first[0].staged["files"]}
    plan = {key: each for key, each in json.loads(texts["etc/sparkiac/generation.json"]).items() if key in FIRST}
    assert store.read_plan("file", json.dumps(plan)) == {**{key: store.NOTHING[key] for key in store.ADDED}, **plan}


def test_a_plan_of_an_older_version_has_no_addresses_of_the_members(fleet: Fleet) -> None:
    texts = {each["path"]: each["text"] for each in fleet.first[0].staged["files"]}
    plan = json.loads(texts["etc/sparkiac/generation.json"])
    assert "peers" in plan["group"]
    del plan["group"]["peers"]
    assert store.read_plan("file", json.dumps(plan))["group"]["peers"] == []
    with pytest.raises(ValueError, match=r"does not know group\.more"):
        store.read_plan("file", json.dumps({**plan, "group": {**plan["group"], "more": 1}}))


def test_the_coordinator_accepts_votes_from_the_members_only(fleet: Fleet) -> None:
    one, two = fleet.hosts
    one.table = ""
    fleet.switch(fleet.second, "second")
    assert [line for line in one.table.splitlines() if " peers " in line and "dport" in line] == [
        *(
            f"add rule inet sparkiac peers tcp dport {{ {fleet.port} }} {rules.FAMILIES[version]} saddr {peer} accept"
            for peer in PEERS
            for version in [6 if ":" in peer else 4]
        ),
        f"add rule inet sparkiac peers tcp dport {{ {fleet.port} }} {rules.SYN} drop",
    ]
    assert two.table == ""


def test_without_nft_no_vote_begins_and_one_that_has_begun_ends(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    one, name = fleet.hosts[0], fleet.second[0].name
    one.nft = lambda _argv: Result(1, "", "Error: Operation not supported\n")
    store.stage(one, fleet.second[0].staged)
    found = fleet.run(one, runs.Request(name, "second", "secret", []))
    fault = f"port {fleet.port} is open for every host that reaches this one: nft does not work on this host: "
    fault += "Error: Operation not supported"
    assert found["failed"] == [f"The switch did not begin: {fault}; or set `nft: optional` for this host"]
    assert state.read(one).pending is None
    capsys.readouterr()
    votes.open_port(one, store.load(one, name).plan, required=False)
    assert capsys.readouterr().err.endswith(f"{fault}\n")


def test_a_vote_needs_the_secret_of_the_run(fleet: Fleet) -> None:
    members = http.Members("spark-02", [*NAMES], "spark-01", "127.0.0.1", fleet.port, "run", "secret")
    coordinator = votes.Coordinator(members, lambda: None)
    try:
        assert votes.ask(members._replace(token=""), "ready", vote=True) is None
        assert votes.ask(members._replace(host="spark-09"), "ready", vote=True) is None
        assert coordinator.ballot.votes == {}
        assert votes.ask(members._replace(run="unknown"), "ready", vote=True) == "back"
        assert votes.ask(members, "ready", vote=True) == "wait"
    finally:
        coordinator.over.set()
        coordinator.server.shutdown()
        coordinator.server.server_close()


def test_a_decision_that_cannot_be_written_sends_the_group_back(fleet: Fleet) -> None:
    """No member may switch on a decision that the coordinator does not have on its disk."""
    members = http.Members("spark-02", [*NAMES], "spark-01", "127.0.0.1", fleet.port, "run", "secret")
    coordinator = votes.Coordinator(members, lambda: None)

    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    try:
        assert votes.ask(members, "ready", vote=True) == "wait"
        with pytest.raises(OSError, match="No space left"):
            coordinator.agree("ready", ok=True, decide=full)
        assert votes.ask(members, "ready", vote=True) == "back"
        assert coordinator.agree("ready", ok=True, decide=lambda: pytest.fail("it was decided")) == "back"
    finally:
        coordinator.over.set()
        coordinator.server.shutdown()
        coordinator.server.server_close()


def test_both_go_back_if_the_coordinator_cannot_commit(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    coordinator, plain = fleet.hosts[0], runs.commit

    def commit(switch: Any) -> None:  # noqa: ANN401
        if switch.machine is coordinator:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        plain(switch)

    monkeypatch.setattr(runs, "commit", commit)
    found = fleet.switch(fleet.second, "second")
    assert [each and each["outcome"] for each in found] == ["back", "back"]
    assert "No space left" in str(found[0])
    assert [committed(host) for host in fleet.hosts] == names(fleet.first)
    assert [host.units["sparkiac-g"].runs for host in fleet.hosts] == ["g 1", "g 1"]
    assert fleet.mixed == []


def test_the_former_generation_starts_when_a_lost_host_has_stopped_its_units() -> None:
    """A host notices late that it is cut off: a request has its timeout, and the next one starts later."""
    noticed = votes.LOST_S + http.TIMEOUT_S + votes.POLL_S
    assert noticed < votes.SILENT_S < votes.DOWN_S


def inject(fleet: Fleet, seed: int) -> None:
    """Kill a program, a host or the connection at a random moment of a switch, and let systemd start what it does."""
    chance = random.Random(seed)
    fault, victim = chance.choice(FAULTS), fleet.hosts[chance.randrange(2)]
    bad = chance.random() < 0.3
    made = fleet.made("g 2 crash" if bad else "g 2", store.load(fleet.hosts[0], fleet.first[0].name).plan["group"])
    for host, each in zip(fleet.hosts, made, strict=True):
        store.stage(host, each.staged)
        host.operations = 0
    hit = fleet.hosts if fault == "both" else [victim]
    if fault == "cut":
        threading.Timer(chance.random() * 0.3, lambda: setattr(fleet, "cut", True)).start()
        threading.Timer(0.3 + chance.random() * 2, lambda: setattr(fleet, "cut", False)).start()
    else:
        for host in hit:
            host.kill_at = chance.randrange(1, 60)
    power = {host.name: fault == "host" or (fault == "both" and chance.random() < 0.5) for host in fleet.hosts}
    requests = [runs.Request(each.name, f"run {seed}", "secret", []) for each in made]

    def until_done(host: Host, request: Any) -> dict[str, Any]:  # noqa: ANN401
        try:
            return fleet.run(host, request)
        except KilledError:
            fleet.bury(host)
            # systemd starts a killed program again long before the others take its host as lost.
            time.sleep(chance.random() if power[host.name] else 0.05)
            return fleet.revive(host, power=power[host.name]) or {}

    fleet.together([lambda h=h, r=r: until_done(h, r) for h, r in zip(fleet.hosts, requests, strict=True)])


def settle(fleet: Fleet) -> None:
    """Answer what a member still asks, as the coordinator's unit `sparkiac-answer` does."""
    ends = {committed(host) is not None for host in fleet.hosts}
    assert ends == {True}


def faults(fleet: Fleet, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Inject a fault, and check what must be true after it."""
    hurry(monkeypatch)
    with monkeypatch.context() as patch:
        for name in ("write", "rename", "remove"):
            patch.setattr(durable, name, counting(fleet, getattr(durable, name)))
        inject(fleet, seed)
    fleet.cut = False
    settle(fleet)
    assert fleet.mixed == []
    ends = [committed(host) for host in fleet.hosts]
    served = [host.units["sparkiac-g"].runs for host in fleet.hosts]
    assert ends == names(fleet.first) if served[0] == "g 1" else served[0] == served[1]
    assert served[0] == served[1]


def counting(fleet: Fleet, plain: Any) -> Any:  # noqa: ANN401
    """Return a function of `durable` that counts as an operation of the host whose file it changes."""

    def counted(path: Path, *words: Any, **values: Any) -> Any:  # noqa: ANN401
        next(host for host in fleet.hosts if host.root in path.parents).count()
        return plain(path, *words, **values)

    return counted


@pytest.mark.parametrize("seed", range(10))
def test_a_fault_never_mixes_generations(fleet: Fleet, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    faults(fleet, monkeypatch, seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10, 200))
def test_many_faults_never_mix_generations(fleet: Fleet, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    faults(fleet, monkeypatch, seed)
