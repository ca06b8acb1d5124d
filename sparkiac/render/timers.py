"""Render a systemd timer of a host: the file that its program reads, its service and itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac.artifact import Artifact
from sparkiac.plan.contract import GenerationUnit
from sparkiac.render import jsontext
from sparkiac.render.templates import fill

if TYPE_CHECKING:
    from collections.abc import Mapping


def render(name: str, config: str, content: object, values: Mapping[str, Any]) -> tuple[Artifact, ...]:
    """Render the files of the timer `name`; `content` is what its program reads from `config`."""
    units = (Artifact(path, fill(f"host/{path}.j2", values)) for path in _units(name))
    return (Artifact(config, jsontext.dump(content)), *units)


def unit(name: str, config: str, secrets: tuple[str, ...] = ()) -> GenerationUnit:
    """Return the timer as a unit of its generation. Its service is no unit of it: the timer starts the service."""
    return GenerationUnit(
        name=f"{name}.timer",
        files=(config, *_units(name)),
        secrets=secrets,
        memory_bytes=None,
        listen=None,
        group=False,
        ready_timeout_s=0,
        drain_s=0,
        turns=(),
        promise=None,
    )


def _units(name: str) -> tuple[str, ...]:
    return tuple(f"etc/systemd/system/{name}.{kind}" for kind in ("service", "timer"))
