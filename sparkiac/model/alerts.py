"""Alerts in the catalog: the condition, its threshold and what to do."""

from typing import Annotated, Literal

from pydantic import Field

from sparkiac.model.base import Line, Model, ShortText


class AlertRule(Model):
    """One alert."""

    name: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]{2,39}$")]
    """Name; docs/alerts.md has a section about it."""
    expr: Line
    """PromQL expression that gives one series for each fault."""
    for_min: Annotated[int, Field(ge=0, le=1_440)]
    """Minutes for which it must hold before the alert fires."""
    severity: Literal["critical", "warning"]
    """`critical`: a service fails now. `warning`: it will fail soon, or may fail."""
    summary: Line
    """What is wrong, in one line."""
    remedy: Line
    """What to do."""
    threshold: ShortText
    """Where the threshold comes from, or that it is a default."""
    records: tuple[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], ...] = ()
    """Recording rules that the alert queries; without a deployment that has them, the alert is not generated."""
    sources: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """Sources of the condition."""


class AlertGroup(Model):
    """Alerts of one group."""

    title: ShortText
    """Title, in one line."""
    alerts: Annotated[tuple[AlertRule, ...], Field(min_length=1)]
    """Alerts of the group."""
