"""vLLM: defaults, command line, health.

The command follows the image: `serve_words` are left out where the image's entrypoint says them already.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVE_WORDS: Final = ("vllm", "serve")
CACHE: Final = "/cache"
"""Directory inside the container that keeps compiled kernels between restarts."""
MASTER_PORT: Final = 29501
"""Rendezvous port of a distributed group: vLLM's default for --master-port."""

DEFAULTS: Final[Mapping[str, Any]] = {
    "set": {"host": "0.0.0.0", "port": 8000},  # noqa: S104  inside the container; `bind` decides what is published
    "env": {
        "HF_HUB_OFFLINE": 1,
        "VLLM_NO_USAGE_STATS": 1,
        "VLLM_CACHE_ROOT": f"{CACHE}/vllm",
        "VLLM_CONFIG_ROOT": f"{CACHE}/config",
        "TRITON_CACHE_DIR": f"{CACHE}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{CACHE}/inductor",
        "FLASHINFER_WORKSPACE_BASE": f"{CACHE}/flashinfer",
    },
    "container": {"ipc": "private", "tmp_size_gib": 1.0, "read_only": True},
    "timeouts": {"ready_s": 1200, "stop_s": 120, "restart_delay_s": 30},
    "bind": "lan",
}
"""The lowest layer of every vLLM deployment. Load time: Spark guide and vLLM blog give up to 15 minutes."""


def arguments(model: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Write model and options as vLLM's arguments: the model, then one sorted `--option=value` each.

    True is a bare switch, False its `--no-` form, a list is several words, a mapping is compact JSON.
    """
    words = [model]
    for name in sorted(options):
        words += _option(f"--{name.replace('_', '-')}", options[name])
    return tuple(words)


def group_options(*, rank: int, size: int, master: str) -> dict[str, Any]:
    """Give the options that make one node of a distributed group without Ray.

    Source: vLLM's native multi-node serving (--nnodes, --node-rank, --master-addr; --headless on all but the first).
    """
    options: dict[str, Any] = {
        "distributed_executor_backend": "mp",
        "nnodes": size,
        "node_rank": rank,
        "master_addr": master,
        "master_port": MASTER_PORT,
    }
    return options | ({"headless": True} if rank else {})


def _option(flag: str, value: object) -> list[str]:
    if value is True:
        return [flag]
    if value is False:
        return [f"--no-{flag[2:]}"]
    if isinstance(value, dict):
        return [f"{flag}={json.dumps(value, sort_keys=True, separators=(',', ':'))}"]
    if isinstance(value, tuple):
        return [flag, *(str(item) for item in value)]
    return [f"{flag}={value}"]
