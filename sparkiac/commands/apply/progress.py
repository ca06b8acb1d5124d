"""Progress of an apply: the phase of each host and its time, as a live table or as lines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sparkiac.commands.apply.page import duration
from sparkiac.commands.apply.results import SWITCHES, is_summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparkiac.commands.apply.results import Results
    from sparkiac.upstream.playbook import Event

_PHASES: Final = {
    "check": ("pins", "tree", "begin", "status", "look", "lease", "preflight"),
    "download": ("host", "secrets", "stage", "images", "extras", "weights"),
    "switch": ("files", "place", "sysctl", SWITCHES),
    "gate": ("models", "verify", "finish"),
}
"""Phase → the roles of the playbooks that belong to it."""
_PHASE_OF: Final = {role: phase for phase, roles in _PHASES.items() for role in roles}
_WAITS: Final = "waits"
_ORDER: Final = (_WAITS, *_PHASES)
_DONE: Final = "done"
_UNCHANGED: Final = "unchanged"
_UNKNOWN: Final = "unknown"
_FAILED: Final = "FAILED"
_UNREACHABLE: Final = "UNREACHABLE"
_STYLES: Final = {_DONE: "green", "switched": "green", _FAILED: "bold red", _UNREACHABLE: "bold red"}
_PER_SECOND: Final = 4
_MARGIN: Final = 4
"""Lines of the terminal that the live table leaves free."""


class ApplyProgress:
    """Shows the phase of each host while Ansible runs. It starts with the first event, after Ansible's prompts."""

    def __init__(self, hosts: Sequence[str]) -> None:
        """Show these hosts: those that change."""
        self.phases = dict.fromkeys(hosts, _WAITS)
        """Host → its phase, or its final state."""
        self._since = dict.fromkeys(hosts, 0.0)
        self._started = time.monotonic()
        self._console = Console(stderr=True, highlight=False, emoji=False, markup=False)
        fits = len(hosts) + _MARGIN <= self._console.height
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal and fits else None
        self._drawn = 0.0

    def __enter__(self) -> Self:
        """Start the clock."""
        self._started = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the table on the terminal as it is now."""
        if self._live and self._live.is_started:
            self._live.update(self._table(), refresh=True)
            self._live.stop()

    def finish(self, results: Results, *, done: bool) -> None:
        """Set the final state of each host. After a failure, a host that did not switch is unchanged."""
        for host, phase in list(self.phases.items()):
            ended = results.outcomes.get(host)
            if phase not in _ORDER:
                self._set(host, f"{phase}, {ended}" if ended else phase)
            elif done:
                self._set(host, _DONE)
            else:
                self._set(host, ended or (_UNKNOWN if host in results.switched else _UNCHANGED))

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def on_event(self, event: Event) -> None:
        """Update the phase of a host from an event."""
        if self._live and not self._live.is_started:
            self._live.start()
        host, kind = event.get("host", ""), event["event"]
        now = self.phases.get(host)
        if now is None or now == _FAILED:
            return
        if kind == "unreachable":
            self._set(host, _UNREACHABLE)
        elif kind == "failed" and not is_summary(event):
            self._set(host, _FAILED)
        elif (found := _phase(event)) and ("rc" in event if now == _UNREACHABLE else _follows(found, now)):
            self._set(host, found)

    def waited(self) -> None:
        """Draw the table again."""
        if self._live and self._live.is_started and self.seconds - self._drawn > 1 / _PER_SECOND:
            self._drawn = self.seconds
            self._live.update(self._table(), refresh=True)

    def _set(self, host: str, phase: str) -> None:
        if self.phases[host] == phase:
            return
        self.phases[host] = phase
        self._since[host] = self.seconds
        if self._live is None:
            width = max(map(len, self.phases))
            self._console.print(f"{duration(self.seconds):>10}  {host:<{width}}  {phase}", soft_wrap=True)

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for host, phase in self.phases.items():
            ended = phase not in _ORDER
            shown = self._since[host] if ended else self.seconds - self._since[host]
            seconds = "" if phase == _WAITS else duration(shown)
            table.add_row(Text(host), Text(phase, style=_style(phase)), Text(seconds, justify="right"))
        return table


def _phase(event: Event) -> str | None:
    """Return the phase of a task. A switch begins with a command; the tasks before it also run on hosts that wait."""
    role = event.get("role") or ""
    return None if role == SWITCHES and event.get("action") != "command" else _PHASE_OF.get(role)


def _follows(phase: str, now: str) -> bool:
    """Return whether a phase comes after another. The gate is that of a host that was switched."""
    return now == "switch" if phase == "gate" else _ORDER.index(phase) > _ORDER.index(now)


def _style(phase: str) -> str:
    return "cyan" if phase in _PHASES else _STYLES.get(phase.partition(",")[0], "dim")
