"""`sparkiac check --format sarif` and `--format github`: what other programs read of findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from sparkiac import rules
from sparkiac.report import Finding, Loc, Mark, Origin, Report, Severity
from sparkiac.report.characters import escaped_line
from sparkiac.rules.pages import pages
from sparkiac.words import annotations
from tests.plan.fleets import PAIR, deployment, service
from tests.rules.test_check import breaks, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]

SCHEMA = json.loads((Path(__file__).parent / "data/sarif-2.1.0-rtm.5.json").read_text())
WARNED = deployment("image: example.org/x:1", "allow: [{code: NET005, reason: one}]")
FAULTY = [
    deployment(),
    WARNED,
    deployment("portt: 1", "set: [1,", "  2]"),
    PAIR.replace("hosts: [spark-02, spark-01]", "hosts: [spark-02, spark-2]"),
    "name: no\n",
    "",
]


KEYS = ("code", "slug", "severity", "message", "file", "line", "column", "end_line", "end_column")


def finding(file: str = "lab.yaml", message: str = "wrong", *, end_line: int = 3) -> Finding:
    """Make a finding about a place that starts at 3:5."""
    return Finding("INV002", "value", Severity.ERROR, message, Loc(file, Mark(3, 5, end_line, 9), "    abcd: 1"))


def run(report: Report | Outcome) -> dict[str, Any]:
    """Return the one run of a log that is valid."""
    log = annotations.sarif(report, file="lab.yaml") if isinstance(report, Report) else json.loads(report.out)
    assert list(Draft4Validator(SCHEMA).iter_errors(log)) == []
    [found] = log["runs"]
    return dict(found)


def test_the_schema_is_the_one_of_sarif_and_refuses_what_is_none() -> None:
    Draft4Validator.check_schema(SCHEMA)
    assert "(SARIF) Version 2.1.0" in SCHEMA["title"]
    log = annotations.sarif(Report.of([finding()]), file="lab.yaml")
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert list(Draft4Validator(SCHEMA).iter_errors(log))


@pytest.mark.parametrize("text", FAULTY)
def test_sarif_says_what_json_says(cli: Cli, folder: Path, text: str) -> None:
    (folder / "lab.yaml").write_text(text)
    plain = cli("check", "lab.yaml", "--format", "json")
    outcome = cli("check", "lab.yaml", "--format", "sarif")
    assert (outcome.code, outcome.err) == (plain.code, "")
    assert outcome.out.isascii()
    found = run(outcome)
    rules_of = found["tool"]["driver"]["rules"]
    assert [seen(result, rules_of) for result in found["results"]] == [
        tuple("note" if each[key] == "info" else each[key] for key in KEYS)
        + ((f"hint: {each['hint']}",) if "hint" in each else ())
        for each in json.loads(plain.out)["findings"]
    ]
    assert found["results"]


def seen(result: dict[str, Any], rules_of: list[dict[str, Any]]) -> tuple[Any, ...]:
    """Return what a result says, in the order of KEYS, and its hint."""
    rule = rules_of[result["ruleIndex"]]
    assert rule["id"] == result["ruleId"]
    [location] = result["locations"]
    place = location["physicalLocation"]
    region = [place["region"][key] for key in ("startLine", "startColumn", "endLine", "endColumn")]
    message, *rest = result["message"]["text"].split("\n")
    hint = tuple(line for line in rest if line.startswith("hint: "))
    return (rule["id"], rule["name"], result["level"], message, place["artifactLocation"]["uri"], *region, *hint)


@pytest.mark.usefixtures("lab")
def test_a_run_without_findings_names_all_rules(cli: Cli) -> None:
    found = run(cli("check", "lab.yaml", "--format", "sarif"))
    assert found["results"] == []
    assert [rule["id"] for rule in found["tool"]["driver"]["rules"]] == list(pages())


def test_a_rule_has_its_page_within_the_lengths_that_code_scanning_takes() -> None:
    for rule in run(Report())["tool"]["driver"]["rules"]:
        page = pages()[rule["id"]]
        assert page.title in rule["help"]["markdown"]
        assert page.text.split("\n\n")[-1] in rule["help"]["markdown"]
        assert 0 < len(rule["shortDescription"]["text"]) <= 1024
        assert 0 < len(rule["fullDescription"]["text"]) <= 1024
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}


def fingerprints(outcome: Outcome) -> list[str]:
    return [each for result in run(outcome)["results"] for each in result["partialFingerprints"].values()]


def test_a_fingerprint_stays_when_lines_are_added_above_and_no_two_are_alike(cli: Cli, folder: Path) -> None:
    text = deployment("x: 1", "y: 1", "port: 80", "set: {a: 022, b: 022}")
    (folder / "lab.yaml").write_text(text)
    before = fingerprints(cli("check", "lab.yaml", "--format", "sarif"))
    (folder / "lab.yaml").write_text("# one line\n\n# and another\n" + text)
    assert fingerprints(cli("check", "lab.yaml", "--format", "sarif")) == before
    assert len(set(before)) == len(before) == 5
    (folder / "lab.yaml").write_text(text.replace("x: 1", "z: 1"))
    after = fingerprints(cli("check", "lab.yaml", "--format", "sarif"))
    assert len(set(before) - set(after)) == 1


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("inventories/lab.yaml", "inventories/lab.yaml"),
        ("../a b/Füße#1?.yaml", "../a%20b/F%C3%BC%C3%9Fe%231%3F.yaml"),
        ("a:b%.yaml", "a%3Ab%25.yaml"),
        ("/srv/lab.yaml", "file:///srv/lab.yaml"),
    ],
)
def test_a_path_is_written_as_a_uri(file: str, uri: str) -> None:
    [result] = run(Report.of([finding(file)]))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_finding_without_a_place_is_about_the_file(cli: Cli, lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "checks", lambda: (rule_of(breaks),))
    assert lab.is_dir()
    [result] = run(cli("check", "lab.yaml", "--format", "sarif"))["results"]
    assert result["ruleId"] == "INT001"
    assert result["locations"] == [{"physicalLocation": {"artifactLocation": {"uri": "lab.yaml"}}}]
    outcome = cli("check", "lab.yaml", "--format", "github")
    assert outcome.out.startswith("::error file=lab.yaml,title=INT001 internal-error::rule TST001 broke")


@pytest.mark.parametrize(("severity", "level"), [(Severity.WARNING, "warning"), (Severity.INFO, "note")])
def test_levels(severity: Severity, level: str) -> None:
    [result] = run(Report.of([finding()._replace(severity=severity)]))["results"]
    assert result["level"] == level


def read(line: str) -> tuple[str, dict[str, str], str]:
    """Read a workflow command as GitHub's runner does."""
    assert line.startswith("::")
    head, _, data = line[2:].partition("::")
    command, _, properties = head.partition(" ")
    pairs = dict(each.split("=", 1) for each in properties.split(",")) if properties else {}
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        pairs = {key: value.replace(code, character) for key, value in pairs.items()}
        data = data.replace(code, character) if character not in ":," else data
    return command, pairs, data


def test_github_gets_a_command_for_each_finding(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(WARNED)
    outcome = cli("check", "lab.yaml", "--format", "github")
    assert outcome.code == 1
    assert outcome.err == "lab.yaml: 3 errors, 1 warning, 1 note\n"
    commands = [read(line) for line in outcome.out.splitlines()]
    assert [(command, found["title"]) for command, found, _ in commands] == [
        ("error", "MDL001 unpinned-model"),
        ("error", "ENT100 unknown-entrypoint"),
        ("notice", "FLG106 unknown-release"),
        ("error", "IMG003 unpinned-image"),
        ("warning", "WVR001 unused-waiver"),
    ]
    _, properties, message = commands[3]
    place = {"file": "lab.yaml", "line": "10", "endLine": "10", "col": "12", "endColumn": "27"}
    assert properties == place | {"title": "IMG003 unpinned-image"}
    assert message.startswith("chat runs example.org/x:1, which the lock does not pin\nhint: run sparkiac lock")


def test_github_gets_no_columns_for_a_place_of_several_lines() -> None:
    [line] = annotations.commands(Report.of([finding(end_line=4)]), file="lab.yaml").splitlines()
    _, properties, _ = read(line)
    assert (properties["line"], properties["endLine"]) == ("3", "4")
    assert not {"col", "endColumn"} & properties.keys()


def test_escapes_are_those_of_githubs_toolkit() -> None:
    found = finding("a,b:c%.yaml", "100%\r\n: a, b")._replace(hint="do", origin=Origin("recipe x"))
    [line] = annotations.commands(Report.of([found]), file="").splitlines()
    assert line == (
        "::error file=a%2Cb%3Ac%25.yaml,line=3,endLine=3,col=5,endColumn=9,title=INV002 value"
        "::100%25\\r\\n: a, b%0Ahint: do%0Afrom: recipe x"
    )


@given(st.text(), st.text(min_size=1))
def test_any_text_arrives_as_it_is_in_one_line(message: str, file: str) -> None:
    written = annotations.commands(Report.of([finding(file, message)]), file="")
    assert written.count("\n") == 1
    _, properties, data = read(written[:-1])
    assert (properties["file"], data) == (escaped_line(file), escaped_line(message))


def test_a_service_without_findings_gets_no_command(cli: Cli, folder: Path) -> None:
    (folder / "lab.yaml").write_text(service())
    outcome = cli("check", "lab.yaml", "--format", "github")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "lab.yaml: no findings\n")
