"""Functions that are called for many items at the same time, once or again and again."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import islice

import pytest

from sparkiac.upstream import parallel


def test_as_many_calls_run_at_once_as_there_are_threads() -> None:
    barrier = threading.Barrier(20)

    def call(item: int) -> int:
        barrier.wait(600)
        return item * 2

    assert sorted(parallel.each(range(20), call, threads=20)) == [(item, item * 2) for item in range(20)]


def test_calls_repeat_and_a_slow_item_does_not_delay_the_others() -> None:
    hang = threading.Event()

    def call(item: str) -> str:
        if item == "slow":
            hang.wait(600)
        return item.upper()

    found = parallel.again(["slow", "a", "b"], call, threads=3, period_s=0.01)
    answers = Counter(each for each in islice(found, 50) if each)
    hang.set()
    assert answers[("a", "A")] > 2
    assert answers[("b", "B")] > 2
    assert ("slow", "SLOW") in islice(found, 1000)
    found.close()


def test_none_comes_while_nothing_is_done() -> None:
    hang = threading.Event()
    found = parallel.again(["a"], lambda _: hang.wait(600), threads=1, period_s=0.01)
    assert next(found) is None
    hang.set()
    assert ("a", True) in islice(found, 1000)
    found.close()


def test_more_items_than_threads_take_turns() -> None:
    found = parallel.again(range(6), lambda item: item, threads=2, period_s=0.01)
    assert {each[0] for each in islice(found, 60) if each} == set(range(6))
    found.close()


def test_an_exception_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        next(parallel.again([0], lambda item: 1 // item, threads=1, period_s=60))


def test_threads_end_with_the_iteration() -> None:
    calls = Counter[str]()

    def call(item: str) -> None:
        calls[item] += 1

    found = parallel.again(["a"], call, threads=1, period_s=0.01)
    assert next(each for each in found if each) == ("a", None)
    before = set(threading.enumerate())
    found.close()
    for thread in before - {threading.main_thread()}:
        if thread.daemon and "_repeat" in thread.name:
            thread.join(600)
            assert not thread.is_alive()
