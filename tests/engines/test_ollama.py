"""Ollama: its variables."""

from __future__ import annotations

from sparkiac.engines.records import ollama
from tests.engines.serving import flags

LOGGED = """
OLLAMA_HOST OLLAMA_MODELS OLLAMA_CONTEXT_LENGTH OLLAMA_NUM_PARALLEL OLLAMA_MAX_LOADED_MODELS OLLAMA_MAX_QUEUE
OLLAMA_KEEP_ALIVE OLLAMA_LOAD_TIMEOUT OLLAMA_FLASH_ATTENTION OLLAMA_KV_CACHE_TYPE OLLAMA_GPU_OVERHEAD
OLLAMA_SCHED_SPREAD OLLAMA_VULKAN OLLAMA_LLM_LIBRARY OLLAMA_DEBUG OLLAMA_NO_CLOUD OLLAMA_REMOTES OLLAMA_ORIGINS
OLLAMA_NOPRUNE LLAMA_ARG_FIT LLAMA_ARG_FIT_TARGET
"""
"""Variables that a server of 0.30 prints at its start."""


def test_options_are_variables() -> None:
    options = {"context_length": 8192, "keep_alive": "-1", "flash_attention": True, "origins": ("http://a", "http://b")}
    assert ollama.environment(options | {"sched_spread": False, "kv_cache_type": "q8_0"}) == {
        "OLLAMA_CONTEXT_LENGTH": "8192",
        "OLLAMA_KEEP_ALIVE": "-1",
        "OLLAMA_FLASH_ATTENTION": "1",
        "OLLAMA_ORIGINS": "http://a,http://b",
        "OLLAMA_SCHED_SPREAD": "0",
        "OLLAMA_KV_CACHE_TYPE": "q8_0",
    }


def test_the_table_has_what_a_server_prints() -> None:
    assert set(LOGGED.split()) <= flags("ollama")


def test_it_listens_where_it_is_published_and_keeps_to_itself() -> None:
    assert ollama.environment(ollama.DEFAULTS["set"]) == {"OLLAMA_HOST": "0.0.0.0:11434", "OLLAMA_NO_CLOUD": "1"}
    assert (ollama.PORT, ollama.HOME, ollama.HEALTH) == (11434, "/root/.ollama", "/api/tags")
