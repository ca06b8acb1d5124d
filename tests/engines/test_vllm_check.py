"""What our reading of vLLM's options finds, and what it lets through."""

from __future__ import annotations

from typing import Any, Final

import pytest

from sparkiac.catalog import interfaces
from sparkiac.engines.vllm_check import check, check_words, words


def known(version: str) -> interfaces.Interface:
    found = interfaces.interface(version)
    assert found is not None
    return found


def said(options: dict[str, Any], version: str = "0.19.0") -> list[tuple[str, str, tuple[str, ...]]]:
    """Judge options of an inventory: kind of fault, option, keys."""
    return [(fault.kind, fault.option, fault.path) for fault in check(options, known(version))]


def kinds(line: str, version: str = "0.19.0") -> list[str]:
    """Judge a command line whose words hold no blanks."""
    return [fault.kind for fault in check_words(line.split(), known(version))]


RIGHT: Final = [
    {"max_model_len": "auto", "max_num_batched_tokens": "8k", "kv_cache_memory_bytes": "8G"},
    {"enable_prefix_caching": False, "enable_log_requests": False, "enforce_eager": True, "headless": True},
    {"attention_backend": "triton_attn", "moe_backend": "FlashInfer-Cutlass", "kv_cache_dtype": "fp8"},
    {"served_model_name": ("a", "b"), "cudagraph_capture_sizes": (1, 2), "middleware": "a.b"},
    {"compilation_config": {"cudagraph_mode": "FULL", "pass_config": {"fuse_norm_quant": True}, "mode": 3}},
    {"limit_mm_per_prompt": {"image": 4}, "hf_overrides": {"any": {"thing": 1}}, "default_chat_template_kwargs": {}},
    {"reasoning_parser": "nano_v3", "reasoning_parser_plugin": "/x.py"},
    {"tool_call_parser": "mine", "tool_parser_plugin": "/x.py"},
    {"lora_modules": ("a=/b", '{"name": "a", "path": "/b"}'), "max_lora_rank": 16, "data_parallel_size": "2"},
    {"speculative_config": {"method": "mtp", "num_speculative_tokens": 2, "moe_backend": "triton"}},
    {"compilation_config": {"use_inductor_graph_partition": None}, "attention_config": {"backend": None}},
]


@pytest.mark.parametrize("options", RIGHT, ids=str)
def test_what_a_release_takes_has_no_fault(options: dict[str, Any]) -> None:
    assert said(options) == []


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"swap_space": 4}, [("option", "swap_space", ())]),
        ({"enable_log_request_": False}, [("option", "enable_log_request_", ())]),
        ({"max_num": 4}, [("option", "max_num", ())]),
        ({"max_model": 4}, [("short", "max_model", ())]),
        ({"max_num_seqs": "8k"}, [("value", "max_num_seqs", ())]),
        ({"max_num_batched_tokens": "1.5K"}, [("value", "max_num_batched_tokens", ())]),
        ({"max_num_seqs": True}, [("value", "max_num_seqs", ())]),
        ({"max_num_seqs": False}, [("value", "max_num_seqs", ())]),
        ({"headless": False}, [("value", "headless", ())]),
        ({"enforce_eager": "true"}, [("value", "enforce_eager", ())]),
        ({"port": (1, 2)}, [("value", "port", ())]),
        ({"dtype": "bf16"}, [("value", "dtype", ())]),
        ({"max_lora_rank": 15}, [("value", "max_lora_rank", ())]),
        ({"lora_modules": "a"}, [("value", "lora_modules", ())]),
        ({"hf_overrides": "{a}"}, [("value", "hf_overrides", ())]),
        ({"limit_mm_per_prompt": "image=4"}, [("value", "limit_mm_per_prompt", ())]),
        ({"calculate_kv_scales": True}, [("deprecated", "calculate_kv_scales", ())]),
        ({"quantization": "fp_quant"}, [("deprecated", "quantization", ())]),
        ({"quantization": "fp9"}, [("name", "quantization", ())]),
        ({"tool_call_parser": "Hermes"}, [("name", "tool_call_parser", ())]),
        ({"reasoning_parser": "nano_v3", "tool_parser_plugin": "/x.py"}, [("name", "reasoning_parser", ())]),
        ({"moe_backend": "flashinfer_b12x"}, [("name", "moe_backend", ())]),
        ({"kv_cache_dtype": "FP8"}, [("value", "kv_cache_dtype", ())]),
        ({"attention_config": {"backend": "XFORMERS"}}, [("name", "attention_config", ("backend",))]),
        ({"compilation_config": {"a": 1}}, [("key", "compilation_config", ("a",))]),
        ({"compilation_config": {"pass_config": {"a": 1}}}, [("key", "compilation_config", ("pass_config", "a"))]),
        ({"compilation_config": {"pass_config": 1}}, [("value", "compilation_config", ("pass_config",))]),
        ({"compilation_config": "[]"}, [("value", "compilation_config", ())]),
        (
            {"compilation_config": {"cudagraph_capture_sizes": 1}},
            [("value", "compilation_config", ("cudagraph_capture_sizes",))],
        ),
        (
            {"compilation_config": {"cudagraph_capture_sizes": ("a",)}},
            [("value", "compilation_config", ("cudagraph_capture_sizes",))],
        ),
        (
            {"compilation_config": {"cudagraph_capture_sizes": "3"}},
            [("value", "compilation_config", ("cudagraph_capture_sizes",))],
        ),
        ({"attention_config": {"backend": 1}}, [("value", "attention_config", ("backend",))]),
        ({"eplb_config": {"step_interval": None}}, [("value", "eplb_config", ("step_interval",))]),
        ({"eplb_config": {"policy": None}}, [("value", "eplb_config", ("policy",))]),
        ({"speculative_config": {"method": "dflash"}}, [("name", "speculative_config", ("method",))]),
        (
            {"speculative_config": {"model": 5, "num_speculative_tokens": 1.5}},
            [("value", "speculative_config", ("model",)), ("value", "speculative_config", ("num_speculative_tokens",))],
        ),
    ],
    ids=str,
)
def test_what_a_release_does_not_take_is_found(options: dict[str, Any], found: list[Any]) -> None:
    assert said(options) == found


def test_a_name_or_a_text_of_ones_own_is_not_a_number() -> None:
    assert said({"weight_transfer_config": {"backend": "mine"}}, "0.27.1") == []
    assert said({"weight_transfer_config": {"backend": 0.5}}, "0.27.1") == [
        ("value", "weight_transfer_config", ("backend",))
    ]


def test_a_key_that_an_old_release_leaves_out_is_not_a_reason_to_end() -> None:
    options = {"attention_config": {"a": 1}, "compilation_config": {"a": 1}}
    assert [kind for kind, *_ in said(options, "0.15.1")] == ["ignored", "key"]
    assert [kind for kind, *_ in said(options, "0.16.0")] == ["key", "key"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a/model --max_model_len=8k -tp 2 -pp=1 -dp 1 -O3 -q fp8", []),
        ("--port 1 --port 2 a/model", []),
        ("a/model --speculative_config.method mtp --speculative-config.num_speculative_tokens=2", []),
        ("a/model --compilation-config.cudagraph_capture_sizes+ 1,2 -cc.pass_config.fuse_norm_quant true", []),
        ("a/model --no_enable_prefix_caching --max-model 5", ["short"]),
        ("a/model b/model", ["value"]),
        ("a/model --prot 1 --x", ["option", "option"]),
        ("a/model --max 1", ["option"]),
        ("a/model --port", ["value"]),
        ("a/model --port x --port 1", ["value"]),
        ("a/model --enforce-eager=1", ["value"]),
        ("a/model -O9 -O 2", []),
        ("a/model --speculative-config.method", ["value"]),
        ("a/model --speculative-config.method mpt", ["name"]),
        ("a/model --structured-outputs-config.reasoning_parser qwen4", ["name"]),
        ('a/model --speculative-config {"a":1} --speculative-config {}', []),
        ('a/model --kv-transfer-config {"kv_buffer_size":80m}', []),
        ("a/model --kv-transfer-config.kv_buffer_size 80m", []),
        ("a/model --kv-transfer-config {", ["value"]),
    ],
)
def test_a_command_line_is_read_as_people_write_it(line: str, found: list[str]) -> None:
    assert kinds(line) == found


def test_the_level_of_optimization_was_a_key_before_it_was_an_option() -> None:
    assert "--optimization-level" not in known("0.11.0").spellings
    assert kinds("a/model -O3 --max-num-seqs 4", "0.11.0") == []


def test_a_fault_names_what_is_known_instead() -> None:
    [fault] = check({"tool_call_parser": "qwen4"}, known("0.19.0"))
    assert (fault.wrong, fault.registry) == ("qwen4", "tool_call_parsers")
    assert "qwen3_xml" in fault.known
    [fault] = check({"dtype": "bf16"}, known("0.19.0"))
    assert fault.problem == "is one of auto, bfloat16, float, float16, float32, half, not 'bf16'"


# What is read is remembered


def test_what_a_fleet_says_again_is_read_once() -> None:
    first = check({"seed": 20261, "max_num_seqs": 4}, known("0.19.0"))
    before = words.read.cache_info()
    assert check({"max_num_seqs": 4, "seed": 20261}, known("0.19.0")) == first
    assert words.read.cache_info().misses == before.misses


def test_results_for_one_interface_are_not_reused_for_another_of_the_same_version() -> None:
    release = known("0.19.0")
    patched = release._replace(
        options=release.options | {"--mine": release.options["--seed"]._replace(name="--mine")},
        spellings=release.spellings | {"--mine": "--mine"},
    )
    assert said({"mine": 1}) == [("option", "mine", ())]
    assert check({"mine": 1}, patched) == ()
    assert said({"mine": 1}) == [("option", "mine", ())]
