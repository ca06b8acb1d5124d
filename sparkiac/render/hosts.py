"""The files of one host: hosts/<name>/ mirrors its root directory. Programs, equal everywhere, are in `playbooks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sparkiac.artifact import Artifact
from sparkiac.plan.contract import HostOwned, RestartedUnit, Restarts
from sparkiac.plan.dependents import Program
from sparkiac.plan.deployments import PROBE_FILES
from sparkiac.render import compose, jsontext, playbooks, programs
from sparkiac.render.templates import fill

if TYPE_CHECKING:
    from sparkiac.plan import Container, HostPlan

OWNED: Final = "etc/sparkiac/owned.json"
"""List of all that sparkiac put on the host, so that the next apply can take away what is gone."""
UNITS: Final = "etc/sparkiac/units.json"
"""What each unit runs from: what the host compares and restarts by."""
_SUPERVISE: Final = "usr/local/lib/sparkiac/supervise"
_PROBE: Final = tuple(file.removeprefix("/") for file in PROBE_FILES)
_DIRECTORIES: Final = ("/etc/sparkiac", "/var/cache/sparkiac", "/var/lib/docker")
"""What every unit needs mounted. The cache's own directory is not named: its name changes with every option."""
_UNIT_TEMPLATE: Final = "host/etc/systemd/system/sparkiac.service.j2"
_LONGEST_DELAY_S: Final = 60
"""systemd counts restarts until somebody starts the unit by hand, so a late crash waits this long as well."""
_SYSCTL: Final = "etc/sysctl.d/90-sparkiac.conf"


def render(host: HostPlan) -> tuple[Artifact, ...]:
    """Render the host's own files, with their paths in the output tree."""
    found = [Artifact("etc/sparkiac/preflight.json", jsontext.dump(host.preflight))]
    if host.sysctls:
        found.append(Artifact(_SYSCTL, fill(f"host/{_SYSCTL}.j2", {"sysctls": host.sysctls})))
    for container in host.containers:
        found.append(Artifact(unit_path(container), _unit(container, host)))
        found.append(Artifact(compose_path(container), compose.project(container)))
    for program in host.programs:
        after = _before(program, host)
        found += programs.render(program, unit_path(program), after=after, longest_delay_s=_LONGEST_DELAY_S)
    found += [Artifact(document.file, jsontext.dump(document.content)) for document in host.config_files]
    found.append(Artifact(UNITS, jsontext.dump(_restarts(host))))
    files = sorted([*(artifact.path for artifact in (*found, *playbooks.on_every_host())), OWNED])
    found.append(Artifact(OWNED, jsontext.dump(HostOwned(tuple(files), tuple(each.unit for each in host.units)))))
    return tuple(Artifact(f"hosts/{host.name}/{each.path}", each.content, each.mode) for each in found)


def unit_path(unit: Container | Program) -> str:
    """Give the path of a unit on its host."""
    return f"etc/systemd/system/{unit.unit}.service"


def compose_path(container: Container) -> str:
    """Give the path of the container's compose file on its host."""
    return f"etc/sparkiac/{container.name}/compose.yaml"


def _restarts(host: HostPlan) -> Restarts:
    """Say what the program on the host restarts by; the units come in the order in which they start."""
    limit = None if host.memory_bytes is None else host.memory_bytes - (host.reserve_bytes or 0)
    units = {unit.unit: unit for unit in host.units}
    return Restarts(limit, tuple(_restarted(units[name]) for name in host.start_order))


def _restarted(unit: Container | Program) -> RestartedUnit:
    return RestartedUnit(
        name=unit.unit,
        files=_runs_from(unit),
        secrets=tuple(secret.name for secret in unit.secrets),
        memory_bytes=unit.memory_bytes,
        listen=_listen(unit),
    )


def _runs_from(unit: Container | Program) -> tuple[str, ...]:
    """Name the generated files that a unit runs from: another content of one of them needs a restart."""
    if isinstance(unit, Program):
        return (unit_path(unit), *programs.paths(unit), *_PROBE)
    return (unit_path(unit), compose_path(unit), _SUPERVISE, *(_PROBE if unit.server.served else ()))


def _listen(unit: Container | Program) -> str | None:
    listen = unit.network.listen
    return None if listen is None else f"{listen[0]}:{listen[1]}"


def _unit(container: Container, host: HostPlan) -> bytes:
    values = {
        "name": container.name,
        "description": container.description,
        "mounts": [*_DIRECTORIES, *sorted({mount.source for mount in container.storage.mounts} - {*PROBE_FILES})],
        "secrets": [secret.name for secret in container.secrets],
        "ready_s": container.timeouts.ready_s,
        "stop_s": container.timeouts.stop_s,
        "restart_delay_s": container.timeouts.restart_delay_s,
        "restart_max_s": max(_LONGEST_DELAY_S, container.timeouts.restart_delay_s),
        "after": _before(container, host),
    }
    return fill(_UNIT_TEMPLATE, values)


def _before(unit: Container | Program, host: HostPlan) -> list[str]:
    """Name the units of the host that start first: what a unit asks, and for an engine the engines before it.

    Two engines that measure free memory at once mislead each other.
    """
    engines = [each.unit for each in host.containers if each.kind == "deployment"]
    asked = {link.unit for link in unit.dependencies if link.host == host.name and link.unit is not None}
    return engines[: engines.index(unit.unit)] if unit.unit in engines else sorted(asked)
