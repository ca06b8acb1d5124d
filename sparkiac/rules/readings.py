"""Helpers for rules about options: numbers, the values of a recipe, and the share of memory that each engine uses."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from sparkiac import catalog, engines
from sparkiac.memory.values import Unknown
from sparkiac.plan import Container, HostPlan
from sparkiac.resolve import catalogued

_COUNT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmM]?)")
_DIRECTORY: Final = "model_path"
_UNITS: Final = {"": 1, "k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2}


def count(container: Container, option: str) -> int | None:
    """Return the integer value of an option; None if it is not set."""
    found = quantity(container.server.options.get(option))
    return None if found is None else int(found)


def quantity(value: object) -> float | None:
    """Parse a number with an optional suffix, as vLLM does: 64k is 64000, 64K is 65536. None for other text."""
    found = _COUNT.fullmatch(str(value))
    return float(found[1]) * _UNITS[found[2]] if found else None


@cache
def served_from_directory(model: str) -> str | None:
    """Return the first catalog entry that serves a model, if all such entries serve it from a directory.

    Entries are parsed only if the text of one names both.
    """
    if set(catalog.holding(f"model: {model}")).isdisjoint(catalog.holding(f"{_DIRECTORY}:")):
        return None
    first = None
    for each in catalogued.serving(model):
        if _DIRECTORY not in each.values:
            return None
        first = first or each.name
    return first


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
