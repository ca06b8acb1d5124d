"""The share of a host's memory that each engine uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparkiac import engines
from sparkiac.memory.values import Unknown

if TYPE_CHECKING:
    from sparkiac.plan import Container, HostPlan


class Share(NamedTuple):
    """The share of a host's memory that an engine uses."""

    option: str
    value: float
    default: str = ""
    """The origin of the value if the option is not set, to follow the value in a sentence."""


def share(host: HostPlan, container: Container) -> Share | None:
    """Return the share of the memory that an engine uses: the value set, or vLLM's default; None if unknown."""
    option = engines.named(container.server.engine).memory_share
    value = container.server.options.get(option or "")
    if option is None:
        return None
    if value is not None:
        return Share(option, float(value))
    options = host.proofs[container.name].options
    if isinstance(options, Unknown) or options.kv_cache_memory_bytes is not None:
        return None
    known = container.image.vllm
    release = f"of vLLM {known}" if known else "from vLLM 0.20.0 on (the release in the image is unknown)"
    return Share(option, options.gpu_memory_utilization, f", the default {release}")
