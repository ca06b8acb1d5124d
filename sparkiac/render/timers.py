"""Render the systemd timers of a host: the metrics of the host, its watch, the fleet timer, and turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sparkiac.host.generation import GenerationUnit, HostMetrics, MeasuredUnit
from sparkiac.plan import HostPlan
from sparkiac.render import jsontext
from sparkiac.render.templates import fill
from sparkiac.report.artifact import Artifact

METRICS_EVERY_S: Final = 60
"""Seconds between two measurements; Prometheus collects more often, and sees the same values until then."""
_METRICS: Final = "sparkiac-metrics"
_METRICS_CONFIG: Final = "etc/sparkiac/metrics.json"
_FLEET: Final = "sparkiac-fleet"
_FLEET_CONFIG: Final = "etc/sparkiac/fleet.json"
_WATCH: Final = "sparkiac-watch"
_WATCH_EVERY_S: Final = 30
"""A series of two minutes has five samples."""
_TURN: Final = "sparkiac-turn"


def render(host: HostPlan) -> Iterator[Artifact]:
    """Render each timer: its service, itself, and the file that its program reads."""
    if host.is_measured:
        deployed = ((each.unit, each.name if each.path[0] == "deployments" else None) for each in host.units)
        measured = HostMetrics(tuple(MeasuredUnit(*each) for each in deployed))
        yield Artifact(_METRICS_CONFIG, jsontext.dump(measured))
        yield from _filled(_METRICS, _METRICS, {"every_s": METRICS_EVERY_S})
    if timer := host.fleet_timer:
        yield Artifact(_FLEET_CONFIG, jsontext.dump(timer.check))
        yield from _filled(_FLEET, _FLEET, {"period_s": timer.check.period_s, "secrets": timer.secrets})
    if host.is_watched:
        yield from _filled(_WATCH, _WATCH, {"every_s": _WATCH_EVERY_S})
    for turn in host.turns:
        if turn.at is not None:
            yield from _filled(_TURN, f"{_TURN}-{turn.name}", {"turn": turn.name, "at": turn.at})


def units(host: HostPlan) -> Iterator[GenerationUnit]:
    """Return the timers as units of their generation. Their services are not units of it: the timers start them."""
    if host.is_measured:
        yield _unit(_METRICS, _METRICS_CONFIG)
    if host.fleet_timer:
        yield _unit(_FLEET, _FLEET_CONFIG, secrets=host.fleet_timer.secrets)
    if host.is_watched:
        yield _unit(_WATCH)
    yield from (_unit(f"{_TURN}-{turn.name}") for turn in host.turns if turn.at is not None)


def _filled(template: str, name: str, values: Mapping[str, Any]) -> Iterator[Artifact]:
    """Yield service and timer; all turns are filled from the same two templates."""
    for source, path in zip(_paths(template), _paths(name), strict=True):
        yield Artifact(path, fill(f"host/{source}.j2", values))


def _unit(name: str, *configs: str, secrets: tuple[str, ...] = ()) -> GenerationUnit:
    return GenerationUnit(
        name=f"{name}.timer",
        files=(*configs, *_paths(name)),
        secrets=secrets,
        memory_bytes=None,
        listen=None,
        group=False,
        ready_timeout_s=0,
        drain_s=0,
        turns=(),
        promise=None,
    )


def _paths(name: str) -> tuple[str, str]:
    return f"etc/systemd/system/{name}.service", f"etc/systemd/system/{name}.timer"
