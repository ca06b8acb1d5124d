"""The files of Prometheus: its configuration, the recording rules and the alerts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sparkiac import catalog
from sparkiac.plan.monitoring.recording import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sparkiac.model.tables import AlertGroup, AlertRule

INTERVAL: Final = "15s"
"""How often Prometheus collects metrics and evaluates rules."""
_DOCS: Final = "docs/alerts.md"


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
