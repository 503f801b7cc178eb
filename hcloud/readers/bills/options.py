"""The keys that steer how a bill is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from hcloud.errors import UsageError, did_you_mean
from hcloud.units import parse_decimal

CURRENCY = "USD"
_RATE = re.compile(r"rate_([A-Za-z]{3})")


@dataclass(frozen=True, slots=True)
class BillOptions:
    """``rates`` says what one unit of a currency is in US dollars (key ``rate_EUR=1.08``); a currency without a rate is
    an error."""

    rates: Mapping[str, Decimal] = field(default_factory=lambda: MappingProxyType({}))


def bill_options(keys: Mapping[str, str]) -> BillOptions:
    """The options of ``key=value`` texts; UsageError for an unknown key or a rate that is none."""
    rates: dict[str, Decimal] = {}
    for key, text in keys.items():
        found = _RATE.fullmatch(key)
        if found is None:
            raise UsageError(f"{key!r} is not a key of bills{did_you_mean(key, ['rate_EUR'])}", hint="rate_EUR=1.08")
        try:
            rate = parse_decimal(text)
        except ValueError as error:
            raise UsageError(f"{key}: {error}") from error
        if not rate.is_finite() or not 0 < rate < 10**6:
            raise UsageError(f"{key}: {text} is not above 0 and below 1,000,000")
        rates[found[1].upper()] = rate
    return BillOptions(MappingProxyType(rates))
