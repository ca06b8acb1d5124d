"""Options of SGLang and llama.cpp: the release that they are compared with, how much a finding weighs, what is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac import engines, rules
from sparkiac.plan import build
from sparkiac.report import Severity
from tests.plan.fleets import ONES, deployment, resolved
from tests.rules.pages import named

if TYPE_CHECKING:
    from sparkiac.report import Finding

RULES: Final = tuple(named(code) for code in ("ENG001", "ENG002", "ENG006", "ENG008", "ENG009"))
EXACT: Final = "lmsysorg/sglang:v0.5.23"
OTHER: Final = "lmsysorg/sglang:spark"
LLAMA: Final = "ghcr.io/ggml-org/llama.cpp:server-cuda"


def found(image: str, *lines: str, recipe: str = "base/sglang", locked: str = "") -> list[Finding]:
    """Run the rules about engines over one deployment."""
    text = deployment(f"image: {image}@{ONES}", *lines).replace("base/single-spark", recipe)
    read = resolved(text, locked=locked) if locked else resolved(text)
    return [*rules.check(build(read), read, rules=RULES)]


def llama(image: str, *lines: str) -> list[Finding]:
    return found(image, "model_file: m.gguf", *lines, recipe="base/llama-cpp")


def said(findings: list[Finding]) -> list[tuple[str, Severity]]:
    return [(each.code, each.severity) for each in findings]


@pytest.mark.parametrize(
    "options",
    [
        "mamba_scheduler_strategy: extra_buffer",
        "cuda_graph_max_bs: 32",
        "enable_piecewise_cuda_graph: true",
        "tensor_parallel_size: 1",
        "enable_hicache: true",
        "max_total_tokens: 8k",
    ],
)
def test_what_some_release_takes_is_not_a_finding_where_the_release_is_unknown(options: str) -> None:
    assert found(OTHER, f"set: {{{options}}}") == []


def test_a_release_that_lacks_an_option_is_an_error_that_names_those_that_have_it() -> None:
    for image in (EXACT, f"{EXACT}-cu130", f"docker.io/{EXACT}"):
        (finding,) = found(image, "set: {mamba_scheduler_strategy: extra_buffer}")
        assert finding.severity is Severity.ERROR
        assert finding.message == (
            "mamba_scheduler_strategy of chat is not an option of SGLang 0.5.23: 0.5.7 to 0.5.19 have it"
        )
        assert "use an image with such a release" in finding.hint
    assert found("lmsysorg/sglang:v0.5.12", "set: {mamba_scheduler_strategy: extra_buffer}") == []
    assert found(EXACT, "set: {tensor_parallel_size: 1}") == []


def test_an_option_is_compared_with_the_releases_on_both_sides_of_one_that_was_not_read() -> None:
    assert found("lmsysorg/sglang:v0.5.20rc1", "set: {mamba_scheduler_strategy: extra_buffer}") == []
    (finding,) = found("lmsysorg/sglang:v0.5.24", "set: {mamba_scheduler_strategy: extra_buffer}")
    assert finding.severity is Severity.WARNING
    assert "SGLang 0.5.24 (compared with 0.5.23): 0.5.7 to 0.5.19 have it" in finding.message


def test_the_lock_shows_the_release_of_an_image_that_is_not_upstreams() -> None:
    image = f"nvcr.io/nvidia/sglang:26.04-py3@{ONES}"
    lock = f"version: 1\nimages: {{'{image}': {{digest: '{ONES}', versions: {{sglang: 0.5.23+nv26.04}}}}}}\n"
    options = "set: {mamba_scheduler_strategy: extra_buffer}"
    (finding,) = found(image.partition("@")[0], options, locked=lock)
    assert (finding.severity, "SGLang 0.5.23: 0.5.7" in finding.message) == (Severity.WARNING, True)
    assert found(image.partition("@")[0], options) == []


@pytest.mark.parametrize("image", [OTHER, "example.org/sglang:v0.5.23", "lmsysorg/sglang:v0.5.231"])
def test_what_no_known_release_has_is_a_warning_where_the_release_is_not_certain(image: str) -> None:
    (unknown,) = found(image, "set: {contxt_length: 4096}")
    assert (unknown.code, unknown.severity) == ("ENG001", Severity.WARNING)
    assert unknown.hint == "did you mean 'context_length'?"
    (value,) = found(image, "set: {schedule_policy: fifo}")
    assert (value.code, value.severity) == ("ENG002", Severity.WARNING)


def test_the_same_is_an_error_where_it_is() -> None:
    findings = [*found(EXACT, "set: {contxt_length: 4096}"), *found(EXACT, "set: {schedule_policy: fifo}")]
    assert said(findings) == [("ENG001", Severity.ERROR), ("ENG002", Severity.ERROR)]
    assert findings[0].message.endswith("is not an option of SGLang 0.5.23: no known release has it")


def test_a_name_of_vllm_is_reported_as_such() -> None:
    (finding,) = found(EXACT, "set: {max_model_len: 4096}")
    assert finding.hint == "this is vLLM's name: SGLang calls it context_length"
    for name in ("sglang", "llama-cpp"):
        engine = engines.named(name)
        assert set(engine.of_vllm.values()) <= set(engine.options or ())
        assert set(engine.of_vllm).isdisjoint(engine.options or ())


def test_a_value_that_came_with_a_later_release() -> None:
    (finding,) = found("lmsysorg/sglang:v0.5.3", "set: {schedule_policy: hrrn}")
    assert finding.severity is Severity.ERROR
    assert "cannot be 'hrrn' in SGLang 0.5.3: " in finding.message
    assert finding.message.endswith("0.5.23 have it")


def test_a_number_in_quotes_is_a_number_and_0_is_a_choice() -> None:
    assert found(EXACT, 'set: {tp_size: "1", log_requests_level: 0}') == []
    assert said(found(EXACT, "set: {log_requests_level: 4}")) == [("ENG002", Severity.ERROR)]


def test_the_start_of_a_name_that_one_option_alone_has_is_what_argparse_takes() -> None:
    assert found(EXACT, "set: {mem_fraction: 0.8}") == []
    assert said(found(EXACT, "set: {disable: true}")) == [("ENG001", Severity.ERROR)]
    assert said(llama(f"{LLAMA}-b11434", "set: {ctx_siz: 4096}")) == [("ENG001", Severity.ERROR)]


def test_the_caret_is_under_the_name() -> None:
    (finding,) = found(OTHER, "set: {contxt_length: 4096}")
    assert finding.loc is not None
    mark = finding.loc.mark
    assert finding.loc.text[mark.column - 1 : mark.end_column - 1] == "contxt_length"


@pytest.mark.parametrize("name", ["model_path", "model"])
def test_what_a_key_of_the_inventory_says_is_an_error_of_any_image(name: str) -> None:
    (finding,) = found(OTHER, f"set: {{{name}: x}}")
    assert (finding.severity, finding.hint) == (Severity.ERROR, "use the key `model:` of the deployment")


@pytest.mark.parametrize("method", ["eagle", "eagle3", "dspark"])
@pytest.mark.parametrize("image", [EXACT, OTHER])
def test_sglang_has_these_methods(image: str, method: str) -> None:
    assert found(image, f"speculative: {{method: {method}, model: example/head, num_speculative_tokens: 3}}") == []


def test_a_method_that_came_with_a_later_release() -> None:
    lines = "speculative: {method: dspark, model: example/head, num_speculative_tokens: 3}"
    (finding,) = [each for each in found("lmsysorg/sglang:v0.5.15", lines) if each.code == "ENG006"]
    assert finding.severity is Severity.ERROR
    assert (
        finding.message
        == "chat runs on SGLang 0.5.15, which does not support the method dspark: 0.5.16 to 0.5.23 have it"
    )
    lines = "speculative: {method: draft_model, model: /d.gguf, num_speculative_tokens: 3}"
    assert ("ENG006", Severity.ERROR) in said(llama(f"{LLAMA}-b9093", lines))
    assert llama(f"{LLAMA}-b11434", lines) == []


def test_llama_cpp_took_no_mmap_before_load_mode() -> None:
    for image in (LLAMA, f"{LLAMA}-b10405"):
        assert llama(image, "set: {no_mmap: true, mlock: true}") == []
    findings = llama(f"{LLAMA}-b11434", "set: {no_mmap: true}")
    assert said(findings) == [("ENG001", Severity.ERROR)]
    assert "llama.cpp b11434: b9093 to b1" in findings[0].message


def test_what_builds_before_the_first_one_took_is_not_a_finding_where_the_build_is_unknown() -> None:
    assert llama(LLAMA, "set: {draft_max: 8}") == []
    (finding,) = llama(f"{LLAMA}-b11434", "set: {draft_max: 8}")
    assert finding.message.endswith("is not an option of llama.cpp b11434: releases before b9093 have it")


def test_a_build_between_two_that_were_read_is_a_warning() -> None:
    (finding,) = llama(f"{LLAMA}-b11000", "set: {ctx_sise: 4096}")
    assert (finding.severity, finding.hint) == (Severity.WARNING, "did you mean 'ctx_size'?")
    assert "llama.cpp b11000 (compared with b10991 and b11076)" in finding.message


def test_llama_cpp_reads_the_number_that_a_text_begins_with() -> None:
    (finding,) = llama(f"{LLAMA}-b11434", "set: {ctx_size: 32k}")
    assert (finding.code, finding.severity) == ("ENG002", Severity.WARNING)
    assert finding.message == "ctx_size of chat is '32k', of which llama.cpp reads only the number"
    assert said(llama(f"{LLAMA}-b11434", "set: {ctx_size: many}")) == [("ENG002", Severity.ERROR)]


@pytest.mark.parametrize(
    ("release", "options"),
    [
        ("0.5.9", "attention_backend: trtllm_mha"),
        ("0.5.9", "decode_attention_backend: trtllm_mha"),
        ("0.5.18", "prefill_attention_backend: trtllm_mha"),
        ("0.5.23", "attention_backend: trtllm_mha, kv_cache_dtype: fp8_e4m3"),
        ("0.5.4", "attention_backend: trtllm_mla"),
        ("0.5.23", "attention_backend: cutedsl_mla"),
        ("0.5.4", "attention_backend: fa3"),
        ("0.5.23", "attention_backend: triton, prefill_attention_backend: fa3"),
    ],
)
def test_sglang_refuses_these_backends_on_a_spark(release: str, options: str) -> None:
    assert said(found(f"lmsysorg/sglang:v{release}", f"set: {{{options}}}")) == [("ENG008", Severity.ERROR)]


@pytest.mark.parametrize(
    ("release", "options"),
    [
        ("0.5.18", "decode_attention_backend: trtllm_mha"),
        ("0.5.23", "attention_backend: trtllm_mha"),
        ("0.5.9", "attention_backend: trtllm_mla"),
        ("0.5.23", "attention_backend: fa3, kv_cache_dtype: fp8_e5m2"),
        (
            "0.5.23",
            "attention_backend: fa3, prefill_attention_backend: triton, decode_attention_backend: triton",
        ),
        ("0.5.23", "moe_runner_backend: flashinfer_trtllm"),
    ],
)
def test_and_not_these(release: str, options: str) -> None:
    assert found(f"lmsysorg/sglang:v{release}", f"set: {{{options}}}") == []


def test_a_backend_that_every_release_refuses_is_a_warning_where_the_release_is_unknown() -> None:
    assert said(found(OTHER, "set: {attention_backend: fa3}")) == [("ENG008", Severity.WARNING)]
    assert found(OTHER, "set: {attention_backend: trtllm_mha}") == []


def test_a_quantized_v_cache_needs_flash_attention() -> None:
    for flash in ('"off"', "disabled", '"0"'):
        lines = f"set: {{cache_type_v: q8_0, flash_attn: {flash}}}"
        assert said(llama(f"{LLAMA}-b11434", lines)) == [("ENG009", Severity.ERROR)]
        assert said(llama(LLAMA, lines)) == [("ENG009", Severity.WARNING)]
    for options in (
        "cache_type_v: q8_0",
        'cache_type_v: f16, flash_attn: "off"',
        'cache_type_k: q8_0, flash_attn: "off"',
    ):
        assert llama(f"{LLAMA}-b11434", f"set: {{{options}}}") == []


def test_a_private_image_whose_tag_starts_with_a_release_is_compared_with_it() -> None:
    """It is a guess: an option that the release lacks is a warning."""
    for image in ("example.org/dgx-spark-sglang:0.5.23-t5", "example.org/sglang:v0.5.23"):
        (finding,) = found(image, "set: {mamba_scheduler_strategy: extra_buffer}")
        assert finding.severity is Severity.WARNING
        assert "is not an option of SGLang 0.5.23: 0.5.7 to 0.5.19 have it" in finding.message
    for image in ("example.org/server:0.5.23-t5", "example.org/sglang:9.5.23", "example.org/sglang:spark"):
        assert found(image, "set: {mamba_scheduler_strategy: extra_buffer}") == []
