"""Render the program that writes metrics of a host: what it measures, and its units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.plan.contract_monitoring import HostMetrics, MeasuredUnit
from sparkiac.render import timers

if TYPE_CHECKING:
    from sparkiac.artifact import Artifact
    from sparkiac.plan import HostPlan
    from sparkiac.plan.contract import GenerationUnit

CONFIG: Final = "etc/sparkiac/metrics.json"
EVERY_S: Final = 60
"""Seconds between two runs; Prometheus collects more often, and sees the same values until then."""
_NAME: Final = "sparkiac-metrics"


def render(host: HostPlan) -> tuple[Artifact, ...]:
    """Render the files of a host that is measured."""
    measured = tuple(
        MeasuredUnit(each.unit, each.name if each.path[0] == "deployments" else None) for each in host.units
    )
    return timers.render(_NAME, CONFIG, HostMetrics(measured), {"every_s": EVERY_S})


def unit() -> GenerationUnit:
    """Return the timer as a unit of its generation."""
    return timers.unit(_NAME, CONFIG)
