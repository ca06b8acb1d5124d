"""What Prometheus collects: the servers, the exporters, the monitoring itself, and external endpoints.

vLLM requires its key on /v1 only (see its middleware), and SGLang not on /metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import engines
from sparkiac.plan.monitoring.prometheus import offered
from sparkiac.plan.topology import ListenAddress, Route, route

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sparkiac.model.monitoring import ExternalEndpoint
    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.plan.container import Container
    from sparkiac.report import Path

KEY_DIRECTORY: Final = "/run/secrets"
_EXPORTER_JOBS: Final = {"node-exporter": "node", "gpu-exporter": "gpu"}


class ScrapeTarget(NamedTuple):
    """One address that Prometheus collects metrics from."""

    job: str
    address: str | None
    """host:port; None if Prometheus cannot reach it."""
    labels: Mapping[str, str]
    path: Path
    """Path of its definition in the inventory."""
    host: str
    listen: tuple[str, int]
    obstacle: str | None = None
    """Why Prometheus cannot reach it: `loopback` or `fabric`."""
    secret: str | None = None
    """Secret with the key that it requires."""


def targets(
    containers: Mapping[str, Iterable[Container]], hosts: Mapping[str, ResolvedHost], *, on: str
) -> tuple[ScrapeTarget, ...]:
    """Return everything with metrics in the fleet, for a Prometheus on the host `on`, sorted by job and host."""
    found = (each for host, placed in containers.items() for each in _of_host(host, placed, hosts, on=on))
    return tuple(sorted(found, key=lambda each: (each.job, each.host, each.path)))


def _of_host(
    host: str, placed: Iterable[Container], hosts: Mapping[str, ResolvedHost], *, on: str
) -> Iterator[ScrapeTarget]:
    for container in placed:
        listen, kind = container.network.listen, container.name
        if listen is None:
            continue
        way = reach(container, host, hosts, on=on)
        address = way.origin.removeprefix("http://") if way.origin else None
        if container.kind == "deployment" and offered(container):
            keyed = engines.named(container.server.engine).metrics_keyed
            secret = container.secrets[0].name if container.secrets and keyed else None
            labels = {"deployment": container.name, "engine": container.server.engine or "", "host": host}
            labels |= {"model": container.server.model} if container.server.model else {}
            job = f"deployments-{secret}" if secret else "deployments"
            yield ScrapeTarget(job, address, labels, container.path, host, listen, way.obstacle, secret)
        elif container.path[0] == "monitoring":
            job = _EXPORTER_JOBS.get(kind, kind)
            yield ScrapeTarget(job, address, {"host": host}, container.path, host, listen, way.obstacle)


def reach(container: Container, host: str, hosts: Mapping[str, ResolvedHost], *, on: str) -> Route:
    """Return how a container with host networking on `on` reaches the port of a container on `host`."""
    assert container.network.listen is not None, "it listens"  # noqa: S101
    endpoint = ListenAddress(container.name, host, *container.network.listen, None)
    return route(on, endpoint, hosts, in_container=False)


def jobs(found: Iterable[ScrapeTarget], external: Iterable[ExternalEndpoint]) -> list[dict[str, Any]]:
    """Return the scrape jobs of Prometheus."""
    by_job: dict[str, list[ScrapeTarget]] = {}
    for target in found:
        if target.address is not None:
            by_job.setdefault(target.job, []).append(target)
    return [*(_job(name, each) for name, each in sorted(by_job.items())), *_external(external)]


def _job(name: str, found: list[ScrapeTarget]) -> dict[str, Any]:
    secret = found[0].secret
    key = {"authorization": {"credentials_file": f"{KEY_DIRECTORY}/{secret}"}} if secret else {}
    statics = [{"targets": [each.address], "labels": dict(sorted(each.labels.items()))} for each in found]
    return {"job_name": name, **key, "static_configs": statics}


def _external(endpoints: Iterable[ExternalEndpoint]) -> Iterator[dict[str, Any]]:
    """Return one job for all external endpoints with metrics; each has its own scheme and path."""
    for each in endpoints:
        if each.metrics is not None:
            scheme, _, rest = each.metrics.partition("://")
            address, _, path = rest.partition("/")
            yield {
                "job_name": f"external-{each.name}",
                "scheme": scheme,
                "metrics_path": f"/{path or 'metrics'}",
                "static_configs": [{"targets": [address], "labels": {"external": each.name}}],
            }
