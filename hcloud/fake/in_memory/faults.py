"""Faults without a wire: what each kind of a fault plan means to somebody who asks the cloud in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from typing import TypeVar

from hcloud.errors import (
    CloudError,
    CredentialsError,
    DeniedError,
    HcloudError,
    InputError,
    NoCapacityError,
    Problem,
    QuotaError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.fake.faults import FaultKind, FaultPlan, FaultRule, InterceptedRequest
from hcloud.fake.in_memory.world import MemoryWorld

Found = TypeVar("Found")

OPERATIONS = (
    *("launch", "terminate", "machines", "look", "examine", "notices", "console", "zones", "quotas", "scope", "image"),
    *("quote", "buy", "commitments", "cancel"),
)
"""What rules and roles name in memory."""
ALL_INSTANCES = "instances"
"""The quota of all machines; others are named by a type."""
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


def check_plan(plan: FaultPlan, types: Collection[str], where: str) -> None:
    """InputError for what a fault plan says that a cloud in memory would ignore: names of a cloud that listens."""
    if problems := [Problem(where, *said) for said in _ignored(plan, types)]:
        hint = f"in memory operations are {', '.join(OPERATIONS)}; those of a cloud are for hcloud fake up --faults"
        raise InputError(f"{where}: names what a rehearsal in memory does not have", problems, hint=hint)


def _ignored(plan: FaultPlan, types: Collection[str]) -> Iterator[tuple[str, str, str]]:
    for number, rule in enumerate(plan.rules):
        if not any(fnmatchcase(name, rule.on) for name in OPERATIONS):
            yield f"rules.{number}.on", rule.on, "no operation in memory"
    for name in plan.quotas:
        if name != ALL_INSTANCES and name not in types:
            yield "quotas", name, f"{ALL_INSTANCES}, or an instance type, in machines"
