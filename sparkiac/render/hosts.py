"""Render the files of one host. hosts/<name>/ mirrors its root directory.

Programs are the same on all hosts; they are files of the Ansible role `programs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sparkiac.plan import Container, HostPlan
from sparkiac.plan.dependents import Program
from sparkiac.plan.deployments import PROGRAMS
from sparkiac.plan.health import is_probed, promise_file
from sparkiac.plan.parts import ConfigDocument
from sparkiac.render import compose, generation, groups, jsontext, programs, timers, yamltext
from sparkiac.render.templates import fill
from sparkiac.report.artifact import Artifact

_SUPERVISE: Final = "usr/local/lib/sparkiac/supervise"
_DIRECTORIES: Final = ("/etc/sparkiac", "/var/cache/sparkiac", "/var/lib/docker")
"""Directories whose file systems every unit needs. The parent of the compile caches is enough: their names change."""
_UNIT_TEMPLATE: Final = "host/etc/systemd/system/sparkiac.service.j2"
_LONGEST_DELAY_S: Final = 60
"""Maximum delay before a restart. systemd does not reset its restart counter, so any later crash waits this long."""
_SYSCTL: Final = "etc/sysctl.d/90-sparkiac.conf"


def render(host: HostPlan, versions: Mapping[str, str]) -> tuple[Artifact, ...]:
    """Render the files of a host, with their paths in the output directory; `versions` are those of the groups."""
    found = [Artifact("etc/sparkiac/preflight.json", jsontext.dump(host.preflight))]
    if host.sysctls:
        found.append(Artifact(_SYSCTL, fill(f"host/{_SYSCTL}.j2", {"sysctls": host.sysctls})))
    for container in host.containers:
        found.append(Artifact(unit_path(container), _unit(container, host)))
        found.append(Artifact(compose_path(container), compose.project(container)))
        found += map(_document, container.documents)
        if container.load_guard is not None:
            found.append(Artifact(_load_memory_path(container), jsontext.dump(container.load_guard)))
        if container.network.link is not None:
            node = groups.node(container.network.link, host=host.name, version=versions[container.name])
            found.append(Artifact(groups.path(container), jsontext.dump(node)))
        if is_probed(container):
            found.append(Artifact(_promise_path(container), jsontext.dump(host.promises[container.unit])))
    for program in host.programs:
        after = _starts_after(program, host)
        found += programs.render(program, unit_path(program), after=after, longest_delay_s=_LONGEST_DELAY_S)
    found += [Artifact(document.file, jsontext.dump(document.content)) for document in host.config_files]
    found += timers.render(host)
    found.append(generation.render(host, {unit.unit: _runs_from(unit) for unit in host.units}))
    return tuple(Artifact(f"hosts/{host.name}/{each.path}", each.content, each.mode) for each in found)


def unit_path(unit: Container | Program) -> str:
    """Return the path of a unit on its host."""
    return f"etc/systemd/system/{unit.unit}.service"


def compose_path(container: Container) -> str:
    """Return the path of the container's compose file on its host."""
    return f"etc/sparkiac/{container.name}/compose.yaml"


def _runs_from(unit: Container | Program) -> tuple[str, ...]:
    """Return the generated files whose change requires a restart of the unit."""
    if isinstance(unit, Program):
        return (unit_path(unit), *programs.paths(unit))
    documents = (each.file for each in unit.documents)
    promised = (_promise_path(unit),) if is_probed(unit) else ()
    guarded = () if unit.load_guard is None else (_load_memory_path(unit),)
    grouped = () if unit.network.link is None else (groups.path(unit),)
    return (unit_path(unit), compose_path(unit), *documents, _SUPERVISE, *promised, *guarded, *grouped)


def _load_memory_path(container: Container) -> str:
    return f"etc/sparkiac/{container.name}/load-memory.json"


def _document(document: ConfigDocument) -> Artifact:
    if document.file.endswith(".json"):
        return Artifact(document.file, jsontext.dump(document.content))
    return Artifact(document.file, yamltext.generated(document.content))


def _promise_path(container: Container) -> str:
    return promise_file(container.name).removeprefix("/")


def _unit(container: Container, host: HostPlan) -> bytes:
    own = {PROGRAMS, promise_file(container.name)}
    values = {
        "name": container.name,
        "description": container.description,
        "mounts": [*_DIRECTORIES, *sorted({mount.source for mount in container.storage.mounts} - own)],
        "secrets": [secret.name for secret in container.secrets],
        **container.timeouts.model_dump(),
        "restart_max_s": max(_LONGEST_DELAY_S, container.timeouts.restart_delay_s),
        "after": _starts_after(container, host),
        "group": None if container.network.link is None else f"/{groups.path(container)}",
        "guards_load": container.load_guard is not None,
    }
    return fill(_UNIT_TEMPLATE, values)


def _starts_after(unit: Container | Program, host: HostPlan) -> list[str]:
    """Return the units of the host that must start first: the dependencies of a unit, or the engines before an engine.

    Engines start one after the other, because two that measure the free memory at once get wrong values.
    """
    engines = [each.unit for each in host.containers if each.kind == "deployment"]
    needed = {link.unit for link in unit.dependencies if link.host == host.name and link.unit is not None}
    return engines[: engines.index(unit.unit)] if unit.unit in engines else sorted(needed)
