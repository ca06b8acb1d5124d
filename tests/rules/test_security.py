"""What is known about the security of servers and hosts, where it depends on releases, options and the lock."""

from __future__ import annotations

import pytest

from sparkiac.report import Severity
from tests.plan.fleets import ONES, deployment
from tests.plan.test_weights import KNOWN
from tests.rules.test_pages import found

CODE = KNOWN.replace('commit: "', 'remote_code: true, commit: "', 1)


@pytest.mark.parametrize(("value", "count"), [("'1'", 1), ("'0'", 0)])
def test_the_development_mode_of_vllm_is_found(value: str, count: int) -> None:
    findings = found(deployment(f"env: {{VLLM_SERVER_DEV_MODE: {value}}}"), "SEC009")
    assert [each.severity for each in findings] == [Severity.WARNING] * count


@pytest.mark.parametrize(
    ("release", "locked", "count"),
    [("0.13.0", CODE, 1), ("0.14.0", CODE, 0), ("0.10.0", CODE, 0), ("0.13.0", KNOWN, 0)],
)
def test_a_release_that_runs_code_of_any_repository_is_found(release: str, locked: str, count: int) -> None:
    findings = found(deployment(f"image: vllm/vllm-openai:v{release}@{ONES}"), "SEC013", locked=locked)
    assert len(["CVE-2026-22807" in each.message for each in findings]) == count


@pytest.mark.parametrize("source", ["/run/sparkiac/secrets", "/run", "/etc/sparkiac/secrets.encrypted"])
def test_a_mount_with_the_secrets_of_others_is_found(source: str) -> None:
    mount = f"container: {{mounts: {{/s: {{source: {source}, read_only: true}}}}}}"
    assert len(found(deployment(mount), "SEC008")) == 1


@pytest.mark.parametrize(
    ("version", "count"), [("1.17.7-1", 1), ("1.16.2-1", 1), ("1.17.8-1", 0), ("1.18.0-1", 0), ("1.2.0-1", 1)]
)
def test_a_container_toolkit_with_a_way_out_is_found(version: str, count: int) -> None:
    pinned = (
        f"hosts:\n  sets:\n    a: {{packages: {{nvidia-container-toolkit: {version!r}}}, "
        "since: '2026-09-01', review_by: '2026-10-01'}\n  members: {spark-01: a}\n"
    )
    assert len(found(deployment(), "SEC014", locked=f"version: 1\nimages: {{}}\n{pinned}")) == count


RUNS = 'set: {trust_remote_code: true, revision: "1111111111111111111111111111111111111111"}'


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["set: {trust_remote_code: true}"], ["which is not pinned to a commit"]),
        ([RUNS], ["and nothing says why"]),
        ([RUNS, "allow: [{code: SEC005, reason: its code was read}]"], []),
    ],
)
def test_code_of_a_model_needs_a_commit_and_a_reason(lines: list[str], said: list[str]) -> None:
    findings = found(deployment(*lines), "SEC005")
    assert [each.message.partition(", ")[2] for each in findings] == said


def test_the_source_of_a_recipe_is_the_reason_for_its_code() -> None:
    text = deployment().replace("base/single-spark", "qwen/qwen3.6-27b-fp8").replace("    model: example/model\n", "")
    unpinned = "chat runs code from Qwen/Qwen3.6-27B-FP8, which is not pinned to a commit"
    assert [each.message for each in found(text, "SEC005")] == [unpinned]
    assert found(text + f"    {RUNS}\n", "SEC005") == ()
