"""Driver series that sources disagree on."""

from __future__ import annotations

from sparkiac.model.base import Line, Model, Version


class DriverSeries(Model):
    """One driver series on one kind of GPU."""

    series: Version
    """Start of the driver version, such as '590'."""
    compute_capability: Version
    """GPU that the sources ran it on."""
    why: Line
    """What the sources report."""


class Drivers(Model):
    """Content of the file."""

    doubted: tuple[DriverSeries, ...]
    """All such series."""
