"""The live view: the last answer of each host, drawn again with each new one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from sparkiac.commands.status import page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from sparkiac.fleet.status import HostStatus

_DRAW_S: Final = 0.25
"""Least time between two drawings."""
_OLD_S: Final = 10
"""A host is asked every 2 s. Its name is shown if its last answer is older than this."""


class LiveView:
    """Shows the hosts in the order of the inventory; problems come first, since a terminal shows the first lines."""

    def __init__(self, hosts: Sequence[str]) -> None:
        """Show these hosts; none has answered yet."""
        self._hosts = hosts
        self._found: dict[str, HostStatus] = {}
        self._console = Console(highlight=False, emoji=False, markup=False)
        self._live = Live(console=self._console, auto_refresh=False, screen=True, vertical_overflow="ellipsis")
        self._drawn_s = 0.0
        self._answered_s: dict[str, float] = {}

    def __enter__(self) -> Self:
        """Use the whole terminal."""
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the terminal back, and leave the last state on it."""
        self._live.stop()
        self._console.print(Group(*self._view()))

    def update(self, found: HostStatus | None) -> None:
        """Add the new status of a host, if there is one, and redraw the table."""
        if found:
            self._found[found.name] = found
            self._answered_s[found.name] = time.monotonic()
        if time.monotonic() - self._drawn_s >= _DRAW_S:
            self._live.update(Group(*self._ages(), *self._view()), refresh=True)
            self._drawn_s = time.monotonic()

    def _ages(self) -> Iterator[RenderableType]:
        ages = {name: time.monotonic() - answered for name, answered in self._answered_s.items()}
        yield Text(f"{time.strftime('%H:%M:%S')}; Ctrl-C ends this view", style="dim")
        if old := [f"{name} ({age:.0f} s)" for name, age in ages.items() if age > _OLD_S]:
            yield Text(f"last answer is old: {', '.join(old)}", style="yellow")

    def _view(self) -> Iterator[RenderableType]:
        statuses = [self._found[name] for name in self._hosts if name in self._found]
        yield page.summary(statuses)
        if missing := [name for name in self._hosts if name not in self._found]:
            yield Text(f"no answer yet: {', '.join(missing)}", style="dim")
        yield from page.problems(statuses)
        yield Text()
        yield from page.tables(statuses, width=self._console.width)
