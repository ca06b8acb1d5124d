"""How much a finding about vLLM's interface weighs."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac import rules
from sparkiac.plan import build
from sparkiac.report import Severity
from sparkiac.rules import flg105_unknown_name
from tests.plan.fleets import ONES, deployment, resolved

EXACT: Final = "vllm/vllm-openai:v0.20.0"
NEAREST: Final = "nvcr.io/nvidia/vllm:26.04-py3"


def weight(image: str, option: str, model: str = "example/model") -> Severity:
    """Give the severity of the one name that is not known."""
    text = deployment(f"image: {image}@{ONES}", f"set: {{{option}}}").replace("example/model", model)
    found = resolved(text)
    (finding,) = rules.check(build(found), found, rules=[flg105_unknown_name])
    return finding.severity


def test_what_only_the_nearest_release_says_is_a_warning() -> None:
    assert weight(EXACT, "tool_call_parser: none_such") is Severity.ERROR
    assert weight(NEAREST, "tool_call_parser: none_such") is Severity.WARNING


@pytest.mark.parametrize(
    ("model", "severity"),
    [
        ("unsloth/Qwen3.6-27B-NVFP4", Severity.ERROR),
        ("nvidia/Gemma-4-31B-IT-NVFP4", Severity.WARNING),
        ("example/model", Severity.WARNING),
    ],
)
def test_a_checkpoint_of_modelopt_may_replace_the_quantization_that_is_said(model: str, severity: Severity) -> None:
    assert weight(EXACT, "quantization: nvfp4", model) is severity
