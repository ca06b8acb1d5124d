"""The files that Grafana reads at its start: the data source, and the dashboards as plain data.

The dashboards fleet, host, deployment and speculation read recorded quantities and metrics of exporters.
Identifiers are fixed, so that the same fleet gives the same bytes. The schema version is that of Grafana 10 and later,
which Grafana migrates when it reads the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sparkiac.plan.monitoring.prometheus import INTERVAL

INSIDE: Final = "/etc/grafana/sparkiac"
"""Directory of the files in the container."""
_DATASOURCE: Final = {"type": "prometheus", "uid": "sparkiac-prometheus"}
_SCHEMA: Final = 39
_WIDTH, _HEIGHT, _COLUMNS = 12, 8, 2


def files(prometheus: str, recorded: frozenset[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return path below the directory → content; `prometheus` is the URL of Prometheus."""
    yield "datasources/prometheus.yaml", _datasource(prometheus)
    yield "dashboards/sparkiac.yaml", _provider()
    for each in chosen(recorded):
        yield f"json/{each.uid}.json", _document(each, recorded)


def environment(address: str, port: int, password_file: str) -> dict[str, str]:
    """Return the variables that depend on the plan."""
    return {
        "GF_SERVER_HTTP_ADDR": address,
        "GF_SERVER_HTTP_PORT": str(port),
        "GF_SECURITY_ADMIN_PASSWORD__FILE": password_file,
    }


def _datasource(url: str) -> dict[str, Any]:
    source = {
        "name": "sparkiac",
        "uid": _DATASOURCE["uid"],
        "type": _DATASOURCE["type"],
        "access": "proxy",
        "url": url,
        "isDefault": True,
        "editable": False,
        "jsonData": {"timeInterval": INTERVAL, "httpMethod": "POST"},
    }
    return {"apiVersion": 1, "datasources": [source]}


def _provider() -> dict[str, Any]:
    provider = {
        "name": "sparkiac",
        "type": "file",
        "folder": "sparkiac",
        "disableDeletion": True,
        "allowUiUpdates": False,
        "options": {"path": f"{INSIDE}/json"},
    }
    return {"apiVersion": 1, "providers": [provider]}


def _document(dashboard: Dashboard, recorded: frozenset[str]) -> dict[str, Any]:
    """Return the dashboard as Grafana reads it, without panels about quantities that no deployment has."""
    chosen = [panel for panel in dashboard.panels if recorded.issuperset(panel.records)]
    return {
        "uid": f"sparkiac-{dashboard.uid}",
        "title": dashboard.title,
        "tags": ["sparkiac"],
        "schemaVersion": _SCHEMA,
        "version": 1,
        "editable": False,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_variable(each) for each in dashboard.variables]},
        "annotations": {"list": []},
        "links": [],
        "panels": [_panel(number, panel) for number, panel in enumerate(chosen)],
    }


def _variable(variable: Variable) -> dict[str, Any]:
    return {
        "name": variable.name,
        "type": "query",
        "datasource": _DATASOURCE,
        "query": {"query": variable.query, "refId": variable.name},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "sort": 1,
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    column, row = number % _COLUMNS, number // _COLUMNS
    instant = panel.kind != "timeseries"
    return {
        "id": number + 1,
        "type": panel.kind,
        "title": panel.title,
        "datasource": _DATASOURCE,
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": {},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _DATASOURCE,
                "expr": expr,
                "legendFormat": legend,
                "instant": instant,
                "range": not instant,
                "format": "table" if panel.kind == "table" else "time_series",
            }
            for index, (expr, legend) in enumerate(panel.queries)
        ],
    }


class Panel(NamedTuple):
    """One panel: a title and its queries."""

    title: str
    queries: tuple[tuple[str, str], ...]
    """Pairs of PromQL and legend."""
    unit: str = "short"
    """Unit as Grafana names it."""
    records: tuple[str, ...] = ()
    """Recorded quantities that it reads; without one of them it is left out."""
    kind: str = "timeseries"
    """`timeseries`, `stat` or `table`."""


class Variable(NamedTuple):
    """A list at the top of a dashboard, from the values of a label."""

    name: str
    query: str


class Dashboard(NamedTuple):
    """One dashboard."""

    uid: str
    title: str
    variables: tuple[Variable, ...]
    panels: tuple[Panel, ...]


_OF_HOST: Final = '{host=~"$host"}'
_OF_BOTH: Final = '{host=~"$host", deployment=~"$deployment"}'
_HOST: Final = Variable("host", 'label_values(up{host!=""}, host)')
_DEPLOYMENT: Final = Variable("deployment", 'label_values(up{host=~"$host", deployment!=""}, deployment)')
_EACH: Final = "{{deployment}} on {{host}}"


def _recorded(title: str, name: str, unit: str = "short", selector: str = _OF_BOTH) -> Panel:
    """Return a panel of one recorded quantity, for each deployment."""
    return Panel(title, ((f"sparkiac:{name}{selector}", _EACH),), unit, (name,))


FLEET: Final = Dashboard(
    "fleet",
    "sparkiac: fleet",
    (),
    (
        Panel("Alerts that fire", (('ALERTS{alertstate="firing"}', "{{alertname}}"),), kind="table"),
        Panel("Endpoints that answer", (('up{job=~"deployments.*"}', _EACH),), kind="stat"),
        Panel("Hosts that answer", (('max by (host) (up{host!=""})', "{{host}}"),), kind="stat"),
        Panel("Memory available", (("node_memory_MemAvailable_bytes", "{{host}}"),), "bytes"),
        _recorded("Running requests", "requests_running", selector=""),
        _recorded("Waiting requests", "requests_waiting", selector=""),
        _recorded("Generated tokens per second", "generated_tokens_per_second", selector=""),
        _recorded("KV cache in use", "kv_use", "percentunit", selector=""),
        Panel("Restarts in an hour", (("increase(sparkiac_unit_restarts_total[1h])", "{{unit}} on {{host}}"),)),
    ),
)
HOST: Final = Dashboard(
    "host",
    "sparkiac: host",
    (_HOST,),
    (
        Panel(
            "Memory",
            (
                (f"node_memory_MemAvailable_bytes{_OF_HOST}", "available on {{host}}"),
                (f"node_memory_Cached_bytes{_OF_HOST}", "page cache of {{host}}"),
                (f"node_memory_MemTotal_bytes{_OF_HOST}", "total of {{host}}"),
            ),
            "bytes",
        ),
        Panel("GPU temperature", ((f"nvidia_smi_temperature_gpu{_OF_HOST}", "{{host}}"),), "celsius"),
        Panel("GPU power", ((f"nvidia_smi_power_draw_watts{_OF_HOST}", "{{host}}"),), "watt"),
        Panel("GPU utilization", ((f"nvidia_smi_utilization_gpu_ratio{_OF_HOST}", "{{host}}"),), "percentunit"),
        Panel("Thermal zones", ((f"node_thermal_zone_temp{_OF_HOST}", "zone {{zone}} of {{host}}"),), "celsius"),
        Panel(
            "Processors busy",
            (('1 - avg by (host) (rate(node_cpu_seconds_total{host=~"$host", mode="idle"}[5m]))', "{{host}}"),),
            "percentunit",
        ),
        Panel(
            "Disk space free",
            (
                (
                    'node_filesystem_avail_bytes{host=~"$host", fstype!~"tmpfs|ramfs|overlay|squashfs"}',
                    "{{mountpoint}} of {{host}}",
                ),
            ),
            "bytes",
        ),
        Panel(
            "Network received",
            (('rate(node_network_receive_bytes_total{host=~"$host", device!="lo"}[5m])', "{{device}} of {{host}}"),),
            "Bps",
        ),
        Panel(
            "Errors of the GPU in the kernel log",
            ((f"increase(sparkiac_kernel_messages_total{_OF_HOST}[1h])", "{{kind}} on {{host}}"),),
        ),
        Panel("Clock offset", ((f"node_timex_offset_seconds{_OF_HOST}", "{{host}}"),), "s"),
        Panel("Units that are ready", ((f"sparkiac_unit_ready{_OF_HOST}", "{{unit}} on {{host}}"),), kind="stat"),
        Panel("Files changed by hand", ((f"sparkiac_generation_changed_files{_OF_HOST}", "{{host}}"),), kind="stat"),
    ),
)
DEPLOYMENT: Final = Dashboard(
    "deployment",
    "sparkiac: deployment",
    (_HOST, _DEPLOYMENT),
    (
        _recorded("Running requests", "requests_running"),
        _recorded("Waiting requests", "requests_waiting"),
        _recorded("Prompt tokens per second", "prompt_tokens_per_second"),
        _recorded("Generated tokens per second", "generated_tokens_per_second"),
        _recorded("Time to first token, 95 % of requests", "first_token_p95_seconds", "s"),
        _recorded("Time between tokens, 95 % of tokens", "inter_token_p95_seconds", "s"),
        _recorded("KV cache in use", "kv_use", "percentunit"),
        _recorded("Prefix-cache hits", "prefix_cache_hit_ratio", "percentunit"),
        _recorded("Preemptions per second", "preemptions_per_second"),
        Panel("Wrong answers", ((f"sparkiac_wrong_answer{_OF_BOTH}", _EACH),)),
        Panel("Restarts in an hour", ((f"increase(sparkiac_unit_restarts_total{_OF_BOTH}[1h])", _EACH),)),
    ),
)
SPECULATION: Final = Dashboard(
    "speculation",
    "sparkiac: speculation",
    (_HOST, _DEPLOYMENT),
    (
        _recorded("Drafted tokens that are accepted", "acceptance_ratio", "percentunit"),
        _recorded("Mean accepted length", "accepted_length"),
        _recorded("Generated tokens per second", "generated_tokens_per_second"),
        _recorded("Time between tokens, 95 % of tokens", "inter_token_p95_seconds", "s"),
    ),
)
EVERY: Final = (FLEET, HOST, DEPLOYMENT, SPECULATION)


def chosen(recorded: frozenset[str]) -> tuple[Dashboard, ...]:
    """Return the dashboards of a fleet; the one about speculation only if a deployment uses it."""
    speculates = bool(recorded & {"acceptance_ratio", "accepted_length"})
    return tuple(each for each in EVERY if speculates or each is not SPECULATION)
