"""Views on the terminal that change while a command runs: state of hosts, progress of an apply and of a benchmark."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final, Self

from rich.console import Group
from rich.live import Live
from rich.status import Status
from rich.table import Table
from rich.text import Text

from sparkiac.commands import terminal
from sparkiac.commands.apply.results import SWITCHES, Results, is_summary
from sparkiac.fleet.status import HostStatus
from sparkiac.upstream.playbook import Event
from sparkiac.words import status
from sparkiac.words.page import Blocks, Line, duration, styled

_DRAW_S: Final = 0.25
"""Minimum seconds between two drawings."""
_OLD_S: Final = 10
"""A host is queried every 2 s. Its name is shown if its last answer is older than this."""
_PERIOD_S: Final = 10
"""Minimum seconds between two lines, if the output is not a terminal."""
_PHASES: Final = {
    "work": ("", "driver", "network", "prune", "uninstall"),
    "check": ("pins", "tree", "begin", "status", "look", "lease", "preflight"),
    "download": ("host", "secrets", "stage", "images", "extras", "weights"),
    "switch": ("files", "place", "sysctl", SWITCHES),
    "reboot": ("reboot", "os"),
    "gate": ("models", "verify", "finish"),
}
"""Phase → the roles of the playbooks that belong to it; an empty name stands for the tasks of a play itself."""
_PHASE_OF: Final = {role: phase for phase, roles in _PHASES.items() for role in roles}
_WAITS: Final = "waits"
_ORDER: Final = (_WAITS, *_PHASES)
_DONE: Final = "done"
UNCHANGED: Final = "unchanged"
_UNKNOWN: Final = "unknown"
_FAILED: Final = "FAILED"
_UNREACHABLE: Final = "UNREACHABLE"
_STYLES: Final = {_DONE: "green", "switched": "green", _FAILED: "bold red", _UNREACHABLE: "bold red"}
_PER_SECOND: Final = 4
_MARGIN: Final = 4
"""Lines of the terminal that the live table leaves free."""


class LiveView:
    """Shows the hosts in the order of the inventory; problems come first, since a terminal shows the first lines."""

    def __init__(self, hosts: Sequence[str]) -> None:
        """Show these hosts; none has answered yet."""
        self._hosts = hosts
        self._found: dict[str, HostStatus] = {}
        self._console = terminal.console()
        self._live = Live(console=self._console, auto_refresh=False, screen=True, vertical_overflow="ellipsis")
        self._drawn_s = 0.0
        self._answered_s: dict[str, float] = {}

    def __enter__(self) -> Self:
        """Use the whole terminal."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the terminal, and print the last state."""
        self._live.stop()
        self._console.print(Group(*map(terminal.rendered, self._view())))

    def update(self, found: HostStatus | None) -> None:
        """Add the new status of a host, if there is one, and redraw the table."""
        if found:
            self._found[found.name] = found
            self._answered_s[found.name] = time.monotonic()
        if time.monotonic() - self._drawn_s >= _DRAW_S:
            self._live.update(Group(*map(terminal.rendered, (*self._ages(), *self._view()))), refresh=True)
            self._drawn_s = time.monotonic()

    def _ages(self) -> Iterator[Line]:
        ages = {name: time.monotonic() - answered for name, answered in self._answered_s.items()}
        yield styled(f"{time.strftime('%H:%M:%S')}; Ctrl-C ends this view", "dim")
        if old := [f"{name} ({age:.0f} s)" for name, age in ages.items() if age > _OLD_S]:
            yield styled(f"last answer is old: {', '.join(old)}", "yellow")

    def _view(self) -> Blocks:
        statuses = [self._found[name] for name in self._hosts if name in self._found]
        yield status.summary(statuses)
        if missing := [name for name in self._hosts if name not in self._found]:
            yield styled(f"no answer yet: {', '.join(missing)}", "dim")
        yield from status.problems(statuses)
        yield ""
        yield from status.tables(statuses, self._console.width)


class ApplyProgress:
    """Shows the phase of each host while Ansible runs. It starts with the first event, after Ansible's prompts."""

    def __init__(self, hosts: Sequence[str]) -> None:
        """Show these hosts: those that change."""
        self.phases = dict.fromkeys(hosts, _WAITS)
        """Host → its phase, or its final state."""
        self._since = dict.fromkeys(hosts, 0.0)
        self._started = time.monotonic()
        self._console = terminal.console(stderr=True)
        fits = len(hosts) + _MARGIN <= self._console.height
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal and fits else None
        self._drawn = 0.0

    def __enter__(self) -> Self:
        """Start the clock."""
        self._started = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        """Print the final table."""
        if self._live and self._live.is_started:
            self._live.update(self._table(), refresh=True)
            self._live.stop()

    def finish(self, results: Results, *, done: bool) -> None:
        """Set the final state of each host. One without a task, or without a switch before a failure, is unchanged."""
        for host, phase in list(self.phases.items()):
            ended = results.outcomes.get(host)
            if phase not in _ORDER:
                self._set(host, f"{phase}, {ended}" if ended else phase)
            elif done:
                self._set(host, UNCHANGED if phase == _WAITS else _DONE)
            else:
                self._set(host, ended or (_UNKNOWN if host in results.switched else UNCHANGED))

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
    """Return whether a phase comes after another. The gate is that of a host that was switched or rebooted."""
    return now in {"switch", "reboot"} if phase == "gate" else _ORDER.index(phase) > _ORDER.index(now)


def _style(phase: str) -> str:
    return "cyan" if phase in _PHASES else _STYLES.get(phase.partition(",")[0], "dim")


class BenchProgress:
    """Shows what is being measured, with the time since the start."""

    def __init__(self, *, text: bool) -> None:
        """Show nothing unless the output is text."""
        self._console = terminal.console(stderr=True, quiet=not text)
        self._status: Status | None = self._console.status("") if self._console.is_terminal and text else None
        self._began = time.monotonic()
        self._printed = -float(_PERIOD_S)

    def __enter__(self) -> Self:
        """Start the display."""
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the line."""
        if self._status:
            self._status.stop()

    def on_progress(self, text: str) -> None:
        """Show this text."""
        seconds = time.monotonic() - self._began
        line = f"{seconds:6.0f} s  {text}"
        if self._status:
            self._status.update(line)
        elif seconds - self._printed >= _PERIOD_S:
            self._printed = seconds
            self._console.print(line, soft_wrap=True)
