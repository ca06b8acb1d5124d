"""Watch which versions of a group run on the hosts of a bed, to see that no two of them ever run at once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tests.e2e.bed import Bed

Version = TypeVar("Version")


class Watch(Generic[Version]):
    """A thread that looks at the processes of both hosts all the time, without asking the hosts."""

    def __init__(self, bed: Bed, look: Callable[[Bed], dict[str, set[Version]]]) -> None:
        """Look at nothing yet; `look` returns what runs on each host."""
        self.bed, self.look = bed, look
        self.mixed: list[dict[str, set[Version]]] = []
        self.seen: set[Version] = set()
        self.looks = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        """Begin."""
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self.over.set()
        self.thread.join()

    def _watch(self) -> None:
        while not self.over.wait(0.1):
            found = self.look(self.bed)
            versions = {version for each in found.values() for version in each}
            self.looks, self.seen = self.looks + 1, self.seen | versions
            if len(versions) > 1:
                self.mixed.append(found)
