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
from hcloud.fake.faults import FaultKind, FaultRule, InterceptedRequest
from hcloud.fake.in_memory.world import MemoryWorld

Found = TypeVar("Found")

_LOST_BEFORE = (
    FaultKind.SERVER_ERROR,
    FaultKind.UNAVAILABLE,
    FaultKind.DROPPED_BEFORE,
    FaultKind.NONSENSE_BEFORE,
    FaultKind.REDIRECT,
)
_LOST_AFTER = (FaultKind.DROPPED_AFTER, FaultKind.NONSENSE)
_MAKES_NONE: dict[FaultKind, tuple[type[CloudError], str]] = {
    FaultKind.NO_CAPACITY: (NoCapacityError, "there is none left of this type here"),
    FaultKind.QUOTA: (QuotaError, "the limit of the account is reached: 0 left of 0"),
    FaultKind.OPERATION_FAILS: (NoCapacityError, "the operation ended without a machine"),
}
"""What is said where machines would have to be made: an order that was carried out before is answered all the same."""
_SAYS_NO: dict[FaultKind, tuple[type[CloudError], str]] = {
    FaultKind.DENIED: (DeniedError, "not allowed"),
    FaultKind.EXPIRED: (CredentialsError, "the credentials have expired"),
    FaultKind.SKEWED: (CredentialsError, "the signature is not valid yet or any more: check the clock of this machine"),
}


def serve(world: MemoryWorld, asked: InterceptedRequest, act: Callable[[FaultRule | None], Found]) -> Found:
    """Answer one request: its role, the rule it falls under, the deed, and what becomes of the answer.

    Raises what the request would be answered with; everything is noted in the ledger.
    """

    def acted(rule: FaultRule | None) -> tuple[Found | HcloudError, str, bool]:
        said = None if rule is None else rule.answer
        try:
            _admit(world, asked, rule)
            found = act(rule)
            if rule is not None and said is FaultKind.TWICE:
                found = act(rule)
        except HcloudError as error:
            return error, said or type(error).__name__, False
        if asked.mutating:
            world.keep()
        lost = _lost(world, asked, rule) if rule is not None and said in _LOST_AFTER else None
        return lost or found, said or "ok", asked.mutating

    answer = world.serve(asked, acted)
    if isinstance(answer, HcloudError):
        raise answer
    return answer


def _admit(world: MemoryWorld, asked: InterceptedRequest, rule: FaultRule | None) -> None:
    if not world.faults.allows(asked):
        raise DeniedError(f"{asked.principal} may not do this", world.call(asked.operation, FaultKind.DENIED))
    if rule is None:
        return
    if rule.answer is FaultKind.THROTTLED:
        call = world.call(asked.operation, FaultKind.THROTTLED)
        raise ThrottledError("too many requests", call, retry_after=rule.retry_after)
    if rule.answer in _LOST_BEFORE:
        raise _lost(world, asked, rule)
    if rule.answer in _SAYS_NO:
        error, words = _SAYS_NO[rule.answer]
        raise error(words, world.call(asked.operation, rule.code or rule.answer))


def refuse_new(world: MemoryWorld, operation: str, rule: FaultRule | None) -> None:
    """Refuse to make anything new, where a rule says so."""
    if rule is None or rule.answer not in _MAKES_NONE:
        return
    if rule.answer is FaultKind.OPERATION_FAILS:
        world.clock.sleep(world.faults.plan.operation_delay)
    error, words = _MAKES_NONE[rule.answer]
    code = FaultKind.NO_CAPACITY if error is NoCapacityError else rule.answer
    raise error(words, world.call(operation, rule.code or code))


def _lost(world: MemoryWorld, asked: InterceptedRequest, rule: FaultRule) -> CloudError:
    call = world.call(asked.operation, rule.code or rule.answer)
    if asked.mutating:
        return UnknownOutcomeError("no answer that could be understood", call)
    return UnavailableError("no answer that could be understood", call)
