"""Options of SGLang and llama.cpp: how much a finding weighs, and what is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac import rules
from sparkiac.plan import build
from sparkiac.report import Severity
from tests.plan.fleets import ONES, deployment, resolved
from tests.rules.pages import named

if TYPE_CHECKING:
    from sparkiac.report import Finding

RULES: Final = (named("ENG001"), named("ENG002"), named("ENG006"))
EXACT: Final = "lmsysorg/sglang:v0.5.23"
OTHER: Final = "lmsysorg/sglang:spark"


def found(image: str, *lines: str, recipe: str = "base/sglang") -> list[Finding]:
    """Run the rules about engines over one deployment."""
    text = deployment(f"image: {image}@{ONES}", *lines).replace("base/single-spark", recipe)
    read = resolved(text)
    return [*rules.check(build(read), read, rules=RULES)]


def llama(*lines: str) -> list[Finding]:
    return found("ghcr.io/ggml-org/llama.cpp:server-cuda", "model_file: m.gguf", *lines, recipe="base/llama-cpp")


@pytest.mark.parametrize(
    "options",
    [
        "mamba_scheduler_strategy: extra_buffer",
        "cuda_graph_max_bs: 32",
        "enable_piecewise_cuda_graph: true",
        "tensor_parallel_size: 1",
        "enable_hicache: true",
    ],
)
def test_an_option_of_another_release_of_sglang_is_no_finding(options: str) -> None:
    assert found(OTHER, f"set: {{{options}}}") == []


def test_the_release_of_the_table_lacks_what_was_renamed() -> None:
    for image in (EXACT, f"{EXACT}-cu130", f"docker.io/{EXACT}"):
        (finding,) = found(image, "set: {mamba_scheduler_strategy: extra_buffer}")
        assert finding.severity is Severity.ERROR
        tagged = image.removeprefix("docker.io/")
        assert finding.message == f"mamba_scheduler_strategy of chat is not an option of SGLang in {tagged}"
    assert found(EXACT, "set: {tensor_parallel_size: 1}") == []


@pytest.mark.parametrize("image", [OTHER, "example.org/sglang:v0.5.23", "lmsysorg/sglang:v0.5.231"])
def test_what_no_known_release_has_is_a_warning_where_the_release_is_unknown(image: str) -> None:
    (unknown,) = found(image, "set: {contxt_length: 4096}")
    assert (unknown.code, unknown.severity) == ("ENG001", Severity.WARNING)
    assert unknown.hint == "did you mean 'context_length'?"
    (value,) = found(image, "set: {schedule_policy: fifo}")
    assert (value.code, value.severity) == ("ENG002", Severity.WARNING)


def test_the_same_is_an_error_of_the_release_of_the_table() -> None:
    findings = [*found(EXACT, "set: {contxt_length: 4096}"), *found(EXACT, "set: {schedule_policy: fifo}")]
    assert [(each.code, each.severity) for each in findings] == [
        ("ENG001", Severity.ERROR),
        ("ENG002", Severity.ERROR),
    ]


def test_the_caret_stands_under_the_name() -> None:
    (finding,) = found(OTHER, "set: {contxt_length: 4096}")
    assert finding.loc is not None
    mark = finding.loc.mark
    assert finding.loc.text[mark.column - 1 : mark.end_column - 1] == "contxt_length"


def test_what_a_key_of_the_inventory_says_is_an_error_of_any_image() -> None:
    (finding,) = found(OTHER, "set: {model_path: x}")
    assert (finding.severity, finding.hint) == (Severity.ERROR, "use the key `model:` of the deployment")


@pytest.mark.parametrize("method", ["eagle", "eagle3", "dspark"])
def test_sglang_has_these_methods(method: str) -> None:
    assert found(OTHER, f"speculative: {{method: {method}, model: example/head, num_speculative_tokens: 3}}") == []


def test_llama_cpp_took_no_mmap_before_load_mode() -> None:
    assert llama("set: {no_mmap: true}") == []
    assert llama("set: {mlock: true, cache_type_k_draft: q8_0}") == []


def test_llama_cpp_has_no_release_that_is_known_exactly() -> None:
    (finding,) = llama("set: {ctx_sise: 4096}")
    assert (finding.severity, finding.hint) == (Severity.WARNING, "did you mean 'ctx_size'?")
