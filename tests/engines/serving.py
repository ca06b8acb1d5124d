"""Engines asked directly, and deployments on them taken through the stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac.engines import Request, Start, named
from tests.plan.fleets import ONES, deployment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.engines import Engine

IMAGE = f"example.org/engine@{ONES}"


def start(
    engine: Engine,
    *served: str,
    speculative: Mapping[str, object] | None = None,
    model: str = "example/model",
    **options: object,
) -> Start:
    """Start an engine with these options."""
    return engine.start(Request(model, served, options, speculative))


def words(
    engine: Engine,
    *served: str,
    speculative: Mapping[str, object] | None = None,
    model: str = "example/model",
    **options: object,
) -> tuple[str, ...]:
    """Return the words of an engine that is told by its arguments alone."""
    found = start(engine, *served, speculative=speculative, model=model, **options)
    assert found.env == {}
    return found.arguments


def flags(name: str) -> set[str]:
    """Return every option of an engine's table as the engine itself writes it."""
    engine = named(name)
    assert engine.options is not None
    found = set()
    for option, known in engine.options.items():
        value: Any = {"switch": True, "json": {}, "words": ("x",)}.get(known.kind, 1)
        last = start(engine, **{option: value})
        found |= {word.partition("=")[0] for word in last.arguments if word.startswith("--")} | set(last.env)
    return found


def on(recipe: str, *lines: str) -> str:
    """Write a deployment of one of the base recipes."""
    return deployment(f"image: {IMAGE}", *lines).replace("base/single-spark", recipe)


def locked(*entrypoint: str) -> str:
    """Write a lock that knows the image's entrypoint."""
    return f"version: 1\nimages: {{'{IMAGE}': {{digest: '{ONES}', entrypoint: [{', '.join(entrypoint)}]}}}}\n"
