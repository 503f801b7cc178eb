"""Fault plans: a YAML file that says what a fake cloud gets wrong, when, and how often; drawn from a seed."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from hcloud.errors import FileError, InputError, Problem
from hcloud.model.checked import problems_of
from hcloud.model.files import HEAD, check_sort, kind_of, no_such_file
from hcloud.units import parse_duration


class FaultKind(StrEnum):
    """What a rule makes of a request. Those after which the cloud has acted are said so; every server knows how its
    cloud says each of them on the wire."""

    THROTTLED = "throttled"
    NO_CAPACITY = "no-capacity"
    QUOTA = "quota"
    DENIED = "denied"
    EXPIRED = "expired-credentials"
    SKEWED = "clock-skew"
    SERVER_ERROR = "server-error"
    UNAVAILABLE = "unavailable"
    DROPPED_BEFORE = "dropped-before"  # the connection ends, nothing was done
    DROPPED_AFTER = "dropped-after"  # it was done, the connection ends without an answer
    NONSENSE = "nonsense"  # it was done, the answer is HTML, or cut off
    NONSENSE_BEFORE = "nonsense-before"  # it was not done, the answer is the same
    SLOW = "slow"  # it is done after ``seconds``
    TWICE = "twice"  # it is done as if the request had come twice
    EMPTY = "empty"  # a list is answered with nothing in it
    STALE = "stale"  # a list is answered as things were ``seconds`` ago; what is asked for by its id is not
    MISSES_NEW = "misses-new"  # a list leaves out what was made in the last ``seconds``
    SHOWS_ENDED = "shows-ended"  # a list shows what was ended in the last ``seconds`` as if it were not
    NOT_FOUND = "not-found"
    PARTIAL = "partial"  # of what was ordered only ``share`` comes
    UNTAGGED = "untagged"  # machines are made, their tags are dropped
    OPERATION_FAILS = "operation-fails"  # accepted; the long-running operation ends in no capacity
    UNKNOWN_WORDS = "unknown-words"  # answers carry fields and states no client knows
    REDIRECT = "redirect"  # to another host


BROKEN_ANSWERS = ("html", "truncated", "empty", "json", "gzip", "proxy")
"""In which ways an answer makes no sense, by a rule's ``code``; without one it is an HTML page with status 200."""

Seconds = Annotated[
    float, BeforeValidator(lambda v: float(parse_duration(v)) if isinstance(v, str) else v), Field(ge=0)
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FaultRule(_Strict):
    """One thing that goes wrong: on which operations (the cloud's own names, with * and ?), and which of them.

    Calls of a rule are counted from 1 over the operations it names. All conditions given must hold. ``principals``
    names roles; none: all. ``after`` and ``until`` are seconds since the fake started.
    """

    on: str = "*"
    answer: FaultKind
    calls: tuple[Annotated[int, Field(ge=1)], ...] = ()
    first: Annotated[int, Field(ge=1)] | None = None
    from_call: Annotated[int, Field(ge=1)] | None = None
    probability: Annotated[float, Field(ge=0, le=1)] = 1.0
    after: Seconds = 0.0
    until: Seconds | None = None
    types: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    principals: tuple[str, ...] = ()
    retry_after: Seconds | None = None
    seconds: Seconds = 0.0
    share: Annotated[float, Field(ge=0, le=1)] = 0.5
    code: str = ""
    mutating: bool | None = None

    @field_validator("code")
    @classmethod
    def _known(cls, code: str, info: ValidationInfo) -> str:
        breaks = info.data.get("answer") in (FaultKind.NONSENSE, FaultKind.NONSENSE_BEFORE)
        if breaks and code not in ("", *BROKEN_ANSWERS):
            raise ValueError(f"one of {', '.join(BROKEN_ANSWERS)}")
        return code


@dataclass(frozen=True, slots=True)
class Lag:
    """How many seconds a list is behind: with what was made since (and its tags), and with what was ended since."""

    made: float = 0.0
    ended: float = 0.0

    @classmethod
    def of(cls, rule: FaultRule | None) -> Lag:
        """By the rule that a list falls under; other kinds of rules leave it up to date."""
        if rule is None:
            return cls()
        made = rule.seconds if rule.answer in (FaultKind.STALE, FaultKind.MISSES_NEW) else 0.0
        return cls(made, rule.seconds if rule.answer in (FaultKind.STALE, FaultKind.SHOWS_ENDED) else 0.0)


class ClockPlan(_Strict):
    """When the fake's clock starts (now, where nothing is said) and how fast it goes."""

    start: datetime | None = None
    speed: Annotated[float, Field(ge=0)] = 1.0


class FaultPlan(_Strict):
    """Everything that a fake cloud is told: how slow and how full it is, who may do what, and what goes wrong.

    ``stock`` is machines by ``type``, ``zone`` or ``type@zone`` (``*`` matches), ``quotas`` by the name of the cloud,
    ``roles`` the operations (with * and ?) by the name of a credential; a name that is not there may do everything.
    ``price_factor`` multiplies every price that the fake tells, ``spot_notices`` are seconds after the start at which
    all spot machines get notice, two minutes before they end, and ``maintenance`` the same for all machines: what they
    run on is maintained ten minutes later, which ends them.
    """

    format_version: Literal["1.0"] = "1.0"
    seed: Annotated[int, Field(ge=0)] = 0
    clock: ClockPlan = ClockPlan()
    visibility_delay: Seconds = 0.0
    tag_delay: Seconds = 0.0
    spin_up: Seconds = 0.0
    end_delay: Seconds = 0.0
    linger: Seconds = 3600.0
    operation_delay: Seconds = 0.0
    tokens: bool = True
    stock: Mapping[str, Annotated[int, Field(ge=0)]] = {}
    quotas: Mapping[str, Annotated[int, Field(ge=0)]] = {}
    roles: Mapping[str, tuple[str, ...]] = {}
    price_factor: Annotated[float, Field(gt=0)] = 1.0
    spot_notices: tuple[Seconds, ...] = ()
    maintenance: tuple[Seconds, ...] = ()
    rules: tuple[FaultRule, ...] = ()


@dataclass(frozen=True, slots=True)
class InterceptedRequest:
    """A request as rules see it."""

    operation: str
    mutating: bool
    principal: str = ""
    instance_type: str = ""
    zone: str = ""


@dataclass(slots=True)
class Faults:
    """A fault plan at work: counts calls and draws chances, both in the order in which requests arrive."""

    plan: FaultPlan
    started: float
    _counts: dict[int, int] = field(default_factory=dict)
    _chance: random.Random = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.plan.seed)

    def strike(self, asked: InterceptedRequest, now: float) -> FaultRule | None:
        """The first rule that applies to a request; every rule that names its operation counts it."""
        with self._lock:
            struck = None
            for number, rule in enumerate(self.plan.rules):
                if not _names(rule, asked):
                    continue
                count = self._counts[number] = self._counts.get(number, 0) + 1
                drawn = rule.probability >= 1 or self._chance.random() < rule.probability
                if struck is None and drawn and _counts(rule, count) and self._in_time(rule, now):
                    struck = rule
            return struck

    def allows(self, asked: InterceptedRequest) -> bool:
        """Whether the role of a request may do it."""
        allowed = self.plan.roles.get(asked.principal)
        return allowed is None or any(fnmatchcase(asked.operation, pattern) for pattern in allowed)

    def stock(self, instance_type: str, zone: str) -> int | None:
        """How many machines of a type a zone holds in all, by the most exact entry; None without a limit."""
        for name in (f"{instance_type}@{zone}", instance_type, zone, "*"):
            if name in self.plan.stock:
                return self.plan.stock[name]
        return None

    def _in_time(self, rule: FaultRule, now: float) -> bool:
        age = now - self.started
        return age >= rule.after and (rule.until is None or age < rule.until)


def _names(rule: FaultRule, asked: InterceptedRequest) -> bool:
    return (
        fnmatchcase(asked.operation, rule.on)
        and (rule.mutating is None or rule.mutating == asked.mutating)
        and (not rule.types or asked.instance_type in rule.types)
        and (not rule.zones or asked.zone in rule.zones)
        and (not rule.principals or asked.principal in rule.principals)
    )


def _counts(rule: FaultRule, count: int) -> bool:
    stated = [
        not rule.calls or count in rule.calls,
        rule.first is None or count <= rule.first,
        rule.from_call is None or count >= rule.from_call,
    ]
    return all(stated)


def fault_plan(document: object, where: str) -> FaultPlan:
    """A fault plan from what a YAML file holds; raises InputError with every problem."""
    if not isinstance(document, dict | None):
        known = ", ".join(FaultPlan.model_fields)
        raise InputError(
            f"{where}: not a fault plan", [Problem(where, "top", repr(document)[:60], "a mapping")], hint=known
        )
    try:
        return FaultPlan.model_validate(document if document is not None else {})
    except ValidationError as error:
        raise InputError(f"{where}: not a fault plan", problems_of(error, where)) from None


def read_text(path: Path) -> str:
    """The text of a fault plan file; InputError where there is none."""
    try:
        if kind := kind_of(path.stat().st_mode):
            raise no_such_file(str(path), "a fault plan", (kind, []), "")
        data = path.read_bytes()
        check_sort(path, data[:HEAD], "a fault plan", "empty")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise FileError.of(error, path, "read") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason}") from None
