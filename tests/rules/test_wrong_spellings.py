"""The laboratory's inventory with a wrong spelling or number, on NVIDIA's image of a known vLLM release."""

from __future__ import annotations

from typing import Final

import pytest

from sparkiac import pipeline
from sparkiac.report import Severity
from tests.conftest import ROOT

LAB: Final = (ROOT / "inventories/lab.yaml").read_text("utf-8")
LOCK: Final = pipeline.InputFile("lab.lock.yaml", (ROOT / "inventories/lab.lock.yaml").read_bytes())
AFTER: Final = "    variant: nemoclaw\n"


@pytest.mark.parametrize(
    ("line", "code", "hint"),
    [
        ("set: {max_model_length: 65536}", "FLG101", "vLLM calls it max_model_len"),
        ("set: {gpu_memory_utilisation: 0.5}", "FLG101", "did you mean 'gpu_memory_utilization'?"),
        ("set: {tool_call_parser: qwen3_codr}", "FLG105", "did you mean 'qwen3_coder'?"),
        ("set: {kv_cache_dtype: fp4}", "FLG105", "vLLM calls it nvfp4"),
        ("set: {max_model_len: -5}", "FLG102", "correct the value"),
    ],
)
def test_a_mistake_in_the_laboratory_is_an_error(line: str, code: str, hint: str) -> None:
    text = LAB.replace(AFTER, f"{AFTER}    {line}\n", 1)
    assert text != LAB
    report = pipeline.check(pipeline.InputFile("lab.yaml", text.encode()), LOCK, allow_unlocked=True).report
    errors = [each for each in report.findings if each.severity is Severity.ERROR and each.code[:3] == "FLG"]
    assert [each.code for each in errors] == [code]
    assert (errors[0].hint or "").startswith(hint)
