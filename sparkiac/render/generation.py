"""Render etc/sparkiac/generation.json, which lists files and units for the switch on the host, and the systemd timers.

The timers are those for the metrics of the host, its watch, the fleet timer, and turns at a time of the day.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sparkiac.host.generation import (
    PARAMETER,
    Clients,
    GenerationPlan,
    GenerationUnit,
    HostMetrics,
    MeasuredUnit,
    Needs,
    PlacedFile,
    Sysctl,
)
from sparkiac.plan import Container, HostPlan
from sparkiac.plan.container import Program
from sparkiac.plan.parts import PortClients
from sparkiac.plan.preflight import cache_path
from sparkiac.render import jsontext, staging
from sparkiac.render.templates import fill
from sparkiac.report.artifact import Artifact

PATH: Final = "etc/sparkiac/generation.json"
_METRICS_EVERY_S: Final = 60
"""Seconds between two measurements; Prometheus collects more often, and sees the same values until then."""
_METRICS: Final = "sparkiac-metrics"
_METRICS_CONFIG: Final = "etc/sparkiac/metrics.json"
_FLEET: Final = "sparkiac-fleet"
_FLEET_CONFIG: Final = "etc/sparkiac/fleet.json"
_WATCH: Final = "sparkiac-watch"
_WATCH_EVERY_S: Final = 30
"""A series of two minutes has five samples."""
_TURN: Final = "sparkiac-turn"


def render(host: HostPlan, files: Mapping[str, tuple[str, ...]]) -> Artifact:
    """Render the file of a host; `files` is unit → generated files whose change requires a restart of the unit."""
    limit = None if host.memory_bytes is None else host.memory_bytes - (host.reserve_bytes or 0)
    units = {unit.unit: unit for unit in host.units}
    sysctls = (*host.sysctls.items(), *((each.key, each.value) for each in host.settings if each.key != PARAMETER))
    found = GenerationPlan(
        host=host.name,
        memory_bytes=limit,
        turns=tuple(turn.name for turn in host.turns),
        units=(*(_unit(units[name], files[name], host) for name in host.start_order), *_timer_units(host)),
        sysctls=tuple(Sysctl(key, value) for key, value in sysctls),
        packages=host.pins.packages if host.pins else {},
        parameters=host.values.boot_words,
        group=host.group,
        nft_optional=host.values.nft == "optional",
        clients={name: _clients(each) for name, each in host.clients.items()},
        egress={each.unit: each.network.egress for each in host.units if each.network.egress is not None},
        needs=_needs(host),
    )
    return Artifact(PATH, jsontext.dump(found))


def placed(artifacts: Iterable[Artifact]) -> list[PlacedFile]:
    """Return path, mode and SHA-256 of each file, sorted by path."""
    return sorted(
        PlacedFile(each.path, f"{each.mode:04o}", hashlib.sha256(each.content).hexdigest()) for each in artifacts
    )


def _unit(unit: Container | Program, files: tuple[str, ...], host: HostPlan) -> GenerationUnit:
    listen = unit.network.listen
    return GenerationUnit(
        name=unit.unit,
        files=files,
        secrets=(*(secret.name for secret in unit.secrets), *unit.reloaded),
        memory_bytes=unit.memory_bytes,
        listen=None if listen is None else f"{listen[0]}:{listen[1]}",
        group=not isinstance(unit, Program) and unit.server.node is not None,
        ready_timeout_s=unit.timeouts.ready_s,
        drain_s=unit.timeouts.drain_s,
        turns=host.turns_of(unit),
        promise=host.promises.get(unit.unit),
    )


def _clients(found: PortClients) -> Clients:
    addresses = (address for each in found.hosts.values() for address in each)
    return Clients((*found.listed, *addresses), tuple(f"sparkiac-{name}" for name in found.units))


def _needs(host: HostPlan) -> Needs:
    """Return what pruning must keep. Copied images are kept by their IDs, because they have no name on the host."""
    known = staging.image_ids(host) if host.images_from else {}
    images = {known.get(each.image.pull, each.image.pull) for each in host.containers}
    return Needs(
        images=tuple(sorted(images)),
        stores=staging.stores(host),
        extra_files=staging.file_paths(host),
        caches=tuple(path for each in host.containers if (path := cache_path(each)) is not None),
    )


def timers(host: HostPlan) -> Iterator[Artifact]:
    """Render each timer: its service, itself, and the file that its program reads."""
    if host.is_measured:
        deployed = ((each.unit, each.name if each.path[0] == "deployments" else None) for each in host.units)
        measured = HostMetrics(tuple(MeasuredUnit(*each) for each in deployed))
        yield Artifact(_METRICS_CONFIG, jsontext.dump(measured))
        yield from _filled(_METRICS, _METRICS, {"every_s": _METRICS_EVERY_S})
    if timer := host.fleet_timer:
        yield Artifact(_FLEET_CONFIG, jsontext.dump(timer.check))
        yield from _filled(_FLEET, _FLEET, {"period_s": timer.check.period_s, "secrets": timer.secrets})
    if host.is_watched:
        yield from _filled(_WATCH, _WATCH, {"every_s": _WATCH_EVERY_S})
    for turn in host.turns:
        if turn.at is not None:
            yield from _filled(_TURN, f"{_TURN}-{turn.name}", {"turn": turn.name, "at": turn.at})


def _timer_units(host: HostPlan) -> Iterator[GenerationUnit]:
    """Return the timers as units of their generation. Their services are not units of it: the timers start them."""
    if host.is_measured:
        yield _timer(_METRICS, _METRICS_CONFIG)
    if host.fleet_timer:
        yield _timer(_FLEET, _FLEET_CONFIG, secrets=host.fleet_timer.secrets)
    if host.is_watched:
        yield _timer(_WATCH)
    yield from (_timer(f"{_TURN}-{turn.name}") for turn in host.turns if turn.at is not None)


def _filled(template: str, name: str, values: Mapping[str, Any]) -> Iterator[Artifact]:
    """Yield service and timer; all turns are filled from the same two templates."""
    for source, path in zip(_paths(template), _paths(name), strict=True):
        yield Artifact(path, fill(f"host/{source}.j2", values))


def _timer(name: str, *configs: str, secrets: tuple[str, ...] = ()) -> GenerationUnit:
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
