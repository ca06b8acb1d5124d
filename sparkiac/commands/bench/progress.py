"""Progress of a measurement: one line that changes on a terminal, and a line from time to time elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Self

from rich.console import Console

if TYPE_CHECKING:
    from rich.status import Status

_PERIOD_S: Final = 10
"""Minimum seconds between two lines, if the output is not a terminal."""


class BenchProgress:
    """Shows what is being measured, with the time since the start."""

    def __init__(self, *, text: bool) -> None:
        """Show nothing unless the output is text."""
        self._console = Console(stderr=True, highlight=False, emoji=False, markup=False, quiet=not text)
        self._status: Status | None = self._console.status("") if self._console.is_terminal and text else None
        self._began = time.monotonic()
        self._printed = -float(_PERIOD_S)

    def __enter__(self) -> Self:
        """Start to show."""
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
