"""Files of rules for ``hcloud policy check``: one check a rule, strict keys with a did-you-mean, every problem told."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from hcloud.errors import InputError, UsageError
from hcloud.model.catalog import PurchaseOption, ScopeName
from hcloud.model.files import none_such
from hcloud.model.plans.gate import Check, GateRule, Level
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.section import SPAN_IN_TEXT, Section, validated
from hcloud.units import parse_duration

LARGEST = 1 << 20
DAY = 86_400
YEAR = parse_duration("1y")
_CHECKS = tuple(check.value for check in Check)


def _years(value: object) -> object:
    if not isinstance(value, str):
        return value
    seconds = parse_duration(value)
    if seconds % YEAR:
        raise ValueError("must be whole years, for example 1y")
    return seconds // YEAR


def _days(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("must be a duration, for example 30d")
    return Decimal(parse_duration(value)) / DAY


Amount = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[Decimal, Field(ge=0, le=1, allow_inf_nan=False)]
Years = Annotated[
    int, BeforeValidator(_years), Field(ge=0, le=10), WithJsonSchema({"anyOf": [{"type": "integer"}, SPAN_IN_TEXT]})
]
Days = Annotated[Decimal, BeforeValidator(_days), WithJsonSchema(SPAN_IN_TEXT)]
Patterns = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(min_length=1)]


class RegretSection(Section):
    """What falling demand may cost."""

    fall: Annotated[Decimal, Field(gt=0, lt=1)] = Field(description="The part of the demand that is gone, 0.3 of all.")
    dollars: Amount = Field(description="Dollars over the horizon beyond the best plan in hindsight, at most.")


class HistorySection(Section):
    """How long a trace has to be before a commitment is bought on it."""

    minimum: Days = Field(description="Length of the trace, at least, as 28d.")
    term: Years = Field(0, description="Only terms of so many years or more, 1y or 3y; else every term.")


class RuleSection(Section):
    """One rule: exactly one check with its bound, and how it is taken."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [check]} for check in _CHECKS]})

    name: Annotated[str, Field(min_length=1, max_length=80)] | None = Field(
        None, description="What it is called in reports; else its check. No two rules are called the same."
    )
    level: Level = Field(Level.DENY, description="deny: exit 3 if the rule is broken; warn: only a warning.")
    required: bool | None = Field(
        None,
        description="Exit 9 where the plan lacks what it takes to check. Default: where it denies.",
    )
    why: Annotated[str, Field(max_length=500)] = Field("", description="Told to who breaks it.")
    hourly: Amount | None = Field(None, description="Dollars an hour, at most.")
    monthly: Amount | None = Field(None, description="Dollars a month, at most.")
    increase_hourly: Amount | None = Field(None, description="Dollars an hour more than --base, at most.")
    increase_monthly: Amount | None = Field(None, description="Dollars a month more than --base, at most.")
    increase_share: Amount | None = Field(None, description="Part by which it may cost more than --base, 0.1 is 10%.")
    providers: Annotated[tuple[ScopeName, ...], Field(min_length=1)] | None = Field(None, description="Allowed clouds.")
    regions: Patterns | None = Field(None, description="Allowed regions; shell patterns as eu-*.")
    types: Patterns | None = Field(None, description="Allowed instance types; shell patterns as m6i.* for a family.")
    denied_types: Patterns | None = Field(None, description="Instance types that are not allowed; shell patterns.")
    options: Annotated[tuple[PurchaseOption, ...], Field(min_length=1)] | None = Field(
        None, description="Allowed ways to pay for what is not owned already."
    )
    tags: Patterns | None = Field(None, description="Tags that every machine to launch must have.")
    commitment: Amount | None = Field(None, description="Dollars over the terms of all there is to buy, at most.")
    committed_share: Share | None = Field(
        None, description="Part of the mean vCPUs over the horizon that may be committed, owned included."
    )
    longest_term: Years | None = Field(None, description="The longest term of what there is to buy, 1y or 3y.")
    upfront: Amount | None = Field(None, description="Dollars due on one day, now or later, at most.")
    kept_qos: Share | None = Field(None, description="Part of the jobs predicted to keep performance, at least.")
    price_age: Days | None = Field(None, description="Age of the oldest price, at most, as 30d.")
    instances: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Instances at one moment, the rented ones at their peak, at most."
    )
    regret: RegretSection | None = Field(None, description="What falling demand may cost.")
    history: HistorySection | None = Field(None, description="How long a trace has to be before a term is bought.")

    @model_validator(mode="after")
    def _one_check(self) -> Self:
        given = [check for check in _CHECKS if getattr(self, check) is not None]
        if len(given) != 1:
            said = f"not {' and '.join(given)} at once" if given else f"one of {', '.join(_CHECKS)}"
            raise ValueError(f"a rule has exactly one check, {said}")
        return self

    @property
    def check(self) -> Check:
        """The one check it has."""
        return next(check for check in Check if getattr(self, check.value) is not None)

    def rule(self) -> GateRule:
        """The rule as it is checked."""
        check = self.check
        bound = number = getattr(self, check.value)
        fall, term = None, 0
        if isinstance(bound, RegretSection):
            fall, number = bound.fall, bound.dollars
        if isinstance(bound, HistorySection):
            term, number = bound.term, bound.minimum
        is_list = isinstance(bound, tuple)
        return GateRule(
            name=self.name or (check.value if self.level is Level.DENY else f"{check.value} ({self.level})"),
            check=check,
            level=self.level,
            bound=None if is_list else Decimal(number),
            allowed=tuple(str(name) for name in bound) if is_list else (),
            fall=fall,
            term_years=term,
            required=self.level is Level.DENY if self.required is None else self.required,
            why=self.why,
        )


class RulesFile(Section):
    """The whole of a file of rules."""

    format_version: Literal["1.0"] = "1.0"
    rules: Annotated[tuple[RuleSection, ...], Field(min_length=1)]


def rules_schema() -> dict[str, Any]:
    """The JSON schema of a file of rules, as people write it."""
    return RulesFile.model_json_schema()


def load_rules(path: Path) -> tuple[GateRule, ...]:
    """The rules of a file. Raises UsageError where there is none, InputError with every problem in it."""
    if not path.is_file():
        raise UsageError(none_such(path, "rules"), hint="name one with --rules; docs/guides/plan.md shows one")
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path}: larger than any file of rules ({LARGEST} bytes)")
    try:
        content = load_yaml(path.read_text(encoding="utf-8-sig"), str(path), decimals=True)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from None
    if content is None:
        raise InputError(f"{path}: holds no rules", hint="rules: [{monthly: 5000}]")
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise InputError(f"{path}: must be a mapping with the key rules", hint="rules: [{monthly: 5000}]")
    return parse_rules(content, str(path))


def parse_rules(content: dict[str, object], name: str) -> tuple[GateRule, ...]:
    """The rules of a file's content; raises InputError with every problem, its place and a did-you-mean."""
    rules = tuple(section.rule() for section in validated(RulesFile, content, name, "rules").rules)
    if twice := sorted(n for n, count in Counter(rule.name for rule in rules).items() if count > 1):
        raise InputError(f"{name}: several rules are called {', '.join(twice)}", hint="give each a name of its own")
    return rules
