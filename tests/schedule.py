"""Which worker takes which test file: half of the workers run tests on booted hosts, the others the rest meanwhile."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xdist.workermanage import WorkerController

CORES: Final = os.cpu_count() or 1
WORKERS: Final = 2 * CORES
"""Tests on booted hosts wait most of their time, and the others never wait: a core does one of each."""


LONGEST: Final = (
    "tests/e2e/test_apply.py",
    "tests/e2e/test_group.py",
    "tests/e2e/test_going_back.py",
    "tests/e2e/test_network.py",
    "tests/e2e/test_maintenance.py",
    "tests/host/test_apply.py",
    "tests/commands/test_apply.py",
    "tests/host/test_apply_command.py",
    "tests/commands/test_apply_screen.py",
    "tests/exporters/test_round_trip.py",
)
"""Files that take longest come first, so that at the end no worker is alone with one of them."""


def next_file(waiting: Iterable[str], on_hosts: int, cores: int = CORES) -> str:
    """Return the file that a worker takes next, of those that wait, while other workers run `on_hosts` files on hosts.

    Files on hosts come first, because they take longest, but no more of them at once than there are cores.
    """
    files = sorted(waiting, key=lambda file: LONGEST.index(file) if file in LONGEST else len(LONGEST))
    wanted = on_hosts < cores
    return next((file for file in files if needs_hosts(file) == wanted), files[0])


def needs_hosts(file: str) -> bool:
    """Return whether a test file boots hosts."""
    return file.startswith("tests/e2e/")


class Schedule(LoadFileScheduling):
    """Gives whole files to workers, in the order of `next_file`."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        files = [self._files_left(work) for other, work in self.assigned_work.items() if other is not node]
        on_hosts = sum(any(map(needs_hosts, each)) for each in files)
        self.workqueue.move_to_end(next_file(self.workqueue, on_hosts), last=False)
        super()._assign_work_unit(node)

    @staticmethod
    def _files_left(work: dict[str, dict[str, bool]]) -> list[str]:
        return [file for file, tests in work.items() if not all(tests.values())]
