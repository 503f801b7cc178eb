"""Several calls at the same time, in threads that nobody can wait for in vain.

``threading.Thread.start``, and so every pool of the standard library, waits until the new thread has said that it runs.
One that finds no memory to say so is waited for without end. Here such a thread is replaced, a few times.
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar, cast

AT_ONCE = 8  # ours: below the ten connections that the SDKs keep
LATE_SECONDS = 1.0
"""What a thread may take to begin before another is started in its place; both work if it comes after all."""
MOST_LATE = 10
Given = TypeVar("Given")
Found = TypeVar("Found")


def in_parallel(ask: Callable[[Given], Found], wanted: Sequence[Given], at_once: int = AT_ONCE) -> list[Found]:
    """What ``ask`` answers to each, in their order, at most ``at_once`` of them under way. Of several at the same time
    all are asked before the first error of any of them is raised; MemoryError where no thread can begin."""
    if len(wanted) < 2 or at_once < 2:
        return [ask(one) for one in wanted]
    return _Calls(ask, wanted).made_by(min(at_once, len(wanted)))


class _Calls(Generic[Given, Found]):
    """The calls of one round. All that a thread needs to tell what it did is there before it begins."""

    def __init__(self, ask: Callable[[Given], Found], wanted: Sequence[Given]) -> None:
        self._ask = ask
        self._wanted = wanted
        self._left = deque(range(len(wanted)))
        self._answers: list[Found | None] = [None] * len(wanted)
        self._errors: list[BaseException | None] = [None] * len(wanted)
        self._over = [False] * len(wanted)
        self._under_way = [allocate_lock() for _ in wanted]
        self._begun: list[bool] = []
        for lock in self._under_way:
            lock.acquire()

    def made_by(self, threads: int) -> list[Found]:
        """The answers, from so many threads."""
        try:
            for _ in range(threads):
                self._start()
            self._wait()
        except BaseException:
            self._drop()
            self._wait()
            raise
        for error in self._errors:
            if error is not None:
                raise error
        return cast("list[Found]", self._answers)

    def _start(self) -> None:
        """One more thread; where the system gives no more, those that there are do it all."""
        self._begun.append(False)
        try:
            start_new_thread(self._work, (len(self._begun) - 1,))
        except RuntimeError:
            self._begun.pop()
            if not self._begun:
                raise MemoryError("no thread can be started") from None

    def _work(self, thread: int) -> None:
        """Take one call after another until none is left. Nothing is taken without its lock being released."""
        self._begun[thread] = True
        while self._left:
            try:
                number = self._left.popleft()
            except (IndexError, MemoryError):  # another was quicker, and there was no memory to say even that
                continue
            try:
                self._answers[number] = self._ask(self._wanted[number])
            except BaseException as error:  # raised by ``made_by``
                self._errors[number] = error
            finally:
                self._end(number)

    def _wait(self) -> None:
        """Until every call is over, or was dropped."""
        late = 0
        for number, lock in enumerate(self._under_way):
            while not self._over[number] and not lock.acquire(timeout=LATE_SECONDS):
                if not self._left or all(self._begun):
                    continue
                late += 1
                if late > MOST_LATE:
                    raise MemoryError("no thread begins")
                self._start()

    def _drop(self) -> None:
        """Leave undone what nobody has taken."""
        while self._left:
            with suppress(IndexError):
                self._end(self._left.popleft())

    def _end(self, number: int) -> None:
        self._over[number] = True
        self._under_way[number].release()
