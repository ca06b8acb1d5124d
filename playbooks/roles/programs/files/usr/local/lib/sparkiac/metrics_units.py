"""Metrics of the units of this host, as systemd sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator  # noqa: UP035 - Python 3.8

import units_host

if TYPE_CHECKING:
    from units_host import LocalHost

PROPERTIES = ("ActiveState", "NRestarts", "StatusText")
ALERT = "sparkiac-alert:"
"""Marks a wrong answer in the status of a unit; probe_watch.py writes it, and `supervise` passes it on."""


def samples(machine: LocalHost, units: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, str], float]]:
    """Return state and restarts of each unit."""
    found = shown(machine, [each["unit"] for each in units])
    for each in units:
        state = found[each["unit"]]
        labels = {"unit": each["unit"], "deployment": each["deployment"] or ""}
        yield "sparkiac_unit_ready", labels, int(state["ActiveState"] == "active")
        yield "sparkiac_unit_failed", labels, int(state["ActiveState"] == "failed")
        yield "sparkiac_unit_restarts_total", labels, int(state["NRestarts"])
        if each["deployment"] is not None:
            yield "sparkiac_wrong_answer", labels, int(ALERT in state["StatusText"])


def shown(machine: LocalHost, names: list[str]) -> dict[str, dict[str, str]]:
    """Return the state of each unit, with one call of systemctl for all."""
    if not names:
        return {}
    done, found = units_host.shown(machine, names, PROPERTIES, within_s=20)
    if done.code or not all(found.get(name, {}).keys() >= set(PROPERTIES) for name in names):
        message = f"unexpected output of systemctl show: {(done.errors or done.output).strip()[:200]!r}"
        raise RuntimeError(message)
    return found
