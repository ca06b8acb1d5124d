"""What a serving container is told to run: the model, its names, and the words before them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac.engines import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.engines import Engine, Start
    from sparkiac.plan.image import Image


def start(engine: Engine, values: dict[str, Any], options: Mapping[str, Any], *, commits: Mapping[str, str]) -> Start:
    """Give how the engine is started with these values; `options` are its own, as they hold on one machine."""
    return engine.start(Request(_target(values), names(values), options, values.get("speculative"), commits))


def names(values: dict[str, Any]) -> tuple[str, ...]:
    """Give the names that clients use, where the engine would not come upon them by itself."""
    if "served_names" in values:
        return tuple(values["served_names"])
    return (values["model"],) if "model_path" in values else ()


def words(image: Image, engine: Engine, started: Start) -> tuple[str, ...]:
    """Write the command after the image's entrypoint, which may say the engine's own words already."""
    said = (image.entrypoint or ())[-len(engine.words) :] == engine.words if engine.words else True
    return started.arguments if said else (*engine.words, *started.arguments)


def _target(values: dict[str, Any]) -> str:
    """Give what the engine loads: the handle, or a path in the container."""
    path = values.get("model_path")
    if path is None:
        return str(values["model"])
    return f"{path}/{values['model_file']}" if "model_file" in values else str(path)
