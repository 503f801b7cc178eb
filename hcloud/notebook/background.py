"""Long work for a notebook: silent, and given up where its cell is interrupted."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import TypeVar

from hcloud.usecases.interruptible import interruptible
from hcloud.usecases.progress import Progress

T = TypeVar("T")


def in_background(work: Callable[[Progress], T]) -> T:
    """The result of ``work`` in a thread of its own; after KeyboardInterrupt the thread ends at its next step."""
    given_up = Event()

    def advance(_: float) -> None:
        if given_up.is_set():
            raise KeyboardInterrupt

    try:
        return interruptible(lambda: work(advance))
    except KeyboardInterrupt:
        given_up.set()
        raise
