"""What the program `status` reports of a host, and that it changes nothing."""

from __future__ import annotations

import json
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.fleet import facts
from sparkiac.host import local as units_host
from sparkiac.host import series
from sparkiac.host import state as switch_state
from sparkiac.host.generation import SICK, PlacedFile, generation_id
from sparkiac.host.network import doors
from sparkiac.host.status import journal
from sparkiac.host.status import program as status_program
from sparkiac.host.switch import store as switch_store
from tests.commands.looks import everything
from tests.host.conftest import SCRIPTS
from tests.host.switching import Made, generation

if TYPE_CHECKING:
    from tests.host.probed import Service

STATUS: Final = status_program
LocalHost: Any = STATUS.LocalHost
Result: Any = units_host.CommandResult
STATE: Final = "var/lib/sparkiac/state.json"
MEMINFO: Final = "MemTotal:  125_000 kB\nMemFree: 1 kB\nMemAvailable: 60000 kB\nBuffers: 1 kB\nCached: 30000 kB\n"
NVRM: Final = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.142  Release Build  (dvs-builder@U22)\n"
SHOWN: Final = """\
Id=sparkiac-chat.service
LoadState=loaded
ActiveState=active
SubState=running
UnitFileState=enabled
Result=success
StatusText=healthy
NRestarts=2
ActiveEnterTimestampMonotonic=1
InvocationID=abc
DropInPaths=
NeedDaemonReload=no
"""
METRIC: Final = "vllm:generation_tokens_total"
STARTING: Final = "7d4958e842da4a758f6c1cdc7b36dcc5"
STARTED: Final = "39f53479d3a045ac8e11786248231fbf"
FAILED: Final = "d9b373ed55a64feb8242e02dbe79a49c"


def message(id_: str, age_s: int, result: str = "", unit: str = "sparkiac-chat") -> str:
    """Return a message of systemd, as `journalctl --output=json` prints it."""
    stamp = int((time.time() - age_s) * 1_000_000)
    found = {"__REALTIME_TIMESTAMP": str(stamp), "MESSAGE_ID": id_, "UNIT": f"{unit}.service", "_PID": "1"}
    return json.dumps(found | ({"UNIT_RESULT": result} if result else {})) + "\n"


class Host(LocalHost):  # type: ignore[misc]
    """A host whose commands are a table: a word of the command line → its output; the probe is the real one."""

    def __init__(self, root: Path, **answers: Any) -> None:  # noqa: ANN401
        """Use files below `root`."""
        super().__init__(root)
        self.answers = {
            "systemctl": SHOWN,
            "journalctl": message(STARTING, 90),
            "nvidia-smi": "2418, 3003, 41, [N/A]\n",
            "docker": "",
            **answers,
        }
        self.ran: list[tuple[str, ...]] = []

    def run(self, *argv: str) -> Any:  # noqa: ANN401
        """Run a command."""
        self.ran.append(argv)
        if "python3" in argv:
            return super().run(*argv)
        answer = next(answer for word, answer in self.answers.items() if word in argv)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Result) else Result(0, answer, "")

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def install(host: Host, made: Made) -> None:
    """Stage a generation and install its files, as a switch does."""
    store = switch_store
    store.stage(host, made.staged)
    for each in made.staged["files"]:
        host.write(each["path"], each["text"])
        host.path(each["path"]).chmod(int(each["mode"], 8))
    state = switch_state
    state.write(host, state.State(current=made.name, committed=made.name))


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return a machine to which sparkiac was never applied."""
    found = Host(tmp_path / "root")
    found.write("proc/meminfo", MEMINFO.replace("_", ""))
    found.write("proc/driver/nvidia/version", NVRM)
    found.write("proc/uptime", "100000.50 1.0\n")
    found.write("proc/sys/kernel/osrelease", "7.0.0-1019-nvidia\n")
    found.write("proc/cmdline", "BOOT_IMAGE=/vmlinuz ro\n")
    found.write("sys/class/net/lo/operstate", "unknown\n")
    found.write("sys/class/net/enp1s0f1np1/operstate", "up\n")
    found.write("sys/class/dmi/id/bios_version", "5.36_0ACUM018\n")
    found.path("usr/local/lib").mkdir(parents=True)
    found.path("usr/local/lib/sparkiac").symlink_to(SCRIPTS)
    return found


def chat(service: Service, **promised: Any) -> Made:  # noqa: ANN401
    """Return a generation with the unit `chat`, which this server answers for."""
    store = switch_store
    files = generation({"chat": "ok"}).staged["files"]
    for each in files:
        if each["path"] == store.PLAN:
            plan = json.loads(each["text"])
            plan["units"][0]["promise"] |= {"url": service.url, "models": ["chat"], **promised}
            each["text"] = json.dumps(plan)
            each["sha256"] = sha256(each["text"].encode()).hexdigest()
    name = generation_id([PlacedFile(each["path"], each["mode"], each["sha256"]) for each in files])
    return Made(name, {"generation": name, "files": files})


def read(host: Host, *metrics: str) -> facts.HostFacts:
    """Return what the controller reads of the program's output."""
    return facts.HostFacts.of_output(json.dumps(STATUS.status(host, list(metrics))))


def test_a_machine_without_sparkiac(host: Host) -> None:
    found = read(host)
    assert found.machine.model_dump() == {
        "driver": "580.142",
        "driver_fault": None,
        "gpu": {"clock_mhz": 2418, "max_clock_mhz": 3003, "temperature_c": 41, "power_w": None},
        "kernel": "7.0.0-1019-nvidia",
        "unpinnable": None,
        "links": {"enp1s0f1np1": "up", "lo": "unknown"},
        "firmware": "5.36_0ACUM018",
        "memory": {"total_bytes": 128_000_000, "available_bytes": 61_440_000, "page_cache_bytes": 30_720_000},
        "uptime_s": 100_000,
        "software": found.machine.software.model_dump() if found.machine.software else None,
    }
    assert found.machine.software == facts.Software(
        kernel="7.0.0-1019-nvidia",
        cmdline="ro",
        driver="580.142",
        modules="open",
        firmware={"bios": "5.36_0ACUM018"},
    )
    assert (found.units, found.drift, found.unread) == ((), None, {})
    assert found.generation == facts.Generations()
    assert 0 <= found.clock.end_s - found.clock.begin_s < 60


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Result(18, "Failed to initialize NVML: Driver/library version mismatch\n", ""), "Failed to initialize NVML"),
        (Result(124, "", ""), "nvidia-smi ended with exit status 124"),
        (FileNotFoundError(2, "No such file"), "No such file"),
    ],
)
def test_a_driver_that_does_not_work(host: Host, answer: object, fault: str) -> None:
    host.answers["nvidia-smi"] = answer
    found = read(host).machine
    assert found.driver == "580.142"
    assert found.driver_fault is not None
    assert fault in found.driver_fault


def test_a_machine_without_gpu_and_with_an_odd_meminfo(host: Host) -> None:
    host.path("proc/driver/nvidia/version").unlink()
    host.write("proc/meminfo", "garbage")
    found = read(host).machine
    assert (found.driver, found.driver_fault, found.memory) == (None, None, None)
    assert not any("nvidia-smi" in argv for argv in host.ran)


def test_memory_that_cannot_be_pinned(host: Host) -> None:
    host.write("proc/meminfo", MEMINFO.replace("_", "") + "CmaTotal: 32768 kB\nCmaFree: 9784000 kB\n")
    assert read(host).machine.unpinnable == (
        "at least 9.3 GiB of memory that cannot be pinned (CmaFree 9.3 GiB, CmaTotal 0.0 GiB, "
        "kernel 7.0.0-1019-nvidia without kho=)"
    )
    host.path("proc/cmdline").unlink()
    assert read(host).machine.unpinnable is None


def test_a_unit_that_serves(host: Host, service: Service) -> None:
    """Its metrics are read twice; nothing is written, and no request reaches the model."""
    pages = iter([f'{METRIC}{{engine="0"}} {tokens}.0\n{METRIC}_created 1.7e9\n'.encode() for tokens in (100, 150)])
    service.answers["/metrics"] = lambda _: (200, next(pages))
    install(host, chat(service))
    before = everything(host.root)
    found = read(host, METRIC, "vllm:absent")
    assert everything(host.root) == before
    [unit] = found.units or ()
    assert (unit.name, unit.loaded, unit.active, unit.health, unit.restarts) == (
        "sparkiac-chat", "loaded", "active", "healthy", 2,
    )  # fmt: skip
    assert (unit.asked, unit.fault, unit.served) == (True, None, ("chat",))
    assert unit.active_for_s is not None
    first, second = unit.readings or ()
    assert (first.values, second.values) == ({METRIC: (100.0,)}, {METRIC: (150.0,)})
    assert second.at_s - first.at_s >= 1
    assert not any(line.startswith("POST") for line in service.asked)
    assert found.generation is not None
    assert found.drift == facts.Drift(units=("sparkiac-chat",))  # there is no record of its start in this test


def test_why_a_unit_gave_up(host: Host, service: Service) -> None:
    """Whoever may not read the record sees a unit that failed."""
    install(host, chat(service))
    [unit] = read(host).units or ()
    assert unit.gave_up is None
    record = {"at_s": 1.0, "unanswered": 5, "available_bytes": 1, "ready": [], "gave_up": "5 starts …"}
    host.write("run/sparkiac/starts/sparkiac-chat.json", json.dumps(record))
    [unit] = read(host).units or ()
    assert unit.gave_up == "5 starts …"


def test_a_closed_port_and_a_table_that_lacks_it(host: Host, service: Service) -> None:
    install(host, chat(service))
    host.answers |= {"inet": "table inet sparkiac {\n}\n", "bridge": "table bridge sparkiac {\n}\n"}
    [unit] = (found := read(host)).units or ()
    assert (unit.closed, unit.drained, found.doors) == (False, False, None)
    table = "".join(host.answers[family] for family in ("inet", "bridge"))
    for key in ("closed", "drained"):
        recorded = doors.Doors(table=table)._replace(**{key: {"sparkiac-chat": "127.0.0.1:1"}})
        host.write(doors.RECORD, json.dumps(recorded._asdict()))
        [unit] = (found := read(host)).units or ()
        assert (unit.closed, unit.drained, found.doors) == (key == "closed", key == "drained", None)
    host.answers["bridge"] = Result(1, "", "No such file or directory")
    assert read(host).doors == "table inet sparkiac or bridge sparkiac of nftables lacks what was written to it"


MOVED = """
Start-Date: 2026-09-12  06:11:02
Commandline: apt upgrade
Upgrade: docker-ce:arm64 (5:29.2.1-1, 5:29.3.0-1)
End-Date: 2026-09-12  06:12:40
"""


def keys(value: Any) -> set[str]:  # noqa: ANN401
    """Return all keys of nested objects."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set(value if isinstance(value, dict) else ()).union(*map(keys, inner))


def test_the_controller_reads_every_key(host: Host, service: Service) -> None:
    service.answers["/metrics"] = (200, b"m 1\n")
    install(host, chat(service))
    host.write("etc/sparkiac/chat/compose.yaml", "edited")
    host.write("var/log/apt/history.log", MOVED)
    found = STATUS.status(host, ["m"])
    assert found["machine"]["software"]["moved"]
    read = json.loads(facts.HostFacts.of_output(json.dumps(found)).model_dump_json())
    assert keys(found) - keys(read) == {"previous"}


def test_a_server_that_does_not_serve_its_model(host: Host, service: Service) -> None:
    install(host, chat(service, models=["other"]))
    [unit] = read(host, METRIC).units or ()
    assert unit.fault is not None
    assert "other" in unit.fault
    assert (unit.served, unit.readings) == (None, None)


def test_a_server_that_is_off_or_answers_garbage(host: Host, service: Service) -> None:
    install(host, chat(service, url="http://127.0.0.1:1"))
    [unit] = read(host, METRIC).units or ()
    assert unit.fault is not None
    assert "ConnectionRefused" in unit.fault
    service.answers["/v1/models"] = (200, b"\x1b[2J<html>")
    install(host, chat(service))
    [unit] = read(host, METRIC).units or ()
    assert unit.fault is not None
    assert "not a JSON object" in unit.fault
    assert "\x1b" not in unit.fault


def test_an_api_key_is_sent_and_never_reported(host: Host, service: Service) -> None:
    service.authorization = "Bearer hunter2-key"
    install(host, chat(service, api_key="key"))
    host.write("etc/sparkiac/secrets/key", "hunter2-key\n")
    found = STATUS.status(host, [METRIC])
    assert found["units"][0]["fault"] is None
    assert found["unread"] == {}
    assert "hunter2" not in json.dumps(found)
    assert not any("hunter2" in word for argv in host.ran for word in argv)


@pytest.mark.parametrize("layout", ["plain", "memory"])
def test_what_a_server_says_of_its_key_is_starred_on_the_host(host: Host, service: Service, layout: str) -> None:
    """A short secret could be a name, here of a unit, which stays."""
    install(host, chat(service))
    folder = "etc/sparkiac/secrets" if layout == "plain" else "run/sparkiac/secrets"
    host.write(f"{folder}/key", "canary-key\nwith-a-line\n")
    host.write(f"{folder}/short", "chat")
    if layout == "memory":
        host.path("/etc/sparkiac/secrets").symlink_to("../../run/sparkiac/secrets")
    host.answers["systemctl"] = Result(0, SHOWN.replace("=healthy", "=HTTP 401 for canary-key, with-a-line\t"), "")
    found = json.dumps(STATUS.status(host, [METRIC]))
    assert "HTTP 401 for ***, ***" in found
    assert "canary" not in found
    assert "with-a-line" not in found
    assert "sparkiac-chat" in found


def test_what_only_root_can_read_is_named(host: Host, service: Service) -> None:
    """A missing file stands for one that may not be read, because tests may run as root."""
    service.authorization = "Bearer x"
    install(host, chat(service, api_key="key"))
    host.path(STATE).unlink()
    host.path(STATE).mkdir()
    host.answers["journalctl"] = Result(0, "", "Hint: You are currently not seeing messages from other users.\n")
    found = read(host, METRIC)
    assert set(found.unread) == {"generation", "restarts", "served names of sparkiac-chat"}
    assert found.generation is None
    [unit] = found.units or ()
    assert (unit.fault, unit.served, unit.active) == (None, None, "active")


def test_the_probe_of_a_worker_checks_its_connection(host: Host, service: Service) -> None:
    install(host, chat(service, url=None, kind="worker", health=None, models=[], store="192.0.2.1:29500"))
    [unit] = read(host, METRIC).units or ()
    assert (unit.asked, unit.fault) == (True, "no connection to the leader's store at 192.0.2.1:29500")
    assert (unit.served, unit.readings) == (None, None)
    assert service.asked == []


def test_a_unit_that_promises_nothing_is_not_asked(host: Host, service: Service) -> None:
    install(host, chat(service, health=None, models=[], kind="service"))
    [unit] = read(host).units or ()
    assert (unit.asked, unit.fault, unit.active) == (False, None, "active")


def test_a_timer_is_a_unit_with_a_suffix(host: Host) -> None:
    """Asked as a service, it would be missing."""
    host.answers["systemctl"] = SHOWN.replace("sparkiac-chat.service", "sparkiac-fleet.timer")
    install(host, generation({}, timer="every 15 min"))
    [unit] = read(host).units or ()
    assert (unit.name, unit.loaded, unit.active) == ("sparkiac-fleet.timer", "loaded", "active")
    asked = [word for argv in host.ran if "systemctl" in argv for word in argv if word.startswith("sparkiac-")]
    assert set(asked) == {"sparkiac-fleet.timer"}


def test_drift_is_counted_and_shows_no_content(host: Host, service: Service) -> None:
    install(host, chat(service))
    host.write("etc/sparkiac/chat/compose.yaml", "a-secret-text")
    host.path("etc/systemd/system/sparkiac-chat.service").unlink()
    text = json.dumps(STATUS.status(host, []))
    drift = facts.HostFacts.of_output(text).drift
    assert drift is not None
    assert [(each.path, each.kind) for each in drift.files] == [
        ("etc/sparkiac/chat/compose.yaml", "edited"),
        ("etc/systemd/system/sparkiac-chat.service", "missing"),
    ]
    assert "a-secret-text" not in text


def test_it_prints_one_line(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    assert STATUS.main(["--root", str(host.root), "vllm:a"]) == 0
    out, err = capsys.readouterr()
    assert (out.count("\n"), err) == (1, "")
    facts.HostFacts.of_output(out)


@pytest.mark.parametrize(
    ("page", "values"),
    [
        ("m 1", {"m": [1.0]}),
        ('m{a="}"} 1.5\nm{a="b c 9"} 2e3\nn 7\nmm 4\n', {"m": [1.5, 2000.0], "n": [7.0]}),
        ("m 3 1763800000000\n", {"m": [3.0]}),
        ("m NaN\nn +Inf\nm -1\nn 1e\nm 1e999\n", {}),
        ("# m 1\n m 2\n", {}),
        ("", {}),
    ],
)
def test_metrics_are_read_by_name(page: str, values: dict[str, list[float]]) -> None:
    found = series.values(page)
    assert {name: found[name] for name in ("m", "n") if name in found} == values


@pytest.mark.parametrize(
    ("messages", "cause", "ago_s"),
    [
        ([(STARTING, 90), (STARTED, 60)], "first start", 90),
        ([(STARTING, 90), (STARTED, 60), (STARTING, 30)], "requested", 30),
        ([(STARTING, 90), (STARTED, 60), (FAILED, 32, "exit-code"), (STARTING, 30), (STARTED, 10)], "crash", 30),
        ([(STARTING, 90), (STARTED, 60), (FAILED, 32, "signal"), (STARTING, 30)], "crash", 30),
        ([(STARTING, 90), (STARTED, 60), (FAILED, 32, "watchdog"), (STARTING, 30)], "watchdog", 30),
        ([(STARTING, 90), (STARTED, 60), (FAILED, 32, "oom-kill"), (STARTING, 30)], "out of memory", 30),
        ([(STARTING, 90), (FAILED, 32, "timeout"), (STARTING, 30)], "start timeout", 30),
        ([(STARTING, 90), (STARTED, 60), (FAILED, 32, "timeout"), (STARTING, 30)], "stop timeout", 30),
        ([(STARTING, 90), (STARTED, 60), (FAILED, 32, "exit-code")], "crash", 32),
        ([(STARTING, 90), (FAILED, 70, "watchdog"), (STARTING, 60), (STARTED, 50), (STARTING, 30)], "requested", 30),
    ],
)
def test_the_cause_of_the_last_start(host: Host, messages: list[tuple[Any, ...]], cause: str, ago_s: int) -> None:
    lines = [message(*each) for each in messages] + [message(STARTING, 1, unit="sparkiac-other")]
    host.answers["journalctl"] = "".join(lines) + "not JSON\n{}\n"
    found = restarts(host)["sparkiac-chat"]
    assert (found["cause"], found["detail"]) == (cause, None)
    assert ago_s <= found["ago_s"] < ago_s + 60


def test_a_recorded_journal(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a unit that was started, stopped and started, and whose container was then killed."""
    lines = (Path(__file__).parent / "data/journal-killed.jsonl").read_text().splitlines(keepends=True)
    stamps = [int(json.loads(line)["__REALTIME_TIMESTAMP"]) / 1_000_000 for line in lines]
    monkeypatch.setattr(time, "time", lambda: stamps[-1] + 10)
    found = []
    for count in range(1, len(lines) + 1):
        host.answers["journalctl"] = "".join(lines[:count]).replace("qwen36", "chat")
        found.append(restarts(host)["sparkiac-chat"]["cause"])
    assert found == ["first start", "first start", "requested", "requested", "crash", "crash", "crash"]
    assert restarts(host)["sparkiac-chat"]["ago_s"] == int(stamps[-1] + 10 - stamps[-2])


def test_the_detail_is_the_last_line_of_supervise_before_the_failure(host: Host) -> None:
    lines = [message(STARTING, 90), message(STARTED, 60), message(FAILED, 32, "watchdog"), message(STARTING, 30)]
    log = "supervise: starting\nINFO x\nsupervise: stopping, last state: unhealthy /health: HTTP 503\nsupervised\n"
    host.answers = {"--output=cat": log, "journalctl": "".join(lines)}
    found = restarts(host)["sparkiac-chat"]
    assert found["detail"] == "unhealthy /health: HTTP 503"
    since = next(word for word in host.ran[1] if word.startswith("--since=@"))
    assert 85 <= time.time() - int(since.partition("@")[2]) < 150


def test_a_kill_in_user_space_is_no_crash(host: Host) -> None:
    lines = [message(STARTING, 90), message(STARTED, 60), message(FAILED, 32, "exit-code"), message(STARTING, 30)]
    said = 'sending SIGTERM to process 4711 uid 0 "VLLM::EngineCor": badness 981, VmRSS 91234 MiB'
    entry = {"__REALTIME_TIMESTAMP": "1", "MESSAGE": said, "_SYSTEMD_UNIT": "earlyoom.service"}
    host.answers = {"--unit=earlyoom.service": json.dumps(entry), "--output=cat": "", "journalctl": "".join(lines)}
    found = restarts(host)["sparkiac-chat"]
    assert (found["cause"], found["detail"]) == ("ended for memory", f"earlyoom: {said}")


@pytest.mark.parametrize(
    ("checks", "fault"),
    [
        ([(20, 0), (5, 0)], None),
        ([(200, 0), (100, 1), (5, 1)], None),
        ([(500, 0), (400, 1), (310, 1)], "its health check last passed "),
        ([(40, 1), (5, 1)], "none of its last health checks passed"),
        ([], None),
    ],
)
def test_a_state_that_no_health_check_has_renewed(
    host: Host, service: Service, checks: list[tuple[int, int]], fault: str | None
) -> None:
    """It is that of the last answer of the prober; a server whose answers hang is not ready."""
    install(host, chat(service))
    host.answers["docker"] = "".join(f"{int(time.time()) - ago} {code}\n" for ago, code in checks)
    [found] = read(host).units or ()
    assert (found.fault or "").startswith(fault or "")
    assert (found.fault is None) == (fault is None)


@pytest.mark.parametrize(("ago_s", "kinds"), [(10, ["deadlocked"]), (4000, [])])
def test_what_the_watch_found_lately(host: Host, ago_s: int, kinds: list[str]) -> None:
    one = {"kind": "deadlocked", "unit": "sparkiac-chat", "text": "4 requests", "remedy": "restarted"}
    host.write(SICK, json.dumps({"at_s": time.time() - ago_s, "sick": [one]}))
    assert [each.kind for each in read(host).sick] == kinds


def test_a_check_that_failed_before_the_start_is_the_cause(host: Host) -> None:
    """As after Docker's data-root was emptied: the container of the last start did not crash."""
    lines = [message(STARTING, 90), message(FAILED, 89, "exit-code"), message(STARTING, 30)]
    log = (
        "supervise: healthy\nok       MEM002  page cache: found dropped, wanted dropped\n"
        "FAIL             image: found missing, wanted ghcr.io/example/vllm:1; hint: apply\n"
        f"{' ' * 17}again: it brings the image\n"
    )
    host.answers = {"--output=cat": log, "journalctl": "".join(lines)}
    found = restarts(host)["sparkiac-chat"]
    assert found["cause"] == "not started"
    assert found["detail"] == (
        "image: found missing, wanted ghcr.io/example/vllm:1; hint: apply again: it brings the image"
    )


def test_a_unit_that_never_started_and_a_journal_that_is_missing(host: Host) -> None:
    host.answers["journalctl"] = message(STARTING, 1, unit="sparkiac-other")
    assert restarts(host) == {}
    assert journal.restarts(host, []) == {}
    host.answers["journalctl"] = FileNotFoundError(2, "No such file")
    assert restarts(host) is None
    host.answers["journalctl"] = Result(0, "", "Hint: You are currently not seeing messages from other users.")
    assert restarts(host) is None


def restarts(host: Host) -> Any:  # noqa: ANN401
    return journal.restarts(host, ["sparkiac-chat"])


def alert(age_s: int, text: object, unit: str = "sparkiac-chat") -> str:
    """Return a line that `supervise` logged, as `journalctl --output=json` prints it."""
    stamp = str(int((time.time() - age_s) * 1_000_000))
    found = {"__REALTIME_TIMESTAMP": stamp, "_SYSTEMD_UNIT": f"{unit}.service", "MESSAGE": text}
    return json.dumps(found) + "\n"


def test_the_last_wrong_answer(host: Host) -> None:
    fault = "supervise: healthy sparkiac-alert: wrong answer: '12' instead of 371"
    lines = [
        alert(30, "supervise: healthy"),
        alert(20, fault),
        alert(90, fault.replace("12", "9")),
        alert(10, "INFO supervise: healthy sparkiac-alert: of a user"),
        alert(5, [1, 2]),
        alert(70, fault, unit="sparkiac-other"),
        "garbage\n",
    ]
    host.answers["journalctl"] = Result(1, "".join(lines), "")
    found = journal.wrong(host, ["sparkiac-chat", "sparkiac-other"])
    assert {unit: each["fault"] for unit, each in found.items()} == {
        "sparkiac-chat": "wrong answer: '12' instead of 371",
        "sparkiac-other": "wrong answer: '12' instead of 371",
    }
    assert 20 <= found["sparkiac-chat"]["ago_s"] < 80
    assert journal.wrong(host, []) == {}
    host.answers["journalctl"] = FileNotFoundError(2, "No such file")
    assert journal.wrong(host, ["sparkiac-chat"]) == {}


def test_a_unit_of_another_turn_is_not_asked(host: Host, service: Service) -> None:
    made = generation({"chat": "ok", "night": "ok"}, turns={"day": ["chat"], "late": ["night"]})
    install(host, made)
    state = switch_state
    state.write(host, state.State(current=made.name, committed=made.name, turn="late"))
    found = read(host)
    assert found.generation is not None
    assert found.generation.turn == "late"
    units = {unit.name: unit for unit in found.units or ()}
    assert (units["sparkiac-chat"].resting, units["sparkiac-chat"].turns) == (True, ("day",))
    assert not units["sparkiac-night"].resting
    assert service.asked == []
