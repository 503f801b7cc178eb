"""Several calls at the same time: all of them are made, and nobody waits for a thread that never ran."""

from __future__ import annotations

import _thread
import threading
import time
from typing import Any

import pytest

from hcloud.at_once import in_parallel


def test_answers_come_in_the_order_of_what_was_asked() -> None:
    def ask(number: int) -> int:
        time.sleep(0.001 * (number % 3))
        return number * number

    assert in_parallel(ask, range(50)) == [n * n for n in range(50)]


def test_no_more_are_under_way_than_may_be_and_they_are_at_the_same_time() -> None:
    together = threading.Barrier(4)
    assert in_parallel(lambda _: together.wait(60) >= 0, range(12), 4) == [True] * 12
    under_way, most, lock = 0, 0, threading.Lock()

    def ask(_: int) -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.002)
        with lock:
            under_way -= 1

    in_parallel(ask, range(30), 3)
    assert most <= 3


def test_the_first_error_in_order_is_raised_after_every_call_was_made() -> None:
    asked: list[int] = []

    def ask(number: int) -> None:
        asked.append(number)
        if number in (2, 5):
            raise ValueError(number)

    with pytest.raises(ValueError, match="2"):
        in_parallel(ask, range(8), 3)
    assert sorted(asked) == list(range(8))


def test_a_thread_that_dies_before_it_runs_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    real, started = _thread.start_new_thread, []

    def stillborn(*call: Any) -> int:
        started.append(call)
        return 0 if len(started) <= 5 else real(*call)

    monkeypatch.setattr("hcloud.at_once.start_new_thread", stillborn)
    monkeypatch.setattr("hcloud.at_once.LATE_SECONDS", 0.01)
    assert in_parallel(lambda n: n + 1, range(20), 4) == list(range(1, 21))
    assert len(started) > 5


def test_where_no_thread_ever_begins_memory_has_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hcloud.at_once.start_new_thread", lambda *_: 0)
    monkeypatch.setattr("hcloud.at_once.LATE_SECONDS", 0.001)
    with pytest.raises(MemoryError, match="begins"):
        in_parallel(lambda n: n, range(20))


@pytest.mark.parametrize("granted", [0, 1, 3])
def test_fewer_threads_do_it_where_the_system_gives_no_more(granted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real, started = _thread.start_new_thread, []

    def refused(*call: Any) -> int:
        started.append(call)
        if len(started) > granted:
            raise RuntimeError("can't start new thread")
        return real(*call)

    monkeypatch.setattr("hcloud.at_once.start_new_thread", refused)
    if granted:
        assert in_parallel(lambda n: -n, range(20)) == [-n for n in range(20)]
    else:
        with pytest.raises(MemoryError, match="started"):
            in_parallel(lambda n: -n, range(20))


def test_an_interruption_leaves_the_rest_undone_and_waits_for_what_began() -> None:
    begun, over = [], []

    def ask(number: int) -> None:
        begun.append(number)
        time.sleep(0.02)
        over.append(number)
        if number == 4:
            _thread.interrupt_main()

    with pytest.raises(KeyboardInterrupt):
        in_parallel(ask, range(1000), 4)
    assert len(over) == len(begun) < 100
