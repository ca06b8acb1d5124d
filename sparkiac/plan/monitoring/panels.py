"""Panels and dashboards of Grafana as plain data, with fixed identifiers, so that the same fleet gives the same bytes.

The schema version is that of Grafana 10 and later, which Grafana migrates when it reads the file.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

DATASOURCE: Final = {"type": "prometheus", "uid": "sparkiac-prometheus"}
_SCHEMA: Final = 39
_WIDTH, _HEIGHT, _COLUMNS = 12, 8, 2


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


def document(dashboard: Dashboard, recorded: frozenset[str]) -> dict[str, Any]:
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
        "datasource": DATASOURCE,
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
        "datasource": DATASOURCE,
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": {},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": DATASOURCE,
                "expr": expr,
                "legendFormat": legend,
                "instant": instant,
                "range": not instant,
                "format": "table" if panel.kind == "table" else "time_series",
            }
            for index, (expr, legend) in enumerate(panel.queries)
        ],
    }
