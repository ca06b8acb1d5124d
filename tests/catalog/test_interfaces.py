"""What the interface files say of each vLLM release, how they are read, and how they are made."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pytest

from sparkiac import catalog
from sparkiac.catalog import interfaces
from tests.conftest import ROOT
from tests.every import every

if TYPE_CHECKING:
    from sparkiac.catalog.interfaces import Interface

FOLDER: Final = ROOT / "sparkiac" / "catalog" / "vllm"
TOOLS: Final = ROOT / "tools" / "vllm_interface"
VERSIONS: Final = interfaces.versions()
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]
LARGEST: Final = 120_000


def known(version: str) -> Interface:
    """Return a release that is known."""
    found = interfaces.interface(version)
    assert found is not None
    return found


def taking(option: str) -> tuple[str, ...]:
    """Return the releases that know a spelling of an option."""
    return tuple(version for version in VERSIONS if option in known(version).spellings)


def having(registry: str, name: str) -> tuple[str, ...]:
    """Return the releases whose registry has a name."""
    return tuple(version for version in VERSIONS if name in getattr(known(version), registry))


def since(first: str, last: str = NEWEST) -> tuple[str, ...]:
    """Return the releases from one to another."""
    return VERSIONS[VERSIONS.index(first) : VERSIONS.index(last) + 1]


# The files


def test_each_minor_release_is_there() -> None:
    """And each release that an image of the catalog ships, unless it was never released."""
    minors = [int(version.split(".")[1]) for version in VERSIONS]
    assert sorted(set(minors)) == list(range(11, max(minors) + 1))
    shipped = {"0.11.1", "0.15.1", "0.17.1", "0.19.0", "0.20.0", "0.23.0"}
    assert shipped <= set(VERSIONS)


def test_the_files_are_those_of_the_pinned_sources() -> None:
    lines = [line.split() for line in (TOOLS / "sources.lock").read_text().splitlines() if not line.startswith("#")]
    assert [line[0] for line in lines] == list(VERSIONS)
    assert all(len(sha256) == 64 for _, _, sha256 in lines)


@every(VERSIONS)
def test_a_file_is_valid_sorted_and_small(version: str) -> None:
    raw = (FOLDER / f"{version}.json").read_bytes()
    assert len(raw) < LARGEST
    document = json.loads(raw)
    assert document["version"] == version
    assert list(document) == sorted(document)
    for section in document.values():
        if isinstance(section, dict | list):
            assert list(section) == sorted(section)
    for record in document["options"].values():
        assert list(record) == sorted(record)


@every(VERSIONS)
def test_a_file_has_one_entry_on_a_line(version: str) -> None:
    """So that a diff between releases is readable."""
    text = (FOLDER / f"{version}.json").read_text()
    lines = text.splitlines()
    for name in known(version).options:
        assert len([line for line in lines if line.startswith(f'"{name}": {{')]) == 1
    assert text.endswith("\n")
    assert "help" not in {key for record in json.loads(text)["options"].values() for key in record}


@every(VERSIONS)
def test_no_part_of_a_file_is_empty_that_vllm_always_had(version: str) -> None:
    found = known(version)
    late = {"moe_backends": "0.17.1", "linear_backends": "0.22.1"}
    late |= {"mtp_methods": "0.11.1", "mamba_attention_backends": "0.12.0"}
    for name in set(found._fields) - {"version", "plugin_architectures", "quantization_deprecated", *late}:
        assert getattr(found, name), name
    for name, first in late.items():
        assert bool(getattr(found, name)) == (version in since(first))


@every(VERSIONS)
def test_a_spelling_belongs_to_one_option(version: str) -> None:
    found = known(version)
    spellings = [
        spelling
        for option in found.options.values()
        for spelling in (option.name, *option.aliases, *option.negative, *option.hidden)
    ]
    assert len(set(spellings)) == len(set(found.spellings)) == len(found.spellings)
    for option in found.options.values():
        assert bool(option.negative) == (option.kind == "pair")
        assert (option.type is None) == (option.kind in {"switch", "pair"})
        assert option.object is None or option.object in found.objects


# The loader


def test_the_catalog_does_not_load_the_interfaces() -> None:
    code = "import sys, sparkiac.catalog; sys.exit('sparkiac.catalog.interfaces' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0


def test_a_release_is_read_once_and_cannot_be_changed() -> None:
    found = known(NEWEST)
    assert found is known(NEWEST)
    options: Any = found.options
    with pytest.raises(TypeError):
        options["--port"] = None
    with pytest.raises(AttributeError):
        options["--port"].default = "1"


def test_an_unknown_release_has_no_interface() -> None:
    assert interfaces.interface("0.18.2") is None
    assert interfaces.interface("../images") is None


def test_releases_are_in_the_order_of_their_numbers() -> None:
    numbers = [tuple(map(int, version.split("."))) for version in VERSIONS]
    assert all(one < other for one, other in pairwise(numbers))


@pytest.mark.parametrize(
    ("version", "nearest"),
    [
        ("0.19.0", "0.19.0"),
        ("0.19", "0.19.0"),
        ("0.23", "0.23.0"),
        ("0.18.2", "0.18.1"),
        ("0.19.7", "0.19.1"),
        ("0.18.0", "0.17.1"),
        ("0.17", "0.16.0"),
        ("v0.20.2", "0.20.2"),
        ("0.19.0+nv26.04", "0.19.0"),
        ("0.20.2.post1", "0.20.2"),
        ("0.20.0rc1", "0.19.1"),
        ("0.20.2rc1.dev12+g0123abc", "0.20.1"),
        ("0.20.3.dev12", "0.20.2"),
        ("0.10.2", OLDEST),
        ("0.1.dev17016+g27fd665bd.d20260527", OLDEST),
        ("99.0", NEWEST),
    ],
)
def test_the_nearest_release_is_the_same_or_the_next_lower(version: str, nearest: str) -> None:
    assert interfaces.nearest(version) == nearest


@pytest.mark.parametrize(
    ("version", "neighbours"),
    [
        ("0.22.1", ("0.22.1",)),
        ("0.22", ("0.21.0", "0.22.1")),
        ("0.22.0rc1", ("0.21.0", "0.22.1")),
        ("0.19", ("0.19.0",)),
        ("0.10.2", (OLDEST,)),
        ("99.0", (NEWEST,)),
        ("0.20.0rc1", ("0.19.1", "0.20.0")),
        ("0.19.1rc1.dev33", ("0.19.0", "0.20.0", "0.21.0")),
        ("0.16.0rc2.dev236", ("0.15.1", "0.17.1", "0.18.1")),
        ("99.0.1.dev1", (NEWEST,)),
    ],
)
def test_a_release_that_is_not_known_is_between_its_neighbours(version: str, neighbours: tuple[str, ...]) -> None:
    """A development build of 0.19.1 is of the main branch, which became 0.20.0, and 0.21.0 after that.

    An image of 2026-07-08 printed 0.23.1rc1.dev961, eight days after 0.24.0 was published.
    """
    assert interfaces.neighbours(version) == neighbours


def test_each_release_is_its_own_nearest() -> None:
    assert [interfaces.nearest(version) for version in VERSIONS] == list(VERSIONS)


@pytest.mark.parametrize(
    ("found", "wanted", "older"),
    [
        ("0.21", "0.21.0", False),
        ("0.19.1", "0.20", True),
        ("0.9", "0.10", True),
        ("1.0", "0.33.0", False),
        ("0.20.0rc1", "0.20.0", True),
    ],
)
def test_a_series_counts_from_its_first_release(found: str, wanted: str, *, older: bool) -> None:
    assert (interfaces.release(found) < interfaces.release(wanted)) is older


def test_what_is_not_a_version_has_no_nearest_release() -> None:
    with pytest.raises(ValueError, match="not a version: nightly"):
        interfaces.nearest("nightly")


def test_each_release_that_an_image_names_has_one_near_it() -> None:
    tags = [tag for family in catalog.image_families() if family.value for tag in family.value.tags.values()]
    named = {version for tag in tags for version in (tag.vllm, tag.vllm_at_least) if version}
    assert len(named) > 4
    for version in named:
        lower, *_ = interfaces.neighbours(version)
        ahead = interfaces.release(version)[0][1] - interfaces.release(lower)[0][1]
        assert ahead == int(".0rc" in version)


# Facts


@pytest.mark.parametrize(
    ("option", "versions"),
    [
        ("--moe-backend", since("0.17.1")),
        ("--linear-backend", since("0.22.1")),
        ("--attention-backend", since("0.13.0")),
        ("--attention-config", since("0.13.0")),
        ("--speculative-config", VERSIONS),
        ("--spec-method", since("0.22.1")),
        ("--speculative-disable-by-batch-size", ()),
        ("--reasoning-config", since("0.19.0")),
        ("--reasoning-parser-plugin", since("0.11.1")),
        ("--default-chat-template-kwargs", since("0.14.1")),
        ("--async-scheduling", VERSIONS),
        ("--no-async-scheduling", VERSIONS),
        ("--kv-cache-memory-bytes", VERSIONS),
        ("--nnodes", since("0.11.1")),
        ("--master-addr", since("0.11.1")),
        ("--headless", VERSIONS),
        ("--distributed-timeout-seconds", since("0.18.1")),
        ("--swap-space", since(OLDEST, "0.17.1")),
        ("--no-enable-log-requests", VERSIONS),
        ("--performance-mode", since("0.17.1")),
        ("--language-model-only", since("0.17.1")),
        ("--optimization-level", since("0.12.0")),
        ("--kernel-config", since("0.16.0")),
        ("--quantization-config", since("0.22.1")),
        ("--enable-flashinfer-autotune", since("0.16.0")),
        ("--mamba-cache-mode", since("0.15.1")),
        ("--mamba-backend", since("0.20.0")),
        ("--calculate-kv-scales", since(OLDEST, "0.27.1")),
        ("--task", since(OLDEST, "0.12.0")),
        ("--guided-decoding-backend", since(OLDEST, "0.11.2")),
        ("--max-num-partial-prefills", since(OLDEST, "0.26.0")),
        ("--fail-on-environ-validation", since("0.17.1")),
        ("-tp", VERSIONS),
    ],
)
def test_an_option_is_known_to_these_releases(option: str, versions: tuple[str, ...]) -> None:
    assert taking(option) == versions


def test_an_option_that_went_came_back_as_one_of_a_pair() -> None:
    assert taking("--disable-log-requests") == (*since(OLDEST, "0.16.0"), "0.33.0")
    assert known("0.33.0").spellings["--disable-log-requests"] == "--enable-log-requests"
    assert "--no-enable-log-requests" in known("0.33.0").options["--enable-log-requests"].hidden


@pytest.mark.parametrize(
    ("registry", "name", "versions"),
    [
        ("variables", "VLLM_ATTENTION_BACKEND", since(OLDEST, "0.14.1")),
        ("variables", "VLLM_USE_TRTLLM_ATTENTION", since(OLDEST, "0.14.1")),
        ("variables", "VLLM_USE_FLASHINFER_MOE_FP4", since(OLDEST, "0.23.0")),
        ("variables", "VLLM_NVFP4_GEMM_BACKEND", since("0.11.1", "0.23.0")),
        ("variables", "VLLM_USE_V1", ("0.11.0",)),
        ("variables", "VLLM_MARLIN_USE_ATOMIC_ADD", VERSIONS),
        ("variables", "VLLM_TEST_FORCE_FP8_MARLIN", since(OLDEST, "0.28.0")),
        ("variables", "VLLM_RPC_TIMEOUT", since(OLDEST, "0.22.1")),
        ("variables", "VLLM_USE_V2_MODEL_RUNNER", since("0.12.0")),
        ("variables", "VLLM_SKIP_INIT_MEMORY_CHECK", ()),
        ("variables", "VLLM_MXFP4_BACKEND", ()),
        ("undeclared_variables", "VLLM_MXFP4_BACKEND", ()),
        ("speculative_methods", "mtp", VERSIONS),
        ("speculative_methods", "suffix", since("0.11.1")),
        ("speculative_methods", "ngram_gpu", since("0.18.1")),
        ("speculative_methods", "dflash", since("0.20.0")),
        ("speculative_methods", "medusa", since(OLDEST, "0.32.0")),
        ("mtp_methods", "gemma4_mtp", since("0.21.0")),
        ("reasoning_parsers", "nano_v3", ()),
        ("tool_call_parsers", "nano_v3", ()),
        ("reasoning_parsers", "nemotron_v3", since("0.17.1")),
        ("tool_call_parsers", "nemotron_v3", ()),
        ("reasoning_parsers", "qwen3", VERSIONS),
        ("tool_call_parsers", "qwen3", ()),
        ("tool_call_parsers", "qwen3_coder", VERSIONS),
        ("tool_call_parsers", "hermes", VERSIONS),
        ("tool_call_parsers", "gemma4", since("0.19.0")),
        ("reasoning_parsers", "deepseek_v4", since("0.20.0")),
        ("tool_call_parsers", "minimax", since(OLDEST, "0.23.0")),
        ("reasoning_parsers", "glm47", since("0.24.0")),
        ("load_formats", "fastsafetensors", VERSIONS),
        ("load_formats", "instanttensor", since("0.18.1")),
        ("load_formats", "gguf", since(OLDEST, "0.23.0")),
        ("load_formats", "bitsandbytes", since(OLDEST, "0.27.1")),
        ("attention_backends", "XFORMERS", since(OLDEST, "0.11.2")),
        ("attention_backends", "TREE_ATTN", since(OLDEST, "0.20.2")),
        ("attention_backends", "TURBOQUANT", since("0.20.0")),
        ("attention_backends", "B12X", since("0.30.0")),
        ("moe_backends", "marlin", since("0.17.1")),
        ("moe_backends", "flashinfer_b12x", since("0.22.1")),
        ("linear_backends", "b12x", since("0.28.0")),
        ("kv_cache_dtypes", "fp8_e5m2", VERSIONS),
        ("kv_cache_dtypes", "nvfp4", since("0.20.0")),
        ("quantization", "modelopt_mixed", since("0.17.1")),
        ("quantization", "modelopt_mxfp8", since("0.16.0")),
        ("quantization", "humming", since("0.20.0")),
        ("quantization", "petit_nvfp4", since(OLDEST, "0.19.1")),
        ("quantization", "auto-round", since(OLDEST, "0.14.1")),
        ("distributed_executor_backends", "mp", VERSIONS),
        ("architectures", "Qwen3_5MoeForConditionalGeneration", since("0.17.1")),
        ("architectures", "Gemma4ForConditionalGeneration", since("0.19.0")),
        ("architectures", "DeepseekV4ForCausalLM", since("0.20.0")),
        ("architectures", "MiniMaxM2ForCausalLM", since("0.11.1")),
        ("metrics", "vllm:kv_cache_usage_perc", VERSIONS),
        ("metrics", "vllm:time_per_output_token_seconds", since(OLDEST, "0.14.1")),
    ],
)
def test_a_name_is_known_to_these_releases(registry: str, name: str, versions: tuple[str, ...]) -> None:
    assert having(registry, name) == versions


@pytest.mark.parametrize(
    ("option", "before", "version", "after"),
    [
        ("--gpu-memory-utilization", "0.9", "0.20.0", "0.92"),
        ("--allowed-origins", '["*"]', "0.32.0", "[]"),
        ("--async-scheduling", "false", "0.14.1", None),
    ],
)
def test_a_default_changed_once(option: str, before: str, version: str, after: str | None) -> None:
    found = {each: known(each).options[option].default for each in VERSIONS}
    assert found == {each: after if each in since(version) else before for each in VERSIONS}


@pytest.mark.parametrize(
    ("key", "versions"),
    [
        ("disable_by_batch_size", since(OLDEST, "0.16.0")),
        ("num_speculative_tokens_per_batch_size", since("0.24.0")),
        ("tensor_parallel_size", since("0.15.1")),
        ("parallel_drafting", since("0.16.0")),
        ("draft_load_config", since("0.17.1")),
        ("moe_backend", since("0.19.0")),
        ("attention_backend", since("0.21.0")),
        ("kv_cache_dtype", since("0.26.0")),
        ("speculative_token_tree", since(OLDEST, "0.20.2")),
    ],
)
def test_a_key_of_speculative_decoding_is_known_to_these_releases(key: str, versions: tuple[str, ...]) -> None:
    for version in VERSIONS:
        assert known(version).options["--speculative-config"].object == "SpeculativeConfig"
    assert tuple(each for each in VERSIONS if key in known(each).objects["SpeculativeConfig"]) == versions


def test_choices_are_those_of_the_release() -> None:
    first = known("0.17.1").options["--moe-backend"]
    assert first.type == "lowered"
    assert set(first.choices) == known("0.17.1").moe_backends
    assert {"emulation", "deep_gemm_mega_moe"} <= set(known("0.20.0").options["--moe-backend"].choices)
    modes = {each: known(each).options["--mamba-cache-mode"].choices for each in since("0.15.1")}
    assert tuple(version for version, choices in modes.items() if "all" in choices) == since("0.15.1", "0.31.0")
    assert known("0.19.0").objects["SpeculativeConfig"]["rejection_sample_method"].choices == (
        "probabilistic",
        "strict",
        "synthetic",
    )


def test_options_are_deprecated_if_vllm_says_so() -> None:
    assert known("0.12.0").options["--task"].deprecated
    assert known("0.23.0").options["--calculate-kv-scales"].deprecated
    assert not known("0.23.0").options["--allow-deprecated-quantization"].deprecated
    assert not known("0.23.0").options["--show-hidden-metrics-for-version"].deprecated


def test_an_architecture_that_went_says_where_it_was_last() -> None:
    assert known("0.19.0").previous_architectures["Phi4MultimodalForCausalLM"] == "0.12.0"
    assert not known("0.19.0").previous_architectures.keys() & known("0.19.0").architectures
