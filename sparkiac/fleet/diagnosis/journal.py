"""The logs of a deployment from its hosts: the last starts of its unit, and errors of the kernel."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple

from sparkiac.fleet.diagnosis import lines
from sparkiac.fleet.diagnosis.lines import Log
from sparkiac.fleet.query import endpoint
from sparkiac.plan.values import HostPlan
from sparkiac.upstream import journal, parallel

_STARTS: Final = 2
"""Starts that are read: a unit that restarts has its error in the one before the last."""


class HostLogs(NamedTuple):
    """Logs of one host, or the reason why they could not be read."""

    logs: tuple[Log, ...]
    fault: str = ""


def fetch(hosts: Iterable[HostPlan], unit: str) -> dict[str, HostLogs]:
    """Read the logs of a unit on all its hosts in parallel; return host → logs, sorted by host."""
    found = {host.name: result for host, result in parallel.each(hosts, partial(_read, unit=unit))}
    return {name: each for name, each in sorted(found.items()) if isinstance(each, HostLogs)}


def _read(host: HostPlan, *, unit: str) -> HostLogs:
    there = endpoint(host)
    try:
        printed, kernel = journal.read(there.target, unit, port=there.port)
    except journal.JournalError as error:
        return HostLogs((), str(error))
    logs = (_recent(lines.read(host.name, [printed.encode()])), lines.read(f"{host.name} kernel", [kernel.encode()]))
    return HostLogs(tuple(log for log in logs if log.lines))


def _recent(log: Log) -> Log:
    first = log.starts - _STARTS + 1
    return log._replace(lines=tuple(line for line in log.lines if line.start >= first))
