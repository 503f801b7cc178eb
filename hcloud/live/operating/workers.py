"""What blocks is done beside the loop, one piece of work a name at a time; what came of it is read at the next look."""

from __future__ import annotations

import time
from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from hcloud.at_once import LATE_SECONDS, MOST_LATE
from hcloud.errors import HcloudError

WORKERS = 8  # ours: calls to a cloud under way at the same time
ENDED_SECONDS = 0.005
"""Ours: how often it is looked whether what was under way has ended."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a piece of work: what it returned, or the error it raised."""

    about: Hashable
    found: object = None
    error: HcloudError | None = None


@dataclass(eq=False, slots=True)
class _Piece:
    """A piece of work. All that is needed to tell what came of it is there before it begins."""

    about: Hashable
    work: Callable[[], object]
    found: object = None
    error: BaseException | None = None
    is_over: bool = False

    def run(self) -> None:
        """Do it; an error is told to the loop, which knows what to make of it."""
        try:
            self.found = self.work()
        except BaseException as error:
            self.error = error
        finally:
            self.is_over = True


class Workers:
    """Threads for work that blocks. An error that is none of hcloud's ends the loop: it is raised by ``answers``.

    A pool of the standard library waits for ever for a thread that finds no memory to begin. Here such a thread is
    replaced, and where none ever begins the loop does the work itself: late, but it is done.
    """

    def __init__(self, threads: int = WORKERS) -> None:
        self._most = threads
        self._pieces: dict[Hashable, _Piece] = {}
        self._left: deque[_Piece] = deque()
        self._starting: deque[float] = deque()
        self._working = self._late = 0
        self._lock = allocate_lock()

    def busy(self, about: Hashable) -> bool:
        """Whether that is under way, or done and not read yet."""
        return about in self._pieces

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._pieces

    def do(self, about: Hashable, work: Callable[[], object]) -> bool:
        """Begin a piece of work, unless one of that name is under way; whether it was begun."""
        if about in self._pieces:
            return False
        piece = self._pieces[about] = _Piece(about, work)
        self._begin(piece)
        return True

    def _begin(self, piece: _Piece) -> None:
        with self._lock:  # or a thread that is about to leave may not see it
            self._left.append(piece)
        self._start()

    def _start(self) -> None:
        """One more thread, where there are fewer than may be; where the system gives none, the others do it all."""
        if self._working + len(self._starting) >= self._most:
            return
        self._starting.append(time.monotonic())
        try:
            start_new_thread(self._work, ())
        except RuntimeError:
            self._starting.pop()
            self._late += not self._working

    def _work(self) -> None:
        """Take one piece of work after another until none is left."""
        with self._lock:
            self._working += 1
        try:
            with suppress(IndexError):
                self._starting.popleft()
            self._late = 0
            while (piece := self._next()) is not None:
                piece.run()
        except BaseException:  # there was no memory to take one
            with self._lock:
                self._working -= 1

    def _next(self) -> _Piece | None:
        """What is to be done now; with None a thread has left: whoever brings more starts another."""
        with self._lock:
            if self._left:
                return self._left.popleft()
            self._working -= 1
            return None

    def answers(self) -> Iterator[Answer]:
        """What was done since the last call."""
        self._see_to_it()
        while over := [piece for piece in self._pieces.values() if piece.is_over]:
            for piece in over:
                del self._pieces[piece.about]
                if piece.error is not None and not isinstance(piece.error, HcloudError):
                    raise piece.error
                yield Answer(piece.about, piece.found, piece.error)

    def _see_to_it(self) -> None:
        """Replace threads that did not begin; both work if one comes after all."""
        with suppress(IndexError):  # none is left to begin, or the last has just begun
            while time.monotonic() - self._starting[0] > LATE_SECONDS:
                self._starting.popleft()
                self._late += 1
        if self._left:
            self._start()
        if self._late > MOST_LATE and not self._working:
            with suppress(IndexError):
                self._left.popleft().run()

    def close(self) -> None:
        """Wait for what is under way; nothing new is begun."""
        self._left.clear()
        while self._working:
            time.sleep(ENDED_SECONDS)


class AtOnce(Workers):
    """The same in the caller's thread, in order: every run is the same."""

    def _begin(self, piece: _Piece) -> None:
        piece.run()
