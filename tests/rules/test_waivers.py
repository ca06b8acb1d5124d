"""Waivers: what they cover, and that none of them is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac import rules
from sparkiac.plan import build
from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule
from tests.plan.fleets import LOCK, ONES, PAIR, checked, deployment, resolved, said, service
from tests.rules.test_check import RULE, saying, verdict

if TYPE_CHECKING:
    from sparkiac.report import Finding

ALLOW = "allow: [{code: TST001, reason: it is right here}]"
CHAT = Hit(("deployments", "chat", "port"), "wrong", "mend it", host="spark-01")


@pytest.mark.parametrize(
    "text",
    [
        deployment(ALLOW),
        deployment() + ALLOW + "\n",
        deployment(host=f"spark-01: {{address: 192.168.1.11, {ALLOW}}}"),
    ],
    ids=["deployment", "fleet", "host"],
)
def test_a_waiver_covers_its_deployment_its_host_or_the_fleet(text: str) -> None:
    assert verdict(text, saying(CHAT)) == ()


def test_a_waiver_covers_its_service() -> None:
    assert verdict(service(ALLOW), saying(Hit(("services", "asr", "image"), "wrong", ""))) == ()


def test_a_finding_about_a_host_is_waived_there() -> None:
    text = deployment(host=f"spark-01: {{address: 192.168.1.11, {ALLOW}}}")
    assert verdict(text, saying(Hit(("hosts", "spark-01", "driver"), "wrong", ""))) == ()


@pytest.mark.parametrize("hit", [Hit(("hosts", "spark-02"), "wrong", ""), Hit(("deployments", "big"), "wrong", "")])
def test_a_waiver_covers_nothing_beside_its_place(hit: Hit) -> None:
    text = PAIR.replace("  spark-01:\n", f"  spark-01:\n    {ALLOW}\n")
    assert said(verdict(text, saying(hit)))[0].startswith("TST001")
    assert said(verdict(text, saying(hit)))[1].startswith("WVR001 5:20 TST001 reports nothing here")


def test_one_waiver_covers_several_findings() -> None:
    assert verdict(deployment(ALLOW), saying(CHAT, Hit(("deployments", "chat"), "also wrong", ""))) == ()


def test_a_waiver_that_waives_nothing_warns() -> None:
    [finding] = verdict(deployment(ALLOW), saying())
    assert said((finding,)) == ["WVR001 10:20 TST001 reports nothing here"]
    assert (finding.severity, finding.hint) == (Severity.WARNING, "remove the waiver")


def test_a_second_waiver_for_the_same_finding_is_used_as_well() -> None:
    """Which of the two is superfluous is the person's choice."""
    assert verdict(deployment(ALLOW) + ALLOW + "\n", saying(CHAT)) == ()


@pytest.mark.parametrize("code", ["TST009", "YML007", "INV002", "REF003", "WVR001", "INT001"])
def test_a_waiver_for_a_code_that_no_rule_has_warns(code: str) -> None:
    findings = verdict(deployment(ALLOW.replace("TST001", code)), saying(CHAT))
    assert said(findings) == [
        f"WVR001 10:20 no rule has the code {code}",
        "TST001 9:11 wrong",
    ]


def test_what_cannot_be_waived_stays_and_says_so() -> None:
    rule = Rule("TST001", "test", Severity.ERROR, (), "0.1.0", waivable=False)
    refused, told = verdict(deployment(ALLOW), saying(CHAT, rule=rule))
    assert (refused.code, refused.severity) == ("TST001", Severity.ERROR)
    assert said((told,)) == ["WVR001 10:20 TST001 cannot be waived"]
    assert told.hint == "fix the finding, and remove the waiver"


def test_a_waiver_of_one_rule_is_none_of_another() -> None:
    other = Rule("TST002", "other", Severity.ERROR, (), "0.1.0")
    findings = verdict(deployment(ALLOW), saying(CHAT, rule=RULE), saying(CHAT, rule=other))
    assert said(findings) == ["TST002 9:11 wrong"]


def test_the_whole_way_a_waived_finding_is_gone() -> None:
    twice = service("command: [vllm, serve, x]", "LINE").replace("example.org/asr", "vllm/vllm-openai")
    lines = ("gpu: true", ALLOW.replace("TST001", "ENT001"))
    refused, waived = (checked(twice.replace("LINE", line)) for line in lines)
    assert [finding.code for finding in refused.report.findings] == ["ENT001"]
    assert waived.report.findings == ()


def test_an_unpinned_image_cannot_be_waived() -> None:
    outcome = checked(deployment(ALLOW.replace("TST001", "IMG003")), locked=None)
    assert [finding.code for finding in outcome.report.findings] == ["IMG003", "MDL001", "WVR001"]
    assert outcome.report.failed


ENDING = "allow: [{code: TST001, reason: it is right here, until: UNTIL}]"
NGC = "nvcr.io/nvidia/vllm:26.04-py3"
"""An image with vLLM 0.19.0, the one of base/single-spark."""


def ending(until: str, *lines: str) -> str:
    """Write a deployment whose waiver ends."""
    return deployment(ENDING.replace("UNTIL", until), *lines)


def built(created: str, text: str) -> tuple[Finding, ...]:
    """Run a rule that speaks over an inventory whose lock has this creation date of the image."""
    found = resolved(text, locked=LOCK.replace(f"{NGC}: {{", f"{NGC}: {{created: {created}, "))
    return rules.check(build(found), found, rules=[saying(CHAT)])


@pytest.mark.parametrize("until", ['{release: "0.34"}', '{release: "0.19.1"}', '{release: "0.20"}'])
def test_a_waiver_holds_until_the_release_is_reached(until: str) -> None:
    assert verdict(ending(until), saying(CHAT)) == ()


@pytest.mark.parametrize("until", ['{release: "0.19"}', '{release: "0.19.0"}', '{release: "0.18.1"}'])
def test_an_ended_waiver_silences_nothing_and_is_named(until: str) -> None:
    [finding] = verdict(ending(until), saying(CHAT))
    assert (finding.code, finding.message) == ("TST001", "wrong")
    assert finding.hint == (
        "mend it; the waiver in line 10 has ended: chat runs vLLM 0.19.0, and it was for releases before "
        + until.split('"')[1]
    )


@pytest.mark.parametrize(
    ("image", "until", "ended"),
    [
        ("vllm/vllm-openai:v0.34.0", "0.34", True),
        ("vllm/vllm-openai:v0.34.0rc1", "0.34", False),
        ("vllm/vllm-openai:v0.33.1", "0.34", False),
        ("vllm/vllm-openai:v0.100.0", "0.34", True),
    ],
)
def test_releases_are_compared_by_number_and_a_candidate_has_not_reached_its_release(
    image: str, until: str, *, ended: bool
) -> None:
    text = ending(f'{{release: "{until}"}}', f"image: {image}@{ONES}")
    assert bool(verdict(text, saying(CHAT))) is ended


@pytest.mark.parametrize(
    ("recipe", "image", "until", "codes"),
    [
        ("base/sglang", "lmsysorg/sglang:v0.5.9-cu130", "0.5.9", ["TST001"]),
        ("base/sglang", "lmsysorg/sglang:v0.5.9-cu130", "0.5.10", []),
        ("base/llama-cpp", "ghcr.io/ggml-org/llama.cpp:server-cuda-b10405", "b10405", ["TST001"]),
        ("base/llama-cpp", "ghcr.io/ggml-org/llama.cpp:server-cuda-b10405", "b10406", []),
        ("base/llama-cpp", "ghcr.io/ggml-org/llama.cpp:server-cuda-b10405", "0.34", ["WVR002"]),
    ],
)
def test_other_engines_have_releases_too(recipe: str, image: str, until: str, codes: list[str]) -> None:
    text = ending(f'{{release: "{until}"}}', f"image: {image}@{ONES}", "model_file: one.gguf")
    text = text.replace("base/single-spark", recipe)
    assert [finding.code for finding in verdict(text, saying(CHAT))] == codes


@pytest.mark.parametrize(
    ("created", "ended"), [("2026-12-31T23:59:59Z", False), ("2027-01-31", False), ("2027-02-01T00:00:00Z", True)]
)
def test_a_waiver_ends_with_an_image_that_was_built_after_its_month(created: str, *, ended: bool) -> None:
    found = built(f'"{created}"', ending("{image_after: 2027-01}"))
    assert [finding.hint for finding in found] == (
        [f"mend it; the waiver in line 10 has ended: {NGC} was built in 2027-02, after 2027-01"] if ended else []
    )


@pytest.mark.parametrize("created", ["null", "yesterday"])
def test_a_waiver_holds_while_the_creation_date_is_unknown_and_says_so(created: str) -> None:
    [finding] = built(created, ending("{image_after: 2027-01}"))
    message = f"it holds: the lock has no creation date of {NGC}"
    assert said((finding,)) == [f"WVR002 10:61 whether this waiver of TST001 has ended is unknown, and {message}"]
    assert finding.severity is Severity.INFO


def test_without_a_lock_the_end_of_an_image_is_unknown() -> None:
    text = ending("{image_after: 2027-01}").replace("TST001", "SEC100")
    report = checked(text, locked=None, hidden=frozenset()).report
    [finding] = [each for each in report.findings if each.code == "WVR002"]
    assert "SEC100" not in {each.code for each in report.findings}
    assert finding.message.endswith(f"the lock has no creation date of {NGC}")


def test_the_release_of_an_unknown_image_is_unknown() -> None:
    [finding] = verdict(ending('{release: "0.34"}', f"image: example.org/own:1@{ONES}"), saying(CHAT))
    assert finding.message.endswith("example.org/own:1 names no release of vLLM to compare with 0.34")


def test_a_waiver_of_the_fleet_ends_for_each_server_by_itself_and_for_a_host_with_its_last() -> None:
    other = (
        deployment(f"image: vllm/vllm-openai:v0.34.0@{ONES}").partition("deployments:\n")[2].replace("chat:", "new:")
    )
    text = deployment() + other.replace("8001", "8002") + ENDING.replace("UNTIL", '{release: "0.34"}') + "\n"
    new = CHAT._replace(path=("deployments", "new", "port"))
    of_host = CHAT._replace(path=("hosts", "spark-01", "driver"))
    assert [finding.loc.mark.line for finding in verdict(text, saying(CHAT, new, of_host)) if finding.loc] == [14]


def test_a_waiver_with_an_end_that_waives_nothing_is_only_unused() -> None:
    [finding] = verdict(ending('{release: "0.34"}', f"image: example.org/own:1@{ONES}"), saying())
    assert finding.code == "WVR001"


@pytest.mark.parametrize(
    ("until", "place", "message"),
    [
        ('{release: "0.34", image_after: 2027-01}', (10, 61), "a waiver has one end"),
        ("{}", (10, 61), "a waiver has one end"),
        ("{image_after: 2027-13}", (10, 75), "2027-13"),
        ("{image_after: 2027-1}", (10, 75), "2027-1"),
        ("{image_after: 2027-01-15}", (10, 75), "2027-01-15"),
        ("{release: 0.34}", (10, 71), "0.34"),
        ('{release: "latest"}', (10, 71), "latest"),
        ("{released: x}", (10, 62), "unknown key 'released'"),
        ('"0.34"', (10, 61), "0.34"),
    ],
)
def test_a_wrong_end_is_an_error_at_its_place(until: str, place: tuple[int, int], message: str) -> None:
    found = [each for each in checked(ending(until)).report.findings if each.code.startswith(("INV", "YML"))]
    assert len(found) == 1, said(tuple(found))
    assert found[0].loc is not None
    assert message in found[0].message
    assert (found[0].loc.mark.line, found[0].loc.mark.column) == place
