"""Waivers: what they cover, and that none of them is forgotten."""

from __future__ import annotations

import pytest

from sparkiac.report import Severity
from sparkiac.rules.rule import Hit, Rule
from tests.plan.fleets import PAIR, checked, deployment, said, service
from tests.rules.test_check import RULE, saying, verdict

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
