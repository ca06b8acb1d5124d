"""Render etc/sparkiac/generation.json, which lists files and units for the switch on the host."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

from sparkiac.host.generation import GenerationPlan, GenerationUnit, Needs, PlacedFile, Sysctl
from sparkiac.plan import Container, HostPlan
from sparkiac.plan.container import Program
from sparkiac.plan.preflight import cache_path
from sparkiac.render import jsontext, staging, timers
from sparkiac.report.artifact import Artifact

PATH: Final = "etc/sparkiac/generation.json"


def render(host: HostPlan, files: Mapping[str, tuple[str, ...]]) -> Artifact:
    """Render the file of a host; `files` is unit → generated files whose change requires a restart of the unit."""
    limit = None if host.memory_bytes is None else host.memory_bytes - (host.reserve_bytes or 0)
    units = {unit.unit: unit for unit in host.units}
    found = GenerationPlan(
        host=host.name,
        memory_bytes=limit,
        turns=tuple(turn.name for turn in host.turns),
        units=(*(_unit(units[name], files[name], host) for name in host.start_order), *timers.units(host)),
        sysctls=tuple(Sysctl(key, value) for key, value in host.sysctls.items()),
        packages=host.pins.packages if host.pins else {},
        group=host.group,
        nft_optional=host.values.nft == "optional",
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
