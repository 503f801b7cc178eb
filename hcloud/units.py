"""Parse and format seconds, dollars, cores and GiB, the same way everywhere."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

SECONDS_PER_HOUR = 3600
HOURS_PER_YEAR = 8760
HOURS_PER_MONTH = 730
CENT = Decimal("0.01")
RATE = Decimal("0.000001")

_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800} | {
    unit: hours * SECONDS_PER_HOUR for unit, hours in (("mo", HOURS_PER_MONTH), ("y", HOURS_PER_YEAR))
}
DURATION = (
    r"([0-9]+(?:\.[0-9]+)?)\s*(?:(s|secs?|seconds?)|(m|mins?|minutes?)|(h|hrs?|hours?)|(d|days?)|(w|wks?|weeks?)"
    r"|(mos?|months?)|(y|yrs?|years?))"
)
"""A number and its unit: a group for each of ours."""
DURATIONS = "90s, 10min, 1h, 7d, 2w, 6mo, 1y"
_DURATION = re.compile(DURATION)
_MILLISECONDS = {"us": Decimal("0.001"), "µs": Decimal("0.001"), "ms": Decimal(1), "s": Decimal(1000)}
_TIME_UNITS = (
    (r"s(ec(ond)?s?)?", 1.0),
    (r"(m|milli)s(ec(ond)?s?)?", 1e-3),
    (r"([uµμ]|micro)s(ec(ond)?s?)?", 1e-6),
    (r"(n|nano)s(ec(ond)?s?)?", 1e-9),
    (r"min(ute)?s?", 60.0),
    (r"h((ou)?rs?)?", 3600.0),
    (r"d(ays?)?", 86400.0),
)
_THOUSANDS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_SMALL_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(us|µs|ms|s)", re.ASCII)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kMG]?)", re.ASCII)
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


def parse_duration(text: str) -> int:
    """Whole seconds of ``90s``, ``10min`` (or ``10m``), ``1h``, ``7d``, ``2 weeks``, ``6mo``, ``1y`` (8,760 hours).

    Raises ValueError for anything else.
    """
    plain = text.strip()
    if plain.endswith("M") and _DURATION.fullmatch(plain.lower()):
        number = plain[:-1].strip()
        raise ValueError(f"{text!r} may be months or minutes; write {number}mo or {number}min")
    match = _DURATION.fullmatch(plain.lower())
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write for example {DURATIONS} or '2 years'")
    number, *units = match.groups()
    seconds = Decimal(number) * next(of for unit, of in zip(units, _SECONDS.values(), strict=True) if unit)
    if seconds != int(seconds):
        raise ValueError(f"{text!r} is not a whole number of seconds")
    return int(seconds)


def seconds_of_unit(unit: str) -> float | None:
    """Seconds of a unit of time (``ms``, ``µs``, ``Minutes``), also for each request or run (``ms/req``); None of any
    other unit."""
    word = unit.partition("/")[0].strip()
    return next((seconds for names, seconds in _TIME_UNITS if re.fullmatch(names, word, re.IGNORECASE)), None)


def parse_milliseconds(text: str) -> float:
    """Milliseconds of ``10ms``, ``200us`` or ``1s``. Raises ValueError for anything else."""
    match = _SMALL_TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time; write for example 10ms, 200us or 1s")
    return float(Decimal(match[1]) * _MILLISECONDS[match[2]])


def parse_amount(text: str) -> float:
    """A number that may end in k, M or G: ``100k`` is 100,000. Raises ValueError for anything else."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not an amount; write for example 500, 100k or 2.4M")
    return float(Decimal(match[1]) * _THOUSANDS[match[2]])


def format_duration(seconds: int) -> str:
    """The largest unit that divides the duration: ``31536000`` is ``1y``, ``300`` is ``5min``."""
    for unit in ("y", "w", "d", "h", "min"):
        if seconds and seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]}{unit}"
    return f"{seconds}s"


def format_span(seconds: float) -> str:
    """A measured time in the unit that suits it, written like a duration: ``14d``, ``2.1h``, ``7.5min``."""
    for unit in ("d", "h", "min"):
        if seconds >= 2 * _SECONDS[unit]:
            return f"{seconds / _SECONDS[unit]:,.1f}".removesuffix(".0") + unit
    return f"{seconds:,.1f}".removesuffix(".0") + "s"


def counted(count: int, noun: str, several: str = "") -> str:
    """A number of things in words: ``1 row``, ``2 rows``, ``1,200 entries``; ``several`` is an irregular plural."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def counted_vcpus(number: float) -> str:
    """``1 vCPU``, ``0.5 vCPUs``, ``16 vCPUs``."""
    return f"{number:g} vCPU" if number == 1 else f"{number:g} vCPUs"


def and_last(names: Iterable[str], word: str = "and") -> str:
    """Names in a row: ``a``, ``a and b``, ``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def some_of(names: Iterable[str], most: int) -> str:
    """The first names of many, and how many more there are: ``a, b and 1,200 more``."""
    listed = list(names)
    more = f" and {len(listed) - most:,} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def machines(counts: Mapping[str, int]) -> str:
    """So many of each type in words: ``4 x m7i.4xlarge and 1 x m7i.large``."""
    return and_last(f"{count:,} x {name}" for name, count in counts.items())


def parse_decimal(text: str) -> Decimal:
    """A finite decimal written in ASCII digits; ``1_000``, ``nan``, ``inf`` and other scripts raise ValueError."""
    stripped = text.strip()
    if _PLAIN_NUMBER.fullmatch(stripped) is None:
        raise ValueError(f"{text!r} is not a number")
    try:
        return Decimal(stripped)
    except InvalidOperation as error:
        raise ValueError(f"{text!r} is not a number") from error


def cents(amount: Decimal) -> Decimal:
    """Dollars rounded half up to the cent."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)


def rate(amount: Decimal) -> Decimal:
    """A unit price in dollars an hour, rounded half up to a millionth of a dollar."""
    return amount.quantize(RATE, rounding=ROUND_HALF_UP)


def plain(amount: Decimal) -> str:
    """A decimal without exponent and without trailing zeros: what files and digests hold."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") or "0" if "." in text else text


def percent(share: float | Decimal | None, *, sign: str = "", none: str = "-") -> str:
    """A share to a tenth of a percent: ``12.5%``, with ``sign="+"`` also ``+12.5%``; ``none`` where there is none."""
    written = none if share is None or math.isnan(share) else f"{share:{sign}z,.1%}"
    return "0.0%" if written == "+0.0%" else written


def short_percent(share: float | Decimal, places: int = 1) -> str:
    """A share without trailing zeros, as sentences have it: ``95%``, ``2.5%``."""
    return f"{share:.{places}%}".removesuffix("%").rstrip("0").rstrip(".") + "%"


def format_money(amount: Decimal, places: int = 0) -> str:
    """Dollars with thousands separators: ``$1,234`` or, with two places, ``$1,234.50``; ``below $0.01`` where so many
    places would say that it is nothing."""
    figure = format_figure(amount, places)
    if figure.startswith("<"):
        return f"below ${figure[1:]}"
    return f"-${figure[1:]}" if figure.startswith("-") else f"${figure}"


def exact_money(amount: Decimal) -> str:
    """Dollars to the cent: ``$1,234.50``, and ``$0.00`` where they are rounded to nothing."""
    return format_money(cents(amount), 2)


def signed_money(amount: Decimal) -> str:
    """A difference of dollars with its sign: ``+$12``, ``-$12``, and ``$0`` where it is rounded to nothing."""
    text = format_money(amount)
    return f"+{text}" if amount > 0 and text != "$0" else text


def format_figure(amount: Decimal, places: int = 0) -> str:
    """An amount in a column of dollars, rounded as :func:`format_money` does: half a dollar is one on every line.
    Of cents, what is less than the least that is shown is not shown as nothing: ``<0.01``."""
    rounded = amount.quantize(least := Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    if places and amount > 0 and not rounded:
        return f"<{least:f}"
    return f"{rounded if rounded else abs(rounded):,.{places}f}"


def rate_places(*hourly: Decimal | float) -> int:
    """How many places tell rates of dollars an hour apart: cents from a dime on, else hundredths of cents."""
    return 2 if any(rate * 10 >= 1 or not rate for rate in hourly) else 4


def format_hourly(hourly: Decimal) -> str:
    """A rate in a column of dollars an hour, in cents: what is below one in hundredths of it."""
    return format_figure(hourly, rate_places(hourly * 10))


def format_age(days: int) -> str:
    """The age of a price in words."""
    return "today" if days == 0 else f"{counted(days, 'day')} old"


def harmless(text: str) -> str:
    """Text on one line without what would steer a terminal or hide in it: what is not printable is spelled out."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts ``2c4g`` before ``10c4g``: numbers in a name by their value, letters by the alphabet."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts)
