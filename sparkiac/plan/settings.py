"""What deployments and services say alike: where a mount comes from, and how long to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparkiac.model.references import hub_file
from sparkiac.plan import weights
from sparkiac.plan.parts import ExtraFile

if TYPE_CHECKING:
    from sparkiac.resolve import Resolved


def source(values: dict[str, Any], mount: dict[str, Any]) -> str:
    """Give the host's path of a mount: its own, or the host's model store."""
    return str(values["model_store"] if mount["source"] == "model_store" else mount["source"])


def files(wanted: dict[str, Any], *, resolved: Resolved) -> tuple[ExtraFile, ...]:
    """Give the extra files of a container with what the lock pins, sorted by their place in it."""
    return tuple(_file(file["url"], target, resolved) for target, file in sorted(wanted.items()))


def _file(url: str, target: str, resolved: Resolved) -> ExtraFile:
    pinned = resolved.lock.files.get(url) if resolved.lock else None
    named = hub_file(url)
    if pinned is None or (named is not None and not weights.is_wanted(resolved, named[0], pinned.revision)):
        return ExtraFile(url, None, target)
    return ExtraFile(url, pinned.sha256, target, pinned.commit)


def waits(values: dict[str, Any]) -> dict[str, Any]:
    """Give the unit's waits by the names of the plan."""
    return {name: values["timeouts"][name] for name in ("ready_s", "stop_s", "restart_delay_s")}
