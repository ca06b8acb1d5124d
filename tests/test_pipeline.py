"""The order of the stages: what a fault in one of them lets the next ones do."""

from __future__ import annotations

import pytest

from sparkiac import pipeline
from sparkiac.report import Severity
from tests.plan.fleets import LOCK, checked, deployment, said, service


def test_good_input_gives_a_plan_and_no_finding() -> None:
    outcome = checked(deployment())
    assert outcome.report.findings == ()
    assert outcome.plan is not None
    assert outcome.plan.name == "lab"
    assert not outcome.only_unpinned


def test_bad_form_gives_findings_and_no_plan() -> None:
    outcome = checked(deployment("portt: 1"))
    assert said(outcome.report.findings) == ["INV001 10:5 unknown key 'portt' in deployments.chat"]
    assert outcome.plan is None


def test_faults_of_the_inventory_and_of_its_lock_are_reported_at_once() -> None:
    outcome = checked(deployment("portt: 1"), locked=LOCK.replace("version: 1", "version: 2"))
    assert [(finding.code, finding.loc and finding.loc.file) for finding in outcome.report.findings] == [
        ("INV002", "lab.lock.yaml"),
        ("INV001", "lab.yaml"),
    ]
    assert outcome.plan is None


def test_a_bad_lock_alone_stops_the_run() -> None:
    outcome = checked(deployment(), locked="version: 1\n")
    assert [finding.code for finding in outcome.report.findings] == ["INV003"]
    assert outcome.plan is None


def test_a_name_that_leads_nowhere_gives_no_plan() -> None:
    outcome = checked(deployment("variant: x"))
    assert [finding.code for finding in outcome.report.findings] == ["REF001"]
    assert outcome.plan is None


def test_faults_of_the_file_are_shown_together_and_before_those_of_the_rules() -> None:
    risky = deployment("set: {gpu_memory_utilization: 0.95}")
    broken = risky.replace("port: 8001", "port: 80000\n    portt: 1").replace("hosts: spark-01", "hosts: spark-1")
    assert sorted(finding.code for finding in checked(broken).report.findings) == ["INV001", "INV002", "REF001"]
    assert "MEM001" in {finding.code for finding in checked(risky).report.findings}


def test_what_is_not_pinned_is_an_error_and_the_plan_is_there() -> None:
    outcome = checked(deployment(), locked=None)
    assert [(finding.code, finding.severity) for finding in outcome.report.findings] == [
        ("IMG003", Severity.ERROR),
        ("MDL001", Severity.ERROR),
    ]
    assert outcome.report.failed
    assert outcome.only_unpinned
    assert outcome.plan is not None


def test_it_is_a_warning_for_a_first_look() -> None:
    outcome = checked(deployment(), locked=None, allow_unlocked=True)
    assert [(finding.code, finding.severity) for finding in outcome.report.findings] == [
        ("IMG003", Severity.WARNING),
        ("MDL001", Severity.WARNING),
    ]
    assert not outcome.report.failed
    assert not outcome.only_unpinned
    assert outcome.plan is not None
    assert b"nvcr.io/nvidia/vllm@UNLOCKED" in b"".join(each.content for each in pipeline.render(outcome.plan))


@pytest.mark.parametrize("allow_unlocked", [False, True])
def test_leave_to_be_unlocked_is_not_leave_for_anything_else(*, allow_unlocked: bool) -> None:
    command = service("command: [vllm, serve, x]").replace("example.org/asr", "vllm/vllm-openai")
    outcome = checked(command, allow_unlocked=allow_unlocked)
    assert [finding.code for finding in outcome.report.findings] == ["ENT001"]
    assert outcome.report.failed
    assert not outcome.only_unpinned


def test_artifacts_are_sorted_by_path_and_paths_are_unique() -> None:
    outcome = checked(deployment())
    assert outcome.plan is not None
    paths = [artifact.path for artifact in pipeline.render(outcome.plan)]
    assert paths == sorted(set(paths))
    assert {"PLAN.md", "ansible.cfg", "inventory.yml", "site.yml", "host_vars/spark-01/main.yml"} <= set(paths)


def test_faults_of_the_lock_do_not_hide_errors_of_rules() -> None:
    text = deployment("set: {tensor_parallel_size: 8}")
    files = (
        pipeline.InputFile("lab.yaml", text.encode()),
        pipeline.InputFile("lab.lock.yaml", b"version: 2\nimages: {}\n"),
    )
    outcome = pipeline.check(*files)
    assert outcome.plan is None
    assert [(each.code, each.loc and each.loc.file) for each in outcome.report.findings] == [
        ("INV002", "lab.lock.yaml"),
        ("FLG010", "lab.yaml"),
    ]
