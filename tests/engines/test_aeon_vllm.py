"""AEON-7's images: told by variables alone, and never given a key."""

from __future__ import annotations

from sparkiac.engines.records.aeon_vllm import ENGINE
from tests.engines.serving import flags, on, start
from tests.importers.texts import deployment
from tests.plan.fleets import container, faults

RECIPE = "aeon-7/dflash-qwen3.5-27b-nvfp4"
DFLASH = {"method": "dflash", "model": "/models/drafter", "num_speculative_tokens": 15}
PRINTED = """
MAX_MODEL_LEN MAX_NUM_SEQS GPU_MEMORY_UTILIZATION MAX_NUM_BATCHED_TOKENS MODEL_PATH DFLASH_DRAFTER KV_CACHE_DTYPE
"""
"""Variables of the Spark guide, L727-741."""


def test_the_variables() -> None:
    """Host and port are the script's own."""
    found = start(
        ENGINE,
        "chat",
        model="/models/target",
        speculative=DFLASH,
        host="0.0.0.0",  # noqa: S104
        port=8000,
        max_model_len=65536,
        gpu_memory_utilization=0.85,
        kv_cache_dtype="auto",
    )
    assert found.arguments == ()
    assert found.env == {
        "MODEL_PATH": "/models/target",
        "SERVED_MODEL_NAME": "chat",
        "DFLASH_DRAFTER": "/models/drafter",
        "DFLASH_NUM_SPEC_TOKENS": "15",
        "MAX_MODEL_LEN": "65536",
        "GPU_MEMORY_UTILIZATION": "0.85",
        "KV_CACHE_DTYPE": "auto",
    }


def test_an_empty_drafter_is_plain_vllm() -> None:
    """Spark guide L741; an image may have a default of its own, so it is said."""
    assert start(ENGINE, model="/m").env == {"MODEL_PATH": "/m", "DFLASH_DRAFTER": ""}


def test_the_number_of_tokens_may_be_the_images() -> None:
    assert "DFLASH_NUM_SPEC_TOKENS" not in start(ENGINE, speculative={"method": "dflash", "model": "/d"}).env


def test_the_table_has_the_variables_of_its_source() -> None:
    assert set(PRINTED.split()) <= flags("aeon-vllm")


def test_the_container() -> None:
    """No command and no shell: the image's own entrypoint reads the variables."""
    chat = container(on(RECIPE, "api_key: null"))
    assert (chat.command.words, chat.command.needs_shell, chat.command.exports, chat.secrets) == ((), False, (), ())
    assert chat.command.env["MODEL_PATH"] == "/models/target"
    assert chat.command.env["DFLASH_DRAFTER"].startswith("/models/drafter-cache/")
    assert chat.command.env["HF_HUB_OFFLINE"] == "1"
    assert chat.memory_bytes == int(0.85 * 119 * (1 << 30))
    assert not any("KEY" in name for name in chat.command.env)


def test_a_drafter_that_would_be_downloaded_is_refused() -> None:
    text = on(RECIPE, "speculative: {method: dflash, model: z-lab/Qwen3.5-27B-DFlash, num_speculative_tokens: 15}")
    assert faults(text) == [
        "REF003 11:18 AEON-7's vLLM would download the drafter z-lab/Qwen3.5-27B-DFlash of chat when it starts"
    ]


def test_a_model_by_its_handle_alone_is_refused() -> None:
    [fault] = faults(on(RECIPE, "model_path: null"))
    why = "the image downloads a model that is named by its handle at the start"
    assert (
        fault == f"REF003 11:17 deployment chat has no model_path: neither the catalog nor the inventory sets it; {why}"
    )


def test_a_model_that_no_recipe_serves_is_imported_on_this_engine() -> None:
    """The recipe of vLLM for any model would start `vllm serve`, which these images ignore."""
    own = "-v /srv/models/own/thing:/model -e MODEL_PATH=/model -e MAX_MODEL_LEN=4096"
    found = deployment(f"docker run --gpus all {own} ghcr.io/aeon-7/vllm-dflash:latest\n")
    assert (found["engine"], found.get("recipe")) == ("aeon-vllm", None)
    assert found["set"] == {"max_model_len": 4096}
