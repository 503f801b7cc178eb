"""Progress of long work, told as the share that is done."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float], None]


def unheard(done: float) -> None:
    """Progress that nobody listens to."""


def part_of(progress: Progress, begin: float, end: float) -> Progress:
    """Progress of one part of the work as progress of the whole."""
    return lambda done: progress(begin + (end - begin) * done)
