"""Render the timers that switch a host to a turn at a time of the day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.artifact import Artifact
from sparkiac.plan.contract import GenerationUnit
from sparkiac.render.templates import fill

if TYPE_CHECKING:
    from sparkiac.plan import HostPlan

_DIRECTORY: Final = "etc/systemd/system"
_KINDS: Final = ("service", "timer")


def render(host: HostPlan) -> tuple[Artifact, ...]:
    """Render a timer and its service for each turn with a time."""
    return tuple(
        Artifact(path, fill(f"host/{_DIRECTORY}/sparkiac-turn.{kind}.j2", {"turn": turn.name, "at": turn.at}))
        for turn in host.turns
        if turn.at is not None
        for kind, path in zip(_KINDS, _paths(turn.name), strict=True)
    )


def units(host: HostPlan) -> tuple[GenerationUnit, ...]:
    """Return the timers as units of their generation."""
    return tuple(
        GenerationUnit(
            name=f"{_name(turn.name)}.timer",
            files=_paths(turn.name),
            secrets=(),
            memory_bytes=None,
            listen=None,
            group=False,
            ready_timeout_s=0,
            drain_s=0,
            turns=(),
            promise=None,
        )
        for turn in host.turns
        if turn.at is not None
    )


def _name(turn: str) -> str:
    return f"sparkiac-turn-{turn}"


def _paths(turn: str) -> tuple[str, ...]:
    return tuple(f"{_DIRECTORY}/{_name(turn)}.{kind}" for kind in _KINDS)
