"""All fixes of a text, one after the other: a bad one is undone and said."""

from __future__ import annotations

import pytest

from sparkiac.fix import Repaired, repair
from sparkiac.report import REMOVE, Edit, Finding, Removal, Report, Scalar, Severity
from sparkiac.rules.rule import every_severity
from sparkiac.source import gate

WRONG = Edit(("a",), 2)


def finding(code: str, *fix: Edit, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(code, "test", severity, "wrong", hint="mend it", fix=fix)


def run(text: str, *rules: tuple[str, Scalar | None, str, Scalar | Removal], hidden: str = "") -> Repaired:
    """Mend with rules that each say: (key, value) is wrong and gives the code; this is what to write there."""

    def check(raw: bytes) -> Report | None:
        data = gate.read(raw, name="")[0].data
        assert isinstance(data, dict)
        if "bad" in data:
            return None
        severities = {"E": Severity.ERROR}
        return Report.of(
            finding(code, Edit((key,), new), severity=severities.get(code[0], Severity.WARNING))
            for key, value, code, new in rules
            if key in data and data[key] == value
        )

    return repair(text.encode(), check, every_severity([hidden]))


def left(done: Repaired) -> list[tuple[str, str]]:
    return [(each.code, each.hint) for each in done.report.findings]


def test_every_fix_is_done_and_reported() -> None:
    done = run("a: 1\nb: 1 # b\nc: 1\n", ("a", 1, "W1", 2), ("b", 1, "E1", REMOVE))
    assert (done.raw, left(done)) == (b"a: 2\nc: 1\n", [])
    assert [each.code for each in done.fixed] == ["E1", "W1"]


def test_findings_that_appear_after_a_fix_are_fixed_too() -> None:
    done = run("a: 1\n", ("a", 1, "E1", 2), ("a", 2, "W2", 3), ("a", 3, "W3", 4))
    assert (done.raw, left(done)) == (b"a: 4\n", [])
    assert [each.code for each in done.fixed] == ["E1", "W2", "W3"]


def test_two_findings_of_one_fix_are_both_gone() -> None:
    def check(raw: bytes) -> Report:
        twice = (finding("W1", WRONG), finding("W1", WRONG)._replace(message="wrong there too"))
        return Report.of(twice if raw == b"a: 1\n" else ())

    done = repair(b"a: 1\n", check, frozenset())
    assert (done.raw, len(done.fixed), done.report) == (b"a: 2\n", 2, Report())


def test_a_hidden_finding_stays_and_is_not_shown() -> None:
    done = run("a: 1\nb: 1\n", ("a", 1, "W1", 2), ("b", 1, "W2", 2), hidden="W2")
    assert (done.raw, left(done), len(done.fixed)) == (b"a: 2\nb: 1\n", [], 1)


def test_a_fix_may_not_bring_an_error_that_is_hidden() -> None:
    done = run("a: 1\n", ("a", 1, "W1", 2), ("a", 2, "E2", 1), hidden="E2")
    assert done.raw == b"a: 1\n"
    assert [code for code, _ in left(done)] == ["INT001", "W1"]


def test_what_cannot_be_done_is_left_with_the_reason() -> None:
    done = run("a: [1]\nb: 1\n", ("a", (1,), "W1", 2), ("b", 1, "W2", 2))  # type: ignore[arg-type]
    reason = "mend it; not fixed by --fix: the value to change is not on one line"
    assert (done.raw, left(done)) == (b"a: [1]\nb: 2\n", [("W1", reason)])


@pytest.mark.parametrize(
    ("rules", "fault"),
    [
        ([("a", 1, "W1", 1)], "the finding remains"),
        ([("a", 1, "W1", 2), ("a", 2, "W1", 3)], "the finding remains"),
        ([("a", 1, "W1", 2), ("a", 2, "E1", 3)], "it adds E1"),
        ([("a", 1, "E2", 2), ("a", 2, "E1", 3)], "it adds E1"),
    ],
)
def test_a_bad_fix_is_undone_and_reported(rules: list[tuple[str, int, str, int]], fault: str) -> None:
    done = run("a: 1\n", *rules)
    code = rules[0][2]
    broken = [each for each in done.report.findings if each.code == "INT001"]
    assert (done.raw, done.fixed) == (b"a: 1\n", ())
    assert [each.message for each in broken] == [f"the fix of {code} was undone: {fault}"]
    assert broken[0].severity is Severity.ERROR
    assert (code, f"mend it; not fixed by --fix: the fix was undone: {fault}") in left(done)


def test_a_fix_that_makes_the_text_bad_input_is_undone() -> None:
    def check(raw: bytes) -> Report | None:
        return Report.of([finding("W1", Edit(("bad",), 1))]) if b"bad" not in raw else None

    done = repair(b"a: 1\n", check, frozenset())
    assert done.raw == b"a: 1\n"
    assert "the inventory does not load with the fix" in done.report.findings[0].message


def test_a_good_fix_after_a_bad_one_is_done() -> None:
    done = run("a: 1\nb: 1\n", ("a", 1, "W1", 1), ("b", 1, "W2", 2))
    assert (done.raw, [each.code for each in done.fixed]) == (b"a: 1\nb: 2\n", ["W2"])


def test_a_rule_that_undoes_the_fix_of_another_is_reported() -> None:
    done = run("a: 1\n", ("a", 1, "W1", 2), ("a", 2, "W2", 1))
    assert (done.raw, [each.code for each in done.fixed]) == (b"a: 2\n", ["W1"])
    assert done.report.findings[0].message == "the fix of W2 was undone: it reverts another fix"


def test_a_run_has_an_end() -> None:
    """Whatever rules say: here each fix brings the next one."""

    def check(raw: bytes) -> Report:
        value = int(raw[3:])
        return Report.of([finding(f"W{value}", Edit(("a",), value + 1))])

    assert repair(b"a: 0\n", check, frozenset()).raw == b"a: 500\n"


def test_a_text_that_does_not_load_stays() -> None:
    done = run("bad: 1\n", ("bad", 1, "W1", 2))
    assert done == Repaired(b"bad: 1\n", Report(), ())
