"""Place the containers that monitor the fleet: exporters on every host, Prometheus, Alertmanager and Grafana.

All use the network of their host: they listen on one address of it, and Prometheus reaches servers on its loopback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sparkiac import catalog
from sparkiac.plan.confinement import Confinement
from sparkiac.plan.container import Checks, Container, ContainerCommand, ContainerNetwork, Storage
from sparkiac.plan.monitoring import alertmanager, grafana, prometheus
from sparkiac.plan.monitoring.prometheus import offered, recorded
from sparkiac.plan.parts import BindMount, ConfigDocument, Dependency, Secret, memory_source, stated_bytes
from sparkiac.plan.services import http_check
from sparkiac.plan.topology import bind_address, locally
from sparkiac.resolve.monitoring import BASE, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sparkiac.model.inventory import Inventory
    from sparkiac.model.monitoring import Alerts, Grafana, Prometheus
    from sparkiac.model.resolved import ResolvedExporters, ResolvedFleet, ResolvedHost, ResolvedMonitoringContainer
    from sparkiac.plan.image import Images
    from sparkiac.plan.monitoring.prometheus import ScrapeTarget
    from sparkiac.plan.topology import Route
    from sparkiac.report import Path
    from sparkiac.resolve.leaves import Leaves

METRICS: Final = "/var/lib/sparkiac/metrics"
"""Directory on each host for the metrics that `host_metrics` writes."""
_ROOT: Final = "/host"
"""The root directory of the host, as node_exporter sees it."""


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


class _Site(NamedTuple):
    """Where the containers run, and what is known about their images."""

    hosts: Mapping[str, ResolvedHost]
    leaves: Leaves
    images: Images

    def container(self, on: str, path: Path, values: ResolvedMonitoringContainer, own: _Own) -> Container:
        """Return a container on a host; `path` is below that of the monitoring in the inventory."""
        name, host = KINDS[path], self.hosts[on]
        address = bind_address(host, values.bind)
        url = f"http://{locally(address)}:{values.port}{values.health}"
        data = f"/var/lib/sparkiac/{name}" if values.data else None
        kept = (BindMount(data, values.data, read_only=False),) if data and values.data else ()
        env = {key: str(value) for key, value in values.env.items()} | dict(own.env)
        return Container(
            kind="service",
            name=name,
            description=_title(name),
            path=(BASE, *path),
            image=self.images.find(values.image, host=on),
            command=ContainerCommand(own.words, dict(sorted(env.items()))),
            network=ContainerNetwork(
                listen=(address, values.port),
                # An exporter has one set of values for all hosts.
                clients=host.reachable_from if values.reachable_from is None else values.reachable_from,
                host=True,
            ),
            confinement=Confinement(
                read_only=values.read_only, gpu=values.gpu and host.gpu is not None, user=values.user
            ),
            storage=Storage(mounts=tuple(sorted((*own.mounts, *kept), key=lambda each: each.target)), data=data),
            checks=Checks(None if values.healthcheck == () else http_check(url), values.health),
            timeouts=values.timeouts,
            secrets=tuple(Secret(each, f"{prometheus.KEY_DIRECTORY}/{each}") for each in own.secrets),
            memory_bytes=stated_bytes(values.memory_gib),
            memory_source=memory_source(self.leaves, (BASE, *path)),
            documents=own.documents,
        )


def watch(
    inventory: Inventory,
    fleet: ResolvedFleet,
    leaves: Leaves,
    *,
    images: Images,
    placed: Mapping[str, Iterable[Container]],
) -> Watched:
    """Return the monitoring of these containers; empty if there is no Prometheus."""
    values, written, site = fleet.monitoring, inventory.monitoring, _Site(fleet.hosts, leaves, images)
    if written.prometheus is None or values.prometheus is None or values.exporters is None:
        return Watched({})
    hosts, on = fleet.hosts, written.prometheus.hosts
    found = {name: list(_exporters(site, name, values.exporters)) for name in hosts}
    if values.alertmanager is not None and written.alerts is not None:
        own = _alertmanager(written.alerts, _listen(values.alertmanager, hosts[on]))
        found[on].append(site.container(on, ("alertmanager",), values.alertmanager, own))
    quantities = recorded(offered(each) for containers in placed.values() for each in containers)
    server = site.container(on, ("prometheus",), values.prometheus, _Own())
    found[on].append(server)
    if values.grafana is not None and written.grafana is not None:
        shown = _grafana(site, written.grafana, values.grafana, (server, on), frozenset(quantities))
        found[written.grafana.hosts].append(shown)
    targets = prometheus.targets({name: (*placed[name], *found[name]) for name in hosts}, hosts, on=on)
    # Prometheus scrapes itself, so its files are known only when it is placed.
    words = _prometheus_words(written.prometheus, _listen(values.prometheus, hosts[on]))
    own = _prometheus(inventory, words, targets, quantities)
    found[on][found[on].index(server)] = site.container(on, ("prometheus",), values.prometheus, own)
    containers = {name: tuple(each) for name, each in found.items()}
    return Watched(containers, tuple(each for each in targets if each.address is None))


def _exporters(site: _Site, on: str, values: ResolvedExporters) -> Iterator[Container]:
    """Yield the exporters of a host."""
    host = site.hosts[on]
    yield site.container(on, ("exporters", "node"), values.node, _node_exporter(_listen(values.node, host)))
    if host.gpu is not None:
        yield site.container(on, ("exporters", "gpu"), values.gpu, _Own((_listen(values.gpu, host),)))


def _prometheus(
    inventory: Inventory, words: tuple[str, ...], targets: tuple[ScrapeTarget, ...], recorded: Mapping[str, str]
) -> _Own:
    sender = next((each.address for each in targets if each.job == "alertmanager"), None)
    jobs = prometheus.jobs(targets, inventory.monitoring.external)
    files = (
        ConfigDocument("prometheus.yml", prometheus.configuration(jobs, fleet=inventory.name, alertmanager=sender)),
        ConfigDocument("rules.yml", prometheus.rules(recorded)),
    )
    keys = sorted({each.secret for each in targets if each.secret and each.address is not None})
    return _configured("prometheus", "/etc/prometheus", words, files, tuple(keys))


def _prometheus_words(written: Prometheus, listen: str) -> tuple[str, ...]:
    return (
        "--config.file=/etc/prometheus/prometheus.yml",
        "--storage.tsdb.path=/prometheus",
        f"--storage.tsdb.retention.time={written.retention}",
        listen,
    )


def _alertmanager(alerts: Alerts, listen: str) -> _Own:
    words = (
        "--config.file=/etc/alertmanager/alertmanager.yml",
        "--storage.path=/alertmanager",
        listen,
        "--cluster.listen-address=",
    )
    files = (ConfigDocument("alertmanager.yml", alertmanager.configuration(alerts)),)
    return _configured("alertmanager", "/etc/alertmanager", words, files, alertmanager.secrets(alerts))


def _grafana(
    site: _Site,
    written: Grafana,
    values: ResolvedMonitoringContainer,
    prometheus_on: tuple[Container, str],
    recorded: frozenset[str],
) -> Container:
    """Return Grafana, which reads from a Prometheus on a host."""
    at, secret, (server, on) = written.hosts, written.admin_password.secret, prometheus_on
    way = prometheus.reach(server, on, site.hosts, on=at)
    documents = tuple(ConfigDocument(*each) for each in grafana.files(way.origin or "", recorded))
    own = _configured("grafana", grafana.INSIDE, (), documents, (secret,))
    address = bind_address(site.hosts[at], values.bind)
    env = grafana.environment(address, values.port, f"{prometheus.KEY_DIRECTORY}/{secret}")
    shown = site.container(at, ("grafana",), values, own._replace(env=env))
    return shown._replace(dependencies=(_source(server, on, way),))


def _source(server: Container, on: str, way: Route) -> Dependency:
    """Return Prometheus as a dependency of Grafana."""
    path: Path = (BASE, "grafana", "hosts")
    return Dependency(path, server.name, server.path, on, server.network.listen, way.origin, way.obstacle)


def _node_exporter(listen: str) -> _Own:
    words = (
        listen,
        f"--path.rootfs={_ROOT}",
        f"--path.procfs={_ROOT}/proc",
        f"--path.sysfs={_ROOT}/sys",
        f"--collector.textfile.directory={_ROOT}{METRICS}",
    )
    return _Own(words, mounts=(BindMount("/", _ROOT, read_only=True, follows=True),))


def _listen(values: ResolvedMonitoringContainer, host: ResolvedHost) -> str:
    """Return the option of the address that a program of Prometheus listens on."""
    return f"--web.listen-address={bind_address(host, values.bind)}:{values.port}"


def _configured(
    name: str, inside: str, words: tuple[str, ...], files: tuple[ConfigDocument, ...], secrets: tuple[str, ...]
) -> _Own:
    """Return a container with files in a directory of the host, which is mounted read-only."""
    directory = f"/etc/sparkiac/{name}/config"
    documents = tuple(each._replace(file=f"{directory[1:]}/{each.file}") for each in files)
    return _Own(words, mounts=(BindMount(directory, inside, read_only=True),), documents=documents, secrets=secrets)


def _title(kind: str) -> str:
    known = catalog.monitoring_kind(kind) or catalog.service_kind(kind)
    assert known is not None, "the catalog has every kind"  # noqa: S101
    return known.valid.title
