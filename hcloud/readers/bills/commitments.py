"""The commitments in a bill: what each cost, what of it was used, and what it covered."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

from hcloud.model.bill import NO_NAME, BilledCommitment, CoveredUse, LineKind, UsageKind
from hcloud.model.catalog import Payment, Provider
from hcloud.planning.billed.held import FLOATING
from hcloud.readers.bills.adding import NEVER, LineTotal, has
from hcloud.readers.bills.hours import BillHours
from hcloud.readers.bills.lines import NamedCommitment, Stream
from hcloud.readers.bills.priced import PricedLines, has_list_cost
from hcloud.readers.bills.taken_off import TakenOff

_RATE = Decimal("0.000001")


def commitments_of(
    totals: list[LineTotal], priced: PricedLines, hours: BillHours, off: TakenOff
) -> tuple[BilledCommitment, ...]:
    """The commitments that lines name, or that cover something, each once."""
    by_id: dict[str, list[LineTotal]] = {}
    for total in totals:
        if (held := _held_by(total)) is not None:
            by_id.setdefault(held.id, []).append(total)
    return tuple(_commitment(of, priced, hours, off) for _, of in sorted(by_id.items()) if not _is_elsewhere(of))


def _is_elsewhere(of: list[LineTotal]) -> bool:
    """Whether all that a commitment covered is no compute: one for databases or machine learning covers none. A savings
    plan of Azure covers other services beside compute."""
    held = next(t.line.holding for t in of if t.line.holding is not None)
    if held.provider is Provider.AZURE and held.option.is_spend_based:
        return False
    return {t.line.kind for t in of} & {LineKind.COVERED, LineKind.OTHER_SERVICE} == {LineKind.OTHER_SERVICE}


def _held_by(total: LineTotal) -> NamedCommitment | None:
    """The commitment that a line is of; one that the bill does not name is told by what it covers."""
    held, used = total.line.holding, total.line.usage
    if held is None or held.id:
        return held
    if held.option in FLOATING:
        return replace(held, id=f"{held.option} {NO_NAME}")
    region, family = (used.region, used.family) if used is not None else (held.region, held.family)
    words = " ".join(word for word in (held.option, region, family, NO_NAME) if word)
    return replace(held, id=words, region=region, family=family)


def _commitment(of: list[LineTotal], priced: PricedLines, hours: BillHours, off: TakenOff) -> BilledCommitment:
    of = sorted(of, key=lambda t: not t.line.fee)
    held = _merged([held for t in of if (held := _held_by(t)) is not None])
    fees = [t for t in of if t.line.fee]
    paid, used = _paid_and_used(of, fees, priced, hours)
    if used is None:
        used = off.used_of(fees)
    covered = [t for t in of if t.line.kind is LineKind.COVERED]
    lasts = hours.paid_for(fees, held.start, held.end) if fees else hours.between(held.start, held.end)
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
        covered_list_cost=priced.of(covered, "list") if _are_listed(covered) else None,
        os=held.os,
        tenancy=held.tenancy,
        term_years=held.term_years,
        payment=held.payment,
        start=held.start,
        end=held.end,
        hours=lasts,
        covered=_covered_by(covered, priced) or None,
        first=_hour(min(t.first for t in of)),
        last=_hour(max(t.last for t in of)),
        net=_net(covered, fees, priced, is_billed=held.payment is Payment.NONE),
        used_parts=off.parts_of(fees),
        committed=_committed(fees, lasts),
    )


def _committed(fees: list[LineTotal], lasts: int) -> dict[str, Decimal]:
    """How many vCPUs and GiB fees are for, where they say it."""
    parts = {t.line.part for t in fees if t.line.part} if lasts else ()
    return {p: Decimal(sum(t.units for t in fees if t.line.part == p) / lasts).quantize(_RATE) for p in parts}


def _net(covered: list[LineTotal], fees: list[LineTotal], priced: PricedLines, *, is_billed: bool) -> Decimal:
    """What a dollar of a commitment costs after discounts: by what it covered, where that is said before and after,
    else by its ``fees``, where they say it, or are all that is paid for it (``is_billed``)."""
    both = [t for t in covered if t.line.use and t.line.paid_by not in t.line.use and has(t, (t.line.paid_by,))]
    gross = sum((priced.of([t], *t.line.use) for t in both), Decimal(0))
    if gross > 0:
        return (priced.paid(both) / gross).quantize(_RATE)
    after = sum((priced.of([t], *t.line.net) for t in fees), Decimal(0))
    before = sum((priced.of([t], *(t.line.gross if after > 0 else t.line.fee)) for t in fees), Decimal(0))
    if after <= 0 and is_billed:
        after = priced.of(fees, "cost")
    return (after / before).quantize(_RATE) if min(after, before) > 0 else Decimal(1)


def _are_listed(covered: list[LineTotal]) -> bool:
    return any("list" in t.money for t in covered) and all(has_list_cost(t) for t in covered)


def _covered_by(lines: list[LineTotal], priced: PricedLines) -> dict[UsageKind, CoveredUse]:
    """What the lines of one commitment used, by kind."""
    by_kind: dict[UsageKind, list[LineTotal]] = {}
    for line in lines:
        if line.line.usage is not None and line.line.stream is Stream.HOURS:
            by_kind.setdefault(line.line.usage, []).append(line)
    return {
        kind: CoveredUse(sum(t.covered for t in of), sum((priced.of([t], *t.line.use) for t in of), Decimal(0)))
        for kind, of in sorted(by_kind.items())
    }


def _hour(since_1970: int) -> datetime | None:
    """The beginning of an hour; None for lines without a time."""
    return datetime.fromtimestamp(since_1970 * 3600, UTC) if 0 < since_1970 < NEVER else None


def _paid_and_used(
    of: list[LineTotal], fees: list[LineTotal], priced: PricedLines, hours: BillHours
) -> tuple[Decimal, Decimal | None]:
    """What a commitment cost until the last hour of the bill, and the part of it that covered usage; None where the
    bill does not say."""
    whole, used = _said_to_be_used(of, fees, priced)
    if all(hours.share(t) == 1 or not has(t, t.line.fee) for t in fees):
        return whole, used
    parts = (_part(priced.of([t], *t.line.fee), hours.share(t)) for t in fees)
    return max(sum(parts, Decimal(0)), used or Decimal(0)), used


def _part(amount: Decimal, share: Fraction) -> Decimal:
    return amount * share.numerator / share.denominator


def _said_to_be_used(of: list[LineTotal], fees: list[LineTotal], priced: PricedLines) -> tuple[Decimal, Decimal | None]:
    """The same as the lines say it, of the whole month that a fee is of."""
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


def _count(held: NamedCommitment, fees: list[LineTotal], paid: Decimal, hours: BillHours) -> Decimal | None:
    if held.count is not None:
        return Decimal(held.count)
    if not held.option.is_spend_based or not fees or not paid or not all(has(t, t.line.fee) for t in fees):
        return None
    return (paid / hours.paid_for(fees, held.start, held.end)).quantize(_RATE).normalize()
