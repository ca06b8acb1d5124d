"""How rules are run: all of them, each at its place, and never in silence when one breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac import rules
from sparkiac.console import run
from sparkiac.plan import build
from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule
from tests.plan.fleets import deployment, resolved, service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path as File

    from sparkiac.plan import Plan
    from sparkiac.report import Finding

RULE = Rule("TST001", "test", Severity.WARNING, ("one source", "another"), "0.1.0")


def rule_of(function: Callable[[Plan], Iterator[Hit]], rule: Rule = RULE) -> rules.Check:
    """Make a rule of a function."""
    return rules.Check(rule, str, function)


def saying(*hits: Hit, rule: Rule = RULE) -> rules.Check:
    """Make a rule that always says this."""
    return rule_of(lambda _: iter(hits), rule)


def verdict(text: str, *checks: rules.Check) -> tuple[Finding, ...]:
    """Run these rules over an inventory."""
    found = resolved(text)
    return rules.check(build(found), found, rules=checks)


def breaks(_: Plan) -> Iterator[Hit]:
    """Find one thing, then break."""
    yield Hit(("name",), "found", "mend it")
    message = "no such attribute"
    raise AttributeError(message)


def test_a_finding_has_all_that_its_rule_knows() -> None:
    [finding] = verdict(deployment(), saying(Hit(("deployments", "chat", "port"), "wrong", "mend it")))
    assert (finding.code, finding.slug, finding.severity) == ("TST001", "test", Severity.WARNING)
    assert (finding.message, finding.hint, finding.source) == ("wrong", "mend it", "one source; another")
    assert finding.loc is not None
    assert (finding.loc.mark.line, finding.loc.text, finding.origin) == (9, "    port: 8001", None)


def test_a_value_of_a_recipe_is_shown_at_the_deployment_with_its_origin() -> None:
    leaf = ("deployments", "chat", "spark-01", "set", "max_num_seqs")
    [finding] = verdict(deployment(), saying(Hit(("deployments", "chat", "set"), "wrong", "", leaf=leaf)))
    assert finding.loc is not None
    assert (finding.loc.mark.line, finding.loc.text) == (5, "  chat:")
    assert str(finding.origin).startswith("recipe base/single-spark catalog/recipes/base/single-spark.yaml:")


def test_a_finding_points_to_the_defaults_if_they_set_the_value() -> None:
    leaf = ("deployments", "chat", "spark-01", "model_store")
    [finding] = verdict(deployment(), saying(Hit(("deployments", "chat"), "wrong", "", leaf=leaf)))
    assert finding.loc is not None
    assert (finding.loc.mark.line, finding.loc.mark.column, finding.origin) == (2, 25, None)


def test_a_finding_about_a_missing_value_points_to_its_parent() -> None:
    leaf = ("services", "asr", "port")
    [finding] = verdict(service(), saying(Hit(("services", "asr", "port"), "wrong", "", leaf=leaf)))
    assert finding.loc is not None
    assert (finding.loc.text, finding.origin) == ("  asr:", None)


def test_a_rule_that_breaks_is_an_error_and_the_others_still_speak() -> None:
    other = saying(Hit(("name",), "wrong", ""), rule=Rule("TST002", "other", Severity.INFO, (), "0.1.0"))
    broken, told = verdict(deployment(), rule_of(breaks), other)
    assert (broken.code, broken.slug, broken.severity) == ("INT001", "internal-error", Severity.ERROR)
    assert broken.message == "rule TST001 broke: AttributeError: no such attribute"
    assert "report it" in broken.hint
    assert told.code == "TST002"


@pytest.mark.parametrize("command", ["check", "plan", "generate"])
def test_a_rule_that_breaks_ends_every_command_with_1(
    command: str, tmp_path: File, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rules, "checks", lambda: (rule_of(breaks),))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.yaml").write_text(service())
    assert run([command, "lab.yaml"]) == 1
    assert "error INT001 internal-error: rule TST001 broke" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["lab.yaml"]


def test_all_rules_run_if_none_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "checks", lambda: (saying(Hit(("name",), "wrong", "")),))
    found = resolved(deployment())
    assert [finding.code for finding in rules.check(build(found), found)] == ["TST001"]
