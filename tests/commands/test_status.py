"""`sparkiac status` with a stand-in for ssh: what it shows of each kind of host, and how it ends."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac.fleet import query
from tests.fleet import hosts
from tests.fleet.hosts import GENERATION, Fleet, host, unit
from tests.plan.fleets import LOCK, PAIR, deployment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

HOSTS: Final = "spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}"
SCREEN: Final = 25
"""Lines."""
FIRST, SECOND = "192.168.1.11", "192.168.1.12"


@pytest.fixture
def fleet(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Run the test in a folder with an inventory of two hosts that are healthy and as generated."""
    (folder / "lab.yaml").write_text(deployment(host=HOSTS))
    (folder / "lab.lock.yaml").write_text(LOCK)
    hosts.generate(folder, spark_01=GENERATION, spark_02=GENERATION)
    made = Fleet(tmp_path_factory.mktemp("hosts"), monkeypatch)
    made.answers(FIRST, host(unit("chat")))
    made.answers(SECOND, host())
    monkeypatch.setenv("COLUMNS", "120")
    return made


def problems(outcome: Outcome) -> list[str]:
    """Return the problems in the JSON output, with their kinds."""
    found = json.loads(outcome.out)["hosts"]
    return [f"{each['name']} {problem['kind']}: {problem['text']}" for each in found for problem in each["problems"]]


def as_json(cli: Cli, *words: str) -> tuple[int, list[str]]:
    """Return exit code and problems."""
    outcome = cli("status", "lab.yaml", "--format", "json", *words)
    return outcome.code, problems(outcome)


def test_a_healthy_fleet(fleet: Fleet, cli: Cli) -> None:
    outcome = cli("status", "lab.yaml")
    assert outcome.code == 0, outcome.text
    assert outcome.err == "Asking 2 hosts …\n"
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert lines[0] == "host driver firmware available page cache clock generation"
    assert lines[2] == "spark-01 580.142 5.36_0ACUM018 61.0 of 119.0 GiB 30.0 GiB 0 s 01234567"
    assert lines[5] == "host unit state KV run wait tokens/s last restart serves"
    assert lines[7] == "spark-01 chat ready 12% 2 0 41.3 2 d ago, first start example/model"
    assert lines[-1] == "2 hosts, 1 unit: all healthy and as generated"
    assert fleet.asked() == [f"22 {FIRST}", f"22 {SECOND}"]


@pytest.mark.parametrize("columns", [80, 120])
def test_lines_fit_the_width(fleet: Fleet, cli: Cli, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    fleet.answers(FIRST, host(unit("chat", served=["RedHatAI/Qwen3.6-35B-A3B-NVFP4"]), unit("other", active="failed")))
    monkeypatch.setenv("COLUMNS", str(columns))
    outcome = cli("status", "lab.yaml")
    assert outcome.code == 1
    assert max(map(len, outcome.out.splitlines())) <= columns
    assert "\x1b" not in outcome.out
    assert all(line == line.rstrip() for line in outcome.out.splitlines())


def test_data(fleet: Fleet, cli: Cli) -> None:
    outcome = cli("status", "lab.yaml", "--format", "json", "spark-01")
    found: dict[str, Any] = json.loads(outcome.out)
    assert (outcome.code, outcome.err) == (0, "")
    assert (found["name"], found["output"], found["healthy"], found["as_generated"]) == (
        "lab", "generated/lab", True, True,
    )  # fmt: skip
    [first] = found["hosts"]
    assert (first["name"], first["reachable"], first["generated"], first["problems"]) == (
        "spark-01", True, GENERATION, [],
    )  # fmt: skip
    assert first["machine"]["memory"]["total_bytes"] == 119 << 30
    [chat] = first["units"]
    assert (chat["name"], chat["state"], chat["ready"], chat["served"]) == ("chat", "ready", True, ["example/model"])
    assert chat["load"] == {"kv_use": 0.12, "running": 2, "waiting": 0, "tokens_per_s": 41.3}
    assert chat["restart"] == {"ago_s": 180_000, "cause": "first start", "detail": None}
    assert fleet.asked() == [f"22 {FIRST}"]


def test_user_and_port_are_those_of_the_inventory(fleet: Fleet, cli: Cli, folder: Path) -> None:
    named = HOSTS.replace(f"address: {FIRST}", f"address: {FIRST}, ssh: {{port: 2222}}")
    defaults = "{model_store: /srv/models, user: milo}"
    (folder / "lab.yaml").write_text(deployment(host=named, defaults=defaults))
    assert cli("status", "lab.yaml").code == 0
    assert fleet.asked() == [f"22 milo@{SECOND}", f"2222 milo@{FIRST}"]


CRASH: Final = {"ago_s": 12, "cause": "crash", "detail": "the container exited, status 1, out of memory: false"}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"active": "failed", "restart": CRASH},
            "failed: crash (the container exited, status 1, out of memory: false)",
        ),
        ({"active": "failed", "restart": CRASH, "gave_up": "5 starts …"}, "gave up: 5 starts …"),
        ({"active": "activating", "sub": "auto-restart", "restart": CRASH | {"detail": None}}, "restarting: crash"),
        ({"active": "activating", "sub": "start", "health": "starting x", "fault": "y"}, "starting: x"),
        (
            {"active": "activating", "sub": "start", "health": "unhealthy wrong answer: '!!!!'", "closed": True},
            "starting: wrong answer: '!!!!'; not ready: port closed",
        ),
        ({"active": "inactive", "sub": "dead", "health": None}, "stopped"),
        ({"active": "deactivating"}, "stopping"),
        ({"fault": "/health: HTTP 503"}, "unhealthy: /health: HTTP 503"),
        ({"health": "unhealthy no answer within 60 s"}, "unhealthy: no answer within 60 s"),
        (
            {"health": "healthy sparkiac-alert: wrong answer: '12' instead of 371"},
            "unhealthy: wrong answer: '12' instead of 371",
        ),
        (
            {"health": "healthy sparkiac-alert: null answer, 2 times in a row", "closed": True},
            "unhealthy: null answer, 2 times in a row; port closed",
        ),
        ({"asked": False, "health": "unhealthy x", "group": True}, "unhealthy: x"),
        ({"drained": True}, "drained: it takes no new connections"),
        ({"drained": True, "fault": "/health: HTTP 503"}, "unhealthy: /health: HTTP 503"),
    ],
)
def test_exit_1_for_a_unit_that_is_not_ready(fleet: Fleet, cli: Cli, values: dict[str, Any], said: str) -> None:
    fleet.answers(FIRST, host(unit("chat", **values)))
    assert as_json(cli) == (1, [f"spark-01 unhealthy: {said}"])


def test_a_unit_that_gave_up_is_shown_with_the_command_that_starts_it(fleet: Fleet, cli: Cli) -> None:
    """A record that a later stop left behind is not shown."""
    reason = "6.2 GiB of memory did not come back in 5 minutes"
    fleet.answers(FIRST, host(unit("chat", active="failed", gave_up=reason)))
    said = " ".join(cli("status", "lab.yaml").out.split())
    assert f"chat: gave up: {reason} journalctl --unit=sparkiac-chat on the host; to start it again:" in said
    assert "sudo systemctl start sparkiac-chat" in said
    fleet.answers(FIRST, host(unit("chat", active="inactive", health=None, gave_up=reason)))
    assert as_json(cli) == (1, ["spark-01 unhealthy: stopped"])


def test_exit_1_for_a_unit_that_the_host_does_not_have(fleet: Fleet, cli: Cli) -> None:
    for units in ([], [unit("chat", loaded="not-found", active="inactive")]):
        fleet.answers(FIRST, host(*units))
        assert as_json(cli) == (1, ["spark-01 unhealthy: the host does not have this unit"])


def test_a_rank_without_a_server_runs(fleet: Fleet, cli: Cli) -> None:
    fleet.answers(FIRST, host(unit("chat", asked=False, group=True, served=None, readings=None)))
    outcome = cli("status", "lab.yaml")
    assert outcome.code == 0
    assert re.search(r"chat +running +- +- +- +- +2 d ago, first start$", outcome.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"drift": {"files": [{"path": "etc/a", "kind": "edited"}], "sysctls": [], "units": []}},
            "1 file changed by hand: /etc/a (edited)",
        ),
        (
            {"drift": {"files": [{"path": f"etc/{n}", "kind": "missing"} for n in range(5)], "sysctls": ["vm.x"]}},
            "5 files changed by hand: /etc/0 (missing), /etc/1 (missing), /etc/2 (missing) and 2 more",
        ),
        ({"drift": {"units": ["sparkiac-chat"]}}, "it runs from other files than those installed"),
        (
            {"generation": {"current": "fedcba9876543210", "committed": "fedcba9876543210", "pending": None}},
            "another generation runs than is generated",
        ),
        (
            {"generation": {"current": GENERATION, "committed": GENERATION,
                            "pending": {"generation": "fedcba9876543210", "phase": "trying"}}},
            "a switch to generation fedcba98 has not ended (trying)",
        ),
        ({"generation": {"current": None, "committed": None, "pending": None}}, "no generation is installed"),
    ],
)  # fmt: skip
def test_exit_3_for_drift_and_another_generation(fleet: Fleet, cli: Cli, values: dict[str, Any], said: str) -> None:
    fleet.answers(FIRST, host(unit("chat"), **values))
    code, found = as_json(cli)
    assert (code, found[0]) == (3, f"spark-01 drift: {said}")
    assert cli("status", "lab.yaml").out.endswith("2 hosts, 1 unit: 1 host not as generated\n")


LINK: Final = "enp1s0f1np1"
"""Interface of the hosts of PAIR."""
UNPINNABLE: Final = (
    "at least 9.3 GiB of memory that cannot be pinned "
    "(CmaFree 9.3 GiB, CmaTotal 0.0 GiB, kernel 7.0.0-1019-nvidia without kho=)"
)


def test_exit_0_with_a_warning_for_memory_that_cannot_be_pinned(fleet: Fleet, cli: Cli) -> None:
    facts = host(unit("chat"))
    facts["machine"] |= {"kernel": "7.0.0-1019-nvidia", "unpinnable": UNPINNABLE}
    fleet.answers(FIRST, facts)
    assert as_json(cli) == (0, [f"spark-01 warning: {UNPINNABLE}"])
    outcome = cli("status", "lab.yaml")
    said = " ".join(outcome.out.split())
    assert "LOG149: Kexec handover (KHO) reserves memory" in said
    assert "If /sys/kernel/kexec_crash_size is 0, add kho=off to the kernel command line" in said
    assert said.endswith("all healthy and as generated")
    found = json.loads(cli("status", "lab.yaml", "--format", "json").out)
    assert (found["healthy"], found["as_generated"]) == (True, True)
    assert found["hosts"][0]["machine"]["kernel"] == "7.0.0-1019-nvidia"


def test_exit_1_for_memory_that_a_group_cannot_register(fleet: Fleet, cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(PAIR.replace("name: pair", "name: lab"))
    facts = host(unit("big", group=True))
    facts["machine"] |= {"unpinnable": UNPINNABLE}
    fleet.answers(FIRST, facts)
    fleet.answers(SECOND, host(unit("big", group=True)))
    assert as_json(cli) == (1, [f"spark-01 unhealthy: {UNPINNABLE}"])
    assert "big cannot register memory for RDMA." in " ".join(cli("status", "lab.yaml").out.split())


def test_exit_1_for_a_cut_cable_while_the_group_still_answers(fleet: Fleet, cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(PAIR.replace("name: pair", "name: lab"))
    facts = host(unit("big", group=True))
    facts["machine"] |= {"links": {LINK: "down", "eth0": "down"}}
    fleet.answers(FIRST, facts)
    fleet.answers(SECOND, host(unit("big", group=True)))
    assert as_json(cli) == (1, [f"spark-01 unhealthy: the link {LINK} of its groups is down"])


def test_a_sick_machine_and_a_deadlocked_unit(fleet: Fleet, cli: Cli) -> None:
    """A suspicion is a warning; a unit whose completions hang is not ready, whatever its health answers."""
    low = {"kind": "low power", "unit": None, "text": "17 W at most", "remedy": "drain the host"}
    dead = {"kind": "deadlocked", "unit": "sparkiac-chat", "text": "4 requests run without a step", "remedy": "x"}
    fleet.answers(FIRST, host(unit("chat"), sick=[low]))
    assert as_json(cli) == (0, ["spark-01 warning: low power: 17 W at most"])
    fleet.answers(FIRST, host(unit("chat"), sick=[{**low, "kind": "heat"}, dead]))
    assert as_json(cli) == (
        1,
        [
            "spark-01 unhealthy: heat: 17 W at most",
            "spark-01 unhealthy: unhealthy: deadlocked: 4 requests run without a step",
        ],
    )


def test_exit_1_counts_more_than_3(fleet: Fleet, cli: Cli) -> None:
    fleet.answers(FIRST, host(unit("chat", fault="x"), drift={"sysctls": ["vm.swappiness"]}))
    assert as_json(cli) == (
        1,
        ["spark-01 drift: 1 setting changed by hand: vm.swappiness", "spark-01 unhealthy: unhealthy: x"],
    )


@pytest.mark.parametrize(
    ("errors", "code", "said"),
    [
        (
            "ssh: connect to host 192.168.1.12 port 22: No route to host\n", 255,
            "unreachable: ssh: connect to host 192.168.1.12 port 22: No route to host",
        ),
        (
            "milo@spark: Permission denied (publickey,password).\n", 255,
            "unreachable: ssh is refused without a password: milo@spark: Permission denied (publickey,password).",
        ),
        (
            "@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n@@@@@\nHost key verification failed.\n",
            255, "unreachable: its host key has changed",
        ),
        ("No ED25519 host key is known\nHost key verification failed.\n", 255, "unreachable: its host key is unknown"),
        ("", 255, "unreachable: no message of ssh"),
        ("", 90, "sparkiac was never applied to this host"),
        ("", 91, "an older version of sparkiac was applied to this host"),
        (
            "Traceback (most recent call last):\nKeyError: 'x'\x1b[2J\n", 1,
            "the status program ended with exit status 1: KeyError: 'x'\\x1b[2J",
        ),
        ("sh: python3: not found\n", 127, "the status program ended with exit status 127: sh: python3: not found"),
    ],
)  # fmt: skip
def test_exit_1_for_a_host_that_cannot_be_read(fleet: Fleet, cli: Cli, errors: str, code: int, said: str) -> None:
    """The other host is shown all the same."""
    fleet.fails(SECOND, errors, code=code)
    assert as_json(cli) == (1, [f"spark-02 unhealthy: {said}"])
    shown = cli("status", "lab.yaml")
    assert "spark-01  chat  ready" in shown.out
    assert "\x1b" not in shown.text


def test_each_failure_says_what_to_do(fleet: Fleet, cli: Cli) -> None:
    fleet.fails(SECOND, "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\nHost key verification failed.\n")
    out = cli("status", "lab.yaml").out
    assert f"run ssh-keygen -R {SECOND} and connect once by hand: ssh {SECOND}" in " ".join(out.split())
    fleet.fails(SECOND, "Permission denied (publickey).\n")
    assert f"ssh-copy-id {SECOND}" in cli("status", "lab.yaml").out


def test_a_host_that_is_slow_has_a_deadline(fleet: Fleet, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.runs(SECOND, "exec sleep 600")
    monkeypatch.setattr(query, "DEADLINE_S", 5)
    assert as_json(cli) == (1, ["spark-02 unhealthy: unreachable: ssh did not end within 5 s"])


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("", "status program: no output"),
        ("Welcome!\n\x1b]0;pwn\x07\n", "status program: unexpected output, at the line: '\\\\x1b]0;pwn\\\\x07'"),
        ("[]\n", "status program: unexpected output, at the line: '[]'"),
        ('{"units": 1}\n', "status program: unexpected output, at clock: "),
        ("\xff\xfe{", "status program: unexpected output, at the line: "),
    ],
)
def test_garbage_instead_of_facts(fleet: Fleet, cli: Cli, output: str, said: str) -> None:
    (fleet.folder / SECOND).write_bytes(output.encode("latin-1"))
    code, [found] = as_json(cli)
    assert (code, found.startswith(f"spark-02 unhealthy: {said}")) == (1, True), found


def test_a_greeting_before_the_facts_is_ignored(fleet: Fleet, cli: Cli) -> None:
    fleet.answers(FIRST, "Welcome to DGX OS\n" + json.dumps(host(unit("chat"))))
    assert cli("status", "lab.yaml").code == 0


def test_control_characters_of_a_host_are_shown_as_escapes(fleet: Fleet, cli: Cli) -> None:
    evil = "\x1b]0;pwn\x07\u202e\nx" + "y" * 5000
    facts = host(unit("chat", served=[evil], fault=evil), unit(evil, active=evil), unread={evil: evil})
    facts["machine"] |= {"driver": evil, "firmware": evil, "driver_fault": evil}
    facts["generation"] |= {"current": evil, "committed": evil}
    facts["drift"] = {"files": [{"path": evil, "kind": evil}], "sysctls": [evil], "units": [evil]}
    fleet.answers(FIRST, facts)
    outcome = cli("status", "lab.yaml")
    assert outcome.code == 1
    assert not {"\x1b", "\x07", "\u202e"} & set(outcome.text)
    assert len(outcome.out) < 40_000


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (
            {"driver_fault": "Driver/library version mismatch"},
            "unhealthy: nvidia-smi fails: Driver/library version mismatch",
        ),
        ({"driver": None}, "unhealthy: no NVIDIA driver is loaded"),
        ({"driver": "590.44"}, "drift: driver 590.44 is loaded, the inventory has 580"),
        ({"driver": "5801.1"}, "drift: driver 5801.1 is loaded, the inventory has 580"),
        ({}, None),
    ],
)
def test_the_driver(fleet: Fleet, cli: Cli, folder: Path, machine: dict[str, Any], said: str | None) -> None:
    named = HOSTS.replace(f"address: {FIRST}", f'address: {FIRST}, driver: "580"')
    (folder / "lab.yaml").write_text(deployment(host=named))
    facts = host(unit("chat"))
    facts["machine"] |= machine
    fleet.answers(FIRST, facts)
    assert as_json(cli)[1] == ([f"spark-01 {said}"] if said else [])


@pytest.mark.parametrize(("offset_s", "said"), [(3600, "ahead of"), (-3600, "behind")])
def test_a_clock_that_differs(fleet: Fleet, cli: Cli, offset_s: int, said: str) -> None:
    at_s = time.time() + offset_s
    fleet.answers(FIRST, host(unit("chat"), clock={"begin_s": at_s, "end_s": at_s}))
    code, [found] = as_json(cli)
    assert code == 1
    assert re.fullmatch(rf"spark-01 unhealthy: its clock is 3[56]\d\d s {said} the clock of this machine", found)


def test_a_former_wrong_answer_is_a_note(fleet: Fleet, cli: Cli) -> None:
    fleet.answers(FIRST, host(unit("chat", wrong={"ago_s": 7200, "fault": "null answer"})))
    outcome = cli("status", "lab.yaml")
    assert outcome.code == 0
    assert "  spark-01  chat: last wrong answer 2 h 0 min ago: null answer\n" in outcome.out


def test_what_could_not_be_read_is_named_and_is_not_a_problem(fleet: Fleet, cli: Cli) -> None:
    unread = {"generation": "Permission denied", "drift": "Permission denied"}
    fleet.answers(FIRST, host(unit("chat"), generation=None, drift=None, root=False, unread=unread))
    outcome = cli("status", "lab.yaml")
    assert outcome.code == 0
    said = "spark-01 not read: drift (Permission denied); generation (Permission denied)"
    assert said in " ".join(outcome.out.split())


def test_a_program_of_another_version_is_read_as_far_as_possible(fleet: Fleet, cli: Cli) -> None:
    facts = host({"name": "sparkiac-chat", "active": "active", "asked": True, "color": "red"}, future=[1])
    fleet.answers(FIRST, {key: value for key, value in facts.items() if key != "drift"})
    assert as_json(cli) == (0, [])


def test_without_a_generated_directory_generations_are_not_compared(fleet: Fleet, cli: Cli) -> None:
    assert fleet.folder
    outcome = cli("status", "lab.yaml", "--output", "elsewhere")
    assert outcome.code == 0
    assert "elsewhere has no generation of spark-01, spark-02: run sparkiac generate" in outcome.err


def test_100_hosts(fleet: Fleet, cli: Cli, folder: Path) -> None:
    """All at once but one, which is off."""
    names = {f"spark-{number:03}": f"10.0.0.{number}" for number in range(1, 101)}
    listed = ", ".join(f"{name}: {{address: {address}}}" for name, address in names.items())
    (folder / "lab.yaml").write_text(deployment(host=listed).replace("hosts: spark-01", "hosts: spark-001"))
    hosts.generate(folder, **{name.replace("-", "_"): GENERATION for name in names})
    for address in names.values():
        fleet.answers(address, host(*([unit("chat")] if address == "10.0.0.1" else [])))
    fleet.fails("10.0.0.77", "ssh: connect to host 10.0.0.77 port 22: Connection timed out")
    outcome = cli("status", "lab.yaml")
    assert outcome.code == 1
    assert outcome.out.endswith("100 hosts, 1 unit: 1 unreachable\n")
    assert len(fleet.asked()) == 100
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert lines[:4] == [
        "spark-001",
        "driver 580.142",
        "chat ready",
        "spark-002 to spark-076, spark-078 to spark-100 (98 hosts)",
    ]
    assert lines[5] == "sparkiac status INVENTORY HOST shows the load and the memory of a host"
    assert any(line.startswith("spark-077 unreachable: ") for line in lines)


def test_forty_alike_hosts_fit_on_a_screen(fleet: Fleet, cli: Cli, folder: Path) -> None:
    """The names of their units differ in numbers only, and their problems are one text."""
    numbers = range(1, 41)
    listed = ", ".join(f"spark-{at:02}: {{address: 10.0.0.{at}}}" for at in numbers)
    first = deployment(host=listed)
    chat = first[first.index("  chat:") :]
    others = "".join(chat.replace("chat:", f"chat-{at:02}:").replace("spark-01", f"spark-{at:02}") for at in numbers)
    (folder / "lab.yaml").write_text(first.replace(chat, others))
    hosts.generate(folder, **{f"spark_{at:02}": f"{at:02}{'ab' * (at % 3 + 1)}" for at in numbers})
    for at in numbers:
        fleet.answers(f"10.0.0.{at}", host(unit(f"chat-{at:02}", active="failed")))
    outcome = cli("status", "lab.yaml")
    assert outcome.code == 1
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert lines[:3] == [
        "spark-01 to spark-40 (40 hosts)",
        "driver 580.142",
        "chat-01…chat-40 failed",
    ]
    said = [line for line in lines if "spark-01 to spark-40 (40 hosts)" in line]
    assert sum("another generation runs than is generated" in line for line in said) == 1
    assert len(lines) <= SCREEN
    assert len(json.loads(cli("status", "lab.yaml", "--format", "json").out)["hosts"]) == len(numbers)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--watch"], "--watch needs a terminal"),
        (["--watch", "--format", "json"], "--watch shows a live view"),
        (["spark-2"], "unknown host 'spark-2'; did you mean 'spark-02'?"),
        (["--format", "xml"], "'xml' is not one of"),
    ],
)
def test_exit_2_for_wrong_options(fleet: Fleet, cli: Cli, words: list[str], said: str) -> None:
    outcome = cli("status", "lab.yaml", *words)
    assert outcome.code == 2
    assert said in outcome.text
    assert not (fleet.folder / "asked").exists()


def test_exit_2_for_an_inventory_that_is_not_valid(fleet: Fleet, cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text("name: lab\nhosts: {spark-01: {adress: 192.168.1.11}}\n")
    outcome = cli("status", "lab.yaml")
    assert outcome.code == 2
    assert "lab.yaml:2:20: error" in outcome.err
    assert not (fleet.folder / "asked").exists()


def test_a_unit_of_another_turn_rests_and_is_healthy(fleet: Fleet, cli: Cli) -> None:
    resting = {"active": "inactive", "sub": "dead", "enabled": "disabled", "asked": False, "resting": True}
    generation = {"current": GENERATION, "committed": GENERATION, "turn": "night", "pending": None}
    fleet.answers(FIRST, host(unit("chat", turns=["day"], readings=None, **resting), generation=generation))
    outcome = cli("status", "lab.yaml")
    assert outcome.code == 0, outcome.text
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert lines[2].endswith("01234567, night")
    assert lines[7].startswith("spark-01 chat resting")


def test_a_unit_of_another_turn_that_runs_is_drift(fleet: Fleet, cli: Cli) -> None:
    drift = {"files": [], "sysctls": [], "units": ["sparkiac-chat"]}
    fleet.answers(FIRST, host(unit("chat", turns=["day"], resting=True), drift=drift))
    assert as_json(cli) == (3, ["spark-01 drift: it runs, but is not in the current turn"])
