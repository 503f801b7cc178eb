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

import difflib
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from hcloud.catalog.intake import number, shortened
from hcloud.catalog.overlay import Match, OverlayRule
from hcloud.errors import InputError, Problem
from hcloud.model.catalog import Provider, PurchaseOption
from hcloud.readers.prices.payload import decode, read_bytes
from hcloud.readers.safe_yaml import load_yaml

_LARGEST = 1 << 22

Amount = Annotated[Decimal, BeforeValidator(lambda value: None if value is None else number(value))]
Day = Annotated[date, BeforeValidator(lambda value: date.fromisoformat(value) if isinstance(value, str) else value)]
Pattern = Annotated[str, Field(min_length=1, max_length=100)]


class _OverlayPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class _Match(_OverlayPart):
    """``match`` of a rule."""

    provider: Provider | None = None
    region: Pattern = "*"
    family: Pattern = "*"
    type: Pattern = "*"
    option: PurchaseOption | None = None
    os: Pattern = "*"
    tenancy: Pattern = "*"


class _Rule(_OverlayPart):
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


class _Overlay(_OverlayPart):
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
    try:
        overlay = _Overlay.model_validate(document)
    except ValidationError as error:
        raise InputError(f"{name} is no valid overlay of prices", _problems(error, name)) from None
    names = [r.name for r in overlay.rules]
    if repeated := sorted({n for n in names if names.count(n) > 1}):
        problems = [Problem(name, "rules", f"two rules are called {n!r}", "each name once") for n in repeated]
        raise InputError(f"{name} is no valid overlay of prices", problems)
    return tuple(_rule(r) for r in overlay.rules)


def _rule(rule: _Rule) -> OverlayRule:
    m = rule.match
    match = Match(m.provider, m.region, m.family, m.type, m.option, m.os, m.tenancy)
    return OverlayRule(rule.name, match, rule.percent, rule.hourly, rule.capacity, rule.valid_from, rule.valid_to)


def _problems(error: ValidationError, name: str) -> Iterable[Problem]:
    for entry in error.errors(include_url=False):
        where = ".".join(str(part) for part in entry["loc"]) or "the file"
        allowed = entry["msg"]
        if entry["type"] == "extra_forbidden":
            allowed = _meant(str(entry["loc"][-1]), len(entry["loc"]))
        value = "" if isinstance(entry["input"], (dict, list)) else shortened(entry["input"])
        if entry["type"] == "missing":
            value, allowed = "is missing", "required"
        yield Problem(name, where, value or "not as it should be", allowed)


def _meant(key: str, depth: int) -> str:
    models: dict[int, type[BaseModel]] = {1: _Overlay, 3: _Rule}
    model = models.get(depth, _Match)
    close = difflib.get_close_matches(key, model.model_fields, 1)
    return f"unknown key; did you mean {close[0]!r}?" if close else f"unknown; allowed: {', '.join(model.model_fields)}"
