"""Several things at once, in threads that nobody waits for: an interrupt does not wait for a server that hangs."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")
R = TypeVar("R")


def together(items: Iterable[T], act: Callable[[T], R], *, at_once: int) -> Iterator[tuple[T, R]]:
    """Do something for each item, and give item and result as each is through. What `act` raises is raised here."""
    each = list(items)
    waiting, through = deque(each), SimpleQueue[tuple[T, Future[R]]]()
    for _ in range(min(at_once, len(each))):  # no pool: the interpreter would wait for its threads at the end
        Thread(target=_work, args=(waiting, through, act), daemon=True).start()
    try:
        for _ in each:
            item, future = through.get()
            yield item, future.result()
    finally:
        waiting.clear()  # after an interrupt nothing more is asked


def _work(waiting: deque[T], through: SimpleQueue[tuple[T, Future[R]]], act: Callable[[T], R]) -> None:
    with suppress(IndexError):
        while True:
            item = waiting.popleft()
            future: Future[R] = Future()
            try:
                future.set_result(act(item))
            except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
                future.set_exception(error)
            through.put((item, future))
