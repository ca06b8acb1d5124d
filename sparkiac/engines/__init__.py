"""Serving engines: one module each, imported when a deployment needs it."""

from __future__ import annotations

import importlib
from functools import cache

from sparkiac.engines.engine import Engine, Option, Request, Start

__all__ = ["Engine", "Option", "Request", "Start", "named"]


@cache
def named(name: str) -> Engine:
    """Return the engine with this name: `llama-cpp` is sparkiac/engines/llama_cpp.py."""
    engine = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").ENGINE
    assert isinstance(engine, Engine)  # noqa: S101
    return engine
