"""Work beside the loop: all of it is done and told once, also where threads do not begin."""

from __future__ import annotations

import _thread
import threading
import time
from collections import Counter, deque
from functools import partial
from typing import Any

import pytest

from hcloud.errors import HcloudError
from hcloud.live.operating.workers import AtOnce, Workers

START = "hcloud.live.operating.workers.start_new_thread"
LATE = "hcloud.live.operating.workers.LATE_SECONDS"


def told(workers: Workers, until: int, seconds: float = 60.0) -> dict[Any, Any]:
    """What came of so many pieces of work."""
    found: list[tuple[Any, Any]] = []
    deadline = time.monotonic() + seconds
    while len(found) < until and time.monotonic() < deadline:
        found += [(a.about, a.found if a.error is None else str(a.error)) for a in workers.answers()]
        time.sleep(0.001)
    assert max(Counter(about for about, _ in found).values()) == 1
    return dict(found)


def seen_by(number: int) -> tuple[int, int]:
    """That, and the thread that says so."""
    return number, threading.get_ident()


def test_every_piece_is_done_once_and_no_more_are_under_way_than_may_be() -> None:
    workers, under_way, most, lock = Workers(threads=3), 0, 0, threading.Lock()

    def work(number: int) -> int:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.0005 * (number % 4))
        with lock:
            under_way -= 1
        return number * number

    found: dict[Any, Any] = {}
    for number in range(120):
        assert workers.do(number, partial(work, number))
        assert not workers.do(number, lambda: -1)
        assert workers.busy(number)
        if number % 30 == 29:  # threads have left by then
            found |= told(workers, 30)
            assert workers.idle
    assert found == {n: n * n for n in range(120)}
    assert 2 <= most <= 3
    workers.close()


def test_an_error_of_hclouds_is_told_and_any_other_is_raised() -> None:
    workers = Workers()

    def refuse() -> None:
        raise HcloudError("not now")

    workers.do("refused", refuse)
    assert told(workers, 1) == {"refused": "not now"}
    workers.do("broken", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        told(workers, 1)
    assert workers.idle
    workers.close()


def test_a_thread_that_never_begins_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    real, started = _thread.start_new_thread, []

    def stillborn(*call: Any) -> int:
        started.append(call)
        return 0 if len(started) <= 5 else real(*call)

    monkeypatch.setattr(START, stillborn)
    monkeypatch.setattr(LATE, 0.01)
    workers = Workers(threads=4)
    for number in range(20):
        workers.do(number, partial(seen_by, number))
    found = told(workers, 20)
    assert {n for n, _ in found.values()} == set(range(20))
    assert all(thread != threading.get_ident() for _, thread in found.values())
    workers.close()


@pytest.mark.parametrize("refuses", [False, True])
def test_where_no_thread_ever_begins_the_loop_does_the_work_itself(
    refuses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> int:
        if refuses:
            raise RuntimeError("can't start new thread")
        return 0

    monkeypatch.setattr(START, never)
    monkeypatch.setattr(LATE, 0.001)
    workers = Workers(threads=2)
    for number in range(5):
        workers.do(number, threading.get_ident)
    assert told(workers, 5) == dict.fromkeys(range(5), threading.get_ident())
    monkeypatch.setattr(START, _thread.start_new_thread)  # memory is there again
    for number in range(5):
        workers.do(number, threading.get_ident)
    assert len(told(workers, 5)) == 5
    assert workers.idle
    workers.close()


def test_a_thread_that_comes_late_works_beside_the_one_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []

    def late(*call: Any) -> int:
        if not kept:
            kept.append(call)
            return 0
        return _thread.start_new_thread(*call)

    monkeypatch.setattr(START, late)
    monkeypatch.setattr(LATE, 0.01)
    workers = Workers(threads=1)
    workers.do("first", lambda: 1)
    assert told(workers, 1) == {"first": 1}
    hold = threading.Event()
    workers.do("second", lambda: hold.wait(60))
    _thread.start_new_thread(*kept[0])
    workers.do("third", lambda: 3)
    hold.set()
    assert told(workers, 2) == {"second": True, "third": 3}
    workers.close()


def test_closing_waits_for_what_is_under_way_and_leaves_the_rest() -> None:
    workers, begun, hold, done = Workers(threads=1), threading.Event(), threading.Event(), []

    def first() -> None:
        begun.set()
        hold.wait(60)
        done.append("first")

    workers.do("first", first)
    workers.do("second", lambda: done.append("second"))
    assert begun.wait(60)
    closing = threading.Thread(target=workers.close)
    closing.start()
    while workers._left:
        time.sleep(0.001)
    assert closing.is_alive(), "it waits"
    hold.set()
    closing.join(60)
    assert done == ["first"]


def test_at_once_is_in_order_also_where_an_answer_brings_more() -> None:
    workers, found = AtOnce(), []
    workers.do(0, lambda: 0)
    for answer in workers.answers():
        found.append(answer.found)
        if (number := len(found)) < 4:
            workers.do(number, partial(int, number))
    assert found == [0, 1, 2, 3]
    workers.close()


def test_a_thread_that_begins_while_it_is_looked_for_is_no_error() -> None:
    """It takes its start off the list after the loop has seen that there is one."""

    class Vanishing(deque[float]):
        def __bool__(self) -> bool:
            self.clear()
            return True

    workers = Workers()
    workers._starting = Vanishing([0.0])
    assert list(workers.answers()) == []
