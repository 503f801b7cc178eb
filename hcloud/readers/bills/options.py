"""The keys that steer how a bill is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from hcloud.errors import UsageError, did_you_mean
from hcloud.model.bill import GAP_DAYS
from hcloud.units import parse_decimal

CURRENCY = "USD"
MISSING_DAYS = "missing_days"
FINISHED = "finished"
_MOST_DAYS = 367
_RATE = re.compile(r"rate_([A-Za-z]{3})")


@dataclass(frozen=True, slots=True)
class BillOptions:
    """``rates`` says what one unit of a currency is in US dollars (key ``rate_EUR=1.08``); a currency without a rate is
    an error. So many days in a row without any machine count as not delivered (key ``missing_days=7``). ``finished``:
    all months of the bill are over (key ``finished=yes``)."""

    rates: Mapping[str, Decimal] = field(default_factory=lambda: MappingProxyType({}))
    gap_days: int = GAP_DAYS
    finished: bool = False


def bill_options(keys: Mapping[str, str]) -> BillOptions:
    """The options of ``key=value`` texts; UsageError for an unknown key or a rate that is none."""
    rates: dict[str, Decimal] = {}
    gap_days, finished = GAP_DAYS, False
    for key, text in keys.items():
        if key == MISSING_DAYS:
            gap_days = _days(text)
        elif key == FINISHED:
            finished = _is_yes(text)
        elif (found := _RATE.fullmatch(key)) is not None:
            rates[found[1].upper()] = _rate(key, text)
        else:
            close = did_you_mean(key, ["rate_EUR", MISSING_DAYS, FINISHED])
            raise UsageError(
                f"{key!r} is not a key of bills{close}", hint="rate_EUR=1.08, missing_days=7, finished=yes"
            )
    return BillOptions(MappingProxyType(rates), gap_days, finished)


def is_of_bill(key: str) -> bool:
    """Whether a key steers how a bill is read."""
    return key in (MISSING_DAYS, FINISHED) or _RATE.fullmatch(key) is not None


def _rate(key: str, text: str) -> Decimal:
    try:
        rate = parse_decimal(text)
    except ValueError as error:
        raise UsageError(f"{key}: {error}") from error
    if not rate.is_finite() or not 0 < rate < 10**6:
        raise UsageError(f"{key}: {text} is not above 0 and below 1,000,000")
    return rate


def _days(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < _MOST_DAYS:
        raise UsageError(f"{MISSING_DAYS}: {text!r} is not a whole number of days from 1 to {_MOST_DAYS - 1}")
    return int(text)


def _is_yes(text: str) -> bool:
    if text not in ("yes", "no"):
        raise UsageError(f"{FINISHED}: {text!r} is not yes or no")
    return text == "yes"
