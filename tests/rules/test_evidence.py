"""What no parser, code, format or arithmetic proves is no error, and nothing is changed in the user's file for it.

The deployments here are of kinds that their authors publish for DGX Spark, and that run.
"""

from __future__ import annotations

import pytest

from sparkiac.report import Severity
from sparkiac.rules.pages import pages
from tests.plan.fleets import ONES, PAIR, checked, deployment, said

UNPROVEN = (*("ATT004", "FLG004", "FLG009", "IMG001", "MOE001", "QNT001", "SPD004", "SPD005", "SPD006", "SPD010"),)
ADVICE = {"FLG004", "FLG009", "SPD004", "SPD006", "SPD010"}


def on(image: str, model: str, *lines: str) -> str:
    """Write a deployment of a model on an image."""
    return deployment(f"image: {image}@{ONES}", *lines).replace("example/model", model)


@pytest.mark.parametrize("code", UNPROVEN)
def test_what_is_not_proven_is_not_an_error_and_has_no_fix(code: str) -> None:
    page = pages()[code]
    assert page.rule.severity < Severity.ERROR
    assert code not in ADVICE or page.rule.severity is Severity.INFO
    found = [
        finding
        for text in page.bad
        for finding in checked(text, allow_unlocked=True, hidden=frozenset()).report.findings
        if finding.code == code
    ]
    assert found
    assert not [finding for finding in found if finding.fix or finding.severity is Severity.ERROR]


@pytest.mark.parametrize(
    "text",
    [
        on("vllm/vllm-openai:latest", "nvidia/Qwen3.6-35B-A3B-NVFP4"),
        on("vllm/vllm-openai:v0.20.0", "example/model"),
        on("example.org/vllm:1", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", "set: {moe_backend: cutlass}"),
        on(
            "example.org/vllm:1",
            "Qwen/Qwen3.6-27B-FP8",
            "speculative: {method: dflash, model: z-lab/Qwen3.6-27B-DFlash, num_speculative_tokens: 15}",
            "set: {attention_backend: flash_attn}",
        ),
        on(
            "example.org/vllm:1",
            "nvidia/Gemma-4-26B-A4B-NVFP4",
            "speculative: {method: mtp, model: google/gemma-4-26B-A4B-it-assistant, num_speculative_tokens: 4}",
        ),
        PAIR.replace("example/big", "google/gemma-4-26B-A4B-it") + f"    image: example.org/vllm:1@{ONES}\n",
        PAIR.replace("example/big", "deepseek-ai/DeepSeek-V4-Flash")
        + f"    image: example.org/vllm:1@{ONES}\n    set: {{kv_cache_dtype: fp8, tokenizer_mode: deepseek_v4}}\n",
    ],
)
def test_a_deployment_that_runs_elsewhere_has_no_error(text: str) -> None:
    report = checked(text, allow_unlocked=True, hidden=frozenset()).report
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    assert not [finding for finding in errors if finding.code in UNPROVEN], said(tuple(errors))


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("google/gemma-4-26B-A4B-it", False),
        ("nvidia/Gemma-4-26B-A4B-NVFP4", False),
        ("google/gemma-4-31B-it", True),
    ],
)
def test_a_copy_of_a_drafters_model_may_leave_out_that_it_was_tuned(model: str, *, found: bool) -> None:
    drafter = "speculative: {method: mtp, model: google/gemma-4-26B-A4B-it-assistant, num_speculative_tokens: 4}"
    report = checked(on("example.org/vllm:1", model, drafter), allow_unlocked=True, hidden=frozenset()).report
    assert ("SPD005" in {finding.code for finding in report.findings}) is found


@pytest.mark.parametrize(("release", "severity"), [("0.22.1", Severity.ERROR), ("0.23.0", Severity.WARNING)])
def test_a_release_in_which_one_build_refused_a_pair_has_a_warning(release: str, severity: Severity) -> None:
    """In 0.23.0 the drafter's own configuration, which is not read, can allow an FP8 cache."""
    pair = ("speculative: {method: dflash}", "set: {kv_cache_dtype: fp8}")
    text = on(f"vllm/vllm-openai:v{release}", "Qwen/Qwen3.6-35B-A3B", *pair)
    report = checked(text, allow_unlocked=True, hidden=frozenset()).report
    assert {finding.severity for finding in report.findings if finding.code == "SPD002"} == {severity}
