"""Render the fleet timer of a host: what it checks, and its units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.render import timers

if TYPE_CHECKING:
    from sparkiac.artifact import Artifact
    from sparkiac.plan.contract import GenerationUnit
    from sparkiac.plan.fleet_timer import FleetTimer

CONFIG: Final = "etc/sparkiac/fleet.json"
_NAME: Final = "sparkiac-fleet"


def render(timer: FleetTimer) -> tuple[Artifact, ...]:
    """Render the files of the timer."""
    values = {"period_s": timer.check.period_s, "secrets": timer.secrets}
    return timers.render(_NAME, CONFIG, timer.check, values)


def unit(timer: FleetTimer) -> GenerationUnit:
    """Return the timer as a unit of its generation."""
    return timers.unit(_NAME, CONFIG, secrets=timer.secrets)
