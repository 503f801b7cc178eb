"""Rules that a plan has to keep, and what came of checking it against them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

DENIED_EXIT, UNKNOWN_EXIT = 3, 9


class Level(StrEnum):
    """What a rule that is not kept does: it denies the plan, or is only said."""

    DENY = "deny"
    WARN = "warn"


class Check(StrEnum):
    """What a rule looks at; the value is its key in a file of rules."""

    HOURLY = "hourly"
    MONTHLY = "monthly"
    INCREASE_HOURLY = "increase_hourly"
    INCREASE_MONTHLY = "increase_monthly"
    INCREASE_SHARE = "increase_share"
    PROVIDERS = "providers"
    REGIONS = "regions"
    TYPES = "types"
    DENIED_TYPES = "denied_types"
    OPTIONS = "options"
    TAGS = "tags"
    COMMITMENT = "commitment"
    COMMITTED_SHARE = "committed_share"
    LONGEST_TERM = "longest_term"
    UPFRONT = "upfront"
    KEPT_QOS = "kept_qos"
    PRICE_AGE = "price_age"
    INSTANCES = "instances"
    REGRET = "regret"
    HISTORY = "history"


@dataclass(frozen=True, slots=True)
class GateRule:
    """One rule: ``bound`` for what is a number, ``allowed`` for what is a list of names or patterns (of TAGS: those
    that are required, of DENIED_TYPES: those that are not allowed). ``fall`` is of REGRET: the part of the demand that
    is gone; ``term_years`` of HISTORY: shorter terms are not looked at. Evidence that is ``required`` and missing stops
    a plan, too. ``why`` is told to who breaks it."""

    name: str
    check: Check
    level: Level = Level.DENY
    bound: Decimal | None = None
    allowed: tuple[str, ...] = ()
    fall: Decimal | None = None
    term_years: int = 0
    required: bool = True
    why: str = ""


class Status(StrEnum):
    """What came of a rule."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one rule: the figure (None where it is no number) and the bound in ``unit``, both in words, the
    addresses in the plan it is about, and what to do."""

    rule: GateRule
    status: Status
    actual: str
    allowed: str
    figure: Decimal | None = None
    unit: str = ""
    where: tuple[str, ...] = ()
    advice: str = ""

    @property
    def denies(self) -> bool:
        """Whether it denies the plan."""
        return self.status is Status.FAILED and self.rule.level is Level.DENY

    @property
    def lacks(self) -> bool:
        """Whether evidence is missing that is required."""
        return self.status is Status.UNKNOWN and self.rule.required


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of all rules for one plan, named as its file is."""

    plan: str
    rules: str
    findings: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        """3 where a rule denies the plan, else 9 where required evidence is missing, else 0."""
        if any(f.denies for f in self.findings):
            return DENIED_EXIT
        return UNKNOWN_EXIT if any(f.lacks for f in self.findings) else 0

    def count(self, status: Status, level: Level | None = None) -> int:
        """How many rules came to this."""
        return sum(f.status is status and level in (None, f.rule.level) for f in self.findings)
