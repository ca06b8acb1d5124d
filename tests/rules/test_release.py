"""How the release in an image is known, and how much a finding about vLLM's interface weighs then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sparkiac import rules
from sparkiac.catalog import interfaces
from sparkiac.plan import build
from sparkiac.report import Severity
from tests.plan.fleets import ONES, deployment, resolved
from tests.rules.pages import named

if TYPE_CHECKING:
    from sparkiac.report import Finding

EXACT: Final = "vllm/vllm-openai:v0.20.0"
VENDOR: Final = "nvcr.io/nvidia/vllm:26.05.post1-py3"
"""A build of 0.20.1."""
BETWEEN: Final = "vllm/vllm-openai:v0.22.0-aarch64"
"""A release between two that are known."""
UNKNOWN: Final = "vllm/vllm-openai:nightly"
RULES: Final = (named("ENV101"), named("FLG101"), named("FLG102"), named("FLG104"), named("FLG105"))


def found(image: str, *lines: str, model: str = "example/model", captured: str | None = None) -> tuple[Finding, ...]:
    """Run the rules about the interface over one deployment."""
    said = interfaces.interface(captured) if captured else None
    text = deployment(f"image: {image}@{ONES}", *lines).replace("example/model", model)
    read = resolved(text, interfaces={ONES: said} if said else {})
    return rules.check(build(read), read, rules=RULES)


def weights(image: str, *lines: str, captured: str | None = None) -> list[tuple[str, Severity]]:
    """Return code and severity of each finding."""
    return [(each.code, each.severity) for each in found(image, *lines, captured=captured)]


def shown(finding: Finding) -> str:
    """Return the words of the inventory under the caret."""
    assert finding.loc is not None
    mark = finding.loc.mark
    return finding.loc.text[mark.column - 1 : mark.end_column - 1]


@pytest.mark.parametrize(
    "image", ["vllm/vllm-openai:v0.20.0", "docker.io/vllm/vllm-openai:v0.25.1-aarch64", "vllm/vllm-openai:v0.24.0"]
)
def test_what_an_upstream_release_lacks_is_an_error(image: str) -> None:
    assert weights(image, "set: {max_model_length: 4096}") == [("FLG101", Severity.ERROR)]
    assert weights(image, "set: {tool_call_parser: none_such}") == [("FLG105", Severity.ERROR)]


def test_a_build_of_a_vendor_gives_warnings_until_it_is_captured() -> None:
    option, parser = "set: {linear_backend: marlin}", "set: {tool_call_parser: none_such}"
    for image in (VENDOR, "nvcr.io/nvidia/vllm:26.04-py3"):
        assert weights(image, option) == [("FLG101", Severity.WARNING)]
        assert weights(image, parser) == [("FLG105", Severity.WARNING)]
    (warning,) = found(VENDOR, option)
    assert "sparkiac images capture" in (warning.hint or "")
    assert weights(VENDOR, option, captured="0.20.1") == [("FLG101", Severity.ERROR)]
    assert weights(VENDOR, option, captured="0.22.1") == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("max_model_length: 4096", "FLG101"),
        ("gpu_memory_utilisation: 0.8", "FLG101"),
        ("tool_call_parser: qwen3_codr", "FLG105"),
        ("kv_cache_dtype: fp4", "FLG105"),
        ("max_model_len: -5", "FLG102"),
    ],
)
def test_a_wrong_spelling_is_an_error_where_the_release_is_known(options: str, code: str) -> None:
    line = f"set: {{{options}}}"
    for image in (EXACT, VENDOR, BETWEEN, "nvcr.io/nvidia/vllm:26.04-py3"):
        assert weights(image, line) == [(code, Severity.ERROR)]
    assert weights("vllm/vllm-openai:v9.0.0", line) == [(code, Severity.WARNING)]
    for image in (UNKNOWN, "example.org/vllm:1"):
        assert Severity.ERROR not in dict(weights(image, line)).values()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("mxfp4_backend: marlin", "FLG101"),
        ("gpu_memory_utilization_gb: 100", "FLG101"),
        ("linear_backend: marlin", "FLG101"),
        ("tool_call_parser: glm49", "FLG105"),
        ("tool_call_parser: qwen4_coder", "FLG105"),
        ("attention_backend: B12X_MLA_SPARSE", "FLG105"),
        ("quantization: fp4", "FLG105"),
        ("quantization: nvfp4", "FLG105"),
    ],
)
def test_what_a_vendor_can_have_added_is_a_warning(options: str, code: str) -> None:
    assert weights("nvcr.io/nvidia/vllm:26.04-py3", f"set: {{{options}}}") == [(code, Severity.WARNING)]


def test_an_image_that_was_captured_and_an_extra_option_decide_over_a_wrong_spelling() -> None:
    spare = "set: {max_nm_seqs: 4}"
    assert weights(VENDOR, spare) == [("FLG101", Severity.ERROR)]
    assert weights(VENDOR, spare, "extra_flags: {options: [max_nm_seqs], why: a patch}") == []
    parser = deployment(f"image: {VENDOR}@{ONES}", "set: {tool_call_parser: qwen3_codr}")
    said = interfaces.interface("0.20.1")
    assert said is not None
    patched = said._replace(tool_call_parsers=said.tool_call_parsers | {"qwen3_codr"})
    read = resolved(parser, interfaces={ONES: patched})
    assert rules.check(build(read), read, rules=RULES) == ()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("max_model_len: -5", "max_model_len of chat is at least -1, not -5"),
        ("max_num_seqs: 0", "max_num_seqs of chat is at least 1, not 0"),
        ("video_pruning_rate: 1", "video_pruning_rate of chat is below 1.0, not 1"),
        ("kv_cache_metrics_sample: 1.5", "kv_cache_metrics_sample of chat is at most 1, not 1.5"),
        ("block_size: 0", "block_size of chat is above 0, not 0"),
        ("max_model_len: auto", None),
        ("max_num_batched_tokens: 8k", None),
    ],
)
def test_a_number_out_of_the_range_of_its_class_is_refused(options: str, problem: str | None) -> None:
    said = [each.message for each in found("vllm/vllm-openai:v0.33.0", f"set: {{{options}}}")]
    assert said == ([] if problem is None else [f"in vLLM 0.33.0, {problem}"])


def test_a_release_between_two_known_ones_is_refused_only_what_both_lack() -> None:
    assert weights(BETWEEN, "set: {linear_backend: marlin}") == []  # 0.22.1 has it, 0.21.0 has not
    assert weights(BETWEEN, "set: {moe_backend: flashinfer_b12x}") == []  # so has it this name
    (finding,) = found(BETWEEN, "set: {swap_space: 4}")
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "swap_space of chat is not an option of vLLM 0.22.0, compared with 0.21.0 and 0.22.1: 0.11.0 to 0.17.1 have it"
    )


def test_of_an_unknown_release_nothing_is_refused_that_a_known_one_has() -> None:
    newest = [
        *("tool_call_parser: glm47, reasoning_parser: glm47", "attention_backend: B12X, moe_backend: b12x"),
        *("quantization: nvfp4_per_token", "swap_space: 4", "linear_backend: marlin", "load_format: gguf"),
    ]
    speculative = "speculative: {method: dspark, model: example/drafter, num_speculative_tokens: 3}"
    for image in (UNKNOWN, "vllm/vllm-openai:latest", "example.org/vllm:1"):
        for options in newest:
            assert found(image, f"set: {{{options}}}", speculative, "env: {VLLM_ATTENTION_BACKEND: X}") == ()


@pytest.mark.parametrize(
    ("line", "code", "message", "hint"),
    [
        (
            "set: {max_model_length: 4096}",
            "FLG101",
            "max_model_length of chat is not an option of any known vLLM release",
            "vLLM calls it max_model_len",
        ),
        (
            "set: {tool_call_parser: gemma-4}",
            "FLG105",
            "tool_call_parser of chat names gemma-4, and there is no such tool call parser in any known vLLM release",
            "did you mean 'gemma4'?",
        ),
        (
            "set: {moe_backend: marlinn}",
            "FLG105",
            "moe_backend of chat names marlinn, and there is no such MoE backend in any known vLLM release",
            "did you mean 'marlin'?",
        ),
        (
            "set: {max_num_seqs: many}",
            "FLG102",
            "in any known vLLM release, max_num_seqs of chat takes a whole number, not 'many'",
            "correct the value",
        ),
        (
            "env: {VLLM_ATTENTION_BACKENT: X}",
            "ENV101",
            "VLLM_ATTENTION_BACKENT of chat is not a variable of any known vLLM release",
            "did you mean 'VLLM_ATTENTION_BACKEND'?",
        ),
    ],
)
def test_of_an_unknown_release_what_no_known_one_takes_is_a_warning(
    line: str, code: str, message: str, hint: str
) -> None:
    (finding,) = found(UNKNOWN, line)
    assert (finding.code, finding.severity, finding.message) == (code, Severity.WARNING, message)
    assert (finding.hint or "").startswith(hint)


def test_the_example_of_four_mistakes() -> None:
    """Each is an error of the release in the tag, under the word that is wrong."""
    line = "set: {kv_cache_dtype: bf16, tool_call_parser: qwen3, no_such_flag: 3, swap_space: 4}"
    findings = found("vllm/vllm-openai:v0.24.0", line)
    assert {each.severity for each in findings} == {Severity.ERROR}
    assert {shown(each): (each.code, each.message.partition(": ")[2]) for each in findings} == {
        "bf16": ("FLG105", "no known release has it"),
        "qwen3": ("FLG105", "no known release has it"),
        "no_such_flag": ("FLG101", "no known release has it"),
        "swap_space": ("FLG101", "0.11.0 to 0.17.1 have it"),
    }
    hints = {shown(each): each.hint for each in findings}
    assert hints["bf16"] == "vLLM calls it bfloat16"
    assert hints["qwen3"] == "similar names: qwen3_coder, qwen3_xml"


def test_the_nearest_name_is_given_where_another_release_has_the_name_itself() -> None:
    (finding,) = found("vllm/vllm-openai:v0.18.1", "set: {tool_call_parser: gemma4}")
    assert finding.message.endswith("in vLLM 0.18.1: 0.19.0 to 0.33.0 have it")
    assert finding.hint == "similar names: functiongemma"


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("set: {no_such_flag: 3}", "no_such_flag"),
        ("speculative: {method: mtp, num_speculative_tokens: 1, attention_backend: X}", "attention_backend"),
        ("set: {compilation_config: {pass_config: {no_such: true}}}", "no_such"),
        ("set: {compilation_config: {pass_config: {fuse_act_quant: maybe}}}", "maybe"),
        ("env: {VLLM_ATTENTION_BACKEND: X}", "VLLM_ATTENTION_BACKEND"),
        ("per_host: {spark-01: {set: {no_such_flag: 3}}}", "no_such_flag"),
    ],
)
def test_the_caret_is_under_a_wrong_name_or_a_wrong_value(line: str, word: str) -> None:
    (finding,) = found(EXACT, line)
    assert shown(finding) == word


def test_the_caret_is_under_the_name_in_the_defaults() -> None:
    text = deployment(f"image: {EXACT}@{ONES}", defaults="{model_store: /srv/models, set: {no_such_flag: 3}}")
    read = resolved(text)
    (finding,) = rules.check(build(read), read, rules=[named("FLG101")])
    assert shown(finding) == "no_such_flag"
    assert finding.loc is not None
    assert finding.loc.mark.line == 2


@pytest.mark.parametrize(
    ("model", "severity"),
    [
        ("unsloth/Qwen3.6-27B-NVFP4", Severity.ERROR),
        ("nvidia/Gemma-4-31B-IT-NVFP4", Severity.WARNING),
        ("example/model", Severity.WARNING),
    ],
)
def test_a_checkpoint_of_modelopt_may_replace_the_quantization_that_is_said(model: str, severity: Severity) -> None:
    (finding,) = found(EXACT, "set: {quantization: nvfp4}", model=model)
    assert finding.severity is severity


NEWEST: Final = "vllm/vllm-openai:v0.32.0"
LAUNCHES: Final = (
    # Keys of this autumn's launches of DeepSeek-V4.1, GLM-5.2 and Kimi, and where a value of them goes wrong.
    ("rejection_sample_method: block", "rejection_sample_method: blocks", "FLG102"),
    ("enable_adaptive_verification: true", "enable_adaptive_verification: maybe", "FLG102"),
    ("dspark_draft_topk: 4", "dspark_draft_topk: 0", "FLG102"),
    ("attention_backend: B12X", "attention_backend: B13X", "FLG105"),
    ("draft_sample_method: probabilistic", "draft_sample_method: random", "FLG102"),
    ("draft_tensor_parallel_size: 2", "draft_tensor_parallel_size: 0", "FLG102"),
    ("kv_cache_dtype: auto", "kv_cache_dtype: fp9", "FLG105"),
    ("moe_backend: triton", "moe_backend: tritonn", "FLG105"),
    ("quantization: compressed-tensors", "quantization: [fp8]", "FLG102"),
    ("synthetic_acceptance_length: 2.78", "synthetic_acceptance_length: long", "FLG102"),
    ("synthetic_acceptance_rates: [0.9, 0.8]", "synthetic_acceptance_rates: [0.9, high]", "FLG102"),
    (
        "num_speculative_tokens_per_batch_size: [[1, 4, 7], [5, 64, 3]]",
        "num_speculative_tokens_per_batch_size: [[1, 4], [5, 64, 3]]",
        "FLG102",
    ),
    ("index_share_for_mtp_iteration: null", "index_share_for_mtp_iteration: [true]", "FLG102"),
    ("draft_load_config: {load_format: auto, device: null}", "draft_load_config: {load_format: ato}", "FLG105"),
    ("draft_load_config: {use_tqdm_on_load: false}", "draft_load_config: {use_tqdm: false}", "FLG104"),
    ("max_model_len: 65536", "max_model_len: 0", "FLG102"),
    ("suffix_decoding_max_spec_factor: 1.5", "suffix_decoding_max_spec_factor: {}", "FLG102"),
    ("disable_padded_drafter_batch: true", "draft_attention_backend: TRITON_MLA", "FLG104"),
)


def speculating(setting: str) -> tuple[str, str]:
    """Return the lines of a deployment with one more key of speculation, on a line of its own."""
    return "speculative:", f"  method: dspark\n      num_speculative_tokens: 5\n      {setting}"


@pytest.mark.parametrize(("right", "wrong", "code"), LAUNCHES)
def test_the_keys_of_speculation_are_those_of_the_release(right: str, wrong: str, code: str) -> None:
    assert found(NEWEST, *speculating(right)) == ()
    (finding,) = found(NEWEST, *speculating(wrong))
    assert (finding.code, finding.severity) == (code, Severity.ERROR)
    assert finding.loc is not None
    assert finding.loc.text.strip() == wrong


@pytest.mark.parametrize(
    ("lines", "message", "hint"),
    [
        (
            ("set: {compilation_config: {cudagraph_mode: FULL_DECODE}}",),
            (
                "in vLLM 0.32.0, compilation_config.cudagraph_mode of chat is one of FULL, FULL_AND_PIECEWISE, "
                "FULL_DECODE_ONLY, NONE, PIECEWISE, not 'FULL_DECODE'"
            ),
            "similar names: FULL_DECODE_ONLY",
        ),
        (
            ("set: {attention_config: {tokenspeed_mla_min_split_kv: 257}}",),
            "in vLLM 0.32.0, attention_config.tokenspeed_mla_min_split_kv of chat is at most 256, not 257",
            "correct the value",
        ),
        (
            ("set: {kv_transfer_config: {kv_connector: LMCacheConnectorV1, kv_rol: kv_both}}",),
            "kv_transfer_config.kv_rol of chat is not a key of vLLM 0.32.0: no known release has it",
            "did you mean 'kv_role'?; name a key of a patch under `extra_flags:`",
        ),
        (
            speculating("xpress_topc: 4"),
            "speculative.xpress_topc of chat is not a key of vLLM 0.32.0: 0.33.0 has it",
            "remove it, or use an image with such a release",
        ),
        (
            speculating("rejection_sample_method: fly"),
            (
                "in vLLM 0.32.0, speculative.rejection_sample_method of chat is one of block, standard, synthetic, "
                "not 'fly': 0.33.0 has it"
            ),
            "known: block, standard, synthetic",
        ),
        (("set: {max_model_len: -5}",), "in vLLM 0.32.0, max_model_len of chat is at least -1, not -5", "correct the"),
    ],
)
def test_a_fault_in_a_json_option_names_what_the_release_takes(lines: tuple[str, ...], message: str, hint: str) -> None:
    (finding,) = found(NEWEST, *lines)
    assert (finding.severity, finding.message) == (Severity.ERROR, message)
    assert finding.hint.startswith(hint)


def test_a_key_of_a_patch_is_not_checked() -> None:
    lines = (*speculating("draft_attention_backend: TRITON_MLA"), "set: {compilation_config: {mode: 9, wide: 1}}")
    names = "speculative.draft_attention_backend, compilation_config.wide"
    assert [each.code for each in found(NEWEST, *lines)] == ["FLG104", "FLG104"]
    assert found(NEWEST, *lines, f"extra_flags: {{why: a patch, options: [{names}]}}") == ()
    (finding,) = found(NEWEST, *lines, "extra_flags: {why: a patch, options: [compilation_config]}")
    assert finding.message.startswith("speculative.draft_attention_backend of chat")
    assert found(NEWEST, *lines, "extra_flags: {why: a patch, options: [speculative, compilation_config]}") == ()
