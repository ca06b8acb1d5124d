"""What a method of speculative decoding edits, and where its drafter comes from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plan.fleets import container, deployment, faults, resolved, values

TARGET = "Qwen/Qwen3.6-35B-A3B"
PLACE = ("deployments", "chat", "spark-01")


def guessing(speculative: str, *lines: str, defaults: str = "{model_store: /srv/models}") -> str:
    """Write a deployment of a model that has a DFlash drafter, with this method and an fp8 KV cache of its recipe."""
    text = deployment(f"speculative: {speculative}", *lines, defaults=defaults)
    return text.replace("example/model", TARGET).replace("base/single-spark", "redhatai/qwen3.6-35b-a3b-nvfp4")


def chat(text: str) -> dict[str, Any]:
    """Return the resolved values of the deployment."""
    found: dict[str, Any] = values(text)["deployments"]["chat"]["spark-01"]
    return found


def image(release: str) -> str:
    """Return the line that chooses an image of upstream."""
    return f"image: vllm/vllm-openai:{release}"


@pytest.mark.parametrize(
    ("method", "release", "backend", "deep_gemm"),
    [
        ("dflash", "v0.26.0", "triton_attn", 0),
        ("dflash", "v0.27.0", None, 0),
        ("dflash", "v0.28.0", None, None),
        ("dflash", "nightly", None, None),
        ("mtp", "v0.26.0", None, None),
    ],
)
def test_a_method_has_defaults_in_the_releases_of_a_fact(
    method: str, release: str, backend: str | None, deep_gemm: int | None
) -> None:
    found = chat(guessing(f"{{method: {method}}}", image(release)))
    assert found["set"].get("attention_backend") == backend
    assert found["env"].get("VLLM_USE_DEEP_GEMM") == deep_gemm
    assert found["set"]["kv_cache_dtype"] == "fp8", "what the recipe sets stays"


def test_the_inventory_has_the_last_word() -> None:
    own = guessing(
        "{method: dflash}", image("v0.26.0"), "set: {attention_backend: FLASHINFER}", "env: {VLLM_USE_DEEP_GEMM: 1}"
    )
    found = chat(own)
    assert (found["set"]["attention_backend"], found["env"]["VLLM_USE_DEEP_GEMM"]) == ("FLASHINFER", 1)
    fleet = guessing(
        "{method: dflash}",
        image("v0.26.0"),
        defaults="{model_store: /srv/models, set: {attention_backend: FLASH_ATTN}}",
    )
    assert chat(fleet)["set"]["attention_backend"] == "FLASH_ATTN"


def test_a_default_of_a_method_names_its_fact() -> None:
    leaves = resolved(guessing("{method: dflash}", image("v0.26.0"))).leaves
    said = "speculative dflash: ATT004, FLASH_ATTN and FlashInfer crashed with DFlash"
    assert str(leaves[*PLACE, "set", "attention_backend"][1]) == said
    assert leaves[*PLACE, "speculative"][1].layer == "inventory, completed from the table of drafters"


def test_the_drafter_of_the_target_comes_from_the_table() -> None:
    found = chat(guessing("{method: dflash}"))["speculative"]
    assert found == {"method": "dflash", "model": "z-lab/Qwen3.6-35B-A3B-DFlash", "num_speculative_tokens": 15}


def test_a_drafter_and_a_number_of_ones_own_stay() -> None:
    own = {"method": "dflash", "model": "example/draft", "num_speculative_tokens": 7}
    assert chat(guessing("{method: dflash, model: example/draft, num_speculative_tokens: 7}"))["speculative"] == own


def test_a_target_without_a_known_drafter() -> None:
    text = guessing("{method: dflash}").replace(TARGET, "example/unknown")
    assert faults(text) == ["REF003 10:18 the catalog has no drafter of the method dflash for example/unknown"]


@pytest.mark.parametrize("method", ["draft_model", "eagle", "eagle3"])
def test_a_method_that_needs_a_drafter(method: str) -> None:
    assert faults(guessing(f"{{method: {method}}}")) == [
        f"REF003 10:18 the catalog has no drafter of the method {method} for {TARGET}"
    ]


def test_a_method_without_a_drafter_requires_none() -> None:
    assert faults(guessing("{method: ngram}").replace(TARGET, "example/unknown")) == []


@pytest.mark.parametrize(
    ("speculative", "written"),
    [
        (
            "{method: ngram, num_speculative_tokens: 4, prompt_lookup_min: 2, prompt_lookup_max: 5}",
            '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":5,"prompt_lookup_min":2}',
        ),
        ("{method: suffix, num_speculative_tokens: 8}", '{"method":"suffix","num_speculative_tokens":8}'),
        (
            "{method: mtp, num_speculative_tokens: 3, moe_backend: triton}",
            '{"method":"mtp","moe_backend":"triton","num_speculative_tokens":3}',
        ),
        (
            "{method: mtp, model: /model/assistant, num_speculative_tokens: 3}",
            '{"method":"mtp","model":"/model/assistant","num_speculative_tokens":3}',
        ),
        ("{method: deepseek_mtp, num_speculative_tokens: 2}", '{"method":"deepseek_mtp","num_speculative_tokens":2}'),
        ("{method: eagle3, model: example/head}", '{"method":"eagle3","model":"example/head"}'),
        ("{method: eagle, model: example/head}", '{"method":"eagle","model":"example/head"}'),
        (
            "{method: dspark, draft_sample_method: probabilistic, quantization: fp8, num_speculative_tokens: 5}",
            '{"draft_sample_method":"probabilistic","method":"dspark","num_speculative_tokens":5,"quantization":"fp8"}',
        ),
        (
            "{method: mtp, num_speculative_tokens_per_batch_size: [[1, 4, 3]], draft_load_config: {a: null}}",
            '{"draft_load_config":{"a":null},"method":"mtp","num_speculative_tokens_per_batch_size":[[1,4,3]]}',
        ),
        ("{method: draft_model, model: example/small}", '{"method":"draft_model","model":"example/small"}'),
    ],
)
def test_each_method_as_vllm_reads_it(speculative: str, written: str) -> None:
    assert f"--speculative-config={written}" in container(guessing(speculative)).command.words


def test_a_key_without_a_value_is_not_written() -> None:
    assert '--speculative-config={"method":"mtp"}' in container(guessing("{method: mtp, model: null}")).command.words


@pytest.mark.parametrize(
    ("speculative", "models"),
    [
        ("{method: mtp, model: example/assistant}", ("example/assistant",)),
        ("{method: mtp, model: /model/assistant}", ()),
        ("{method: mtp}", ()),
    ],
)
def test_a_drafter_of_the_hub_must_be_in_the_store(speculative: str, models: tuple[str, ...]) -> None:
    assert container(guessing(speculative)).weights.models == (TARGET, *models)
