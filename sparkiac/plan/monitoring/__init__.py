"""Place the containers that monitor the fleet: exporters on every host, Prometheus, Alertmanager and Grafana.

All use the network of their host: they listen on one address of it, and Prometheus reaches servers on its loopback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import catalog
from sparkiac.plan.addresses import bind_address
from sparkiac.plan.builds import image_of
from sparkiac.plan.confinement import Confinement
from sparkiac.plan.container import Checks, ContainerCommand, ContainerNetwork, Storage
from sparkiac.plan.dependents import Dependency
from sparkiac.plan.monitoring import alertmanager, grafana, prometheus, scraping
from sparkiac.plan.monitoring.recording import offered, rules
from sparkiac.plan.parts import BindMount, ConfigDocument, Secret, stated_bytes
from sparkiac.plan.services import http_check
from sparkiac.plan.settings import memory_source
from sparkiac.plan.values import Container
from sparkiac.resolve.monitoring import BASE, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sparkiac.model.monitoring import Alerts, Monitoring
    from sparkiac.model.resolved import ResolvedHost, ResolvedMonitoringContainer
    from sparkiac.plan.monitoring.scraping import ScrapeTarget
    from sparkiac.plan.topology import Route
    from sparkiac.report import Path
    from sparkiac.resolve import Resolved

METRICS: Final = "/var/lib/sparkiac/metrics"
"""Directory on each host for the metrics that `host_metrics` writes."""
_ROOT: Final = "/host"
"""The root directory of the host, as node_exporter sees it."""
_LOOPBACK: Final = "127.0.0.1"
_EVERY: Final = "0.0.0.0"  # noqa: S104  compared, not bound


class Watched(NamedTuple):
    """The containers that monitor the fleet, and what Prometheus cannot reach."""

    containers: Mapping[str, tuple[Container, ...]]
    """Host → its containers."""
    unreachable: tuple[ScrapeTarget, ...] = ()


class _Own(NamedTuple):
    """Values that differ between the monitoring containers."""

    words: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    mounts: tuple[BindMount, ...] = ()
    documents: tuple[ConfigDocument, ...] = ()
    secrets: tuple[str, ...] = ()


def watch(resolved: Resolved, placed: Mapping[str, Iterable[Container]]) -> Watched:
    """Return the monitoring of these containers; empty if there is no Prometheus."""
    values, written, hosts = resolved.fleet.monitoring, resolved.written.monitoring, resolved.fleet.hosts
    if written.prometheus is None or values.prometheus is None or values.exporters is None:
        return Watched({})
    found: dict[str, list[Container]] = {name: [] for name in hosts}
    for name, host in hosts.items():
        found[name].append(_node_exporter(resolved, name, values.exporters.node))
        if host.gpu is not None:
            found[name].append(_gpu_exporter(resolved, name, values.exporters.gpu))
    on = written.prometheus.hosts
    if values.alertmanager is not None and written.alerts is not None:
        found[on].append(_alertmanager(resolved, on, values.alertmanager, written.alerts))
    recorded = rules(offered(each) for containers in placed.values() for each in containers)
    server = _prometheus(resolved, on, values.prometheus, ())
    found[on].append(server)
    if values.grafana is not None and written.grafana is not None:
        way = scraping.reach(server, on, hosts, on=written.grafana.hosts)
        own = tuple(grafana.files(way.origin or "", frozenset(recorded)))
        shown = _grafana(resolved, written, values.grafana, own)
        found[written.grafana.hosts].append(shown._replace(dependencies=(_source(server, on, way),)))
    everything = {name: (*placed[name], *found[name]) for name in hosts}
    targets = scraping.targets(everything, hosts, on=on)
    found[on][found[on].index(server)] = _prometheus(
        resolved, on, values.prometheus, _prometheus_files(resolved, targets, recorded)
    )
    containers = {name: tuple(each) for name, each in found.items()}
    return Watched(containers, tuple(each for each in targets if each.address is None))


def _prometheus_files(
    resolved: Resolved, targets: tuple[ScrapeTarget, ...], recorded: Mapping[str, str]
) -> tuple[ConfigDocument, ...]:
    written = resolved.written
    sender = next((each.address for each in targets if each.job == "alertmanager"), None)
    jobs = scraping.jobs(targets, written.monitoring.external)
    return (
        ConfigDocument("prometheus.yml", prometheus.configuration(jobs, fleet=written.name, alertmanager=sender)),
        ConfigDocument("rules.yml", prometheus.rules(recorded)),
    )


def _prometheus(
    resolved: Resolved, on: str, values: ResolvedMonitoringContainer, files: tuple[ConfigDocument, ...]
) -> Container:
    written = resolved.written.monitoring.prometheus
    assert written is not None, "it runs"  # noqa: S101
    host = resolved.fleet.hosts[on]
    keys = {
        each.api_key.secret for node in resolved.fleet.deployments.values() for each in node.values() if each.api_key
    }
    used = tuple(sorted(key for key in keys if any(f"{scraping.KEY_DIRECTORY}/{key}" in str(each) for each in files)))
    words = (
        "--config.file=/etc/prometheus/prometheus.yml",
        "--storage.tsdb.path=/prometheus",
        f"--storage.tsdb.retention.time={written.retention}",
        f"--web.listen-address={_listen(values, host)}",
    )
    return _container(
        resolved, on, ("prometheus",), values, _configured("prometheus", "/etc/prometheus", words, files, used)
    )


def _alertmanager(resolved: Resolved, on: str, values: ResolvedMonitoringContainer, alerts: Alerts) -> Container:
    words = (
        "--config.file=/etc/alertmanager/alertmanager.yml",
        "--storage.path=/alertmanager",
        f"--web.listen-address={_listen(values, resolved.fleet.hosts[on])}",
        "--cluster.listen-address=",
    )
    files = (ConfigDocument("alertmanager.yml", alertmanager.configuration(alerts)),)
    own = _configured("alertmanager", "/etc/alertmanager", words, files, alertmanager.secrets(alerts))
    return _container(resolved, on, ("alertmanager",), values, own)


def _grafana(
    resolved: Resolved,
    written: Monitoring,
    values: ResolvedMonitoringContainer,
    files: tuple[tuple[str, dict[str, object]], ...],
) -> Container:
    assert written.grafana is not None, "it runs"  # noqa: S101
    secret, host = written.grafana.admin_password.secret, resolved.fleet.hosts[written.grafana.hosts]
    documents = tuple(ConfigDocument(*each) for each in files)
    own = _configured("grafana", grafana.INSIDE, (), documents, (secret,))
    address = bind_address(host, values.bind)
    env = grafana.environment(address, values.port, f"{scraping.KEY_DIRECTORY}/{secret}")
    return _container(resolved, written.grafana.hosts, ("grafana",), values, own._replace(env=env))


def _source(server: Container, on: str, way: Route) -> Dependency:
    """Return Prometheus as a dependency of Grafana."""
    path: Path = (BASE, "grafana", "hosts")
    return Dependency(path, server.name, server.path, on, server.network.listen, way.origin, way.obstacle)


def _node_exporter(resolved: Resolved, on: str, values: ResolvedMonitoringContainer) -> Container:
    words = (
        f"--web.listen-address={_listen(values, resolved.fleet.hosts[on])}",
        f"--path.rootfs={_ROOT}",
        f"--path.procfs={_ROOT}/proc",
        f"--path.sysfs={_ROOT}/sys",
        f"--collector.textfile.directory={_ROOT}{METRICS}",
    )
    mounts = (BindMount("/", _ROOT, read_only=True, follows=True),)
    return _container(resolved, on, ("exporters", "node"), values, _Own(words, mounts=mounts))


def _gpu_exporter(resolved: Resolved, on: str, values: ResolvedMonitoringContainer) -> Container:
    words = (f"--web.listen-address={_listen(values, resolved.fleet.hosts[on])}",)
    return _container(resolved, on, ("exporters", "gpu"), values, _Own(words))


def _listen(values: ResolvedMonitoringContainer, host: ResolvedHost) -> str:
    return f"{bind_address(host, values.bind)}:{values.port}"


def _configured(
    name: str, inside: str, words: tuple[str, ...], files: tuple[ConfigDocument, ...], secrets: tuple[str, ...]
) -> _Own:
    """Return a container with files in a directory of the host, which is mounted read-only."""
    directory = f"/etc/sparkiac/{name}/config"
    documents = tuple(each._replace(file=f"{directory[1:]}/{each.file}") for each in files)
    return _Own(words, mounts=(BindMount(directory, inside, read_only=True),), documents=documents, secrets=secrets)


def _container(resolved: Resolved, on: str, path: Path, values: ResolvedMonitoringContainer, own: _Own) -> Container:
    name, host = KINDS[path], resolved.fleet.hosts[on]
    address = bind_address(host, values.bind)
    url = f"http://{_LOOPBACK if address == _EVERY else address}:{values.port}{values.health}"
    data = f"/var/lib/sparkiac/{name}" if values.data else None
    kept = (BindMount(data, values.data, read_only=False),) if data and values.data else ()
    env = {key: str(value) for key, value in values.env.items()} | dict(own.env)
    return Container(
        kind="service",
        name=name,
        description=_title(name),
        path=(BASE, *path),
        image=image_of(resolved, values.image, host=on),
        command=ContainerCommand(own.words, dict(sorted(env.items()))),
        network=ContainerNetwork(listen=(address, values.port), host=True),
        confinement=Confinement(read_only=values.read_only, gpu=values.gpu and host.gpu is not None, user=values.user),
        storage=Storage(mounts=tuple(sorted((*own.mounts, *kept), key=lambda each: each.target)), data=data),
        checks=Checks(None if values.healthcheck == () else http_check(url), values.health),
        timeouts=values.timeouts,
        secrets=tuple(Secret(each, f"{scraping.KEY_DIRECTORY}/{each}") for each in own.secrets),
        memory_bytes=stated_bytes(values.memory_gib),
        memory_source=memory_source(resolved, (BASE, *path)),
        documents=own.documents,
    )


def _title(kind: str) -> str:
    known = catalog.monitoring_kind(kind) or catalog.service_kind(kind)
    assert known is not None, "the catalog has every kind"  # noqa: S101
    return known.valid.title
