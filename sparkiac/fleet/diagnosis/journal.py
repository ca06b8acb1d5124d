"""The logs of a deployment from its hosts: the last starts of its unit, and errors of the kernel."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple

from sparkiac.fleet.diagnosis import lines
from sparkiac.fleet.diagnosis.lines import Log
from sparkiac.fleet.query import endpoint
from sparkiac.plan.values import HostPlan
from sparkiac.upstream import parallel, programs
from sparkiac.upstream.programs import ProgramError

_TIMEOUT_S: Final = 60
_MARK: Final = "== sparkiac: kernel log ==\n"
_SCRIPT: Final = rf"""
read_journal() {{
    sudo -n journalctl --no-pager --quiet --utc --output=short-iso-precise --boot --lines=20000 "$@" 2>/dev/null ||
        journalctl --no-pager --quiet --utc --output=short-iso-precise --boot --lines=20000 "$@"
}}
read_journal --unit="$1" | tail --bytes=8388608
echo '{_MARK.strip()}'
read_journal --dmesg | grep --extended-regexp 'NVRM|Out of memory|oom-kill' | tail --lines=500 | cut --bytes=-2000
exit 0
"""
"""Prints at most 9 MB of the current boot."""
_STARTS: Final = 2
"""Starts that are read: a unit that restarts has its error in the one before the last."""


def printed(target: str, unit: str, *, port: int | None) -> tuple[str, str]:
    """Return the journal of a unit, and the lines of the kernel about GPU and memory, since the last boot.

    `target` is [USER@]ADDRESS. Raises `ProgramError`.
    """
    try:
        done = programs.run(
            target, ("sh", "-s", "--", f"{unit}.service"), program=_SCRIPT, timeout_s=_TIMEOUT_S, port=port
        )
    except FileNotFoundError:
        raise ProgramError("ssh is not installed on this machine") from None
    except programs.TimedOut:
        raise ProgramError(f"no response within {_TIMEOUT_S} s") from None
    if done.returncode:
        raise ProgramError(programs.last_line(done.stderr, f"ssh ended with {done.returncode}"))
    journal, _, kernel = done.stdout.partition(_MARK)
    if not journal.strip():
        reason = programs.last_line(done.stderr, f"{unit} has not started since the last boot")
        raise ProgramError(f"the journal has no lines: {reason}")
    return journal, kernel


class HostLogs(NamedTuple):
    """Logs of one host, or the reason why they could not be read."""

    logs: tuple[Log, ...]
    fault: str = ""


def fetch(hosts: Iterable[HostPlan], unit: str) -> dict[str, HostLogs]:
    """Read the logs of a unit on all its hosts in parallel; return host → logs, sorted by host."""
    found = {host.name: logs for host, logs in parallel.each(hosts, partial(_read, unit=unit))}
    return dict(sorted(found.items()))


def _read(host: HostPlan, *, unit: str) -> HostLogs:
    there = endpoint(host)
    try:
        journal, kernel = printed(there.target, unit, port=there.port)
    except ProgramError as error:
        return HostLogs((), str(error))
    log = lines.read(host.name, [journal.encode()])
    recent = log._replace(lines=tuple(line for line in log.lines if line.start > log.starts - _STARTS))
    logs = (recent, lines.read(f"{host.name} kernel", [kernel.encode()]))
    return HostLogs(tuple(log for log in logs if log.lines))
