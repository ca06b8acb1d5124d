"""Serving engines: one module each, imported when a deployment needs it."""

from __future__ import annotations

import importlib
from functools import cache

from sparkiac.engines.engine import Engine, Groups, Member, Option, Part, Request, Start

__all__ = ["Engine", "Groups", "Member", "Option", "Part", "Request", "Start", "executor", "named"]


@cache
def named(name: str) -> Engine:
    """Return the engine with this name: `llama-cpp` is sparkiac/engines/llama_cpp.py."""
    engine = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").ENGINE
    assert isinstance(engine, Engine)  # noqa: S101
    return engine


def executor(groups: Groups, chosen: str | None) -> str:
    """Return how the nodes of a group run: as the deployment sets it, or by the default of the engine."""
    return chosen if chosen in groups.executors else groups.executors[0]
