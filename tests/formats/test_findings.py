"""How findings are printed: the user's line, carets under the position, counts, and titles of sources without lines."""

from __future__ import annotations

import io

import pytest

from sparkiac import rules
from sparkiac.commands.inputs import wants_colour
from sparkiac.report import Finding, Loc, Mark, Report, Severity
from sparkiac.words.findings import TITLES, as_data, as_text, counts, titles

GUIDE, POST = TITLES["Spark guide"], TITLES["dual-Spark post"]


def finding(line: str, *, column: int, end_column: int, end_line: int = 1) -> Finding:
    """Make a finding about a place in a line."""
    loc = Loc("lab.yaml", Mark(1, column, end_line, end_column), line)
    return Finding("TST001", "test", Severity.ERROR, "wrong", loc)


def excerpt(line: str, *, column: int, end_column: int, end_line: int = 1) -> list[str]:
    """Return the lines that show the place."""
    report = Report.of([finding(line, column=column, end_column=end_column, end_line=end_line)])
    return as_text(report, colour=False).splitlines()[1:-1]


def test_carets_are_under_the_place() -> None:
    assert excerpt("port: 8001", column=7, end_column=11) == ["  1 | port: 8001", "    |       ^^^^"]


def test_a_place_over_several_lines_is_marked_to_the_end_of_the_first() -> None:
    assert excerpt("set: {a: 1,", column=6, end_column=3, end_line=2)[1] == "    |      ^^^^^^"


def test_an_empty_place_has_one_caret() -> None:
    assert excerpt("port:", column=6, end_column=6)[1] == "    |      ^"


def test_tabs_and_wide_and_combining_characters_keep_the_carets_in_place() -> None:
    assert excerpt("a\tb", column=3, end_column=4) == ["  1 | a b", "    |   ^"]
    assert excerpt("名: b", column=4, end_column=5)[1] == "    |     ^"
    assert excerpt("e\u0301: b", column=5, end_column=6)[1] == "    |    ^"


def test_a_very_long_line_is_cut_around_the_place() -> None:
    shown, carets = excerpt("x" * 500 + "HERE" + "y" * 500, column=501, end_column=505)
    assert len(shown) < 180
    assert shown[carets.index("^") :].startswith("HERE")
    assert carets.strip(" |") == "^^^^"


def test_a_blank_line_is_not_shown() -> None:
    assert excerpt("  ", column=1, end_column=2) == []


def test_a_finding_without_a_place() -> None:
    report = Report.of([Finding("INT001", "internal-error", Severity.ERROR, "rule broke", hint="report it")])
    said = "error INT001 internal-error: rule broke\n  hint: report it\n1 error\n"
    assert as_text(report, colour=False) == said
    assert "file" not in as_data(report)["findings"][0]


@pytest.mark.parametrize(
    ("severities", "words"),
    [
        ([], "no findings"),
        ([Severity.ERROR], "1 error"),
        ([Severity.ERROR, Severity.ERROR, Severity.WARNING], "2 errors, 1 warning"),
        ([Severity.INFO], "1 note"),
        ([Severity.INFO, Severity.INFO, Severity.WARNING, Severity.WARNING], "2 warnings, 2 notes"),
    ],
)
def test_counts(severities: list[Severity], words: str) -> None:
    report = Report.of(
        Finding("TST001", "test", severity, f"number {number}") for number, severity in enumerate(severities)
    )
    assert counts(report) == words


def test_nothing_is_printed_for_an_empty_report() -> None:
    assert as_text(Report(), colour=True) == ""


def test_colours_are_taken_back() -> None:
    said = as_text(Report.of([finding("port: 1", column=7, end_column=8)]), colour=True)
    assert "\x1b[31merror\x1b[0m" in said
    assert said.count("\x1b[0m") == said.count("\x1b[") / 2


def test_a_stream_that_is_not_a_terminal_gets_no_colour() -> None:
    assert not wants_colour(io.StringIO())


def test_a_report_is_sorted_without_duplicates() -> None:
    first = finding("a: 1", column=1, end_column=2)
    second = finding("a: 1", column=4, end_column=5)
    placeless = Finding("INT001", "internal-error", Severity.ERROR, "rule broke")
    assert Report.of([second, first, placeless, second]).findings == (placeless, first, second)


@pytest.mark.parametrize(
    ("sources", "shown"),
    [
        ("", ""),
        ("Spark guide L29", GUIDE),
        ("Spark guide L3, L105-107, L112; dual-Spark post L3", f"{GUIDE}; {POST}"),
        ("Spark guide L3; Spark guide L105", GUIDE),
        ("Spark guide L16-23: four engines run on a Spark", f"{GUIDE}: four engines run on a Spark"),
        ("https://example.org/vllm#L29; https://example.org/vllm#L29", "https://example.org/vllm#L29"),
    ],
)
def test_titles(sources: str, shown: str) -> None:
    assert titles(sources) == shown


def test_no_rule_shows_a_line_number_of_these_documents() -> None:
    shown = [titles(source) for check in rules.checks() for source in check.rule.sources]
    assert shown
    assert not [text for text in shown if any(f"{name} L" in text for name in TITLES)]
