"""The files that Grafana reads at its start: the data source, and the dashboards as plain data.

Identifiers are fixed, so that the same fleet gives the same bytes. The schema version is that of Grafana 10 and later,
which Grafana migrates when it reads the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sparkiac.plan.monitoring import dashboards
from sparkiac.plan.monitoring.dashboards import Dashboard, Panel, Variable
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
    for each in dashboards.chosen(recorded):
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
