"""Attention backends that SGLang refuses on GPUs of compute capability 12, release by release.

Read from its released wheels: `create_flashattention_v3_backend`, in model_runner.py and later layers/attention/
attention_registry.py, and the checks in server_args.py, later arg_groups/overrides.py and arg_groups/attention_hook.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from sparkiac.engines.tables import OptionTable

_BOTH: Final = ("prefill", "decode")


class Refusal(NamedTuple):
    """A backend that some releases refuse."""

    backend: str
    phases: tuple[str, ...]
    """Phases in which the backend is refused."""
    first: str
    last: str
    wants: str
    kv_cache: str | None = None
    """KV cache dtype with which the backend is refused; None means every dtype."""


REFUSALS: Final = (
    Refusal("fa3", _BOTH, "0.4.7", "0.5.23", "compute capability 8 or 9"),
    Refusal("trtllm_mha", _BOTH, "0.5.1", "0.5.9", "compute capability 10"),
    Refusal("trtllm_mha", ("prefill",), "0.5.10", "0.5.18", "compute capability 10 for prefill"),
    Refusal("trtllm_mha", ("prefill",), "0.5.19", "0.5.23", "a KV cache dtype other than fp8_e4m3", "fp8_e4m3"),
    Refusal("trtllm_mla", ("decode",), "0.5.1", "0.5.4.post1", "compute capability 10"),
    Refusal("cutedsl_mla", ("decode",), "0.5.13", "0.5.23", "compute capability 10"),
)
_REPLACED: Final = frozenset({("fa3", "fp8_e5m2")})
"""Backend and KV cache dtype that SGLang replaces by Triton."""


def refused(options: Mapping[str, object], table: OptionTable, release: str) -> dict[str, Refusal]:
    """Return the options whose backend a release refuses, each with the first reason."""
    found: dict[str, Refusal] = {}
    cache = options.get("kv_cache_dtype")
    for phase in _BOTH:
        own = f"{phase}_attention_backend"
        name = "attention_backend" if options.get(own) is None else own
        for each in REFUSALS:
            held = table.releases[table.releases.index(each.first) : table.releases.index(each.last) + 1]
            backend = (options.get(name), cache)
            if (
                (each.backend, release in held) == (backend[0], True)
                and phase in each.phases
                and each.kv_cache in {None, cache}
                and backend not in _REPLACED
            ):
                found.setdefault(name, each)
    return found
