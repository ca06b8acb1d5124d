"""The files that Grafana reads at its start: the data source, and where its dashboards are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sparkiac.plan.monitoring import dashboards, panels
from sparkiac.plan.monitoring.panels import DATASOURCE
from sparkiac.plan.monitoring.prometheus import INTERVAL

INSIDE: Final = "/etc/grafana/sparkiac"
"""Directory of the files in the container."""


def files(prometheus: str, recorded: frozenset[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return path below the directory → content; `prometheus` is the URL of Prometheus."""
    yield "datasources/prometheus.yaml", _datasource(prometheus)
    yield "dashboards/sparkiac.yaml", _provider()
    for each in dashboards.chosen(recorded):
        yield f"json/{each.uid}.json", panels.document(each, recorded)


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
        "uid": DATASOURCE["uid"],
        "type": DATASOURCE["type"],
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
