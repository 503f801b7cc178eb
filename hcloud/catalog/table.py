"""A price book as CSV text in hcloud's own documented columns, and back.

Required columns: ``provider, region, instance_type, os, tenancy, option, term_years, payment, hourly, upfront, date,
source``. Prices are US dollars per instance; ``hourly`` is charged while the instance runs (or for every hour of the
term), ``upfront`` once. Optional: ``vcpus`` and ``memory_gib`` (both make the type known), ``family, units, arch,
category, gpus, current`` (else judged by the name), ``zone``, ``remaining`` (how many can still be had) and ``derived``
(from what a price that nobody published was made).
"""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import TypeVar

from hcloud.catalog.book import PriceBook
from hcloud.catalog.intake import PriceIntake, PriceRow, PriceSource, number, shortened
from hcloud.catalog.shapes import named_type
from hcloud.errors import InputError, Problem
from hcloud.model.catalog import InstanceType, Offer, OfferKey, Origin, Payment, Provider, PurchaseOption
from hcloud.units import plain

REQUIRED = (
    "provider", "region", "instance_type", "os", "tenancy", "option", "term_years", "payment", "hourly", "upfront",
    "date", "source",
)  # fmt: skip
_SHAPE_COLUMNS = ("vcpus", "memory_gib", "family", "units", "arch", "category", "gpus", "current")
OPTIONAL = (*_SHAPE_COLUMNS, "zone", "remaining", "derived")
COLUMNS = REQUIRED + OPTIONAL
key_order: Callable[[OfferKey], tuple[str | int, ...]] = attrgetter(*(f.name for f in fields(OfferKey)))
"""A key as the tuple it is sorted by."""

Cells = Mapping[str, str]
T = TypeVar("T")


def write_table(book: PriceBook) -> str:
    """Every offer of the book as CSV, sorted by provider, region, type and purchase option."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")  # noqa: TID251 - a file of prices, not a report
    writer.writerow(COLUMNS)
    writer.writerows(offer_cells(o, book.types.get((o.key.provider, o.key.instance_type))) for o in in_order(book))
    return out.getvalue()


def in_order(book: PriceBook) -> list[Offer]:
    """The offers by key. Sorting plain tuples is several times faster than comparing the keys themselves."""
    return sorted(book.offers.values(), key=lambda o: key_order(o.key))


def offer_cells(offer: Offer, machine: InstanceType | None) -> tuple[str, ...]:
    """One offer as the cells of a row; the columns of the shape stay empty where it is not known."""
    key = offer.key
    place = (key.provider, key.region, key.instance_type, key.os, key.tenancy)
    terms = (key.option, str(key.term_years), key.payment, plain(offer.hourly), plain(offer.upfront))
    remaining = "" if offer.remaining is None else str(offer.remaining)
    return (
        *place, *terms, offer.origin.day.isoformat(), offer.origin.source,
        *_shape_cells(machine), key.zone, remaining, offer.origin.derived,
    )  # fmt: skip


def read_table(text: str, source: PriceSource) -> PriceBook:
    """The book in CSV text; rows that cannot be used are quarantined under their line number.

    Raises InputError, with every problem found, where the header is not ours.
    """
    rows = csv.reader(io.StringIO(text), delimiter=_delimiter(text), strict=True)
    intake = PriceIntake(source)
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        check_header(header, source.name)
        for cells in rows:
            if cells:
                _take_row(cells, header, rows.line_num, intake)
    except csv.Error as error:
        raise InputError(f"{source.name}: line {rows.line_num} is not CSV: {error}") from error
    return intake.book()


def check_header(header: Iterable[str], file: str) -> None:
    """Raise InputError for missing, unknown and repeated columns, all of them at once."""
    names = list(header)
    problems = [Problem(file, "header", f"column {c!r} is missing", "required") for c in REQUIRED if c not in names]
    problems += [Problem(file, "header", f"column {shortened(c)} is unknown", _meant(c)) for c in _strangers(names)]
    problems += [
        Problem(file, "header", f"column {c!r} stands {names.count(c)} times", "once") for c in COLUMNS
        if names.count(c) > 1
    ]  # fmt: skip
    if problems:
        hint = "the first row names the columns, as in what 'hcloud pricing list -o csv' prints"
        raise InputError(f"{file} is not a price table", problems, hint=hint)


def _take_row(cells: list[str], header: list[str], line: int, intake: PriceIntake) -> None:
    address = f"line {line}"
    if len(cells) != len(header):
        intake.refuse(address, f"has {len(cells)} cells under {len(header)} columns")
        return
    row = dict(zip(header, map(str.strip, cells), strict=True))
    try:
        key = _key(row)
        origin = _origin(row["source"] or intake.source.name, row["date"], row.get("derived", ""))
        remaining = _parsed("remaining", row["remaining"], _count) if row.get("remaining") else None
        machine = _machine(key.provider, key.instance_type, tuple(row.get(name, "") for name in _SHAPE_COLUMNS))
    except ValueError as error:
        intake.refuse(address, str(error))
        return
    if machine is not None:
        intake.shape(machine)
    intake.offer(PriceRow(address, key, row["hourly"] or None, row["upfront"] or "0"), origin, remaining)


def _key(row: Cells) -> OfferKey:
    provider, option, years, payment = _terms(
        *(row[name].lower() for name in ("provider", "option", "term_years", "payment"))
    )
    return OfferKey(
        provider=provider,
        region=row["region"].lower(),
        instance_type=row["instance_type"],
        option=option,
        term_years=years,
        payment=payment,
        os=row["os"].lower() or "linux",
        tenancy=row["tenancy"].lower() or "shared",
        zone=row.get("zone", ""),
    )


# A table repeats the same few terms, origins and shapes in hundreds of thousands of rows


@lru_cache(maxsize=4096)
def _terms(provider: str, option: str, years: str, payment: str) -> tuple[Provider, PurchaseOption, int, Payment]:
    return (
        _parsed("provider", provider, Provider),
        _parsed("option", option, PurchaseOption),
        _parsed("term_years", years, _count) if years else 0,
        _parsed("payment", payment, Payment) if payment else Payment.NONE,
    )


@lru_cache(maxsize=4096)
def _origin(source: str, day: str, derived: str) -> Origin:
    return Origin(source, _parsed("date", day, date.fromisoformat), derived)


@lru_cache(maxsize=65536)
def _machine(provider: Provider, name: str, cells: tuple[str, ...]) -> InstanceType | None:
    vcpus, memory, family, units, arch, category, gpus, current = cells
    if not (vcpus and memory):
        return None
    machine = named_type(provider, name, _parsed("vcpus", vcpus, number), _parsed("memory_gib", memory, number))
    return replace(
        machine,
        family=family or machine.family,
        arch=arch or machine.arch,
        category=category or machine.category,
        units=_parsed("units", units, _positive) if units else machine.units,
        gpus=_parsed("gpus", gpus, _count) if gpus else 0,
        current=current.lower() not in ("no", "false", "0"),
    )


def _parsed(column: str, text: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(text)
    except ValueError:
        raise ValueError(f"{column} {shortened(text)} is not {_MEANT[column]}") from None


_MEANT = {
    "provider": "one of " + ", ".join(Provider),
    "option": "one of " + ", ".join(PurchaseOption),
    "payment": "one of " + ", ".join(Payment),
    "term_years": "a whole number",
    "remaining": "a whole number",
    "gpus": "a whole number",
    "date": "a day such as 2026-07-30",
    "vcpus": "a number",
    "memory_gib": "a number",
    "units": "a number above zero",
}


def _count(text: str) -> int:
    value = number(text)
    if value != int(value) or not 0 <= value <= 1_000_000_000:
        raise ValueError(text)
    return int(value)


def _positive(text: str) -> Decimal:
    value = number(text)
    if value <= 0:
        raise ValueError(text)
    return value


def _shape_cells(machine: InstanceType | None) -> tuple[str, ...]:
    if machine is None:
        return ("",) * 8
    sizes = (plain(machine.vcpus), plain(machine.memory_gib), machine.family, plain(machine.units))
    return (*sizes, machine.arch, machine.category, str(machine.gpus), "yes" if machine.current else "no")


def _delimiter(text: str) -> str:
    first = text.partition("\n")[0]
    return next((d for d in ("\t", ";") if "," not in first and d in first), ",")


def _strangers(names: Iterable[str]) -> list[str]:
    return [n for n in names if n not in COLUMNS]


def _meant(name: str) -> str:
    close = difflib.get_close_matches(name, COLUMNS, 1)
    return f"did you mean {close[0]!r}?" if close else "allowed: " + ", ".join(COLUMNS)
