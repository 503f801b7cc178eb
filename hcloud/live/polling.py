"""Looking again and again until something has happened or time is up, with pauses that grow."""

from __future__ import annotations

from hcloud.control.ports import SLICE_SECONDS, Clock, Stop
from hcloud.live.patience import Patience
from hcloud.live.site import Site

GROWTH = 1.5
"""Ours: by how much the time between two looks grows."""


class Poll:
    """Looks for at most so many ``seconds``."""

    def __init__(self, site: Site, patience: Patience, seconds: float) -> None:
        self._site, self._patience, self._seconds = site, patience, seconds
        self._until = site.clock.passed() + seconds
        self._delay, self._has_told = site.waits.first_poll, False

    @property
    def is_over(self) -> bool:
        """Whether time is up."""
        return self._site.clock.passed() >= self._until

    def pause(self, what: str = "") -> None:
        """Wait for the next look; ``what`` is waited for is told the first time."""
        if what and not self._has_told:
            self._has_told = True
            self._site.waiting(what, self._seconds)
        self._patience.pause(self._delay)
        self._delay = min(self._delay * GROWTH, self._site.waits.longest_poll)


def slept(clock: Clock, seconds: float, stop: Stop) -> None:
    """Wait, unless somebody asks for an end."""
    until = clock.passed() + seconds
    while (left := until - clock.passed()) > 0 and not stop():
        clock.sleep(min(left, SLICE_SECONDS))
