"""Run long work so that Ctrl-C ends it cleanly, whatever compiled code it is in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from hcloud.temporary import heard_ends

T = TypeVar("T")
LOOK_EVERY = 0.1


def interruptible(work: Callable[[], T]) -> T:
    """The result of ``work``, done in a thread of its own; what it raises is raised here.

    Python hands SIGINT to the main thread only. Compiled kernels and solvers crash or go on when it meets them there;
    in another thread they never see it, and the main thread leaves at once.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:  # handed to the waiting thread
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(body,), daemon=True)
    with heard_ends():
        thread.start()
        while thread.is_alive():
            thread.join(LOOK_EVERY)
    if errors:
        raise errors[0]
    return results[0]
