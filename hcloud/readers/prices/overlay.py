"""Reads the YAML of negotiated prices; every problem in the file is reported at once, with its place in it.

::

    rules:
      - name: spring agreement
        match: {provider: aws, region: "eu-*", family: "m*", option: on-demand}
        percent: 12          # off the listed price; or  hourly: 0.081  in dollars
        capacity: 40         # instances at that price, left out: no limit
        valid_from: 2026-03-01
        valid_to: 2026-12-31
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from hcloud.catalog.intake import number
from hcloud.catalog.overlay import Match, OverlayRule
from hcloud.errors import InputError, Problem
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.model.must_be import DAY
from hcloud.readers.prices.payload import decode, read_bytes
from hcloud.readers.safe_yaml import load_yaml
from hcloud.readers.section import Section, validated

_LARGEST = 1 << 22

Amount = Annotated[Decimal, BeforeValidator(lambda value: None if value is None else number(value))]


def _day(value: object) -> object:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError as error:
        why = "" if str(error).startswith("Invalid") else f" ({error})"
        raise ValueError(f"{DAY}{why}") from None


Day = Annotated[date, BeforeValidator(_day)]
Pattern = Annotated[str, Field(min_length=1, max_length=100)]


class _Match(Section):
    """``match`` of a rule."""

    provider: Provider | None = None
    region: Pattern = "*"
    family: Pattern = "*"
    type: Pattern = "*"
    option: PurchaseOption | None = None
    os: Pattern = "*"
    tenancy: Pattern = "*"


class _Rule(Section):
    """One rule of the file."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    match: _Match
    percent: Annotated[Amount, Field(gt=0, lt=100)] | None = None
    hourly: Annotated[Amount, Field(gt=0, le=100_000)] | None = None
    capacity: Annotated[int, Field(gt=0, le=1_000_000_000, strict=True)] | None = None
    valid_from: Day | None = None
    valid_to: Day | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.percent is None) == (self.hourly is None):
            raise ValueError("give either percent or hourly")
        if self.valid_from and self.valid_to and self.valid_to < self.valid_from:
            raise ValueError("valid_to comes before valid_from")
        return self


class _Overlay(Section):
    """The file."""

    format_version: Annotated[str, Field(pattern=r"^1\.\d+$")] = "1.0"
    rules: Annotated[list[_Rule], Field(min_length=1, max_length=10_000)]


def read_overlay(path: Path) -> tuple[OverlayRule, ...]:
    """The rules of a file in its order; raises InputError with all its problems."""
    return parse_overlay(decode(read_bytes(path, _LARGEST), str(path), _LARGEST), str(path))


def parse_overlay(text: str, name: str) -> tuple[OverlayRule, ...]:
    """The rules in a YAML text; raises InputError with all its problems."""
    document = load_yaml(text, name, decimals=True)
    if not isinstance(document, dict):
        raise InputError(f"{name} is no overlay of prices: it holds no 'rules'")
    overlay = validated(_Overlay, document, name, "overlay of prices")
    names = [r.name for r in overlay.rules]
    if repeated := sorted({n for n in names if names.count(n) > 1}):
        problems = [Problem(name, "rules", f"two rules are called {n!r}", "each name once") for n in repeated]
        raise InputError(f"{name} is no valid overlay of prices", problems)
    return tuple(_rule(r) for r in overlay.rules)


def _rule(rule: _Rule) -> OverlayRule:
    m = rule.match
    match = Match(m.provider, m.region, m.family, m.type, m.option, m.os, m.tenancy)
    return OverlayRule(rule.name, match, rule.percent, rule.hourly, rule.capacity, rule.valid_from, rule.valid_to)
