"""Faults without a wire: what each kind of a fault plan means to somebody who asks the cloud in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hcloud.errors import (
    CloudError,
    CredentialsError,
    DeniedError,
    HcloudError,
    NoCapacityError,
    QuotaError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.fake.faults import Asked, Kind, Rule
from hcloud.fake.in_memory.world import World
from hcloud.fake.ledger import Request

Found = TypeVar("Found")

_LOST_BEFORE = (Kind.SERVER_ERROR, Kind.UNAVAILABLE, Kind.DROPPED_BEFORE, Kind.NONSENSE_BEFORE, Kind.REDIRECT)
_LOST_AFTER = (Kind.DROPPED_AFTER, Kind.NONSENSE)
_MAKES_NONE: dict[Kind, tuple[type[CloudError], str]] = {
    Kind.NO_CAPACITY: (NoCapacityError, "there is none left of this type here"),
    Kind.QUOTA: (QuotaError, "the limit of the account is reached: 0 left of 0"),
    Kind.OPERATION_FAILS: (NoCapacityError, "the operation ended without a machine"),
}
"""What is said where machines would have to be made: an order that was carried out before is answered all the same."""
_SAYS_NO: dict[Kind, tuple[type[CloudError], str]] = {
    Kind.DENIED: (DeniedError, "not allowed"),
    Kind.EXPIRED: (CredentialsError, "the credentials have expired"),
    Kind.SKEWED: (CredentialsError, "the signature is not valid yet or any more: check the clock of this machine"),
}


def serve(world: World, asked: Asked, act: Callable[[Rule | None], Found]) -> Found:
    """Answer one request: its role, the rule it falls under, the deed, and what becomes of the answer.

    Raises what the request would be answered with; everything is noted in the ledger.
    """
    rule = world.faults.strike(asked, world.clock.now())
    if rule is not None and rule.answer is Kind.SLOW:
        world.clock.sleep(rule.seconds)
    with world.ledger.held():
        world.interrupt_spot()
        try:
            _admit(world, asked, rule)
            found = act(rule)
            if rule is not None and rule.answer is Kind.TWICE:
                found = act(rule)
        except HcloudError as error:
            _note(world, asked, type(error).__name__ if rule is None else rule.answer, acted=False)
            raise
        _note(world, asked, "ok" if rule is None else rule.answer, acted=asked.mutating)
        if asked.mutating:
            world.keep()
    if rule is not None and rule.answer in _LOST_AFTER:
        raise _lost(world, asked, rule)
    return found


def _admit(world: World, asked: Asked, rule: Rule | None) -> None:
    if not world.faults.allows(asked):
        raise DeniedError(f"{asked.principal} may not do this", world.call(asked.operation, Kind.DENIED))
    if rule is None:
        return
    if rule.answer is Kind.THROTTLED:
        call = world.call(asked.operation, Kind.THROTTLED)
        raise ThrottledError("too many requests", call, retry_after=rule.retry_after)
    if rule.answer in _LOST_BEFORE:
        raise _lost(world, asked, rule)
    if rule.answer in _SAYS_NO:
        error, words = _SAYS_NO[rule.answer]
        raise error(words, world.call(asked.operation, rule.code or rule.answer))


def refuse_new(world: World, operation: str, rule: Rule | None) -> None:
    """Refuse to make anything new, where a rule says so."""
    if rule is None or rule.answer not in _MAKES_NONE:
        return
    if rule.answer is Kind.OPERATION_FAILS:
        world.clock.sleep(world.faults.plan.operation_delay)
    error, words = _MAKES_NONE[rule.answer]
    code = Kind.NO_CAPACITY if error is NoCapacityError else rule.answer
    raise error(words, world.call(operation, rule.code or code))


def _lost(world: World, asked: Asked, rule: Rule) -> CloudError:
    call = world.call(asked.operation, rule.code or rule.answer)
    if asked.mutating:
        return UnknownOutcomeError("no answer that could be understood", call)
    return UnavailableError("no answer that could be understood", call)


def _note(world: World, asked: Asked, outcome: str, *, acted: bool) -> None:
    entry = Request(world.clock.now(), asked.operation, asked.mutating, asked.principal, outcome, acted)
    world.ledger.requests.append(entry)
