"""Ollama: its server is configured by environment variables alone.

Sources: docs/faq.mdx and docs/docker.mdx of ollama/ollama; the variables that servers of 0.30 print at their start
(ollama/ollama issues 16482 and 16647); the Dockerfile for user, port and data. The first request for a model loads it,
so a healthy server may have no model loaded. The server takes no key and has no metrics; whether it sends statistics to
its maker is unknown.

It is a service of its own and serves what its own store holds: no recipe and no deployment runs on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sparkiac.engines.engine import Engine, Request, Start
from sparkiac.engines.tables import Option, chosen, known, variables

PORT: Final = 11434
"""Port that it listens on inside the container."""
HOME: Final = "/root/.ollama"
"""Directory inside the container that keeps models and the server's own key pair."""
HEALTH: Final = "/api/tags"
"""Path that lists the models of its store, once the server is up."""

_NAMED: Final = known(
    integer="context_length num_parallel max_loaded_models max_queue gpu_overhead max_transfer_streams",
    # Durations as Go writes them, such as 5m; a bare number is seconds, and a negative one never ends.
    text="host models keep_alive load_timeout llm_library debug",
    switch="flash_attention sched_spread igpu_enable vulkan go_template debug_log_requests no_cloud noprune auth",
    words="origins remotes",
) | chosen(kv_cache_type="f16 q8_0 q4_0")
OPTIONS: Final[Mapping[str, Option]] = {
    name: option._replace(spelling=f"OLLAMA_{name.upper()}") for name, option in _NAMED.items()
} | {
    # Read by llama.cpp's server, which runs the models since 0.30.
    "fit": Option("text", ("on", "off"), "LLAMA_ARG_FIT"),
    "fit_target": Option("text", spelling="LLAMA_ARG_FIT_TARGET"),
}
"""Name under `set` → variable. An empty or unreadable switch counts as on, so it is written as 1 or 0."""

DEFAULTS: Final[Mapping[str, Any]] = {
    # Bound inside the container; `bind` decides what is published. Without no_cloud it reaches for ollama.com.
    "set": {"host": f"0.0.0.0:{PORT}", "no_cloud": True},
    "timeouts": {"ready_s": 300, "stop_s": 60, "restart_delay_s": 2, "drain_s": 30, "answer_s": 120},
}
"""Environment variables of every Ollama server."""


def environment(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment variables that set these options."""
    return variables(options, OPTIONS)


def start(request: Request) -> Start:
    """Return the variables; the image itself runs `ollama serve`."""
    return Start((), environment(request.options))


ENGINE: Final = Engine(
    name="ollama",
    title="Ollama",
    suits="a light fallback beside the models, and health checks (dual-Spark post L108; Spark guide L20)",
    sources=("Spark guide L20", "dual-Spark post L108", "docs.ollama.com: FAQ"),
    defaults=DEFAULTS,
    deployed=False,
    words=(),
    start=start,
    python=False,
    processes=False,
    listed=OPTIONS,
    health=HEALTH,
    key_variable=None,
    metrics=None,
)
