"""Run functions in daemon threads, which end with the program: an interrupt does not wait for a hanging server.

The pools of concurrent.futures do not fit here: the interpreter waits for their threads when it exits.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeVar

from sparkiac.upstream.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")
R = TypeVar("R")

THREADS: Final = 8


def each(items: Iterable[T], call: Callable[[T], R]) -> Iterator[tuple[T, R | UpstreamError]]:
    """Call a function for each item and yield item and result in the order of completion.

    An `UpstreamError` becomes a result; other exceptions are raised.
    """
    every = list(items)
    waiting, done = deque(every), SimpleQueue[tuple[T, Future[R]]]()
    for _ in range(min(THREADS, len(every))):
        Thread(target=_work, args=(waiting, done, call), daemon=True).start()
    try:
        for _ in every:
            item, future = done.get()
            error = future.exception()
            yield item, error if isinstance(error, UpstreamError) else future.result()
    finally:
        waiting.clear()  # after an interrupt no thread starts another item


def start(call: Callable[[], T]) -> Future[T]:
    """Call a function in a thread, and return the future of its result."""
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


def _fulfil(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001  raised again in the caller's thread
        future.set_exception(error)
