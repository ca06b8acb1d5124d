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
    units = (Artifact(path, fill(f"host/{path}.j2", values)) for path in paths(name))
    return (Artifact(config, jsontext.dump(content)), *units)


def unit(name: str, *configs: str, secrets: tuple[str, ...] = ()) -> GenerationUnit:
    """Return the timer as a unit of its generation; `configs` are the files that its program reads.

    Its service is no unit of the generation: the timer starts it.
    """
    return GenerationUnit(
        name=f"{name}.timer",
        files=(*configs, *paths(name)),
        secrets=secrets,
        memory_bytes=None,
        listen=None,
        group=False,
        ready_timeout_s=0,
        drain_s=0,
        turns=(),
        promise=None,
    )


def paths(name: str) -> tuple[str, str]:
    """Return the paths of the service and the timer."""
    return f"etc/systemd/system/{name}.service", f"etc/systemd/system/{name}.timer"
