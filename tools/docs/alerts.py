"""Writes docs/alerts.md: every alert with its threshold and what to do. Run it after a change of an alert."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sparkiac import catalog

if TYPE_CHECKING:
    from sparkiac.model.tables import AlertRule

PAGE = Path(__file__).parents[2] / "docs/alerts.md"
HEAD = """\
# Alerts

Written by `python tools/docs/alerts.py` from `sparkiac/catalog/alerts`; change it there.
[monitoring.md](monitoring.md) says what starts Prometheus and who gets messages. A threshold that no source states is
called a default. None of them was measured on a Spark by sparkiac.
"""
_LABEL = re.compile(r"\{\{ *\$(?:labels\.)?(\w+)[^}]*\}\}")


def text() -> str:
    """Return the page."""
    parts = [HEAD]
    for group in catalog.alert_groups().values():
        parts += [f"## {group.title}\n", *map(section, group.alerts)]
    return "\n".join(parts)


def section(alert: AlertRule) -> str:
    """Return the section about an alert."""
    wait = f"for {alert.for_min} minutes" if alert.for_min else "at once"
    return "\n".join(
        (
            f"### {alert.name}\n",
            f"{_plain(alert.summary)}.\n",
            f"- Severity: {alert.severity}, {wait}.",
            f"- Condition: `{alert.expr}`",
            f"- Threshold: {alert.threshold}.",
            f"- What to do: {_plain(alert.remedy)}",
            f"- Sources: {'; '.join(alert.sources)}.\n",
        )
    )


def _plain(template: str) -> str:
    """Return a template with its labels as names in capitals."""
    return _LABEL.sub(lambda found: str(found[1]).upper(), template)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
