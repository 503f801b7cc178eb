"""When to ask a cloud again: one back-off for all threads, a budget of calls, and a deadline."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from hcloud.control.ports import LATER, SLICE_SECONDS, Clock, Tell, silent
from hcloud.errors import HcloudError, ThrottledError, UnavailableError, UnknownOutcomeError

Found = TypeVar("Found")
AGAIN = "run the same command again once the cloud answers: it continues where this one stopped"
UNANSWERED = "waiting: the last request was not answered; hcloud asks again"
LATE_SECONDS, QUIET_SECONDS = 3.0, 60.0  # ours


class StoppedError(HcloudError):
    """Somebody asked for an end; what was under way has been noted."""

    exit_code = 130


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """How long and how often: all values are ours. ``attempts`` is for one request, ``calls`` for a whole run beyond
    three times what it needs where nothing goes wrong, ``deadline`` for all that a run is put off together."""

    attempts: int = 12
    spare_calls: int = 40
    deadline: float = 300.0
    first_delay: float = 0.5
    longest_delay: float = 30.0


def at_the_latest(clock: Clock, seconds: float) -> str:
    """When so much time will have passed, as it is told."""
    return f"{datetime.fromtimestamp(clock.now() + seconds, UTC):%H:%M:%S} UTC at the latest"


class LateTell:
    """Tells what is waited for once that has lasted for some seconds, as most waits are over before; and not often."""

    def __init__(self, clock: Clock, note: Callable[[str], object]) -> None:
        self._clock, self._note = clock, note
        self._text, self._begun, self._since = "", "", 0.0
        self._heard = self._quiet_until = -math.inf

    def __call__(self, text: str, *, at_once: bool = False) -> None:
        """Begin to wait, or go on with it: also where the same is begun again soon after."""
        now = self._clock.passed()
        before, self._heard = self._heard, now
        if at_once:
            if text != self._begun or now - before > LATE_SECONDS:
                self._since = now
            self._text = self._begun = text
        elif self._text and now - self._since >= LATE_SECONDS and now >= self._quiet_until:
            self._note(self._text)
            self._text, self._quiet_until = "", now + QUIET_SECONDS


class Patience:
    """Waits and asks again where that helps, and only there.

    Throttling puts everybody off until the moment the cloud names, or for a time that doubles; while it lasts one
    request at a time tries whether it is over. A read without an answer is asked again, and so is a change whose
    outcome is unknown where the caller says that repeating is safe. Nothing else is ever asked twice: not sold out,
    not a quota, not a denial, not bad credentials, not a wrong request.
    """

    def __init__(self, clock: Clock, limits: RetryLimits, stop: Callable[[], bool], tell: Tell = silent) -> None:
        self._clock, self._limits, self._stop, self._tell = clock, limits, stop, tell
        self._lock = threading.Lock()
        self._probe = threading.Lock()
        self._not_before = clock.passed()
        self._streak = 0
        self._why = LATER
        self._put_off_for = 0.0
        self._until = 0.0
        self._allowed = limits.spare_calls
        self.calls = 0

    def expect(self, calls: int) -> None:
        """So many requests would be made where nothing goes wrong."""
        with self._lock:
            self._allowed += 3 * calls

    def ask(self, request: Callable[[], Found], *, again: bool = False) -> Found:
        """The answer to a request; ``again`` says that one with an unknown outcome may be repeated as it is.

        Raises what the last attempt raised when the attempts, the calls or the time run out, and StoppedError where
        somebody asked for an end while it waited.
        """
        tried = 0
        while True:
            self._wait()
            tried += 1
            with self._turn():
                try:
                    found = self._count(request)
                except (ThrottledError, UnavailableError, UnknownOutcomeError) as error:
                    self._put_off(error, error.retry_after if isinstance(error, ThrottledError) else None)
                    if isinstance(error, UnknownOutcomeError) and not again:
                        raise
                    self._check(tried, error)
                    continue
                self._streak = 0
                return found

    def pause(self, seconds: float, why: str = "waiting until the cloud has done it") -> None:
        """Wait for something to happen, unless somebody asks for an end meanwhile; it is told why, again and again."""
        until = self._clock.passed() + seconds
        while (left := until - self._clock.passed()) > 0:
            self._check_stop()
            self._tell(why)
            self._clock.sleep(min(left, SLICE_SECONDS))
        self._check_stop()

    def _turn(self) -> AbstractContextManager[object]:
        return self._probe if self._streak else nullcontext()

    def _count(self, request: Callable[[], Found]) -> Found:
        with self._lock:
            self.calls += 1
        return request()

    def _wait(self) -> None:
        self._check_stop()
        while (left := self._not_before - self._clock.passed()) > 0:
            self.pause(left, self._why)

    def _put_off(self, error: HcloudError, told: float | None) -> None:
        """Nobody asks before the moment that the cloud names, or before a time that doubles with every failure."""
        with self._lock:
            if not self._streak:
                self._until = self._clock.passed() + self._limits.deadline
                self._announce(error)
            self._why = LATER if isinstance(error, ThrottledError) else UNANSWERED
            grown = min(self._limits.first_delay * 2**self._streak, self._limits.longest_delay)
            self._streak = min(self._streak + 1, 30)
            delay = told if told is not None else grown
            now = self._clock.passed()
            self._put_off_for += max(now + delay - max(self._not_before, now), 0.0)
            self._not_before = max(self._not_before, now + delay)

    def _check(self, tried: int, error: HcloudError) -> None:
        """Give up with what was said last where the next attempt would go beyond a limit."""
        spent = tried >= self._limits.attempts or self.calls >= self._allowed
        if spent or self._put_off_for > self._limits.deadline or self._clock.passed() >= self._until:
            error.hint = error.hint or AGAIN
            raise error

    def _announce(self, error: HcloudError) -> None:
        """Tell what is waited for when it begins: the cloud does not answer, or wants to be left alone for a while."""
        latest = at_the_latest(self._clock, self._limits.deadline)
        self._tell(f"{error}; hcloud asks again, until {latest}", at_once=True)

    def _check_stop(self) -> None:
        if self._stop():
            raise StoppedError("stopped: interrupted")
