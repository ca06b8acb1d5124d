"""Serving engines: one file each in `records`, imported when it is needed. An engine is added by its file alone."""

from __future__ import annotations

import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Final

from sparkiac.catalog import interfaces
from sparkiac.engines import records
from sparkiac.engines.engine import Engine, Groups, Member, Metric, Part, Request, Start
from sparkiac.engines.tables import Option
from sparkiac.model.base import MOST_BYTES

__all__ = ["Engine", "Groups", "Member", "Metric", "Option", "Part", "Request", "Start", "executor", "named"]
_LINE: Final = re.compile(r"^([A-Za-z_:][\w:]*)(\{[^}]*\})? (\S+)$", re.MULTILINE)
_NONE: Final = Engine(
    name="",
    title="",
    suits="",
    sources=(),
    defaults={},
    deployed=False,
    words=(),
    start=lambda _: Start(()),
    processes=False,
    health="",
    key_variable=None,
    metrics=None,
)
"""The engine of a container that serves no model."""


@cache
def named(name: str | None) -> Engine:
    """Return the engine with this name: `llama-cpp` is records/llama_cpp.py. Without a known name, it has nothing."""
    module = f"{records.__name__}.{(name or '-').replace('-', '_')}"
    if importlib.util.find_spec(module) is None:
        return _NONE
    engine = importlib.import_module(module).ENGINE
    assert isinstance(engine, Engine)  # noqa: S101
    return engine


@cache
def every() -> tuple[Engine, ...]:
    """Return all engines that deployments run on, sorted by name, with vLLM first."""
    found = (named(each.name.replace("_", "-")) for each in pkgutil.iter_modules(records.__path__))
    return tuple(sorted((each for each in found if each.deployed), key=lambda each: (not each.interfaces, each.name)))


@cache
def names() -> tuple[str, ...]:
    """Return the names of all engines that deployments run on."""
    return tuple(each.name for each in every())


def executor(groups: Groups, chosen: str | None) -> str:
    """Return how the nodes of a group run: as the deployment sets it, or by the default of the engine."""
    return chosen if chosen in groups.executors else groups.executors[0]


def quantities(engine: str | None, release: str | None = None) -> dict[str, Metric]:
    """Return quantity → metric of an engine, for a release or for any; empty for an engine without metrics."""
    found = named(engine).quantities.items()
    return {quantity: metric for quantity, metric in found if release is None or _has(metric, release)}


def metric_names(*wanted: str) -> tuple[str, ...]:
    """Return the names of these quantities in all engines, sorted."""
    found = {metric.name for each in every() for name, metric in each.quantities.items() if name in wanted}
    return tuple(sorted(found))


def samples(page: str) -> Iterator[tuple[str, str, float]]:
    """Yield name, labels and value of each series of a metrics page, without values that no metric can reach or NaN."""
    for name, labels, text in _LINE.findall(page):
        with suppress(ValueError):
            if abs(value := float(text)) <= MOST_BYTES:
                yield name, labels, value


def _has(metric: Metric, release: str) -> bool:
    return metric.first is None or interfaces.release(metric.first) <= interfaces.release(release)
