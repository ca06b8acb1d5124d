"""One run reports the faults of all stages: errors of keys and names, and those of rules in the other entries."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac.report import Severity
from tests.bad.test_newcomers import FAULTS, INVENTORY
from tests.plan.fleets import checked

FAST: Final = "    recipe: google/gemma-4-26b-a4b-it-fp8\n"
TOO_MUCH: Final = "    port: 8002\n    set: {tensor_parallel_size: 8}\n"
"""A fault in a deployment that only a rule finds."""
SECOND: Final = ("FLG010", "fast is split over 8 GPUs, but has 1")
NOT_JUDGED: Final = {
    "address twice": "the fault is at the host of the second one",
    "hosts as list": "no host is left",
    "no hosts": "no host is left",
    "key literal": "defaults",
    "bind all": "defaults",
    "store home": "defaults",
    "env var": "defaults",
    "store missing": "the second one has this fault too",
    "tabs": "not YAML",
    "indent": "not YAML",
    "no space after colon": "not YAML",
    "colon in value": "not YAML",
    "deployments as list": "not YAML",
    "turn unknown": "turns",
}
"""Faults that hide the second one, and why."""


def errors(text: str) -> set[tuple[str, str]]:
    """Return code and message of all errors."""
    findings = checked(text, locked=None, allow_unlocked=True).report.findings
    return {(each.code, each.message) for each in findings if each.severity is Severity.ERROR}


OF_FILES: Final = [each for each in FAULTS if each[0] != "two models on one host"]
"""Without the fault that only rules find, whose message is a sum that contains the second one."""


@pytest.mark.parametrize("fault", OF_FILES, ids=[each[0] for each in OF_FILES])
def test_a_second_fault_is_found_and_no_third_one(fault: tuple[str, ...]) -> None:
    name, old, new = fault[:3]
    first = INVENTORY.replace(old, new, 1)
    found = errors(first.replace(FAST, FAST + TOO_MUCH))
    assert found - errors(first) == (set() if name in NOT_JUDGED else {SECOND})


FLEET: Final = f"""{INVENTORY.replace(FAST, FAST + TOO_MUCH)}\
  other: {{kind: container, image: "example.org/other:1", hosts: spark-02, port: 8002}}
"""
"""With a third fault, for which a rule compares two entries: a port that is used twice."""


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("    port: 8001\n", "    port: none\n", {"INV002", "FLG010", "NET007"}),
        ("192.168.1.11", "192.168.1.999", {"INV002", "FLG010", "NET007"}),
        ("192.168.1.12", "192.168.1.999", {"INV002"}),
        ("hosts: spark-01\n", "hosts: spark-09\n", {"REF001", "FLG010", "NET007"}),
        ("services:\n", "monitoring: {prometheus: {hosts: x}}\nservices:\n", {"REF001", "FLG010", "NET007"}),
        ("services:\n", "rollout: {batch: 0}\nservices:\n", {"INV002", "FLG010", "NET007"}),
        ("services:\n", "retired: {old: {}}\nservices:\n", {"INV003", "FLG010", "NET007"}),
        ("services:\n", "turns: {a: [chat], b: [fst]}\nservices:\n", {"REF001"}),
        ("services:\n", "builds: {x: {z: 1}}\nservices:\n", {"INV001"}),
        ("uses: [chat]", "uses: [caht]", {"REF001", "FLG010", "NET007"}),
        ("    port: 8002\n", "    port: 8002\n    bind: none\n", {"INV002"}),
    ],
)
def test_what_is_left_depends_on_where_the_first_fault_is(old: str, new: str, codes: set[str]) -> None:
    assert old in FLEET
    assert {code for code, _ in errors(FLEET.replace(old, new, 1))} == codes


def test_a_sum_that_lacks_a_deployment_is_not_reported() -> None:
    full = "    port: 8009\n    set: {gpu_memory_utilization: 0.7}\n"
    crowded = INVENTORY.replace(FAST, FAST + full).replace("spark-02\n", "spark-01\n")
    more = "  more: {recipe: base/single-spark, hosts: spark-01, port: 8005}\n"
    third = crowded.replace("services:\n", f"{more}services:\n")
    assert {"MEM103"} <= {code for code, _ in errors(crowded)}
    assert {code for code, _ in errors(third)} == {"REF003"}


def test_errors_behind_two_stages_are_found() -> None:
    """The first deployment has a key that no schema has, the second misses a value, the third breaks a rule."""
    text = FLEET.replace("    port: 8001\n", "    prt: 8001\n").replace(
        "  web:", '  bare: {kind: container, image: "example.org/bare:1", hosts: spark-01, health: /health}\n  web:'
    )
    found = errors(text)
    assert {code for code, _ in found} == {"INV001", "REF003", "FLG010", "NET007"}
    assert ("REF003", "service bare has a health but no port") in found


def test_missing_pins_are_not_reported_before_other_errors_are_fixed() -> None:
    findings = checked(FLEET.replace("port: 8001", "port: none"), locked=None).report.findings
    assert {each.code for each in findings} == {"INV002", "FLG010", "NET007"}


@pytest.mark.parametrize("cut", range(40, len(FLEET), 37))
def test_a_file_that_ends_anywhere_is_judged_without_a_failure(cut: int) -> None:
    for text in (FLEET[:cut], FLEET[:cut] + "@", FLEET[:cut] + "\n  x: [}"):
        assert {code[:3] for code, _ in errors(text)} <= {"YML", "INV", "REF", "FLG", "MEM", "NET"}
