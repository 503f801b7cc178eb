"""Makes the bill of what was added up: usage by kind of machine, commitments, and the sum of every kind of line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from hcloud.model.bill import Bill, BilledCommitment, BilledUsage, LineKind, LineSum, Service, UsageKind
from hcloud.model.catalog import PurchaseOption
from hcloud.planning.billed.held import FLOATING
from hcloud.planning.billed.spread import missing_hours
from hcloud.readers.bills.adding import BillSums, HourTable, LineTotal, has, lacking, said_lacking
from hcloud.readers.bills.lines import NamedCommitment, Stream
from hcloud.readers.bills.money import decimal_of
from hcloud.readers.bills.options import CURRENCY
from hcloud.readers.prices.shipped.names import types

Floats = NDArray[np.float64]
_DAY = 24
_RATE = Decimal("0.000001")
_CORRECTED = "hours of a kind of machine whose corrections exceed its use (counted as none)"
_NEARLY = 1e-9
_LONGEST, _SORTS = 200, 50
"""Of what is said of lines: characters of each sentence, and sentences."""
_NAMED = 5
"""So many types are named in one sentence."""
_AMORTISED = Decimal("0.000000000001")


@dataclass(frozen=True, slots=True)
class BillOrigin:
    """What a bill was read from; ``rates`` says what a unit of each currency is in US dollars."""

    name: str
    format: str
    digest: str
    files: int
    rates: Mapping[str, Decimal]


class PricedLines:
    """Sums of money in US dollars."""

    def __init__(self, rates: Mapping[str, Decimal]) -> None:
        self.rates = rates

    def of(self, totals: Iterable[LineTotal], *roles: str) -> Decimal:
        """What lines cost together, by the columns of these roles."""
        units: dict[str, int] = {}
        for total in totals:
            currency = total.texts["currency"].strip().upper() or CURRENCY
            units[currency] = units.get(currency, 0) + sum(total.money.get(role, 0) for role in roles)
        return sum((decimal_of(u) * self.rates[c] for c, u in units.items()), Decimal(0))

    def paid(self, totals: Iterable[LineTotal]) -> Decimal:
        """The amortised cost of usage; what was billed where the file has no such column."""
        parts = ((t, t.line.paid_by if t.line.paid_by in t.money else "") for t in totals)
        return sum((self.of([t], role) if role else _billed(self, t) for t, role in parts), Decimal(0))


def _billed(priced: PricedLines, total: LineTotal) -> Decimal:
    """What a line was billed at, where it has no amortised cost: nothing of what a commitment paid for."""
    return Decimal(0) if total.line.holding is not None else priced.of([total], "cost")


def bill_of(sums: BillSums, origin: BillOrigin, said: Mapping[str, int]) -> Bill:
    """The bill of all lines that were added up."""
    priced = PricedLines(origin.rates)
    hours = _Hours(sums)
    kinds = _by_kind(sums)
    fees = _fees(sums.totals, priced)
    usage = tuple(_usage(kind, kinds[kind], hours, priced, fees) for kind in sorted(kinds))
    without = lacking(sums.totals, slashes="legacy" in origin.format)
    return Bill(
        name=origin.name,
        format=origin.format,
        digest=origin.digest,
        start=datetime.fromtimestamp(hours.first * 3600, UTC),
        hours=hours.count,
        daily=hours.daily,
        usage=usage,
        commitments=_commitments(sums.totals, priced, hours),
        lines=_lines(sums.totals, priced),
        files=origin.files,
        repaired={_CORRECTED: hours.corrected} if hours.corrected else {},
        said={**said, **_said(sums, hours), **said_lacking(sums.totals, without)},
        lacking=without,
    )


def _lines(totals: list[LineTotal], priced: PricedLines) -> dict[LineKind, LineSum]:
    kinds = {kind: [t for t in totals if t.line.kind is kind] for kind in LineKind}
    return {kind: LineSum(sum(t.rows for t in of), priced.of(of, "cost", "credit")) for kind, of in kinds.items() if of}


class _Hours:
    """The hours of every target, those of longer lines spread evenly over them."""

    def __init__(self, sums: BillSums) -> None:
        there = {length: table for length, table in sums.tables.items() if table.values.size}
        lows = [table.low for table in there.values()]
        highs = [table.high + length for length, table in there.items()]
        self.first = min(lows, default=0 if sums.low == 1 << 40 else sums.low)
        self.count = max(highs, default=self.first + 1) - self.first
        self.values: Floats = np.zeros((len(sums.targets), self.count))
        self.whole: Floats = np.zeros((len(sums.targets), self.count if any(length >= _DAY for length in there) else 0))
        for length, table in there.items():
            self._spread(table, length, self.values)
        if sums.whole_days.values.size:
            self._spread(sums.whole_days, _DAY, self.whole)
        below = self.values < 0
        self.corrected = int(np.count_nonzero(self.values < -_NEARLY))
        self.values[below] = 0.0
        long = sum(float(table.values.sum()) for length, table in there.items() if length >= _DAY)
        self.daily = long > 0 and long * 2 > float(self.values.sum())
        self.spread = any(length > 1 for length in there)
        self.missing = missing_hours(self.values.sum(axis=0))

    def paid_for(self, fees: list[LineTotal]) -> int:
        """How many hours a commitment was paid for: as its fees say where they follow each other, else from the first
        to the last of them, without missing days."""
        first, last = min(t.first for t in fees), max(t.last for t in fees)
        told, span = sum(t.hours for t in fees), last - first
        return max(told if told <= span else span - self._missing(first, last), 1)

    def between(self, start: datetime | None, end: datetime | None) -> int:
        """How many hours of the bill there are from when to when a commitment holds, without missing days."""
        first, last = self.first, self.first + self.count
        begin = first if start is None else max(int(start.timestamp() // 3600), first)
        stop = last if end is None else min(int(end.timestamp() // 3600), last)
        return max(stop - begin - self._missing(begin, stop), 1)

    def _missing(self, first: int, last: int) -> int:
        return int(self.missing[max(first - self.first, 0) : max(last - self.first, 0)].sum())

    def _spread(self, table: HourTable, length: int, into: Floats) -> None:
        rows = min(len(table.values), len(into))
        for place in np.flatnonzero(table.values.any(axis=0)).tolist():
            at = table.first + place - self.first
            into[:rows, at : at + length] += table.values[:rows, place, None] / length


@dataclass(slots=True)
class _OfKind:
    """What there is of one kind of machine: its lines, and its rows in the table of hours."""

    totals: list[LineTotal] = field(default_factory=list)
    places: dict[tuple[Stream, PurchaseOption | None], int] = field(default_factory=dict)


def _by_kind(sums: BillSums) -> dict[UsageKind, _OfKind]:
    kinds: dict[UsageKind, _OfKind] = {}
    for (kind, stream, option), row in sums.targets.items():
        kinds.setdefault(kind, _OfKind()).places[stream, option] = row
    for total in sums.totals:
        if total.line.usage is not None:
            kinds[total.line.usage].totals.append(total)
    return kinds


_Fees = Mapping[PurchaseOption | None, tuple[Decimal, Decimal]]


def _usage(kind: UsageKind, there: _OfKind, hours: _Hours, priced: PricedLines, fees: _Fees) -> BilledUsage:
    places, of = there.places, there.totals
    used = [t for t in of if t.line.stream is not Stream.SPOT]
    rows = [row for (stream, _), row in places.items() if stream is Stream.HOURS]
    spot = next((row for (stream, _), row in places.items() if stream is Stream.SPOT), None)
    memory = [row for (stream, _), row in places.items() if stream is Stream.MEMORY]
    cost = priced.paid(used) + _share(of, priced, fees)
    return BilledUsage(
        kind=kind,
        hours=_sum(hours.values, rows),
        cost=cost,
        list_cost=priced.of(used, "list") if _is_listed(used, cost) else None,
        memory=_sum(hours.values, memory) if not kind.instance_type else None,
        covered=_covered(kind, places, hours),
        spot=None if spot is None else hours.values[spot].copy(),
        spot_cost=priced.paid(t for t in of if t.line.stream is Stream.SPOT),
        whole_days=_sum(hours.whole, rows) if hours.daily else None,
        covered_cost=_covered_cost(of, priced, fees),
        covered_list_cost=_covered_list_cost(used, priced),
    )


def _is_listed(used: list[LineTotal], cost: Decimal) -> bool:
    """Whether the bill says what usage costs at list prices; nothing is said of that by nothing for what was paid."""
    return any("list" in t.money for t in used) or (not cost and any(t.listed for t in used))


def _fees(totals: list[LineTotal], priced: PricedLines) -> _Fees:
    """The fees of commitments that the bill spreads over no usage (Google), and what was taken off for them."""
    off = [t for t in totals if t.line.stream is Stream.COVERED]
    offset = {t.line.holding.id for t in totals if t.line.holding is not None and t.line.use and not t.line.fee}
    fees = [t for t in totals if t.line.holding is not None and t.line.fee and t.line.holding.id not in offset]
    return {
        option: (
            priced.of((t for t in fees if t.line.holding and t.line.holding.option is option), "cost"),
            priced.of((t for t in off if t.line.option is option), "cost"),
        )
        for option in {t.line.option for t in off}
    }


def _share(of: list[LineTotal], priced: PricedLines, fees: _Fees) -> Decimal:
    """The share of those fees that a kind bears: in proportion to what was taken off its lines."""
    shares = Decimal(0)
    for option, (paid, off) in fees.items():
        mine = priced.of((t for t in of if t.line.stream is Stream.COVERED and t.line.option is option), "cost")
        shares += (paid * mine / off).quantize(_AMORTISED) if off else Decimal(0)
    return shares


def _covered_cost(of: list[LineTotal], priced: PricedLines, fees: _Fees) -> dict[PurchaseOption, Decimal]:
    """The part of the amortised cost of usage that each option bears."""
    by_option: dict[PurchaseOption, list[LineTotal]] = {}
    for total in of:
        if total.line.option is not None:
            by_option.setdefault(total.line.option, []).append(total)
    return {option: _borne(lines, priced, fees) for option, lines in sorted(by_option.items())}


def _borne(lines: list[LineTotal], priced: PricedLines, fees: _Fees) -> Decimal:
    covered = (t for t in lines if t.line.stream is not Stream.COVERED)
    return priced.paid(covered) + _share(lines, priced, fees)


def _sum(values: Floats, rows: list[int]) -> Floats:
    total: Floats = values[rows].sum(axis=0)
    return total


def _covered_list_cost(used: list[LineTotal], priced: PricedLines) -> Decimal | None:
    """What the lines that commitments cover cost at list prices; None where they do not say, or are no lines of
    their own (credits of Google)."""
    covered = [t for t in used if t.line.kind is LineKind.COVERED]
    told = all("list" in t.money for t in covered) and not any(t.line.stream is Stream.COVERED for t in used)
    return priced.of(covered, "list") if told else None


def _covered(
    kind: UsageKind, places: Mapping[tuple[Stream, PurchaseOption | None], int], hours: _Hours
) -> dict[PurchaseOption, Floats]:
    counted = {Stream.HOURS, Stream.COVERED}
    if kind.service is Service.LAMBDA:
        counted = {Stream.MEMORY}
    covered: dict[PurchaseOption, list[int]] = {}
    for (stream, option), row in places.items():
        if option is not None and stream in counted:
            covered.setdefault(option, []).append(row)
    return {option: _sum(hours.values, rows) for option, rows in sorted(covered.items())}


def _commitments(totals: list[LineTotal], priced: PricedLines, hours: _Hours) -> tuple[BilledCommitment, ...]:
    by_id: dict[str, list[LineTotal]] = {}
    for total in totals:
        if (held := _held_by(total)) is not None:
            by_id.setdefault(held.id, []).append(total)
    offset = _offset_options(totals)
    return tuple(_commitment(of, priced, hours, offset) for _, of in sorted(by_id.items()))


def _offset_options(totals: list[LineTotal]) -> frozenset[PurchaseOption]:
    """Options whose fees the bill takes off as they are used (Google), all of them: a fee that is left was not used."""
    offset = {t.line.holding.option for t in totals if t.line.kind is LineKind.COMMITTED and t.line.holding is not None}
    return frozenset(offset - {t.line.option for t in totals if t.line.stream is Stream.COVERED})


def _held_by(total: LineTotal) -> NamedCommitment | None:
    """The commitment that a line is of; one that the bill does not name is told by what it covers."""
    held, used = total.line.holding, total.line.usage
    if held is None or held.id:
        return held
    if held.option in FLOATING:
        return replace(held, id=f"{held.option} without name")
    region, family = (used.region, used.family) if used is not None else (held.region, held.family)
    words = " ".join(word for word in (held.option, region, family, "without name") if word)
    return replace(held, id=words, region=region, family=family)


def _commitment(
    of: list[LineTotal], priced: PricedLines, hours: _Hours, offset: frozenset[PurchaseOption]
) -> BilledCommitment:
    of = sorted(of, key=lambda t: not t.line.fee)
    held = _merged([held for t in of if (held := _held_by(t)) is not None])
    fees = [t for t in of if t.line.fee]
    paid, used = _paid_and_used(of, fees, priced)
    if fees and used is None and held.option in offset:
        used = Decimal(0)
    covered = [t for t in of if t.line.kind is LineKind.COVERED]
    return BilledCommitment(
        id=held.id,
        provider=held.provider,
        option=held.option,
        account=held.account,
        region=held.region,
        family=held.family,
        instance_type=held.instance_type,
        count=_count(held, fees, paid, hours),
        paid=paid,
        used=used,
        covered_list_cost=priced.of(covered, "list") if any("list" in t.money for t in covered) else None,
        os=held.os,
        tenancy=held.tenancy,
        term_years=held.term_years,
        payment=held.payment,
        start=held.start,
        end=held.end,
        hours=hours.paid_for(fees) if fees else hours.between(held.start, held.end),
    )


def _paid_and_used(of: list[LineTotal], fees: list[LineTotal], priced: PricedLines) -> tuple[Decimal, Decimal | None]:
    """What a commitment cost, and the part of it that covered usage; None where the bill does not say."""
    uses = [t for t in of if has(t, t.line.use)]
    told = [t for t in uses if t.line.fee] or uses
    paid = sum((priced.of([t], *t.line.fee) for t in fees), Decimal(0))
    used = sum((priced.of([t], *t.line.use) for t in told), Decimal(0))
    if not all(has(t, t.line.fee) for t in fees):
        return max(paid, used), None
    if not fees:
        return used, None
    if told:
        return paid, used
    if all(t.line.kind is LineKind.UNUSED for t in fees):
        return paid, Decimal(0)
    unused = sum((priced.of([t], *t.line.unused) for t in fees), Decimal(0))
    return paid, paid - unused if any(has(t, t.line.unused) for t in fees) else None


def _merged(holdings: list[NamedCommitment]) -> NamedCommitment:
    """What all lines together say of a commitment, those of its fee first."""
    merged = holdings[0]
    for other in holdings[1:]:
        news = {f.name: getattr(other, f.name) for f in fields(NamedCommitment) if not getattr(merged, f.name)}
        merged = replace(merged, **news)
    families = {held.family for held in holdings if held.family}
    return merged if len(families) < 2 else replace(merged, family="")


def _count(held: NamedCommitment, fees: list[LineTotal], paid: Decimal, hours: _Hours) -> Decimal | None:
    if held.count is not None:
        return Decimal(held.count)
    if not held.option.is_spend_based or not fees or not paid or not all(has(t, t.line.fee) for t in fees):
        return None
    return (paid / hours.paid_for(fees)).quantize(_RATE).normalize()


def _said(sums: BillSums, hours: _Hours) -> dict[str, int]:
    said: dict[str, int] = {}
    for total in sums.totals:
        if total.line.said:
            told = total.line.said[:_LONGEST]
            said[told] = said.get(told, 0) + total.rows
    if len(said) > _SORTS:
        kept = dict(sorted(said.items(), key=lambda item: (-item[1], item[0]))[:_SORTS])
        said = {**kept, "lines with another word that is not known": sum(said.values()) - sum(kept.values())}
    known = {provider: frozenset(types(provider)) for provider in {kind.provider for kind, _, _ in sums.targets}}
    unpriced: dict[str, int] = {}
    for total in sums.totals:
        kind = total.line.usage
        if kind is not None and kind.instance_type and kind.instance_type not in known[kind.provider]:
            unpriced[kind.instance_type] = unpriced.get(kind.instance_type, 0) + total.rows
    if unpriced:
        names = sorted(unpriced, key=lambda name: (-unpriced[name], name))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        told = f"lines of types that the bundled price tables do not have: {', '.join(names[:_NAMED])}{more}"
        said[told] = sum(unpriced.values())
    covered = [t for t in sums.totals if t.line.kind is LineKind.COVERED and t.line.usage is not None]
    lacks = any(t.line.paid_by in t.absent for t in covered)
    if covered and not lacks and not any(t.money.get(t.line.paid_by) for t in covered):
        told = "lines that a commitment covers, without its amortised cost (savings look larger than they are)"
        said[told] = sum(t.rows for t in covered)
    nameless = sum(t.rows for t in covered if t.line.holding is not None and not t.line.holding.id)
    if nameless:
        said["lines that a commitment covers which the bill does not name: held at what it covers"] = nameless
    if hours.spread:
        told = "lines of more than an hour, spread evenly over their hours"
        said[told] = sums.spread_rows
    return said
