"""Facts say only what their evidence supports, within the scope of that evidence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

import pytest

from sparkiac.catalog.evidence import (
    BREAKS,
    PROOF,
    TESTIMONY,
    WORKS,
    Evidence,
    Fact,
    Kind,
    Releases,
    Verdict,
    sheet,
    sheets,
)
from sparkiac.host.conditions import holds
from sparkiac.plan import build
from sparkiac.report import Severity
from sparkiac.rules import Examined, evaluator
from sparkiac.rules.evaluator import applies
from sparkiac.rules.subject import NAMES, NETWORK, Subject
from tests.conftest import generator
from tests.every import every
from tests.plan.fleets import COMMIT, ONES, deployment, planned, resolved

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FACTS = {f"{sheet.code}-{number}": fact for sheet in sheets() for number, fact in enumerate(sheet.facts, start=1)}
SPACES = {"host", "set", "env", "speculative", "recipe", "network", "config", "workload", "stall"}
MEASURED = Evidence("measured", "a log", "2026-05", hardware="GB10")
PARSED = Evidence("parser", "https://example.org/parser.py", "2026-05")
COMPARED = Evidence("ab", "https://example.org/1", "2026-09", hardware="GB10", note="kho=off alone", by="anna")
BOUNDED = Releases("0.25.0", "0.26.0")
AGAIN = COMPARED._replace(source="https://example.org/2", by="berta")


def names(when: Mapping[str, Any]) -> Iterator[str]:
    """Yield all names that a condition looks at."""
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


@every(FACTS)
def test_a_fact_uses_the_words_of_the_table(code: str) -> None:
    fact = FACTS[code]
    assert fact.verdict in get_args(Verdict)
    assert {each.kind for each in (*fact.evidence, *fact.against)} <= set(get_args(Kind)) - {"contract"}
    for name in names(fact.when):
        space, _, key = name.partition(".")
        assert space in SPACES if key else space in NAMES
        assert space != "network" or key in NETWORK
    for each in (*fact.evidence, *fact.against):
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", each.date)


@every(FACTS)
def test_an_error_has_a_link_to_its_proof(code: str) -> None:
    fact = FACTS[code]
    if fact.severity is Severity.ERROR:
        assert any(each.kind in PROOF | {"ab"} and each.source.startswith("https://") for each in fact.evidence)


@every(FACTS)
def test_a_comparison_says_who_changed_what_on_which_machine(code: str) -> None:
    fact = FACTS[code]
    for each in (*fact.evidence, *fact.against):
        assert each.kind != "ab" or (each.by and each.note and each.hardware)


@every(FACTS)
def test_what_was_measured_holds_where_it_was_measured(code: str) -> None:
    fact = FACTS[code]
    if fact.severity >= Severity.WARNING and not any(each.kind in PROOF for each in fact.evidence):
        bounded = fact.releases is not None and fact.releases.before is not None
        versions = {"image", "repository", "lacks", "host.kernel", "host.driver"}
        assert bounded or versions & set(names(fact.when)), "no range of releases, no image and no version"


@every(FACTS)
def test_only_what_is_proven_is_fixed(code: str) -> None:
    fact = FACTS[code]
    assert fact.fix is None or fact.proven


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({}, Severity.ERROR),
        ({"verdict": "slow"}, Severity.INFO),
        ({"verdict": "ignored"}, Severity.WARNING),
        ({"verdict": "ignored", "evidence": (MEASURED,)}, Severity.INFO),
        ({"evidence": (MEASURED,)}, Severity.INFO),
        ({"evidence": (MEASURED,), "releases": Releases("0.25.0", None)}, Severity.INFO),
        ({"evidence": (MEASURED,), "releases": BOUNDED}, Severity.WARNING),
        ({"evidence": (MEASURED,), "when": {"any": [{"set.x": 1}, {"image": "x/*"}]}}, Severity.WARNING),
        ({"evidence": (MEASURED,), "when": {"host.kernel": "7.0.0-1019-nvidia"}}, Severity.WARNING),
        ({"evidence": (MEASURED,), "when": {"host.driver": {"not": None}}}, Severity.INFO),
        ({"evidence": (MEASURED._replace(kind="forum"),)}, Severity.INFO),
        ({"against": (MEASURED,)}, Severity.INFO),
        ({"evidence": (COMPARED, AGAIN)}, Severity.ERROR),
        ({"evidence": (COMPARED, AGAIN), "verdict": "ignored"}, Severity.WARNING),
        ({"evidence": (COMPARED, AGAIN), "verdict": "slow"}, Severity.INFO),
        ({"evidence": (COMPARED, AGAIN), "against": (MEASURED,)}, Severity.INFO),
        ({"releases": BOUNDED, "evidence": (COMPARED,)}, Severity.WARNING),
        ({"releases": BOUNDED, "evidence": (COMPARED, AGAIN._replace(by="Anna"))}, Severity.WARNING),
        ({"releases": BOUNDED, "evidence": (COMPARED, AGAIN._replace(source=COMPARED.source))}, Severity.WARNING),
        ({"releases": BOUNDED, "evidence": (COMPARED._replace(by=""), AGAIN)}, Severity.WARNING),
        ({"releases": BOUNDED, "evidence": (COMPARED, AGAIN._replace(kind="measured"))}, Severity.WARNING),
        ({"releases": BOUNDED, "evidence": (COMPARED, AGAIN._replace(kind="forum"))}, Severity.WARNING),
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
        ({"set.sizes": {"without": "set.seqs"}}, True),
        ({"set.sizes": {"without": "set.size"}}, False),
        ({"set.sizes": {"without": "set.unset"}}, False),
        ({"set.unset": {"without": "set.seqs"}}, False),
        ({"set.switch": True, "set.seqs": 4}, True),
        ({"set.switch": 1}, False),
        ({"model": {"search": "-a3b-.*fp4"}}, True),
        ({"set.limits": {"search": r"audio\W+0\b"}}, True),
        ({"set.absent": {"search": ""}}, False),
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
        "set.sizes": [1, 2],
        "set.size": 2,
        "set.unset": None,
        "set.switch": True,
        "set.limits": {"image": 1, "audio": 0},
        "set.rope": {"type": "yarn"},
        "set.absent": None,
    }
    assert holds(when, values) is true


RANGE: dict[str, Any] = {"releases": Releases("0.20.0", None)}


@pytest.mark.parametrize(
    ("image", "changes", "severity"),
    [
        ("vllm/vllm-openai:v0.24.0", RANGE, Severity.ERROR),
        ("vllm/vllm-openai:v0.19.0", RANGE, None),
        ("vllm/vllm-openai:nightly", RANGE, None),
        ("vllm/vllm-openai:nightly", {}, Severity.ERROR),
        ("nvcr.io/nvidia/vllm:26.07-py3", RANGE, Severity.WARNING),
        ("example.org/vllm:v0.24.0", RANGE, Severity.WARNING),
        ("vllm/vllm-openai:v9.0.0", RANGE, Severity.INFO),
        ("vllm/vllm-openai:v0.24.0", {"hardware": "9.0"}, None),
        ("vllm/vllm-openai:v0.24.0", {"engine": "sglang"}, None),
    ],
)
def test_a_fact_is_applied_within_its_scope(image: str, changes: dict[str, Any], severity: Severity | None) -> None:
    found = resolved(deployment(f"image: {image}@{ONES}"))
    facts = (fact(when={"set.max_model_len": {"not": None}}, **changes),)
    hits = tuple(evaluator.find(Examined(build(found)).subjects, facts))
    assert [hit.severity for hit in hits] == ([] if severity is None else [severity])


def subject(*lines: str, config: str = "{}") -> Subject:
    """Return the deployment of a small inventory, with a config.json in the lock."""
    text = f"version: 1\nimages: {{}}\nmodels: {{example/model: {{commit: '{COMMIT}', config: {config}}}}}\n"
    host = planned(deployment(*lines), locked=text).hosts[0]
    return Subject(host, host.containers[0])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("set.attention_config.backend", "FLASHINFER"),
        ("set.compilation_config.pass_config.fuse", True),
        ("set.compilation_config.absent", None),
        ("set.attention_backend.backend", None),
        ("config.num_attention_heads", 64),
        ("config.hidden_size", 4096),
        ("config.quantization_config.quant_method", "fp8"),
        ("config.num_key_value_heads", None),
        ("config.absent", None),
    ],
)
def test_a_value_inside_of_another_one(name: str, value: object) -> None:
    options = (
        'attention_config: {backend: FLASHINFER}, attention_backend: "{", '
        """compilation_config: '{"pass_config": {"fuse": true}}', hf_overrides: {num_key_value_heads: 4}"""
    )
    config = (
        "{text_config: {num_attention_heads: 64, num_key_value_heads: 8}, num_attention_heads: 16, hidden_size: 4096, "
        "quantization_config: {quant_method: fp8}}"
    )
    assert subject(f"set: {{{options}}}", config=config)[name] == value


@pytest.mark.parametrize(
    ("lines", "upstream"),
    [
        (("image: vllm/vllm-openai:v0.25.1",), True),
        (("image: nvcr.io/nvidia/vllm:26.04-py3",), False),
        (("image: example.org/vllm:v0.25.1",), False),
        (("image: vllm/vllm-openai:v0.25.1", "container: {prelude: [[pip, install, x]]}"), False),
    ],
)
def test_a_proof_for_a_release_is_a_warning_for_builds_by_others(lines: tuple[str, ...], *, upstream: bool) -> None:
    assert subject(*lines).upstream is upstream


@pytest.mark.parametrize(
    ("tag", "found"),
    [
        ("v0.25.1", True),
        ("v0.24.0", False),
        ("v0.28.0", False),
        ("v0.28.0rc1", False),
        ("v0.27.2", True),
        ("nightly", False),
    ],
)
def test_a_fact_holds_for_its_releases_alone(tag: str, *, found: bool) -> None:
    scoped = fact(when={}, releases=Releases("0.25.1", "0.28.0"), hardware="any")
    assert applies(scoped, subject(f"image: vllm/vllm-openai:{tag}")) is found


def test_a_key_that_facts_do_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="wehn"):
        sheet("abc001_a", {"since": "0.1.0", "facts": [{"wehn": {}}]})


def test_the_index_is_up_to_date() -> None:
    module = generator("facts")
    for page in module.PAGES:
        assert module.text(page) == page.read_text(), "run python tools/docs/facts.py"


def test_every_kind_of_evidence_has_one_grade() -> None:
    assert sorted((*PROOF, *TESTIMONY, "forum", "advice")) == sorted(get_args(Kind))
    assert BREAKS.isdisjoint(WORKS)
    assert {*BREAKS, *WORKS} == {*get_args(Verdict)} - {"slow", "advice"}
