"""Driver series that sources disagree on."""

from __future__ import annotations

from sparkiac.model.base import Line, Model, ModelHandle, Version


class DriverSeries(Model):
    """One driver series on one kind of GPU."""

    series: Version
    """Start of the driver version, such as '590'."""
    compute_capability: Version
    """GPU that the sources ran it on."""
    why: Line
    """What the sources report."""
    runs: tuple[ModelHandle, ...] = ()
    """Models that a source runs on it; a host that serves one of them has no doubt."""


class Drivers(Model):
    """Content of the file."""

    doubted: tuple[DriverSeries, ...]
    """All such series."""
