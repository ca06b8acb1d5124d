"""The command of a serving container: the model, its served names, and the command words of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac.engines import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sparkiac.engines import Engine, Start
    from sparkiac.model.settings import Serving
    from sparkiac.plan.image import Image


def start(engine: Engine, values: Serving, options: Mapping[str, Any], *, commits: Mapping[str, str]) -> Start:
    """Return the arguments and environment that start the engine; `options` are the engine options on this host."""
    return engine.start(Request(_target(values), _names(values), options, speculative(values), commits))


def speculative(values: Serving) -> dict[str, Any] | None:
    """Return the method of speculative decoding and its settings, with the keys of the inventory."""
    return {key: value for key, value in values.speculative if value is not None} if values.speculative else None


def served(values: Serving) -> tuple[str, ...]:
    """Return the model names that clients use."""
    return _names(values) or (_model(values),)


def _names(values: Serving) -> tuple[str, ...]:
    """Return the served names that must be passed to the engine because its default would be another name."""
    if values.served_names is not None:
        return values.served_names
    return (_model(values),) if values.model_path is not None else ()


def words(image: Image, engine: Engine, started: Start) -> tuple[str, ...]:
    """Return the command after the image's entrypoint, without the engine's words if the entrypoint ends with them."""
    included = (image.entrypoint or ())[-len(engine.words) :] == engine.words if engine.words else True
    return started.arguments if included else (*engine.words, *started.arguments)


def launcher(image: Image, engine: Engine) -> tuple[str, ...]:
    """Return the image's entrypoint without the engine's words, for a node that runs another program."""
    found, own = image.entrypoint or (), engine.words
    return found[: -len(own)] if own and found[-len(own) :] == own else found


def _model(values: Serving) -> str:
    assert values.model is not None, "resolve refuses a deployment without a model"  # noqa: S101
    return values.model


def _target(values: Serving) -> str:
    """Return what the engine loads: the model handle, or a path in the container."""
    if values.model_path is None:
        return _model(values)
    return f"{values.model_path}/{values.model_file}" if values.model_file is not None else values.model_path
