"""Facts say only what their evidence supports, within the scope of that evidence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac.report import Severity
from sparkiac.rules.conditions import holds
from sparkiac.rules.fact import BREAKS, HEARSAY, PROOF, TESTIMONY, VERDICTS, Evidence, Fact, read, sheets
from sparkiac.rules.subject import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FACTS = [
    pytest.param(fact, id=f"{sheet.rule.code}-{number}")
    for sheet in sheets()
    for number, fact in enumerate(sheet.facts, start=1)
]
every_fact = pytest.mark.parametrize("fact", FACTS)
SPACES = {"set", "env", "speculative", "recipe", "network"}
MEASURED = Evidence("measured", "a log", "2026-05", hardware="GB10")
PARSED = Evidence("parser", "https://example.org/parser.py", "2026-05")


def names(when: Mapping[str, Any]) -> Iterator[str]:
    """Give all names that a condition looks at."""
    for name, wanted in when.items():
        if name in {"any", "none"}:
            for each in wanted:
                yield from names(each)
        else:
            yield name


def fact(**changes: Any) -> Fact:  # noqa: ANN401  fields of a fact
    """Make a fact."""
    made = Fact({"set.x": 1}, "set.x", "{name}", "mend it", "fails", (PARSED,))
    return made._replace(**changes)


@every_fact
def test_a_fact_uses_the_words_of_the_table(fact: Fact) -> None:
    assert fact.verdict in VERDICTS
    assert {each.kind for each in (*fact.evidence, *fact.against)} <= PROOF | TESTIMONY | HEARSAY
    for name in names(fact.when):
        space, _, key = name.partition(".")
        assert space in SPACES if key else space in NAMES
    for each in (*fact.evidence, *fact.against):
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", each.date)


@every_fact
def test_an_error_has_a_link_to_its_proof(fact: Fact) -> None:
    if fact.severity is Severity.ERROR:
        assert any(each.kind in PROOF and each.source.startswith("https://") for each in fact.evidence)


@every_fact
def test_what_was_measured_holds_where_it_was_measured(fact: Fact) -> None:
    if fact.severity is Severity.WARNING and not fact.proven:
        bounded = fact.releases is not None and fact.releases.before is not None
        assert bounded or {"image", "repository", "lacks"} & set(names(fact.when)), "no range of releases and no image"


@every_fact
def test_only_what_is_proven_is_fixed(fact: Fact) -> None:
    assert fact.fix is None or fact.proven


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({}, Severity.ERROR),
        ({"verdict": "slow"}, Severity.INFO),
        ({"verdict": "ignored"}, Severity.WARNING),
        ({"verdict": "ignored", "evidence": (MEASURED,)}, Severity.INFO),
        ({"evidence": (MEASURED,)}, Severity.WARNING),
        ({"evidence": (MEASURED._replace(kind="forum"),)}, Severity.INFO),
        ({"against": (MEASURED,)}, Severity.INFO),
    ],
)
def test_severity_follows_the_evidence(changes: dict[str, Any], severity: Severity) -> None:
    assert fact(**changes).severity is severity


@pytest.mark.parametrize(
    ("when", "true"),
    [
        ({"model": "nvidia/*"}, True),
        ({"model": ["x", "NVIDIA/qwen*"]}, True),
        ({"model": None}, False),
        ({"set.absent": None}, True),
        ({"set.absent": {"not": None}}, False),
        ({"set.batch": {"over": 63_999}}, True),
        ({"set.batch": {"over": "set.seqs"}}, True),
        ({"set.batch": {"under": "set.absent"}}, False),
        ({"set.seqs": {"indivisible_by": 3}}, True),
        ({"set.seqs": {"indivisible_by": 2}}, False),
        ({"set.switch": True, "set.seqs": 4}, True),
        ({"set.switch": 1}, False),
        ({"model": {"search": "-a3b-.*fp4"}}, True),
        ({"set.rope": {"search": "type.: .yarn"}}, True),
        ({"set.rope": {"search": "longrope"}}, False),
        ({"clients": "tools"}, True),
        ({"any": [{"set.seqs": 5}, {"set.seqs": 4}]}, True),
        ({"none": [{"set.seqs": 5}, {"set.seqs": 4}]}, False),
        ({}, True),
    ],
)
def test_a_condition(when: dict[str, Any], *, true: bool) -> None:
    values = {
        "model": "nvidia/Qwen3-30B-A3B-NVFP4",
        "clients": ("tools",),
        "set.batch": "64k",
        "set.seqs": 4,
        "set.switch": True,
        "set.rope": {"type": "yarn"},
        "set.absent": None,
    }
    assert holds(when, values) is true


def test_a_key_that_facts_do_not_have_is_refused() -> None:
    text = "---\nsince: 0.1.0\nfacts:\n- {wehn: {}}\n---\nPage.\n"
    with pytest.raises(TypeError, match="wehn"):
        read("abc001_a", text)


def test_breaks_are_verdicts() -> None:
    assert BREAKS < VERDICTS
