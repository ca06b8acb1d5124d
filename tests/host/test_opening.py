"""The port of a unit is closed when a start begins and open when its server has passed, on a host of stand-ins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.host import generation
from sparkiac.host.network import doors
from sparkiac.host.switch import effects, opening, record, report, restart, store
from tests.host import switching
from tests.host.switching import PROGRAM, Host, Result, unit

if TYPE_CHECKING:
    from pathlib import Path

LAN, LOOPBACK = "10.0.0.1:8001", "127.0.0.1:8001"
CLOSED = "add element inet sparkiac closed_places4 { 10.0.0.1 . 8001 }"


class Planned(Host):
    """A host with one unit; `broken` is what nft answers instead of working."""

    broken: str | None = None

    def __init__(self, root: Path, listen: str | None = LAN, **plan: object) -> None:
        """Plan it."""
        super().__init__(root)
        units = [unit("a", listen=listen), unit("b")]
        keys = {
            "host": "spark-01",
            "memory_bytes": None,
            "turns": [],
            "sysctls": [],
            "packages": {},
            "group": None,
            "clients": {},
            "egress": {},
        }
        needs: dict[str, list[str]] = {"images": [], "stores": [], "extra_files": [], "caches": []}
        self.planned = {**keys, "nft_optional": False, "needs": needs, "units": units, **plan}
        self.write(f"/{PROGRAM.store.PLAN}", PROGRAM.json.dumps(self.planned))
        self.write("/etc/sparkiac/a/compose.yaml", "a 1")
        self.said_to_systemd: list[str] = []

    def run(self, *argv: str) -> Any:  # noqa: ANN401
        """Run a command."""
        if argv[0] == "nft" and self.broken is not None:
            return Result(1, "", self.broken)
        if argv[0] == "systemd-notify":
            self.said_to_systemd.append(argv[1])
        return super().run(*argv)


def test_a_start_closes_the_port_and_the_passed_gate_opens_it(tmp_path: Path) -> None:
    host = Planned(tmp_path)
    PROGRAM.started(host, "sparkiac-a")
    assert CLOSED in host.table
    PROGRAM.started(host, "sparkiac-a")  # the server crashed while it loaded
    assert CLOSED in host.table
    PROGRAM.opened(host, "sparkiac-a")
    assert host.table == ""
    PROGRAM.started(host, "sparkiac-b")
    assert host.table == "", "a unit that does not listen"


def test_the_port_of_a_group_that_misses_a_node_is_closed_until_it_is_heard_again(tmp_path: Path) -> None:
    """Whether the server has passed stays what it was."""
    host, silent = Planned(tmp_path), "/run/sparkiac-a/silent"
    host.units["sparkiac-a"] = switching.Unit("active")
    host.write(silent, "no word from spark-02")
    opening.restore(host)
    assert CLOSED in host.table
    host.path(silent).unlink()
    opening.restore(host)
    assert host.table == ""
    PROGRAM.started(host, "sparkiac-a")
    host.write(silent, "no word from spark-02")
    opening.restore(host)
    host.path(silent).unlink()
    opening.restore(host)
    assert CLOSED in host.table


def test_a_unit_of_a_former_version_is_opened_by_the_switch_that_started_it(tmp_path: Path) -> None:
    host = Planned(tmp_path)
    PROGRAM.started(host, "sparkiac-a")
    assert host.planned
    restart.restart(host, host.planned, [])
    assert host.table == ""


def test_nothing_listens_for_other_hosts_if_its_port_cannot_be_closed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Planned(tmp_path)
    host.broken = "Error: Could not process rule: Operation not supported\n"
    fault = (
        "port 8001 cannot be closed until the server has passed: "
        "nft does not work on this host: Error: Could not process rule: Operation not supported"
    )
    with pytest.raises(doors.DoorsError) as raised:
        PROGRAM.started(host, "sparkiac-a")
    assert str(raised.value) == f"{fault}; or set `nft: optional` for this host"
    assert host.said_to_systemd == [f"--status=starting {fault}"]
    optional = Planned(tmp_path, nft_optional=True)
    optional.broken = host.broken
    PROGRAM.started(optional, "sparkiac-a")
    assert capsys.readouterr().err == f"sparkiac-a: {fault}\n"
    PROGRAM.opened(optional, "sparkiac-a")
    own = Planned(tmp_path, LOOPBACK)
    own.broken = host.broken
    PROGRAM.started(own, "sparkiac-a")
    PROGRAM.opened(own, "sparkiac-a")
    confined = Planned(tmp_path, LOOPBACK, egress={"sparkiac-a": []})
    confined.broken = host.broken
    with pytest.raises(doors.DoorsError, match=r"or set `nft: optional` for this host$"):
        PROGRAM.started(confined, "sparkiac-a")


LISTED = {"sparkiac-a": {"networks": ["10.0.0.0/8"], "units": []}}
SET = "add set inet sparkiac clients4_8001_0 { type ipv4_addr; flags interval; auto-merge; }"


def test_a_list_of_clients_is_written_before_any_server_starts_and_without_nft_nothing_is_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Planned(tmp_path, clients=LISTED)
    PROGRAM.started(host, "sparkiac-b")
    assert SET not in host.table, "it does not listen"
    opening.allow(host, host.planned)
    assert SET in host.table
    PROGRAM.started(host, "sparkiac-a")
    PROGRAM.opened(host, "sparkiac-a")
    assert (SET in host.table, CLOSED in host.table) == (True, False)
    host.broken = "Error: nothing works"
    fault = "the lists of clients and of egress are not in force: nft does not work on this host: Error: nothing works"
    other = {**host.planned, "clients": {"sparkiac-a": {"networks": [], "units": []}}}
    with pytest.raises(doors.DoorsError, match=f"^{fault}; or set `nft: optional` for this host$"):
        opening.allow(host, other)
    opening.allow(host, {**other, "nft_optional": True})
    assert capsys.readouterr().err.endswith(f"written again\n{fault}\n")


def test_a_changed_list_is_announced_and_is_no_restart() -> None:
    plan = {"units": [unit("a", listen=LAN), unit("b")], "clients": {}, "egress": {"sparkiac-b": ["10.0.0.0/8"]}}
    listed = {**plan, "clients": LISTED}
    lines = [
        [each.line() for each in effects.ports(new, old)]
        for new, old in (
            (listed, plan),
            (plan, listed),
            (listed, listed),
            ({**plan, "units": []}, listed),
            ({**plan, "egress": {"sparkiac-a": []}}, plan),
        )
    ]
    assert lines == [
        ["reload clients of sparkiac-a: 10.0.0.0/8; no restart"],
        ["reload clients of sparkiac-a: everybody; no restart"],
        [],
        ["close 10.0.0.1:8001: port of sparkiac-a"],
        [
            "reload egress of sparkiac-a: nothing; no restart",
            "reload egress of sparkiac-b: everything; no restart",
        ],
    ]


def test_a_record_that_cannot_be_written_starts_no_server(tmp_path: Path) -> None:
    host = Planned(tmp_path)
    host.write("/run/sparkiac", "no directory")
    with pytest.raises(doors.DoorsError, match="port 8001 cannot be closed"):
        PROGRAM.started(host, "sparkiac-a")


def test_a_port_is_opened_on_request(tmp_path: Path) -> None:
    host = Planned(tmp_path)
    PROGRAM.started(host, "sparkiac-a")
    arguments = PROGRAM.parse(["open", "sparkiac-a", "--for", "2h"])
    said = PROGRAM.COMMANDS["open"](host, arguments)["lines"]
    assert said == ["the port of sparkiac-a is open for 7200 s on request, whether its server has passed or not"]
    assert host.table == ""
    with pytest.raises(ValueError, match=r"^no unit sparkiac-c on this host"):
        PROGRAM.hold_open(host, "sparkiac-c", 1)


ALERT = f"sparkiac-alert: wrong{generation.WRONG_TWICE}"


def test_the_port_of_a_ready_server_is_closed_while_its_answers_are_wrong(tmp_path: Path) -> None:
    host = Planned(tmp_path)
    host.units["sparkiac-a"] = switching.Unit("active")
    for status, closed in (
        ("healthy", False),
        ("healthy sparkiac-alert: wrong", False),
        (f"healthy {ALERT}", True),
        (f"unhealthy {ALERT}", True),
        ("healthy", False),
    ):
        host.said["sparkiac-a"] = {"StatusText": status}
        opening.restore(host)
        assert (CLOSED in host.table, host.table == "") == (closed, not closed), status
    host.said["sparkiac-a"] = {"StatusText": f"healthy {ALERT}"}
    opening.hold_open(host, "sparkiac-a", 60)
    opening.restore(host)
    assert host.table == "", "held open on request"


def test_a_start_decides_alone_while_it_lasts(tmp_path: Path) -> None:
    host = Planned(tmp_path)
    host.units["sparkiac-a"] = switching.Unit("activating")
    PROGRAM.started(host, "sparkiac-a")
    host.said["sparkiac-a"] = {"StatusText": "healthy"}
    opening.restore(host)
    assert CLOSED in host.table


class Starts:
    """Starts of the unit `a`, each with an ID of systemd's."""

    def __init__(self, host: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
        """Begin none yet."""
        self.host, self.monkeypatch, self.count = host, monkeypatch, 0
        self.file = host.path(f"/run/sparkiac-a/{opening.KNOWN}")

    def begin(self) -> bool:
        """Begin a start; return whether its version counts as one that has passed."""
        self.count += 1
        self.host.units["sparkiac-a"] = switching.Unit("activating", invocation=str(self.count))
        self.monkeypatch.setenv("INVOCATION_ID", str(self.count))
        PROGRAM.started(self.host, "sparkiac-a")
        return self.file.exists()

    def end(self) -> None:
        """Let it pass."""
        PROGRAM.opened(self.host, "sparkiac-a")


@pytest.fixture
def beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Starts:
    """Return the starts of a unit on a host of stand-ins."""
    return Starts(Planned(tmp_path), monkeypatch)


def test_a_version_that_has_passed_once_is_known_on_this_host(beginning: Starts) -> None:
    host = beginning.host
    host.write("/etc/systemd/system/sparkiac-a.service", "[Service]\nUser=a\n")
    assert [beginning.begin(), beginning.begin()] == [False, False], "it has crashed before it passed"
    beginning.end()
    host.reboot()
    assert beginning.begin()
    added = json.loads(beginning.file.read_text())["services"]["server"]["environment"]
    assert (added, beginning.file.stat().st_mode & 0o777) == ({generation.PASSED: "1"}, 0o644)
    host.write("/etc/sparkiac/a/compose.yaml", "a 2")
    assert not beginning.begin(), "another version"
    beginning.end()
    host.write("/etc/sparkiac/a/compose.yaml", "a 1")
    assert beginning.begin(), "a rollback"
    host.write("/etc/sparkiac/a/compose.yaml", "a 3")
    host.write(f"{record.PASSED}/sparkiac-a.json", "damaged")
    assert not beginning.begin()


def test_a_version_with_a_file_that_cannot_be_read_is_never_known(beginning: Starts) -> None:
    beginning.begin()
    beginning.end()
    assert not beginning.begin(), "it has no unit file"


def test_a_version_that_an_apply_refuses_must_pass_again(beginning: Starts) -> None:
    host = beginning.host
    host.write("/etc/systemd/system/sparkiac-a.service", "[Service]\nUser=a\n")
    host.write("/etc/sparkiac/a/compose.yaml", "a wrong")
    beginning.begin()
    beginning.end()
    assert beginning.begin()
    host.units["sparkiac-a"].runs = "a wrong"
    assert report.gate(host, store.Generation("x", (), host.planned, None), ["sparkiac-a"])
    assert not beginning.begin()


@pytest.mark.parametrize("time", ["", "1", "h", "1 day", "-1h"])
def test_a_time_that_is_no_duration_is_refused(time: str) -> None:
    with pytest.raises(SystemExit):
        PROGRAM.parse(["open", "sparkiac-a", f"--for={time}"])


@pytest.mark.parametrize("written", [True, False])
def test_the_table_is_kept_by_a_program_of_its_own(tmp_path: Path, written: bool) -> None:  # noqa: FBT001
    host = Planned(tmp_path)
    if written:
        host.write(doors.PROGRAM, "")
    PROGRAM.started(host, "sparkiac-a")
    assert host.launched == (["doors"] if written else []), "there is none before the first apply"


def test_the_keeper_ends_when_an_apply_replaces_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, looks = tmp_path / "host/switch/opening.py", []
    place.parent.mkdir(parents=True)
    place.touch()

    def restore(_: object) -> None:
        looks.append(1)
        if len(looks) == 3:
            place.with_name("opening.new").touch()
            place.with_name("opening.new").replace(place)

    monkeypatch.setattr(opening, "__file__", str(place))
    monkeypatch.setattr(opening, "restore", restore)
    monkeypatch.setattr(opening, "CHECK_S", 0.01)
    opening.keep(Host(tmp_path))
    assert len(looks) == 3
