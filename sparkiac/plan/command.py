"""What a serving container is told to run: the model, its names, and the words before them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac.engines import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.engines import Engine, Start
    from sparkiac.model.settings import Serving
    from sparkiac.plan.image import Image


def start(engine: Engine, values: Serving, options: Mapping[str, Any], *, commits: Mapping[str, str]) -> Start:
    """Give how the engine is started with these values; `options` are its own, as they hold on one machine."""
    return engine.start(Request(_target(values), _names(values), options, speculative(values), commits))


def speculative(values: Serving) -> dict[str, Any] | None:
    """Give the method of speculative decoding and its settings, as the inventory spells them."""
    return values.speculative.model_dump(exclude_none=True) if values.speculative else None


def served(values: Serving) -> tuple[str, ...]:
    """Give the names that clients use."""
    return _names(values) or (_model(values),)


def _names(values: Serving) -> tuple[str, ...]:
    """Give the served names that the engine must be told, because its own default is another one."""
    if values.served_names is not None:
        return values.served_names
    return (_model(values),) if values.model_path is not None else ()


def words(image: Image, engine: Engine, started: Start) -> tuple[str, ...]:
    """Write the command after the image's entrypoint, which may say the engine's own words already."""
    said = (image.entrypoint or ())[-len(engine.words) :] == engine.words if engine.words else True
    return started.arguments if said else (*engine.words, *started.arguments)


def _model(values: Serving) -> str:
    assert values.model is not None, "resolve refuses a deployment without a model"  # noqa: S101
    return values.model


def _target(values: Serving) -> str:
    """Give what the engine loads: the handle, or a path in the container."""
    if values.model_path is None:
        return _model(values)
    return f"{values.model_path}/{values.model_file}" if values.model_file is not None else values.model_path
