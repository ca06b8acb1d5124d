"""Render the fleet timer of a host: what it checks, and its units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.artifact import Artifact
from sparkiac.plan.contract import GenerationUnit
from sparkiac.render import jsontext
from sparkiac.render.templates import fill

if TYPE_CHECKING:
    from sparkiac.plan.fleet_timer import FleetTimer

CONFIG: Final = "etc/sparkiac/fleet.json"
_UNITS: Final = ("etc/systemd/system/sparkiac-fleet.service", "etc/systemd/system/sparkiac-fleet.timer")


def render(timer: FleetTimer) -> tuple[Artifact, ...]:
    """Render the files of the timer."""
    values = {"period_s": timer.check.period_s, "secrets": timer.secrets}
    units = (Artifact(path, fill(f"host/{path}.j2", values)) for path in _UNITS)
    return (Artifact(CONFIG, jsontext.dump(timer.check)), *units)


def unit(timer: FleetTimer) -> GenerationUnit:
    """Return the timer as a unit of its generation. Its service is no unit of it: the timer starts the service."""
    return GenerationUnit(
        name="sparkiac-fleet.timer",
        files=(CONFIG, *_UNITS),
        secrets=timer.secrets,
        memory_bytes=None,
        listen=None,
        group=False,
        ready_timeout_s=0,
        drain_s=0,
        promise=None,
    )
