"""What blocks is done beside the loop, one piece of work a name at a time; what came of it is read at the next look."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from hcloud.errors import HcloudError

WORKERS = 8  # ours: calls to a cloud under way at the same time


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a piece of work: what it returned, or the error it raised."""

    about: Hashable
    found: object = None
    error: HcloudError | None = None


class Workers:
    """Threads for work that blocks. An error that is none of hcloud's ends the loop: it is raised by ``answers``."""

    def __init__(self, wake: Callable[[], None] = lambda: None, threads: int = WORKERS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="operate")
        self._under_way: set[Hashable] = set()
        self._done: deque[tuple[Hashable, object, BaseException | None]] = deque()
        self._lock = threading.Lock()
        self._wake = wake

    def busy(self, about: Hashable) -> bool:
        """Whether that is under way, or done and not read yet."""
        return about in self._under_way

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._under_way

    def do(self, about: Hashable, work: Callable[[], object]) -> bool:
        """Begin a piece of work, unless one of that name is under way; whether it was begun."""
        if about in self._under_way:
            return False
        self._under_way.add(about)
        self._pool.submit(self._run, about, work)
        return True

    def _run(self, about: Hashable, work: Callable[[], object]) -> None:
        try:
            result: tuple[Hashable, object, BaseException | None] = (about, work(), None)
        except BaseException as error:  # told to the loop, which knows what to make of it
            result = (about, None, error)
        with self._lock:
            self._done.append(result)
        self._wake()

    def answers(self) -> Iterator[Answer]:
        """What was done since the last call."""
        while True:
            with self._lock:
                if not self._done:
                    return
                about, found, error = self._done.popleft()
            self._under_way.discard(about)
            if error is not None and not isinstance(error, HcloudError):
                raise error
            yield Answer(about, found, error)

    def close(self) -> None:
        """Wait for what is under way; nothing new is begun."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class AtOnce(Workers):
    """The same in the caller's thread, in order: every run is the same."""

    def __init__(self) -> None:
        super().__init__(threads=1)

    def do(self, about: Hashable, work: Callable[[], object]) -> bool:
        """Do it now."""
        if about in self._under_way:
            return False
        self._under_way.add(about)
        self._run(about, work)
        return True
