"""Facts of a fleet and of sources: found like those of the catalog, beside them, and refused if they could do more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac import pipeline
from sparkiac.catalog import evidence, written
from sparkiac.catalog.library import RecipeText
from sparkiac.host import conditions
from sparkiac.report import Severity
from sparkiac.rules import subject
from tests.plan.fleets import LOCK, deployment

if TYPE_CHECKING:
    from sparkiac.report import Finding

PATH: Final = "sources/team/facts/context.yaml"
FACT: Final = """\
facts:
  - when: {set.max_model_len: {over: 1000}, none: [{model: "other/*"}], any: [{engine: vllm}, {nodes: [1, 2]}]}
    at: set.max_model_len
    message: "{name} has {set.max_model_len:setting}"
    hint: lower it
    verdict: fails
    releases: {from: "0.1.0", before: "9.0.0"}
    evidence: [{kind: measured, source: our fleet, date: 2026-05, hardware: GB10}]
"""
USED: Final = FACT.replace("{engine: vllm}", "{repository: '*'}")


def findings(text: str, more: str = "") -> list[Finding]:
    """Return the findings of an inventory with a file of facts, without those that every inventory has."""
    files = (RecipeText(PATH, ("facts", "context"), text.encode()),)
    inventory = deployment("set: {max_model_len: 4096}") + more
    outcome = pipeline.check(
        pipeline.InputFile("lab.yaml", inventory.encode(), recipes=files),
        pipeline.InputFile("lab.lock.yaml", LOCK.encode()),
    )
    return [each for each in outcome.report.findings if each.loc and (each.code == "FCT001" or each.loc.file == PATH)]


def test_a_fact_is_found_and_named_with_its_file() -> None:
    [found] = findings(USED)
    assert (found.code, found.slug, found.severity) == ("FCT001", "fact-of-a-fleet", Severity.WARNING)
    assert found.message == f"chat has max_model_len: 4096 ({PATH})"
    assert found.source == "our fleet"
    assert "max_model_len" in (found.loc.text if found.loc else "")


@pytest.mark.parametrize(
    ("kind", "verdict", "severity"),
    [
        ("parser", "fails", "ERROR"),
        ("parser", "ignored", "WARNING"),
        ("ab", "wrong", "WARNING"),
        ("forum", "fails", "INFO"),
    ],
)
def test_only_proof_makes_an_error(kind: str, verdict: str, severity: str) -> None:
    """For a build that may be patched, a range of releases is no proof; so the proven ones have none."""
    text = USED.replace("kind: measured", f"kind: {kind}").replace("verdict: fails", f"verdict: {verdict}")
    text = text.replace('    releases: {from: "0.1.0", before: "9.0.0"}\n', "") if kind == "parser" else text
    assert [each.severity for each in findings(text)] == [Severity[severity]]


def test_a_fact_of_a_fleet_can_be_waived() -> None:
    waiver = "waivers: [{rule: FCT001, path: deployments.chat, reason: measured here}]\n"
    assert findings(USED, waiver) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("over: 1000", "search: '(a+)+$'", "operators are indivisible_by, not, over, under, without, not search"),
        ("set.max_model_len: {", "host.secret: {", "'host.secret' is no value of a deployment"),
        ("{set.max_model_len:setting}", "{name.__class__}", "'name.__class__' is no value of a deployment"),
        ("{set.max_model_len:setting}", "{set.max_model_len!r}", "write {set.max_model_len}"),
        ("kind: measured", "kind: contract", "kind"),
        ("    hint: lower it\n", "    hint: lower it\n    default: {set.max_model_len: 1}\n", "unknown key 'default'"),
        ("    hint: lower it\n", "    hint: lower it\n    fix: {set.max_model_len: 1}\n", "unknown key 'fix'"),
        ("facts:", "code: MEM001\nfacts:", "unknown key 'code'"),
        ("date: 2026-05", "date: yesterday", "date"),
        ("over: 1000", "over: [1]", "over needs a number or the name of a value"),
        ("any: [", "any: [{any: [{any: [{any: [{any: [{any: [{any: [{any: []}]}]}]}]}]}]}, ", "more than 6 levels"),
    ],
)
def test_what_a_fact_of_others_must_not_have_is_refused_with_its_line(old: str, new: str, said: str) -> None:
    found = findings(USED.replace(old, new))
    assert found
    assert all(each.loc and each.loc.file == PATH and each.severity is Severity.ERROR for each in found)
    assert any(said in f"{each.message} {each.hint}" for each in found), found


def test_the_names_and_operators_are_those_of_the_evaluator() -> None:
    plain = {each for each in written.PLAIN if not each.startswith("network.")}
    assert plain == subject.NAMES - {"text"}
    assert {each.removeprefix("network.") for each in written.PLAIN} - plain == {*subject.NETWORK}
    assert conditions.OPERATORS.keys() - {"search"} == written.OPERATORS


def test_the_facts_of_the_catalog_have_values_that_a_written_fact_can_have() -> None:
    names = {name.partition(".")[0] for sheet in evidence.sheets() for fact in sheet.facts for name in fact.when}
    assert names - {"any", "none", "host"} <= {*written.SPACES, *(each.partition(".")[0] for each in written.PLAIN)}
