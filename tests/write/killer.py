"""Kill runs with SIGKILL and look at what they leave. A script: `killer.py random|sweep WAY ROUNDS`.

It works in the current directory, forks the runs that it kills (a new interpreter each time would take most
of the time), and prints what it saw as JSON.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
from collections import Counter
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from faults import DELETING, WRITING, calls, unsupported
from trees import generation, litter, put, snapshot

from sparkiac.write import staging

if TYPE_CHECKING:
    from collections.abc import Callable

    Snapshot = dict[str, tuple[str, bytes]]

TARGET = Path("work/lab")
OLD = TARGET.with_name(".lab.sparkiac-old")
COUNT = {"random": 40, "sweep": 8}
CALLS = 1200
"""A random kill comes after at most so many calls: those of about three commits."""


class Observer:
    """Knows the two whole trees, and counts what is not one of them."""

    def __init__(self, count: int) -> None:
        """Make the two trees elsewhere, with a directory of the ansible tools in each."""
        self.count = count
        self.whole: dict[str, Snapshot] = {}
        for tag in "ab":
            self.begin(Path("expected"), tag)
            self.whole[tag] = snapshot(Path("expected")) or {}
            shutil.rmtree("expected")
        self.seen: Counter[str] = Counter()

    def begin(self, target: Path, tag: str) -> None:
        """Make a tree."""
        put(generation(tag, count=self.count), target)
        (target / ".ansible" / "deep").mkdir(parents=True, exist_ok=True)
        (target / ".ansible" / "deep" / "f").write_text("x")

    def judge(self) -> None:
        """Look at the target after a kill."""
        found = snapshot(TARGET)
        if litter(TARGET):
            self.seen["killed in the middle"] += 1
        if found is None:
            found = snapshot(OLD)  # the fallback, between its renames
            self.seen["between renames" if found is not None else "lost"] += 1
        if found in self.whole.values():
            self.seen["whole"] += 1
            return
        versions = [tree.get(path) for path in found or {} for tree in self.whole.values()]
        torn = any(entry not in versions for entry in (found or {}).values())
        self.seen["torn" if torn else "mixed"] += 1

    def next_run(self, tag: str) -> None:
        """Let a run complete; it must leave its tree and nothing else."""
        put(generation(tag, count=self.count), TARGET)
        if snapshot(TARGET) != self.whole[tag]:
            self.seen["wrong after the next run"] += 1
        if litter(TARGET):
            self.seen["left after the next run"] += 1


def fork(run: Callable[[], None]) -> int:
    """Start a child that runs this; return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        run()
    finally:
        os._exit(0)


def kill_at_random(observer: Observer, rounds: int) -> None:
    """Kill a child that commits one tree after the other, soon after it says that it makes its n-th call."""
    chance, tell = random.Random(20260101), os.write

    for _ in range(rounds):
        reader, writer = os.pipe()

        def alternate(writer: int = writer) -> NoReturn:
            with calls(*WRITING, *DELETING, before=lambda _: tell(writer, b".") and None):
                for tag in cycle("ab"):
                    put(generation(tag, count=observer.count), TARGET)
            raise AssertionError

        child = fork(alternate)
        os.close(writer)  # so that reading ends if the child does
        for _ in range(chance.randrange(1, CALLS)):
            os.read(reader, 1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)
        observer.seen["kills"] += 1
        observer.judge()
        observer.next_run(chance.choice("ab"))


def kill_at_each_call(observer: Observer, rounds: int) -> None:
    """Kill a child before the first call that changes the disk, then before the second, to the last."""
    for nth in range(1, rounds):
        observer.next_run("a")
        count = 0

        def before(_: str) -> None:
            nonlocal count
            count += 1
            if count == nth:  # noqa: B023 - used in this round only
                os.kill(os.getpid(), signal.SIGKILL)

        def run() -> None:
            with calls(*WRITING, *DELETING, before=before):
                put(generation("b", count=observer.count), TARGET)

        _, status = os.waitpid(fork(run), 0)
        if not os.WIFSIGNALED(status):
            return
        observer.seen["kills"] += 1
        observer.judge()
        observer.next_run("ab"[nth % 2])


def main(how: str, way: str, rounds: int) -> None:
    """Do what the command line says."""
    if way == "fallback":
        staging.exchange = unsupported
    observer = Observer(COUNT[how])
    observer.begin(TARGET, "a")
    (kill_at_random if how == "random" else kill_at_each_call)(observer, rounds)
    print(json.dumps(observer.seen))  # noqa: T201 - the script's result


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
