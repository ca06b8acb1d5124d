"""Render the timers that switch a host to a turn at a time of the day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.artifact import Artifact
from sparkiac.render import timers
from sparkiac.render.templates import fill

if TYPE_CHECKING:
    from sparkiac.plan import HostPlan
    from sparkiac.plan.contract import GenerationUnit

_NAME: Final = "sparkiac-turn"


def render(host: HostPlan) -> tuple[Artifact, ...]:
    """Render a timer and its service for each turn with a time; all are filled from the same two templates."""
    return tuple(
        Artifact(path, fill(f"host/{template}.j2", {"turn": turn.name, "at": turn.at}))
        for turn in host.turns
        if turn.at is not None
        for template, path in zip(timers.paths(_NAME), timers.paths(f"{_NAME}-{turn.name}"), strict=True)
    )


def units(host: HostPlan) -> tuple[GenerationUnit, ...]:
    """Return the timers as units of their generation."""
    return tuple(timers.unit(f"{_NAME}-{turn.name}") for turn in host.turns if turn.at is not None)
