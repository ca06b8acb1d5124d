"""Symptoms: each runtime fact of the sources has one, and each pattern finds its own lines and no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import yaml
from pydantic import ValidationError

from sparkiac import catalog
from sparkiac.bench.points import MODES
from sparkiac.catalog import interfaces
from sparkiac.model.symptoms import Symptom
from sparkiac.rules.pages import pages
from tests.catalog.lines import NestedError, alternatives, ways
from tests.every import every
from tests.rules.codes import CODES, PREVENTABLE, RUNTIME

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
FILES: Final = sorted((ROOT / "sparkiac/catalog/symptoms").iterdir())
SYMPTOMS: Final = {symptom.code: symptom for symptom in catalog.symptoms()}
PATTERNS: Final = {code: symptom.pattern for code, symptom in SYMPTOMS.items() if symptom.pattern is not None}
RECORDED: Final = yaml.safe_load((HERE / "symptoms.yaml").read_text())
LINES: Final = RECORDED["lines"]
SNIPPETS: Final = {code: [each["line"] for each in LINES[code]["shows"]] for code in LINES}
WITHOUT_LINE: Final[dict[str, dict[str, str]]] = RECORDED["without_line"]
CHECKS: Final = {
    "verify": set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/verify.md").read_text(), re.MULTILINE)),
    "alert": {alert.name for group in catalog.alert_groups().values() for alert in group.alerts},
    "status": {"page cache", "KV", "run"},
    "bench": {*MODES, "compare"},
}
"""What `verify`, Prometheus, `status` and `bench` can find."""
HEALTHY: Final = (HERE / "healthy.log").read_text().splitlines()
FURTHER: Final = {
    "LOG100": "permission denied ... docker.sock",
    "LOG101": "OOM with free RAM showing",
    "LOG102": "401 / gated download fails",
    "LOG103": "unrecognized arguments: serve",
    "LOG104": "auto tool choice requires",
    "LOG105": "unknown quantization / weights mis-load",
    "LOG106": "stable image won't run on GB10",
    "LOG107": "output repetition loops",
    "LOG108": "~9x slower MoE",
    "LOG109": "AssertionError block_size",
    "LOG110": "KeyError input_scale",
    "LOG111": "FP4 gemm Runner",
    "LOG112": "forward-compat UNAVAILABLE",
    "LOG113": "ImportError fastsafetensors",
    "LOG114": "ImportError fmin",
    "LOG115": "IndexError fused_moe",
    "LOG116": "NV_ERR_NO_MEMORY",
    "LOG117": "Unknown vLLM environment variable",
}
"""Symptoms that the sources tell of beside the runtime facts."""
OF_THREADS: Final = [f"LOG{number}" for number in range(118, 205)]
"""Symptoms of public issue threads, of measurements, and of the programs themselves."""
OF_FIGURES: Final = {"BEN005"}
"""Symptoms of facts about figures, which no inventory has."""
MOST_WAYS: Final = 2_000
"""Ways to try a pattern from one start; there are as many starts as characters in the line, and no more."""
LONG: Final = 100_000
MINIMAL: Final = {
    "code": "LOG999",
    "slug": "test",
    "title": "A test",
    "severity": "info",
    "sees": "log",
    "cause": "None.",
    "remedy": ("None.",),
    "sources": ("None",),
}

every_symptom = every(SYMPTOMS.values(), name=lambda symptom: symptom.code)
every_pattern = every(PATTERNS)


def finds(code: str, lines: list[str]) -> list[str]:
    """Return the lines that a pattern finds."""
    return [line for line in lines if re.search(PATTERNS[code], line)]


def texts(value: object) -> Iterator[str]:
    """Yield all texts of a symptom, whatever they stand in."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each)


def test_each_runtime_fact_has_a_symptom_and_no_other_code_is_used() -> None:
    assert (len(CODES), len(dict(CODES)), len(RUNTIME), len(FURTHER)) == (207, 207, 36, 18)
    assert sorted(SYMPTOMS) == sorted([*RUNTIME, *FURTHER, *OF_THREADS, *OF_FIGURES])
    assert set(PREVENTABLE) > OF_FIGURES
    assert [symptom.code for symptom in catalog.symptoms()] == sorted(SYMPTOMS), "in the order of their codes"
    assert not {*FURTHER, *OF_THREADS} & set(dict(CODES)), "a code means one thing"


def test_a_file_has_the_name_of_what_it_holds() -> None:
    assert [path.name for path in FILES] == [f"{each.code}-{each.slug}.yaml" for each in catalog.symptoms()]
    assert len({symptom.slug for symptom in SYMPTOMS.values()}) == len(SYMPTOMS)


@every_symptom
def test_a_symptom_says_why_what_to_do_and_where_it_is_from(symptom: Symptom) -> None:
    assert symptom.cause.endswith(".")
    assert all(step.endswith(".") for step in symptom.remedy)
    named = ("Spark guide", "vLLM blog", "dual-Spark post", "SM121 reference", "DeepSeek-V4 thread")
    first = symptom.sources[0]
    if symptom.code in OF_THREADS:
        assert re.search(r" (issue|pull request) [0-9]+|^Measured with |: |messages? ", first), "a thread, or a program"
    else:
        assert first.startswith(named), "the first source is one of the five"
        assert re.search(r"\bL[0-9]+", first), "with its line"


@every_symptom
def test_a_symptom_refers_to_codes_that_exist(symptom: Symptom) -> None:
    assert symptom.rule is None or symptom.rule in pages()
    used = {
        code for text in texts(symptom.model_dump()) for code in re.findall(r"\b(?!SM121)[A-Z]{2,3}[0-9]{3}\b", text)
    }
    assert used <= {*SYMPTOMS, *pages()}
    assert symptom.code not in symptom.also


@every_symptom
def test_a_probe_names_metrics_that_every_release_of_vllm_has(symptom: Symptom) -> None:
    if symptom.probe is not None:
        compared = {each.measure for each in symptom.probe.thresholds if each.measure.startswith("vllm:")}
        assert compared <= set(symptom.probe.metrics)
        series = {name.removesuffix("_total") for name in symptom.probe.metrics}
        for version in interfaces.versions():
            release = interfaces.interface(version)
            assert release is not None
            assert series <= release.metrics, version
        assert bool(symptom.probe.metrics) == (symptom.sees == "metrics")


def test_each_pattern_has_lines_and_each_symptom_without_a_pattern_says_why() -> None:
    assert list(SNIPPETS) == list(PATTERNS)
    assert sorted([*PATTERNS, *WITHOUT_LINE]) == sorted(SYMPTOMS)
    assert len(WITHOUT_LINE) == 19
    assert all(each["because"].endswith(".") for each in WITHOUT_LINE.values())


@every_symptom
def test_the_checks_that_find_a_symptom_exist(symptom: Symptom) -> None:
    assert bool(symptom.pattern or symptom.found_by)
    for check in symptom.found_by:
        kind, _, name = check.partition(" ")
        assert name in CHECKS[kind], check


@every(WITHOUT_LINE)
def test_a_test_shows_that_a_check_finds_a_symptom_without_a_line(code: str) -> None:
    file, name = WITHOUT_LINE[code]["test"].split("::")
    assert f"\ndef {name}(" in (ROOT / file).read_text()


@every_pattern
def test_each_line_says_where_it_is_from(code: str) -> None:
    for each in LINES[code]["shows"]:
        assert each["from"] in {"quoted", "recorded", "constructed"}
        assert each["source"]


@every_pattern
def test_a_pattern_does_not_find_a_similar_line(code: str) -> None:
    assert not finds(code, [LINES[code]["not"]])


@every_pattern
def test_each_alternative_of_a_pattern_finds_a_line_of_its_snippet(code: str) -> None:
    for part in alternatives(PATTERNS[code]):
        assert [line for line in SNIPPETS[code] if re.search(part, line)], part


@every_pattern
def test_a_pattern_finds_no_other_snippet_than_it_says(code: str) -> None:
    found = tuple(other for other, lines in SNIPPETS.items() if other != code and finds(code, lines))
    assert found == SYMPTOMS[code].also


def test_a_healthy_server_shows_what_is_to_be_known_and_nothing_that_is_wrong() -> None:
    found = {code for code in PATTERNS if finds(code, HEALTHY)}
    assert found == {"ATT006", "LOG199", "MEM005"}
    assert {SYMPTOMS[code].severity for code in found} == {"info"}


@every_pattern
def test_a_pattern_takes_a_bounded_number_of_steps(code: str) -> None:
    assert ways(PATTERNS[code]) <= MOST_WAYS
    assert re.search(PATTERNS[code], "") is None, "it finds something, not nothing"


@every_pattern
def test_a_pattern_finds_its_line_at_the_end_of_a_long_one(code: str) -> None:
    line = finds(code, SNIPPETS[code])[0]
    padded = (line[: len(line) // 2] * LONG)[:LONG] + " " + line
    assert re.search(PATTERNS[code], padded)


@pytest.mark.parametrize("pattern", [r"a.*b", r"a+b", r"(?:ab)*", r"a{3,}", r"a.*?b"])
def test_a_repetition_without_end_is_counted_as_such(pattern: str) -> None:
    assert ways(pattern) == float("inf")


@pytest.mark.parametrize("pattern", [r"(a+)+", r"(?:a{1,9}b){1,9}", r"(?:(?:x?y){0,5})*", r"(?:a|b{1,2}){2}"])
def test_nested_repetitions_are_refused(pattern: str) -> None:
    with pytest.raises(NestedError):
        ways(pattern)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("abc", 1),
        ("a|bc", 2),
        ("a{2,5}", 4),
        ("a?b{1,3}", 6),
        ("xa{1,3}|yb{1,2}", 5),
        ("(?:x{1,2})?", 4),
        ("(?!ab)c", 1),
    ],
)
def test_ways_are_counted(pattern: str, expected: int) -> None:
    assert ways(pattern) == expected


def test_a_pattern_is_cut_at_its_outer_bars_only() -> None:
    assert alternatives(r"a(?:b|c)|[|)]d|e\|f") == ["a(?:b|c)", "[|)]d", r"e\|f"]


@pytest.mark.parametrize(
    "ways_to_show",
    [
        {},
        {"pattern": "a("},
        {"pattern": ""},
        {"probe": {}, "found_by": ("verify answer",)},
        {"probe": {"look": "There."}},
        {"probe": {"look": "There."}, "found_by": ("somebody",)},
        {"pattern": "a", "change": {"set": {"max_model_len": {"group": "fits"}}}},
    ],
    ids=["neither", "broken", "empty", "no look", "no check", "no such check", "no such group"],
)
def test_a_symptom_shows_in_a_line_or_in_something_to_look_at(ways_to_show: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Symptom.model_validate({**MINIMAL, **ways_to_show})
    assert Symptom.model_validate({**MINIMAL, "pattern": "a", "probe": {"look": "There."}}).pattern == "a"
    found = Symptom.model_validate({**MINIMAL, "probe": {"look": "There."}, "found_by": ("status KV",)})
    assert found.found_by == ("status KV",)


@pytest.mark.parametrize(
    ("tokens", "first_s", "total_s", "printed"),
    [(32, 1.12, 2.47, 23.7), (32, 3.85, 5.26, 22.7), (108, 1.12, 5.74, 23.4), (124, 3.84, 9.26, 22.9)],
)
def test_the_blogs_decode_figures_are_all_tokens_by_the_time_after_the_first(
    tokens: int, first_s: float, total_s: float, printed: float
) -> None:
    """Table 2 of the vLLM blog, L83-86, which is what BEN005 says of it."""
    both = [round(count / (total_s - first_s), 1) for count in (tokens, tokens - 1)]
    assert (both[0] == printed, both[1] == printed) == (True, False)
