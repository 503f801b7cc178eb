"""Sending again what a cloud throttles, request by request: what takes many requests need not begin anew with each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from hcloud.control.ports import LATER, SLICE_SECONDS, Stop, Tell
from hcloud.errors import ThrottledError

AGAIN_SECONDS, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 20.0, 0.5, 2.0
"""Ours: how long all requests wait together while nothing else is answered, with a pause that doubles where the cloud
names none. Then whoever asked decides, as where the cloud names a later moment."""
MOST_SECONDS = 60.0
"""Ours: how long one request waits, also while others get through."""
Answered = TypeVar("Answered")


class Throttling:
    """What is known of throttling by one account. ``place`` is what it is called in messages."""

    def __init__(self, place: str, pause: Callable[[float], None], tell: Tell, stop: Stop) -> None:
        self._said = f"{place} throttles requests; hcloud asks again"
        self._pause, self._tell, self._stop = pause, tell, stop
        self._turn, self._waited, self._paused = threading.Lock(), 0.0, 0.0
        self._through, self._refused = 0, 0

    def answered(self, send: Callable[[], Answered], after: Callable[[Answered], float | None]) -> Answered:
        """An answer that is not throttled, or the last that is. ``after`` is the seconds that a throttled one names
        (negative: it names none), and None for others. One thread at a time tries whether it is over."""
        began, through, refused, answer = self._paused, self._through, self._refused, send()
        if after(answer) is None:
            return self._got_through(answer, is_over=refused == self._refused)
        with self._turn:
            pause = FIRST_PAUSE_SECONDS
            self._tell(self._said, at_once=True)
            if through != self._through:  # what the answer said is over
                answer = send()
            while (told := after(answer)) is not None:
                self._refused += 1
                wait = told if told >= 0 else pause
                if max(self._waited + wait - AGAIN_SECONDS, self._paused + wait - began - MOST_SECONDS) > 0:
                    return answer
                if not self._slept(wait):
                    return answer
                pause, answer = min(pause * 2, LONGEST_PAUSE_SECONDS), send()
            return self._got_through(answer, is_over=True)

    def asked(self, ask: Callable[[], Answered]) -> Answered:
        """The same of a client that raises ThrottledError."""

        def sent() -> Answered | ThrottledError:
            try:
                return ask()
            except ThrottledError as error:
                return error

        found = self.answered(sent, _retry_after)
        if isinstance(found, ThrottledError):
            raise found
        return found

    def _got_through(self, answer: Answered, *, is_over: bool) -> Answered:
        """Count an answer. One that was sent before the last refusal does not show that throttling is over."""
        self._through += 1
        if is_over:
            self._waited = 0.0
        return answer

    def _slept(self, seconds: float) -> bool:
        """Wait, unless somebody asks for an end."""
        while seconds > 0 and not self._stop():
            now = min(seconds, SLICE_SECONDS)
            self._pause(now)
            self._waited, self._paused, seconds = self._waited + now, self._paused + now, seconds - now
            self._tell(LATER)
        return not self._stop()


def _retry_after(answer: object) -> float | None:
    if not isinstance(answer, ThrottledError):
        return None
    return -1.0 if answer.retry_after is None else answer.retry_after
