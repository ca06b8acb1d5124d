"""Render the program that writes metrics of a host: what it measures, and its units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.artifact import Artifact
from sparkiac.plan.contract import GenerationUnit
from sparkiac.plan.contract_monitoring import HostMetrics, MeasuredUnit
from sparkiac.render import jsontext
from sparkiac.render.templates import fill

if TYPE_CHECKING:
    from sparkiac.plan import HostPlan

CONFIG: Final = "etc/sparkiac/metrics.json"
EVERY_S: Final = 60
"""Seconds between two runs; Prometheus collects more often, and sees the same values until then."""
_UNITS: Final = ("etc/systemd/system/sparkiac-metrics.service", "etc/systemd/system/sparkiac-metrics.timer")


def render(host: HostPlan) -> tuple[Artifact, ...]:
    """Render the files of a host that is measured."""
    measured = tuple(
        MeasuredUnit(each.unit, each.name if each.path[0] == "deployments" else None) for each in host.units
    )
    units = (Artifact(path, fill(f"host/{path}.j2", {"every_s": EVERY_S})) for path in _UNITS)
    return (Artifact(CONFIG, jsontext.dump(HostMetrics(measured))), *units)


def unit() -> GenerationUnit:
    """Return the timer as a unit of its generation. Its service is no unit of it: the timer starts the service."""
    return GenerationUnit(
        name="sparkiac-metrics.timer",
        files=(CONFIG, *_UNITS),
        secrets=(),
        memory_bytes=None,
        listen=None,
        group=False,
        ready_timeout_s=0,
        drain_s=0,
        promise=None,
    )
