"""When a cloud is asked again, and when it is not."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from hcloud.at_once import in_parallel
from hcloud.control.ports import never, silent
from hcloud.errors import (
    Call,
    CloudError,
    CredentialsError,
    DeniedError,
    MismatchError,
    NoCapacityError,
    NotFoundError,
    QuotaError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.fake.clock import FakeClock
from hcloud.live.patience import LateTell, Patience, RetryLimits, StoppedError
from hcloud.providers.throttled import Throttling

CALL = Call("aws", "eu-central-1", "launch")


def failing(times: int, error: CloudError) -> Callable[[], str]:
    left = [times]

    def ask() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return "done"

    return ask


def patience(limits: RetryLimits | None = None, stop: Callable[[], bool] = lambda: False) -> tuple[Patience, FakeClock]:
    clock = FakeClock(0.0, speed=0.0)
    return Patience(clock, limits or RetryLimits(), stop), clock


@pytest.mark.parametrize(
    "error",
    [NoCapacityError, QuotaError, DeniedError, CredentialsError, RefusedError, MismatchError, NotFoundError],
)
def test_what_repeating_does_not_help_is_asked_once(error: type[CloudError]) -> None:
    given, clock = patience()
    with pytest.raises(error):
        given.ask(failing(1, error("no", CALL)), again=True)
    assert (given.calls, clock.now()) == (1, 0.0)


def test_reads_without_an_answer_are_asked_again() -> None:
    given, clock = patience()
    assert given.ask(failing(3, UnavailableError("?", CALL))) == "done"
    assert (given.calls, clock.now()) == (4, 0.5 + 1 + 2)


def test_a_change_with_an_unknown_outcome_is_repeated_only_where_that_is_safe() -> None:
    given, _ = patience()
    with pytest.raises(UnknownOutcomeError):
        given.ask(failing(1, UnknownOutcomeError("?", CALL)))
    assert given.calls == 1
    assert given.ask(failing(1, UnknownOutcomeError("?", CALL)), again=True) == "done"


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ThrottledError("slow down", CALL), "waiting: the cloud asks for a retry later"),
        (UnavailableError("?", CALL), "waiting: the last request was not answered; hcloud asks again"),
    ],
)
def test_what_is_waited_for_is_said_as_it_is(error: CloudError, why: str) -> None:
    told: list[str] = []

    def tell(text: str, *, at_once: bool = False) -> None:
        told.append(text)

    assert Patience(FakeClock(0.0, speed=0.0), RetryLimits(), lambda: False, tell).ask(failing(1, error)) == "done"
    assert {text for text in told if text.startswith("waiting")} == {why}


def test_a_wait_is_told_when_it_lasts_and_once_a_minute() -> None:
    told: list[tuple[float, str]] = []
    clock = FakeClock(0.0, speed=0.0)
    late = LateTell(clock, lambda text: told.append((clock.now(), text)))
    throttled = ThrottledError("slow down", CALL)
    for times in (2, 5, 3):
        Patience(clock, RetryLimits(), lambda: False, late).ask(failing(times, throttled))
    assert told == [(4.5, f"{throttled}; hcloud asks again, until 00:05:01 UTC at the latest")]
    told.clear()
    late = LateTell(clock, lambda text: told.append((clock.now(), text)))
    for step in range(8):  # each of several requests that is throttled begins to wait for the same
        late("throttled" if step % 2 == 0 else "waiting", at_once=step % 2 == 0)
        clock.sleep(0.5)
    assert [text for _, text in told] == ["throttled"]


def test_requests_that_are_throttled_together_wait_once() -> None:
    """Each slept for as long as its own old answer said, in turn, after the one before had got through."""
    clock, all_sent = FakeClock(0.0, speed=0.0), threading.Barrier(8)
    given, late = Throttling("here", clock.sleep, silent, never), threading.local()

    def send() -> float | None:
        if hasattr(late, "sent"):
            return None
        late.sent = all_sent.wait()
        return 5.0

    assert in_parallel(lambda _: given.answered(send, lambda told: told), range(8)) == [None] * 8
    assert clock.now() == 5


@pytest.mark.parametrize(("stop_at", "over"), [(2.0, 2.0), (1e9, 60.0)])
def test_a_throttled_request_gives_up_when_somebody_asks_for_an_end_or_others_alone_get_through(
    stop_at: float, over: float
) -> None:
    clock = FakeClock(0.0, speed=0.0)

    def pause(seconds: float) -> None:
        clock.sleep(seconds)
        assert given.answered(lambda: None, lambda told: told) is None

    given = Throttling("here", pause, silent, lambda: clock.now() >= stop_at)
    assert given.answered(lambda: 15.0, lambda told: told) == 15
    assert clock.now() == over


@pytest.mark.parametrize("told", [0.0, 7.0, 30.0, 120.0])
def test_the_moment_that_a_cloud_names_is_kept_to_the_second(told: float) -> None:
    given, clock = patience()
    assert given.ask(failing(1, ThrottledError("slow down", CALL, told))) == "done"
    assert clock.now() == told


def test_giving_up_is_with_what_was_said_last_and_within_the_deadline() -> None:
    given, clock = patience()
    with pytest.raises(ThrottledError):
        given.ask(failing(10**6, ThrottledError("slow down", CALL)))
    assert clock.now() <= 300
    assert given.calls == 12
    given, clock = patience()
    with pytest.raises(ThrottledError):
        given.ask(failing(10**6, ThrottledError("come back tomorrow", CALL, 86_400.0)))
    assert (given.calls, clock.now()) == (1, 0.0)


def test_all_requests_of_a_run_share_one_budget_of_calls() -> None:
    given, _ = patience(RetryLimits(spare_calls=5))
    given.expect(2)
    for _ in range(3):
        assert given.ask(failing(2, UnavailableError("?", CALL))) == "done"
    with pytest.raises(UnavailableError):
        given.ask(failing(5, UnavailableError("?", CALL)))
    assert given.calls == 11


def test_a_wait_ends_when_somebody_asks_for_an_end() -> None:
    clock = FakeClock(0.0, speed=0.0)
    given = Patience(clock, RetryLimits(), lambda: clock.now() >= 2)
    with pytest.raises(StoppedError):
        given.pause(60)
    assert 2 <= clock.now() < 3
    with pytest.raises(StoppedError):
        given.ask(lambda: "never asked")
    assert given.calls == 0


@pytest.mark.parametrize("sent_at", [0, 2])
def test_an_answer_to_a_request_sent_before_a_refusal_does_not_prolong_the_wait(sent_at: int) -> None:
    """Whatever came late began the 20 seconds of all anew."""
    clock, waited = FakeClock(0.0, speed=0.0), threading.Event()

    def pause(seconds: float) -> None:
        clock.sleep(seconds)
        if clock.now() >= sent_at and not late.ident:
            start_late()
        if clock.now() >= 10:
            waited.set()
            late.join()

    def send_late() -> float | None:
        sent.set()
        return None if waited.wait(10) else -1.0

    def start_late() -> None:
        late.start()
        sent.wait(10)

    given, sent = Throttling("here", pause, silent, never), threading.Event()
    late = threading.Thread(target=lambda: given.answered(send_late, lambda told: told))
    if not sent_at:
        start_late()
    assert given.answered(lambda: -1.0, lambda told: told) == -1.0
    assert clock.now() == 19.5
