"""Parts of `sparkiac apply`: options for Ansible, what hosts answer, and the result of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click
import pytest

from sparkiac.commands.apply import options
from sparkiac.commands.apply.results import Results
from sparkiac.commands.inputs import Exit
from sparkiac.commands.live import ApplyProgress
from sparkiac.fleet import looks
from sparkiac.upstream.programs import ProgramError
from sparkiac.words import apply as words
from sparkiac.words.page import duration
from tests.commands.fleet import RESTART, SAME
from tests.plan.fleets import PAIR, planned

if TYPE_CHECKING:
    from pathlib import Path

GENERATIONS: Final = {"spark-01": "a" * 16, "spark-02": "b" * 16}


def event(kind: str, host: str, role: str | None = None, **data: object) -> dict[str, Any]:
    return {"event": kind, "host": host, "role": role, "task": "Do it", **data}


def look(**answers: dict[str, Any]) -> looks.FleetLook:
    given = {host.replace("_", "-"): json.dumps(answer) for host, answer in answers.items()}
    return looks.of_fleet(planned(PAIR), GENERATIONS, given)


@pytest.mark.parametrize(
    ("words", "for_look"),
    [
        (["--limit", "a", "-K", "-e", "@s.yml", "-v"], ["--limit", "a", "-K", "-e", "@s.yml", "-v"]),
        (["--check", "--diff", "--tags", "stage", "-l", "a"], ["-l", "a"]),
        (["--tag=stage", "--skip-t", "x", "--start", "Do it", "-tx", "-t", "y", "--limit=a"], ["--limit=a"]),
        (["-CDK", "-vvl", "a", "-la"], ["-K", "-v", "-v", "-l", "a", "-la"]),
        (["-e", "--tags", "--private-key", "-C"], ["-e", "--tags", "--private-key", "-C"]),
        (["--vault-id", "x@prompt", "--force-handlers", "--new"], ["--vault-id", "x@prompt", "--new"]),
    ],
)
def test_the_look_gets_what_does_not_select_tasks(words: list[str], for_look: list[str]) -> None:
    found = options.parse(words)
    assert (list(found.words), list(found.for_look)) == (words, for_look)


@pytest.mark.parametrize(
    "word", ["--step", "--list-hosts", "--syntax", "-h", "--version", "-vh", "site.yml", "-", "--"]
)
def test_options_that_apply_nothing_are_refused(word: str) -> None:
    with pytest.raises(click.UsageError):
        options.parse([word])


@pytest.mark.parametrize(
    ("argument", "hidden"),
    [
        ("key=hunter2", {"key=hunter2", "hunter2"}),
        ("key='a secret' other=yes", {"key='a secret' other=yes", "a secret"}),
        ('{"keys": {"a": "hunter2"}, "n": [12345, true]}', {"hunter2", "12345", "True"}),
        ("@secrets.yml", set()),
        ("key='open", {"key='open", "'open"}),
    ],
)
def test_values_of_variables_are_hidden(argument: str, hidden: set[str]) -> None:
    found = options.parse(["-e", argument]).hidden
    assert hidden <= set(found)
    assert argument.startswith("@") == (not found)
    results = Results(found)
    results.on_event(event("failed", "a", msg=f"refused: {argument}"))
    assert not any(value in results.failed["a"] for value in found)


def test_hosts_of_a_group_change_together() -> None:
    """One differs: the other restarts its unit, too, because no rank serves without the others."""
    units = [{"unit": "sparkiac-big", "action": "restart", "because": "changed: /etc/x"}]
    found = look(spark_01=RESTART | {"units": units}, spark_02=SAME)
    assert [host.host for host in found.changing] == ["spark-01", "spark-02"]
    assert found.hosts[1].units == (
        looks.UnitStep(unit="sparkiac-big", action="restart", because="its group restarts together"),
    )
    assert found.batches == (("spark-01", "spark-02"),)
    assert words.order(found.batches) == "spark-01 and spark-02 together"
    same = look(spark_01=SAME, spark_02=SAME)
    assert (same.changing, same.batches) == ((), ())


def test_a_host_without_a_generation_and_with_strange_texts() -> None:
    """What a host answers cannot move the cursor of the terminal."""
    answer = {
        "differs": True,
        "files": ["a"],
        "sysctls": ["vm.swappiness"],
        "effects": [],
        "units": [],
        "missing": ["image \x1b[2J is missing"],
    }
    found = look(spark_01=answer)
    assert (found.hosts[0].now, found.hosts[0].new, found.hosts[0].differs) == (None, "a" * 16, True)
    shown = "".join(str(part) for part in words.page(found._replace(failed=(("x", "y"),)), 100))
    assert "\x1b" not in shown
    assert found.hosts[0].missing == ("image \\x1b[2J is missing",)


@pytest.mark.parametrize(
    ("returned", "events", "code"),
    [
        (0, [], Exit.OK),
        (99, [], Exit.INTERRUPTED),
        (1, [], Exit.BAD_INPUT),
        (4, [event("unreachable", "a", msg="no route")], Exit.IO),
        (2, [event("unreachable", "a", msg="no route"), event("failed", "b", "look", msg="a is lost")], Exit.IO),
        (
            2,
            [event("unreachable", "a", msg="x"), event("ok", "a", "services", rc=0), event("failed", "a")],
            Exit.FINDINGS,
        ),
        (2, [event("ok", "a", "lease", rc=5), event("failed", "a", "lease", msg="held by ann")], Exit.BUSY),
        (2, [event("ok", "a", "lease", rc=5), event("ok", "a", "lease", rc=0), event("failed", "b")], Exit.FINDINGS),
        (2, [event("failed", "a", "pins", msg="an example")], Exit.FINDINGS),
        (
            2,
            [
                event("ok", "a", "services", stdout='{"outcome": "back"}'),
                event("failed", "a", "finish", msg="went back"),
            ],
            Exit.FINDINGS,
        ),
    ],
)
def test_exit_codes(returned: int, events: list[dict[str, Any]], code: Exit) -> None:
    results = Results(())
    for each in events:
        results.on_event(each)
    assert results.code(returned) == code


@pytest.mark.parametrize("message", ["non-zero return code", "The command exited with a non-zero return code."])
def test_the_first_failure_of_a_host_is_its_reason(message: str, tmp_path: Path) -> None:
    results = Results(())
    results.on_event(event("failed", "a", "preflight", msg="\n".join(f"line {number}" for number in range(20))))
    results.on_event(event("failed", "a", msg="see above"))
    results.on_event(event("failed", "b", "finish", msg="1 host failed"))
    trace = "Traceback (most recent call last):\n  File x\nOSError: disk full"
    results.on_event(event("failed", "c", "look", rc=1, msg=message, stderr=trace))
    first, second, last = results.reasons(tmp_path / "none")
    assert second == "c: OSError: disk full"
    assert first.splitlines() == ["a: line 0", *(f"line {number}" for number in range(1, 10))]
    assert last == "1 host failed"
    log = tmp_path / "log"
    log.write_text("[WARNING]: w\n[ERROR]: no such option\nhelp\n")
    assert Results(()).reasons(log) == ["[ERROR]: no such option\nhelp"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "Error response from daemon: manifest for ghcr.io/example/vllm@sha256:6d1f not found: manifest unknown",
            "LOG150",
        ),
        ("OSError: [Errno 28] No space left on device: '/etc/sparkiac/chat/compose.yaml'", "LOG135"),
        ("sudo: a password is required", "LOG156"),
        ("chat did not become ready.\n  torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "MEM021"),
        ("chat did not become ready: its process ended with an error.", "LOG191"),
        ("a message that nobody knows", ""),
    ],
)
def test_a_known_failure_has_its_cause_and_what_to_do(text: str, code: str, tmp_path: Path) -> None:
    results = Results(())
    results.on_event(event("failed", "a", "images", rc=1, msg="non-zero return code", stderr=text))
    (found,) = results.reasons(tmp_path / "none")
    causes = found.removeprefix(f"a: {text}").splitlines()[1:]
    assert [line.partition(":")[0] for line in causes] == (["cause", "to do"] if code else [])
    assert not code or causes[0].endswith(f"({code})")


def test_phases_go_on_and_never_back(capsys: pytest.CaptureFixture[str]) -> None:
    results = Results(())
    with ApplyProgress(["a", "bb", "c", "d"]) as progress:
        for each in (
            event("started", "a", "lease"),
            event("started", "bb", "services", action="debug"),
            event("started", "a", "services", action="command"),
            event("started", "a", "lease"),
            event("started", "other", "services"),
            event("ok", "a", "services", rc=1),
            event("started", "bb", "stage"),
            event("unreachable", "c", "services", msg="x"),
            event("started", "c", "services", action="command"),
            event("ok", "c", "services", action="command", rc=0, stdout='{"outcome": "committed"}'),
            event("failed", "d", "preflight", rc=1),
            event("started", "bb", "verify"),
            event("failed", "bb", "finish", msg="d failed"),
        ):
            results.on_event(each)
            progress.on_event(each)
        progress.finish(results, done=False)
    assert progress.phases == {"a": "unknown", "bb": "unchanged", "c": "switched", "d": "FAILED"}
    lines = [line.split(maxsplit=2)[2] for line in capsys.readouterr().err.splitlines()]
    assert lines[:3] == ["a   check", "a   switch", "bb  download"]


def test_a_host_that_was_switched_and_went_back_with_the_others() -> None:
    results = Results(())
    for generation in ("new", "new", "old"):
        said = json.dumps({"outcome": "committed", "generation": generation})
        results.on_event(event("ok", "a", "services", rc=0, stdout=said))
    assert results.outcomes == {"a": "went back"}


def switched(letter: str, time: int, outcome: str = "committed", commit: str | None = "") -> dict[str, object]:
    """Return what a host remembers of a switch; the commit is the letter, the run its upper case."""
    found = {"generation": letter * 16, "run": letter.upper() * 12, "changes": [f"restart sparkiac-{letter}"]}
    return {**found, "commit": letter * 40 if commit == "" else commit, "time": time, "outcome": outcome}


def answer(current: str, kept: str, *history: dict[str, object]) -> str:
    """Return what `switch status` of a host prints."""
    return json.dumps({"current": current * 16, "kept": [each * 16 for each in kept], "history": history})


def test_a_state_of_the_fleet_is_what_all_hosts_ran_after_an_apply() -> None:
    """Host b did not change at c, so it ran a; d had no commit; e was refused on both."""
    first = answer("d", "cd", *(switched(each, at) for at, each in enumerate("ac")), switched("d", 6, commit=None),
                   switched("e", 8, "back"))  # fmt: skip
    second = answer("a", "a", switched("a", 2), switched("e", 7, "back"))
    found = looks.states({"one": first, "two": second})
    shown = [(each.name[0], each.time, list(each.outcomes), each.lost, each.runs) for each in found]
    assert shown == [
        ("e", 7, ["two", "one"], ("one", "two"), False),
        ("D", 6, ["one"], (), True),
        ("c", 1, ["one"], ("two",), False),
        ("a", 0, ["one", "two"], ("one",), False),
    ]
    assert found[1].generations == {"one": "d" * 16, "two": "a" * 16}


def test_hosts_of_one_state_are_put_on_it_from_different_ones() -> None:
    """Host one runs a newer commit and host two went back to an older one by itself."""
    one = answer("c", "abc", switched("a", 1), switched("b", 2), switched("c", 4))
    two = answer("a", "ab", switched("a", 1), switched("b", 3), switched("a", 5))
    listed = looks.states({"one": one, "two": two})
    assert [(each.name[0], each.runs, each.lost) for each in listed] == [
        *(("c", False, ()), ("b", False, ()), ("a", False, ()))
    ]
    assert looks.chosen(listed, "b" * 12).generations == {"one": "b" * 16, "two": "b" * 16}
    assert listed[0].generations == {"one": "c" * 16, "two": "b" * 16}
    assert looks.chosen(listed, "previous") == listed[0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("f" * 12, "no states are called"),
        ("", "3 states are called"),
        ("e" * 12, "not kept on one: refused, or removed by prune"),
        ("a" * 12, "not kept on one"),
        ("previous", "no states are called previous"),
    ],
)
def test_a_state_that_cannot_be_chosen(name: str, message: str) -> None:
    told = answer("c", "c", switched("a", 1), switched("c", 4), switched("e", 5, "back"))
    with pytest.raises(ProgramError, match=message):
        looks.chosen(looks.states({"one": told}), name)


def test_the_states_of_the_fleet_in_words() -> None:
    one = answer("c", "bc", switched("a", 1), switched("b", 2), switched("c", 4))
    two = answer("c", "abc", switched("a", 1), switched("b", 2, "back"), switched("c", 5))
    [table] = words.states(looks.states({"one": one, "two": two}), {"a" * 40: "Serve a longer text"})
    assert [[str(cell) for cell in row][1:] for row in table.rows] == [  # type: ignore[union-attr]
        ["c" * 12, "restart c", "runs", "one and two"],
        ["b" * 12, "restart b", "committed, refused on two", "one and two"],
        ["a" * 12, "Serve a longer text", "committed, not kept on one", "one and two"],
    ]
    assert list(words.states([], {})) == ["These hosts remember no apply."]


def test_an_answer_that_is_not_one() -> None:
    with pytest.raises(ProgramError, match="spark-01: unexpected output"):
        looks.states({"spark-01": "[]"})


def test_former_hosts_are_work_to_do() -> None:
    plan = planned(PAIR + "retired: {spark-09: {address: 192.168.1.19}}\n")
    found = looks.of_fleet(plan, GENERATIONS, {"spark-01": json.dumps(SAME)})
    assert (found.changing, found.retired, found.work) == ((), ("spark-09",), True)
    shown = [str(part) for part in words.page(found, 100)]
    assert shown[-1] == "retired: spark-09: what sparkiac put there is removed at the end"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.9, "59 s"), (60, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
