"""Sending again what a cloud throttles, request by request: what takes many requests need not begin anew with each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from hcloud.control.ports import Tell

AGAIN_SECONDS, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 20.0, 0.5, 2.0
"""Ours: how long all requests wait together while nothing else is answered, with a pause that doubles where the cloud
names none. Then whoever asked decides, as where the cloud names a later moment."""
WAITING = "waiting: the cloud asks for a retry later"
Answered = TypeVar("Answered")


class Throttling:
    """What is known of throttling by one account. ``place`` is what it is called in messages."""

    def __init__(self, place: str, pause: Callable[[float], None], tell: Tell) -> None:
        self._said = f"{place} throttles requests; hcloud asks again for {AGAIN_SECONDS:.0f} s"
        self._pause, self._tell = pause, tell
        self._turn, self._waited = threading.Lock(), 0.0

    def answered(self, send: Callable[[], Answered], after: Callable[[Answered], float | None]) -> Answered:
        """An answer that is not throttled, or the last that is. ``after`` is the seconds that a throttled one names
        (negative: it names none), and None for others. One thread at a time tries whether it is over."""
        if after(answer := send()) is None:
            self._waited = 0.0
            return answer
        with self._turn:
            pause = FIRST_PAUSE_SECONDS
            self._tell(self._said, at_once=True)
            while (told := after(answer)) is not None:
                wait = told if told >= 0 else pause
                if self._waited + wait > AGAIN_SECONDS:
                    return answer
                self._waited += wait
                self._pause(wait)
                self._tell(WAITING)
                pause, answer = min(pause * 2, LONGEST_PAUSE_SECONDS), send()
            self._waited = 0.0
            return answer
