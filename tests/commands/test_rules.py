"""`sparkiac rules`: the list of codes, and their pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac import catalog
from sparkiac.rules.pages import pages
from tests.commands.looks import printed_on_terminal
from tests.every import every
from tests.rules.pages import CODES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import Outcome

    Cli = Callable[..., Outcome]


def as_json(outcome: Outcome) -> dict[str, Any]:
    assert (outcome.code, outcome.err) == (0, "")
    found: dict[str, Any] = json.loads(outcome.out)
    assert found["format_version"] == 1
    return found


def test_the_list_has_every_code_with_what_is_to_be_known_of_it(cli: Cli) -> None:
    found = as_json(cli("rules", "list", "--format", "json"))
    by_code = {each["code"]: each for each in found["rules"]}
    assert list(by_code) == list(pages())
    assert {*CODES, "YML001", "INV001", "REF001", "WVR001", "INT001"} <= by_code.keys()
    assert by_code["QNT010"] == {
        "code": "QNT010",
        "slug": "bf16-weights",
        "severity": "info",
        "waivable": True,
        "profile": "strict",
        "phase": "generate",
        "since": "0.1.0",
        "title": "The weights are BF16, which is four times the size of NVFP4.",
    }
    assert [(each["name"], each["default"]) for each in found["profiles"]] == [
        ("minimal", False),
        ("recommended", True),
        ("strict", False),
    ]


def test_what_the_preflight_finds_is_of_its_phase_and_of_no_profile(cli: Cli) -> None:
    found = as_json(cli("rules", "explain", "DRV002", "--format", "json"))["rule"]
    assert (found["phase"], found["profile"], found["severity"]) == ("preflight", None, "warning")
    said = cli("rules", "explain", "DRV002").out
    assert said.startswith("**DRV002 forward-compatibility** (warning, found on a host by the preflight, since 0.1.0)")


@pytest.mark.parametrize("severity", ["error", "warning", "info"])
def test_the_list_can_be_of_one_severity(cli: Cli, severity: str) -> None:
    everything = as_json(cli("rules", "list", "--format", "json"))["rules"]
    some = as_json(cli("rules", "list", "--format", "json", "--severity", severity))["rules"]
    assert some == [each for each in everything if each["severity"] == severity]


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_table_fits_and_cuts_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    outcome = cli("rules", "list")
    assert (outcome.code, outcome.err) == (0, "")
    assert max(map(len, outcome.out.splitlines())) <= columns
    words = outcome.out.split()
    for page in pages().values():
        assert {page.rule.code, page.rule.slug} <= set(words)
        assert set(page.title.split()) <= set(words)
    assert "…" not in outcome.out.replace("`vllm serve vllm serve …`", "")
    assert "\x1b" not in outcome.out


@pytest.mark.parametrize("word", ["ENT001", "ent001", "double-vllm-serve"])
def test_a_code_is_explained(cli: Cli, word: str) -> None:
    outcome = cli("rules", "explain", word)
    assert (outcome.code, outcome.err) == (0, "")
    page = pages()["ENT001"]
    assert outcome.out.startswith("**ENT001 double-vllm-serve** (error, from profile `minimal` on, since 0.1.0)\n\n")
    for part in (page.title, page.why, *page.bad, *page.good, *page.rule.sources):
        assert part in outcome.out
    assert outcome.out.index("**Bad:**") < outcome.out.index("**Good:**")
    assert "allow: [{code: ENT001, reason: why it is right here}]" in outcome.out


def test_a_base_of_both_examples_is_shown_once_before_them(cli: Cli) -> None:
    page = cli("rules", "explain", "MEM001").out
    assert page.count("hosts: {spark-01: {address: 192.168.1.11}}") == 1
    labels = ("One Spark, the first lines of each example on it", "Bad, on one Spark", "Good, on one Spark", "Sources")
    assert list(labels) == re.findall(r"^\*\*(.*):\*\*$", page, re.MULTILINE)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("IMG003", "**It cannot be waived**: every profile contains it, and no option turns it off."),
        ("YML005", "**It cannot be waived**: every profile contains it, and no option turns it off."),
        ("WVR001", "**It cannot be waived**; `sparkiac check --ignore WVR001` skips it."),
        ("HST001", "**It cannot be waived**: it is found on a host, so repair the host or correct the inventory."),
    ],
)
def test_what_cannot_be_waived_says_so(cli: Cli, code: str, says: str) -> None:
    assert says in cli("rules", "explain", code).out
    assert as_json(cli("rules", "explain", code, "--format", "json"))["rule"]["waiver"] is None


def test_a_page_as_json_has_its_parts(cli: Cli) -> None:
    found = as_json(cli("rules", "explain", "IMG100", "--format", "json"))["rule"]
    page = pages()["IMG100"]
    assert {"code": "IMG100", "why": page.why, "bad": list(page.bad), "good": list(page.good)}.items() <= found.items()
    assert found["lock"].startswith("version: 1\n")
    assert found["sources"] == list(page.rule.sources)


@every(pages())
def test_every_page_can_be_printed(code: str, cli: Cli) -> None:
    assert pages()[code].title in cli("rules", "explain", code).out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["explain", "ENT01"], "unknown rule or symptom 'ENT01'; did you mean 'ENT001'?"),
        (["explain", "unpined-image"], "unknown rule or symptom 'unpined-image'; did you mean 'unpinned-image'?"),
        (["explain"], "Missing argument 'CODE'"),
        (["list", "--severity", "fatal"], "'fatal' is not one of"),
        (["lits"], "unknown command 'lits'; did you mean 'list'?"),
    ],
)
def test_exit_2_for_wrong_words(cli: Cli, arguments: list[str], says: str) -> None:
    outcome = cli("rules", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert says in outcome.err


@pytest.mark.parametrize("arguments", [["--help"], ["rules", "--help"], ["check", "--help"]])
def test_help_loads_no_rule_no_catalog_and_no_terminal_library(arguments: list[str]) -> None:
    program = "import sys; from sparkiac.console import run; run(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "click" in loaded
    assert not {"sparkiac.rules", "sparkiac.catalog", "sparkiac.pipeline", "pydantic", "yaml", "rich"} & loaded


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_gets_set_prose_and_examples_as_they_are(tmp_path: Path, columns: int) -> None:
    said = printed_on_terminal("rules", "explain", "YML007", cwd=tmp_path, env={"COLUMNS": str(columns)}).decode()
    assert "\x1b[1mYML007 ambiguous-word\x1b[0m" in said
    assert "```" not in said
    assert "**" not in said
    for example in (*pages()["YML007"].bad, *pages()["YML007"].good):
        for line in example.splitlines():
            assert f"    {line}\r\n" in said


def test_a_symptom_has_a_page_by_code_and_by_name(cli: Cli) -> None:
    page = cli("rules", "explain", "log101").out
    assert page.startswith("**LOG101 no-free-memory-at-start** (error, in the log of the server)")
    for part in ("**Lines:**", "**Cause:**", "**Remedy:**", "**Other sources:**", "**Sources:**"):
        assert part in page
    assert cli("rules", "explain", "no-free-memory-at-start").out == page
    assert as_json(cli("rules", "explain", "MON003", "--format", "json"))["symptom"]["probe"]["metrics"]


def test_a_symptom_without_a_line_says_which_check_finds_it(cli: Cli) -> None:
    found = "**Found by:** `sparkiac status`, column KV, the alert KvCacheNearlyFull\n"
    assert found in cli("rules", "explain", "MON003").out
    assert "**Found by:** `sparkiac verify`, step stream\n" in cli("rules", "explain", "API011").out
    assert "**Found by:** `sparkiac bench compare`\n" in cli("rules", "explain", "BEN001").out


def test_every_symptom_has_a_page_and_no_code_or_name_of_a_rule(cli: Cli) -> None:
    rules = {name for page in pages().values() for name in (page.rule.code, page.rule.slug)}
    for each in catalog.symptoms():
        assert not {each.code, each.slug} & rules
        assert cli("rules", "explain", each.code).out.startswith(f"**{each.code} {each.slug}**")


def test_the_list_says_where_symptoms_are(cli: Cli) -> None:
    assert "sparkiac diagnose" in cli("rules", "list").out
