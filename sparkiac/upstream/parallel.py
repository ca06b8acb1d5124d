"""Run functions in daemon threads, which end with the program: an interrupt does not wait for a hanging server.

The pools of concurrent.futures do not fit here: the interpreter waits for their threads when it exits.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")

THREADS: Final = 8
"""Default number of threads: requests to the same few registries and hubs."""


def each(items: Iterable[T], call: Callable[[T], R], *, threads: int = THREADS) -> Iterator[tuple[T, R]]:
    """Call a function for each item and yield item and result in the order of completion. Exceptions are raised."""
    every = list(items)
    waiting, done = deque(every), SimpleQueue[tuple[T, Future[R]]]()
    for _ in range(min(threads, len(every))):
        Thread(target=_work, args=(waiting, done, call), daemon=True).start()
    try:
        for _ in every:
            item, future = done.get()
            yield item, future.result()
    finally:
        waiting.clear()  # after an interrupt no thread starts another item


def again(items: Iterable[T], call: Callable[[T], R], *, threads: int, period_s: float) -> Iterator[tuple[T, R] | None]:
    """Call a function for each item again and again, without end, and yield item and result; None after `period_s`.

    An item is called again `period_s` after its last call began, or when that has ended if it took longer: a slow item
    does not delay the others. Exceptions are raised.
    """
    waiting, done = SimpleQueue[tuple[float, T]](), SimpleQueue[tuple[T, Future[R]]]()
    every = list(items)
    for item in every:
        waiting.put((0.0, item))
    stopped = Event()
    for _ in range(min(threads, len(every))):
        Thread(target=_repeat, args=(waiting, done, call, stopped, period_s), daemon=True).start()
    try:
        while True:
            try:
                item, future = done.get(timeout=period_s)
            except Empty:
                yield None
                continue
            yield item, future.result()
    finally:
        stopped.set()


def start(call: Callable[[], T]) -> Future[T]:
    """Call a function in a thread, and return its future."""
    future: Future[T] = Future()
    Thread(target=_fulfil, args=(future, call), daemon=True).start()
    return future


def _work(waiting: deque[T], done: SimpleQueue[tuple[T, Future[R]]], call: Callable[[T], R]) -> None:
    with suppress(IndexError):
        while True:
            item = waiting.popleft()
            future: Future[R] = Future()
            _fulfil(future, partial(call, item))
            done.put((item, future))


def _repeat(
    waiting: SimpleQueue[tuple[float, T]],
    done: SimpleQueue[tuple[T, Future[R]]],
    call: Callable[[T], R],
    stopped: Event,
    period_s: float,
) -> None:
    """Call the function for the item that waits longest, and let it wait again."""
    while not stopped.is_set():
        due_s, item = waiting.get()
        if stopped.wait(max(0.0, due_s - time.monotonic())):
            return
        began_s, future = time.monotonic(), Future[R]()
        _fulfil(future, partial(call, item))
        done.put((item, future))
        waiting.put((began_s + period_s, item))


def _fulfil(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
        future.set_exception(error)
