"""The files of Prometheus, its configuration, the recording rules and the alerts, and what it collects.

A recording rule gives each quantity one name, independent of the engine and its release. Alerts and dashboards read
these names only, so that no query uses a metric that a release does not have.
vLLM requires its key on /v1 only (see its middleware), and SGLang not on /metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sparkiac import catalog, engines
from sparkiac.plan.topology import ListenAddress, Route, route

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sparkiac.engines import Metric
    from sparkiac.model.monitoring import ExternalEndpoint
    from sparkiac.model.resolved import ResolvedHost
    from sparkiac.model.tables import AlertGroup, AlertRule
    from sparkiac.plan.container import Container
    from sparkiac.report import Path

INTERVAL: Final = "15s"
"""How often Prometheus collects metrics and evaluates rules."""
_DOCS: Final = "docs/alerts.md"
PREFIX: Final = "sparkiac:"
_BY: Final = "by (host, deployment)"
KEY_DIRECTORY: Final = "/run/secrets"
_EXPORTER_JOBS: Final = {"node-exporter": "node", "gpu-exporter": "gpu"}


def configuration(jobs: list[dict[str, Any]], *, fleet: str, alertmanager: str | None) -> dict[str, Any]:
    """Return prometheus.yml; `alertmanager` is the address of Alertmanager."""
    alerting = {"alerting": {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]}}
    return {
        "global": {
            "scrape_interval": INTERVAL,
            "evaluation_interval": INTERVAL,
            "external_labels": {"fleet": fleet},
        },
        "rule_files": ["rules.yml"],
        **(alerting if alertmanager else {}),
        "scrape_configs": jobs,
    }


def rules(recorded: Mapping[str, str]) -> dict[str, Any]:
    """Return rules.yml: recording rules and alerts, without those about quantities that no deployment has."""
    recording = [{"record": f"{PREFIX}{name}", "expr": expr} for name, expr in recorded.items()]
    groups = [{"name": "quantities", "rules": recording}] if recording else []
    return {"groups": [*groups, *_alerts(recorded)]}


def _alerts(recorded: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for name, group in catalog.alert_groups().items():
        yield {"name": name, "rules": [_alert(each) for each in chosen(group, recorded)]}


def chosen(group: AlertGroup, recorded: Mapping[str, str]) -> list[AlertRule]:
    """Return the alerts of a group whose quantities are recorded."""
    return [each for each in group.alerts if set(each.records) <= recorded.keys()]


def _alert(alert: AlertRule) -> dict[str, Any]:
    wait = {"for": f"{alert.for_min}m"} if alert.for_min else {}
    return {
        "alert": alert.name,
        "expr": alert.expr,
        **wait,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.remedy,
            "doc": f"{_DOCS}#{alert.name.lower()}",
        },
    }


class Record(NamedTuple):
    """One recorded quantity."""

    name: str
    """Name without prefix."""
    needs: tuple[str, ...]
    """Quantities of the catalog that it is computed from."""
    expr: str
    """PromQL; {0}, {1} are the names of the metrics."""


RECORDS: Final = (
    Record("requests_running", ("running",), f"sum {_BY} ({{0}})"),
    Record("requests_waiting", ("waiting",), f"sum {_BY} ({{0}})"),
    Record("kv_use", ("kv_use",), f"max {_BY} ({{0}})"),
    Record("prompt_tokens_per_second", ("prompt_tokens",), f"sum {_BY} (rate({{0}}[5m]))"),
    Record("generated_tokens_per_second", ("generated_tokens",), f"sum {_BY} (rate({{0}}[5m]))"),
    Record("preemptions_per_second", ("preemptions",), f"sum {_BY} (rate({{0}}[5m]))"),
    Record(
        "first_token_p95_seconds", ("time_to_first_token",), "histogram_quantile(0.95, {le}(rate({0}_bucket[15m])))"
    ),
    Record(
        "inter_token_p95_seconds", ("inter_token_latency",), "histogram_quantile(0.95, {le}(rate({0}_bucket[15m])))"
    ),
    Record(
        "prefix_cache_hit_ratio",
        ("prefix_hits", "prefix_queries"),
        f"sum {_BY} (increase({{0}}[30m])) / (sum {_BY} (increase({{1}}[30m])) > 0)",
    ),
    Record("prefix_cache_hit_ratio", ("prefix_hit_rate",), f"avg {_BY} ({{0}})"),
    Record(
        "acceptance_ratio",
        ("accepted_tokens", "draft_tokens"),
        f"sum {_BY} (increase({{0}}[30m])) / (sum {_BY} (increase({{1}}[30m])) > 0)",
    ),
    Record(
        "accepted_length",
        ("accepted_tokens", "drafts"),
        f"1 + sum {_BY} (increase({{0}}[30m])) / (sum {_BY} (increase({{1}}[30m])) > 0)",
    ),
    Record("accepted_length", ("accepted_length",), f"avg {_BY} ({{0}})"),
)
"""Recorded quantities. The mean accepted length counts the token of the target itself (symptom SPD015)."""
_HISTOGRAM: Final = "sum by (host, deployment, le) "
AT_END: Final = ("generated_tokens", "prompt_tokens")
"""Counters that do not change while requests run, on engines that count at the end of a request."""


def offered(container: Container) -> dict[str, Metric]:
    """Return quantity → metric of a deployment's server; empty if it has no metrics."""
    server, engine = container.server, engines.named(container.server.engine)
    if not server.leads or server.options.get(engine.metrics_option or "") is False:
        return {}
    found = engines.quantities(engine.name, container.image.vllm if engine.interfaces else None)
    return {name: each for name, each in found.items() if server.speculative is not None or not each.speculation}


def recorded(offers: Iterable[Mapping[str, Metric]]) -> dict[str, str]:
    """Return recorded name → PromQL for all quantities that any deployment has, in the order of RECORDS."""
    known = list(offers)
    found: dict[str, list[str]] = {}
    for record in RECORDS:
        if expressions := [*_expressions(record, known)]:
            found.setdefault(record.name, []).extend(expressions)
    return {name: " or ".join(dict.fromkeys(each)) for name, each in found.items()}


def _expressions(record: Record, offers: list[Mapping[str, Metric]]) -> Iterator[str]:
    for offer in offers:
        if all(need in offer and not _grows_at_end_only(need, offer[need]) for need in record.needs):
            yield record.expr.format(*(offer[need].name for need in record.needs), le=_HISTOGRAM)


def _grows_at_end_only(quantity: str, metric: Metric) -> bool:
    """Return whether a token counter grows only when requests end: in a long request, its rate is 0 as in a hang."""
    return quantity in AT_END and metric.at_end


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
    metrics_path: str = "/metrics"


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
        elif container.reloaded and container.checks.path:  # Prometheus could not verify the certificate of the others
            secret, labels = container.reloaded[0], {"gateway": container.name, "host": host}
            found = ScrapeTarget(
                f"gateways-{secret}", address, labels, container.path, host, listen, way.obstacle, secret
            )
            yield found
            if address is not None:
                yield found._replace(job=f"gateway-clients-{secret}", metrics_path="/metrics/clients")
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
    path = {} if found[0].metrics_path == "/metrics" else {"metrics_path": found[0].metrics_path}
    statics = [{"targets": [each.address], "labels": dict(sorted(each.labels.items()))} for each in found]
    return {"job_name": name, **path, **key, "static_configs": statics}


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
