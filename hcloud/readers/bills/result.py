"""Makes the bill of what was added up: usage by kind of machine, commitments, and the sum of every kind of line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from hcloud.model.bill import Bill, BilledUsage, LineKind, LineSum, Service, UsageKind
from hcloud.model.catalog import PurchaseOption
from hcloud.model.clouds.facts import custom_size
from hcloud.readers.bills.adding import BillSums, LineTotal, lacking, said_lacking
from hcloud.readers.bills.commitments import commitments_of
from hcloud.readers.bills.hours import BillHours
from hcloud.readers.bills.lines import Stream
from hcloud.readers.bills.priced import PricedLines, has_list_cost, listed_use
from hcloud.readers.bills.taken_off import TakenOff
from hcloud.readers.prices.shipped.names import types
from hcloud.units import some_of

Floats = NDArray[np.float64]
_CORRECTED = "hours of a kind of machine whose corrections exceed its use (counted as none)"
_BILLED = "the first billed month"
_SEEMS = "a day without any, with few machines, in an export without billing periods"
_LONGEST, _SORTS = 200, 50
"""Of what is said of lines: characters of each sentence, and sentences."""
_NAMED = 5
"""So many types are named in one sentence."""


@dataclass(frozen=True, slots=True)
class BillOrigin:
    """What a bill was read from; ``rates`` says what a unit of each currency is in US dollars,
    ``finished`` that all months are over."""

    name: str
    format: str
    digest: str
    files: int
    rates: Mapping[str, Decimal]
    gap_days: int
    finished: bool


def bill_of(sums: BillSums, origin: BillOrigin, said: Mapping[str, int]) -> Bill:
    """The bill of all lines that were added up."""
    priced = PricedLines(origin.rates)
    hours = BillHours(sums, origin.gap_days, finished=origin.finished)
    kinds = _by_kind(sums, hours)
    there = [total for total in sums.totals if hours.has(total)]
    off = TakenOff(there, priced)
    usage = tuple(_usage(kind, kinds[kind], hours, priced, off) for kind in sorted(kinds))
    without = lacking(sums.totals, slashes="legacy" in origin.format)
    return Bill(
        name=origin.name,
        format=origin.format,
        digest=origin.digest,
        start=datetime.fromtimestamp(hours.first * 3600, UTC),
        hours=hours.count,
        daily=hours.daily,
        usage=usage,
        commitments=commitments_of(there, priced, hours, off),
        lines=_lines(sums.totals, priced),
        files=origin.files,
        repaired={_CORRECTED: hours.corrected} if hours.corrected else {},
        said={**said, **_said(sums, hours), **_said_of_lists(sums, usage), **said_lacking(sums.totals, without)},
        lacking=without,
        gap_days=origin.gap_days,
        longest_days=hours.longest_days,
    )


def _lines(totals: list[LineTotal], priced: PricedLines) -> dict[LineKind, LineSum]:
    kinds = {kind: [t for t in totals if t.line.kind is kind] for kind in LineKind}
    return {kind: LineSum(sum(t.rows for t in of), priced.of(of, "cost", "credit")) for kind, of in kinds.items() if of}


@dataclass(slots=True)
class _OfKind:
    """What there is of one kind of machine: its lines, and its rows in the table of hours."""

    totals: list[LineTotal] = field(default_factory=list)
    places: dict[tuple[Stream, PurchaseOption | None], int] = field(default_factory=dict)


def _by_kind(sums: BillSums, hours: BillHours) -> dict[UsageKind, _OfKind]:
    kinds: dict[UsageKind, _OfKind] = {}
    for (kind, stream, option), row in sums.targets.items():
        kinds.setdefault(kind, _OfKind()).places[stream, option] = row
    for total in sums.totals:
        if total.line.usage is not None and hours.has(total):
            kinds[total.line.usage].totals.append(total)
    return kinds


def _usage(kind: UsageKind, there: _OfKind, hours: BillHours, priced: PricedLines, off: TakenOff) -> BilledUsage:
    places, of = there.places, there.totals
    used = [t for t in of if t.line.stream is not Stream.SPOT]
    rows = [row for (stream, _), row in places.items() if stream is Stream.HOURS]
    spot = next((row for (stream, _), row in places.items() if stream is Stream.SPOT), None)
    memory = [row for (stream, _), row in places.items() if stream is Stream.MEMORY]
    cost = priced.paid(used) + off.borne_by(of)
    alone = places.get((Stream.HOURS, None)) if kind.instance_type else None
    listed = listed_use(used, cost, 0.0 if alone is None else float(hours.values[alone].sum()), priced)
    return BilledUsage(
        kind=kind,
        hours=_sum(hours.values, rows),
        cost=cost,
        list_cost=listed.all,
        memory=_sum(hours.values, memory) if not kind.instance_type else None,
        covered=_covered(kind, places, hours),
        spot=None if spot is None else hours.values[spot].copy(),
        spot_cost=priced.paid(t for t in of if t.line.stream is Stream.SPOT),
        whole_days=_sum(hours.whole, rows) if hours.daily else None,
        covered_cost=_covered_cost(of, priced, off),
        covered_list_cost=listed.covered,
    )


def _covered_cost(of: list[LineTotal], priced: PricedLines, off: TakenOff) -> dict[PurchaseOption, Decimal]:
    """The part of the amortised cost of usage that each option bears."""
    by_option: dict[PurchaseOption, list[LineTotal]] = {}
    for total in of:
        if total.line.option is not None:
            by_option.setdefault(total.line.option, []).append(total)
    return {
        option: priced.paid(t for t in lines if t.line.stream is not Stream.COVERED) + off.borne_by(lines)
        for option, lines in sorted(by_option.items())
    }


def _sum(values: Floats, rows: list[int]) -> Floats:
    total: Floats = values[rows].sum(axis=0)
    return total


def _covered(
    kind: UsageKind, places: Mapping[tuple[Stream, PurchaseOption | None], int], hours: BillHours
) -> dict[PurchaseOption, Floats]:
    counted = {Stream.HOURS, Stream.COVERED}
    if kind.service is Service.LAMBDA:
        counted = {Stream.MEMORY}
    covered: dict[PurchaseOption, list[int]] = {}
    for (stream, option), row in places.items():
        if option is not None and stream in counted:
            covered.setdefault(option, []).append(row)
    return {option: _sum(hours.values, rows) for option, rows in sorted(covered.items())}


def _said(sums: BillSums, hours: BillHours) -> dict[str, int]:
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
        name = "" if kind is None else kind.instance_type
        if kind is not None and name and name not in known[kind.provider] and custom_size(name) is None:
            unpriced[name] = unpriced.get(name, 0) + total.rows
    if unpriced:
        names = sorted(unpriced, key=lambda name: (-unpriced[name], name))
        told = f"lines of types that the bundled price tables do not have: {some_of(names, _NAMED)}"
        said[told] = sum(unpriced.values())
    if hours.early:
        said[
            f"hours before {_BILLED if hours.billed >= 0 else _SEEMS} (late or corrected: their dollars count alone)"
        ] = hours.early
    apart = [t for t in sums.totals if t.line.kind is LineKind.DISCOUNT and t.line.usage is None]
    if any(t.money.get("cost") for t in apart):
        told = "lines of discounts (in the total alone: what usage paid and saved is before them)"
        said[told] = sum(t.rows for t in apart)
    return said | _said_of_long(sums) | _said_of_commitments(sums, hours)


def _said_of_long(sums: BillSums) -> dict[str, int]:
    """What is done with lines of more than an hour."""
    said = {
        "lines of more than an hour, spread evenly over their hours": sums.spread_rows,
        "lines of more than a day: which days were busy is not known, nor what that costs (export by day)": (
            sums.long_rows
        ),
    }
    return {told: rows for told, rows in said.items() if rows}


def _said_of_lists(sums: BillSums, usage: Iterable[BilledUsage]) -> dict[str, int]:
    """What is done about covered lines without a list cost, where other lines have one."""
    said: dict[str, int] = {}
    listed = {used.kind: used.list_cost is not None for used in usage}
    for total in sums.totals:
        kind, absent = total.line.usage, "list" in total.absent
        if kind is None or absent or total.line.kind is not LineKind.COVERED or has_list_cost(total):
            continue
        what = "taken at that of the same machines on demand" if listed[kind] else "what they save is not said"
        told = f"lines that a commitment covers, without their cost at list prices ({what})"
        said[told] = said.get(told, 0) + total.rows
    return said


def _said_of_commitments(sums: BillSums, hours: BillHours) -> dict[str, int]:
    said: dict[str, int] = {}
    covered = [t for t in sums.totals if t.line.kind is LineKind.COVERED and t.line.usage is not None]
    lacks = any(t.line.paid_by in t.absent for t in covered)
    if covered and not lacks and not any(t.money.get(t.line.paid_by) for t in covered):
        told = (
            "lines that a commitment covers, without their amortised cost: export it too (what they save is not said)"
        )
        said[told] = sum(t.rows for t in covered)
    nameless = sum(t.rows for t in covered if t.line.holding is not None and not t.line.holding.id)
    if nameless:
        said["lines that a commitment covers which the bill does not name: held at what it covers"] = nameless
    return said | _said_of_months(sums, hours)


def _said_of_months(sums: BillSums, hours: BillHours) -> dict[str, int]:
    """What is taken as over and what is not, where fees are of more hours than the bill has."""
    said: dict[str, int] = {}
    for total in sums.totals:
        if total.line.fee and (told := hours.said_of(total)):
            said[told] = said.get(told, 0) + total.rows
    return said
