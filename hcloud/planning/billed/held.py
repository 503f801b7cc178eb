"""What a bill says is held already, shared out over the kinds of machines that it covered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.cover.steps import bought_key
from hcloud.model.bill import Bill, BilledCommitment
from hcloud.model.catalog import InstanceType, Offer, OfferKey, Origin, Payment, PurchaseOption
from hcloud.planning.billed.floating import COUNT_PLACES, HeldPart, HeldPool, Running, flowing, pool_of
from hcloud.planning.billed.kinds import KindUse, MachineKind, Types
from hcloud.planning.fleets.owned import Owned
from hcloud.units import HOURS_PER_MONTH, format_money

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

FLOATING = frozenset(option for option in PurchaseOption if option.floats)
"""Options that cover every family and region of their provider."""
Shares = Mapping[MachineKind, "Sequence[Owned]"]
KnownVcpus = dict[tuple[MachineKind, int], "tuple[int, float | Floats]"]
A_DAY = timedelta(days=1)
SAME_RATE = 5e-4  # ours: what rates are apart by rounding
MOST_PHASES = 4  # ours: each is an array of hours for each kind and commitment


@dataclass(frozen=True, slots=True)
class HeldRule:
    """When plans begin, and the day at whose beginning commitments end whose end a bill does not say (None: not within
    the horizon, so that nothing is bought twice); ``recent_hours`` at the end of the bill say what still runs, and all
    that is planned for of kinds whose use fell below the part ``shrunk``; ``floating`` are the types, with their place
    and system, for which commitments that float are sold (None: all), ``offers`` at which price."""

    now: datetime
    until: date | None
    horizon_hours: int
    recent_hours: int
    bill_end: datetime | None = None
    shrunk: float = 0.0
    floating: frozenset[tuple[str, ...]] | None = None
    offers: Mapping[OfferKey, Offer] = field(default_factory=dict)

    def has_stopped(self, held: BilledCommitment, others: Iterable[BilledCommitment]) -> bool:
        """Whether one whose end a bill does not say has no lines any more: none in its recent part, or for a day where
        one that covers the same follows it."""
        if held.end is not None or held.last is None or not (held.used or held.covered) or self.bill_end is None:
            return False
        silent = self.bill_end - held.last
        if silent >= timedelta(hours=self.recent_hours):
            return True
        return silent > A_DAY and any(_follows(other, held) for other in others)

    def is_since(self, held: BilledCommitment) -> bool:
        """Whether it began when the bill ended, or later."""
        return held.start is not None and self.bill_end is not None and held.start >= self.bill_end

    def running(self, use: KindUse) -> Floats:
        """The vCPUs of a kind in each hour of the bill, as they are planned for."""
        recent = use.cores[-self.recent_hours :]
        if use.recent(self.recent_hours) >= self.shrunk * float(use.cores.mean()):
            return use.cores
        return np.resize(recent[::-1], len(use.cores))[::-1]

    def is_covered(self, use: KindUse) -> bool:
        """Whether commitments that float may cover a kind."""
        kind = use.kind
        place = (kind.provider, kind.region, use.usual.name, kind.os, kind.tenancy)
        return self.floating is None or place in self.floating

    def listed(self, use: KindUse) -> float:
        """Dollars an hour of a vCPU at list prices, without a licence that commitments do not cover."""
        kind = use.kind
        key = OfferKey(kind.provider, kind.region, use.usual.name, PurchaseOption.ON_DEMAND, os=kind.os)
        offer = self.offers.get(bought_key(key)) if bought_key(key) != key else None
        return use.list_rate if offer is None else float(offer.hourly / use.usual.vcpus)

    def sold(self, held: BilledCommitment, uses: Iterable[KindUse]) -> Iterator[tuple[MachineKind, float]]:
        """What a vCPU of each of these kinds takes of a commitment as it is sold today, in dollars an hour."""
        for use in uses if held.term_years else ():
            kind, terms = use.kind, (held.option, held.term_years or 0, Payment.NONE)
            key = bought_key(OfferKey(kind.provider, kind.region, use.usual.name, *terms, kind.os, kind.tenancy))
            if (offer := sold_at(self.offers, key, held.payment)) is not None:
                yield kind, float(offer.effective_hourly / use.usual.vcpus)

    def with_term(self, held: BilledCommitment, parts: Sequence[HeldPart]) -> BilledCommitment:
        """The same with the term and payment at which it is sold today at the very rates of its ``parts``, where a bill
        says none (FOCUS): at other rates it stays as it is."""
        rates = {p.use.kind: float(p.hourly / p.shape.vcpus) for p in parts if p.hourly}
        if held.term_years or not rates:
            return held
        terms = [replace(held, term_years=years, payment=paid) for years, paid in product((1, 3), Payment)]
        sold = [(one, dict(self.sold(one, (part.use for part in parts)))) for one in terms]
        alike = [(max(abs(at[k] / rates[k] - 1) for k in rates), one) for one, at in sold if rates.keys() <= at.keys()]
        least, found = min(alike, key=lambda one: one[0], default=(1.0, held))
        return found if least < SAME_RATE else held

    def hours_left(self, held: BilledCommitment) -> int:
        """How many hours it still holds."""
        end = self.end_of(held)
        return self.horizon_hours if end is None else max(int((end - self.now) / timedelta(hours=1)), 0)

    def end_of(self, held: BilledCommitment) -> datetime | None:
        """When it ends: by the bill, else by ``until``."""
        if held.end is not None or self.until is None:
            return held.end
        return datetime(self.until.year, self.until.month, self.until.day, tzinfo=self.now.tzinfo)


@dataclass(frozen=True, slots=True)
class HeldShares:
    """What is held of each kind, the commitments of which nothing could be made, each with the reason, those without an
    end, those that ended by what the bill has of them, with the last day of it, and those that float, as a whole, and
    their dollars an hour by option, with what covers Fargate and Lambda, those apart that began at its end or later."""

    by_kind: Mapping[MachineKind, tuple[Owned, ...]]
    unused: Mapping[str, str]
    endless: tuple[str, ...]
    stopped: Mapping[str, datetime] = field(default_factory=dict)
    pools: tuple[HeldPool, ...] = ()
    floating: Mapping[tuple[PurchaseOption, bool], Decimal] = field(default_factory=dict)


def sold_at(offers: Mapping[OfferKey, Offer], key: OfferKey, payment: Payment | None) -> Offer | None:
    """The offer at a payment; at one that a bill does not say the only one that is sold (Azure, Google)."""
    keys = (replace(key, payment=one) for one in ((payment,) if payment else Payment))
    found = [offers[one] for one in keys if one in offers]
    return found[0] if len(found) == 1 else None


def held_of(bill: Bill, kinds: Sequence[KindUse], types: Types, rule: HeldRule) -> HeldShares:
    """Share each commitment out over the kinds that it may cover, in the order in which providers apply them: what is
    bound to a place first.

    Reserved instances and the like count as the bill says. What is bought in dollars, and whatever else the bill does
    not count, holds as much as its dollars covered in the mean, those that were not used included; dollars that were
    used for what is not among the kinds (Fargate, Lambda) are left out. What floats over families is divided hour by
    hour (:mod:`hcloud.planning.billed.floating`), where nothing was used of it at today's rates. Its price is what the
    bill amortises: sunk, and the same for every alternative.
    """
    shares: dict[MachineKind, list[Owned]] = defaultdict(list)
    unused: dict[str, str] = {}
    endless, pools = [], []
    known: KnownVcpus = {}
    floating: dict[tuple[PurchaseOption, bool], Decimal] = defaultdict(Decimal)
    stopped = {c.id: c.last for c in bill.commitments if c.last and rule.has_stopped(c, bill.commitments)}
    several = {c.id for c in bill.commitments if _is_of_several(c, kinds)}
    for held in sorted(bill.commitments, key=lambda c: (c.option in FLOATING, c.id in several, -rule.hours_left(c))):
        if held.id in stopped:
            continue
        left = rule.hours_left(held)
        parts = list(_parts(held, bill, kinds, types)) if left else []
        if held.option in FLOATING and left:
            floating[held.option, rule.is_since(held)] += held.paid / _hours_held(held, bill)
        if held.id in several and left:
            own = {part.use.kind for part in parts}
            fitting = [use for use in kinds if _covers(held, use.kind) and use.recent(rule.recent_hours)]
            fitting = [use for use in fitting if use.kind in own or held.option not in FLOATING or rule.is_covered(use)]
            phases = _phases(shares, min(left, rule.horizon_hours))
            running = [(until, _running(kinds, shares, rule, begin, known)) for begin, until in phases]
            sold = dict(rule.sold(held, fitting)) if held.covered_nothing and held.option.is_spend_based else {}
            parts = [] if sold else parts
            free = (0.0, 0.0) if parts else _free(held, bill)
            pool = pool_of(rule.with_term(held, parts), parts, {u.kind: rule.listed(u) for u in fitting}, free, left)
            pool = replace(pool, rates={**pool.rates, **sold}) if pool else None
            pools += [pool] if pool else []
            parts = list(flowing(pool, fitting, running)) if pool else []
        parts = [part for part in parts if part.use.recent(rule.recent_hours)]
        if left and not parts:
            monthly = format_money(held.paid / _hours_held(held, bill) * HOURS_PER_MONTH)
            unused[held.id] = f"{monthly}/month{_until(held)}; {_why_unused(held, kinds)}"
        if parts and held.end is None and rule.until is None:
            endless.append(held.id)
        for part in parts:
            offer = _offer(held, part.use.kind, part.shape, part.hourly, rule.now.date())
            owned = Owned(offer, part.shape, part.count, left, expires=rule.end_of(held), phases=part.phases)
            shares[part.use.kind].append(owned)
    return HeldShares(
        {kind: tuple(owned) for kind, owned in shares.items()}, unused, tuple(endless), stopped, tuple(pools), floating
    )


def _phases(shares: Shares, left: int) -> Iterator[tuple[int, int]]:
    """From when to when the same is held beside a commitment in so many hours; of more than ``MOST_PHASES`` several as
    one, in which what is held at its begin is."""
    ends = sorted({owned.hours_left for of in shares.values() for owned in of if owned.hours_left < left})
    each = max(-(-len(ends) // (MOST_PHASES - 1)), 1)
    yield from pairwise((0, *ends[each - 1 :: each], left))


def _running(kinds: Sequence[KindUse], shares: Shares, rule: HeldRule, hour: int, known: KnownVcpus) -> Running:
    """The vCPUs of each kind that nothing of what is held covers at an hour of the horizon."""
    return {use.kind: np.maximum(rule.running(use) - _vcpus_at(use.kind, shares, hour, known), 0.0) for use in kinds}


def _vcpus_at(kind: MachineKind, shares: Shares, hour: int, known: KnownVcpus) -> float | Floats:
    """vCPUs that are held of a kind at an hour; of the first so many commitments they are ``known``."""
    done, vcpus = known.get((kind, hour), (0, 0.0))
    owned = shares.get(kind, ())
    for one in owned[done:]:
        vcpus = vcpus + one.at(hour) * float(one.shape.vcpus)
    known[kind, hour] = len(owned), vcpus
    return vcpus


def _parts(held: BilledCommitment, bill: Bill, kinds: Sequence[KindUse], types: Types) -> Iterator[HeldPart]:
    """What it holds of each kind that it is shared to."""
    own = _own(held, kinds)
    fitting = [use for use in kinds if _covers(held, use.kind) or use.kind in own]
    covered, bore = _shared(held, fitting, own)
    shape = types.get((held.provider, held.instance_type))
    hours = _hours_held(held, bill)
    if _is_unknown(held):
        return
    if not sum(covered):
        if fitting and shape is not None and held.count and not held.option.is_spend_based:
            yield HeldPart(fitting[0], shape, held.count, held.paid / hours / held.count)
        return
    fee, growth = _own_capacity(held, sum(bore)) if own else _capacity(held, bill, fitting)
    for use, units, cost in zip(fitting, covered, bore, strict=True):
        share = Decimal(units / sum(covered))
        counted = shape if shape is not None and shape.family == use.kind.family else use.usual
        if held.count and not held.option.is_spend_based and shape is not None:
            count, paid = held.count * share * shape.units / counted.units, held.paid * share
        else:
            count = Decimal(units) / hours / counted.units * growth
            paid = fee * (cost / sum(bore) if sum(bore) else share)
        if count := round(count, COUNT_PLACES):
            yield HeldPart(use, counted, count, paid / hours / count)


def _own(held: BilledCommitment, kinds: Sequence[KindUse]) -> dict[MachineKind, tuple[float, Decimal]]:
    """(unit-hours, what of their cost it bore) of each kind that lines of this very commitment cover."""
    found = {}
    for use in kinds:
        lines = [(used.kind, (held.covered or {}).get(used.kind)) for used in use.usage]
        vcpus = sum(line.hours * float(use.sizes.get(kind.instance_type, 1)) for kind, line in lines if line)
        if vcpus > 0:
            found[use.kind] = vcpus * _units_of_vcpu(use), sum((line.cost for _, line in lines if line), Decimal(0))
    return found


def _shared(
    held: BilledCommitment, fitting: Sequence[KindUse], own: Mapping[MachineKind, tuple[float, Decimal]]
) -> tuple[list[float], list[Decimal]]:
    """The same of each of these kinds: of the commitment itself, or of all of its option where no line names what it
    covered."""
    nothing = 0.0, Decimal(0)
    if own or (held.covered and held.used):
        parts = [own.get(use.kind, nothing) for use in fitting]
    else:
        parts = [(_covered_units(held.option, use), use.covered_cost(held.option)) for use in fitting]
    return [units for units, _ in parts], [cost for _, cost in parts]


def _own_capacity(held: BilledCommitment, inside: Decimal | int) -> tuple[Decimal, Decimal]:
    """(dollars of a commitment that there are for the kinds whose cost it bore ``inside``, how many times what it
    covered of them it covers)."""
    if held.used is None or not held.used:
        return held.paid, Decimal(1)
    fee = held.paid - max(held.used - inside, Decimal(0)) if inside else held.paid
    return fee, fee / inside if inside else held.paid / held.used


def _capacity(held: BilledCommitment, bill: Bill, fitting: Sequence[KindUse]) -> tuple[Decimal, Decimal]:
    """(dollars of it that there are for these kinds, how many times what its option covered of them they cover)."""
    alike = [c for c in bill.commitments if _reach(c) == _reach(held)]
    spent = sum((c.paid if c.used is None else c.used for c in alike), Decimal(0))
    inside = sum((use.covered_cost(held.option) for use in fitting), Decimal(0))
    if inside and held.used is not None and all(c.used is not None for c in alike):
        elsewhere = 1 - min(inside / spent, Decimal(1)) if spent else Decimal(0)
        fee, unused = held.paid - held.used * elsewhere, sum((c.paid - (c.used or 0) for c in alike), Decimal(0))
        most = max((share for c in alike for share in c.used_parts.values()), default=Decimal(0))
        # of vCPUs and memory, which Google commits apart, the part that is used most says how many machines there are
        return fee, fee / (inside + unused) / most if most else fee / inside
    return held.paid, held.paid / spent if spent else Decimal(1) / len(alike)


def _reach(held: BilledCommitment) -> tuple[object, ...]:
    """What commitments have in common that cover the same."""
    if held.option in FLOATING:
        return held.provider, held.option
    system = () if held.option.is_of_a_family else (held.os, held.tenancy)
    return held.provider, held.option, held.region, held.family, *system


def _follows(other: BilledCommitment, held: BilledCommitment) -> bool:
    """Whether another that covers the same begins where one ends."""
    if other.id == held.id or other.first is None or held.last is None or _reach(other) != _reach(held):
        return False
    return abs(other.first - held.last) <= A_DAY


def _is_unknown(held: BilledCommitment) -> bool:
    """Whether the bill does not say at all what it is for: it covered nothing, and names no place."""
    return held.option not in FLOATING and held.used == 0 and held.paid > 0 and not held.region and not held.family


def _free(held: BilledCommitment, bill: Bill) -> tuple[float, float]:
    """(dollars an hour at list prices, dollars an hour) that are free of what floats and covered none of the kinds."""
    if held.used is None:
        return 0.0, 0.0
    hourly = float((held.paid - held.used) / _hours_held(held, bill))
    known = held.used and held.covered_list_cost is not None
    return hourly * (float((held.covered_list_cost or 0) / held.used) if known else 1.0), hourly


def _why_unused(held: BilledCommitment, kinds: Sequence[KindUse]) -> str:
    if _is_unknown(held):
        return "it covered nothing, and the bill does not say what it is for"
    if held.option in FLOATING and not held.used:
        return "no machine that it may cover is planned"
    if held.used and not any(use.covered_vcpu_hours(held.option) for use in kinds if _covers(held, use.kind)):
        return "it covers what is not planned here"
    return "no machine that it covered runs any more"


def _until(held: BilledCommitment) -> str:
    return "" if held.end is None else f" until {held.end:%Y-%m-%d}"


def _covers(held: BilledCommitment, kind: MachineKind) -> bool:
    if held.provider != kind.provider:
        return False
    if held.option in FLOATING:
        return True
    if (held.region and held.region != kind.region) or (held.family and held.family != kind.family):
        return False
    if held.option.is_of_a_family:
        return True
    own_size = kind.label == kind.family or kind.os == "linux" or held.instance_type in ("", kind.label)
    return own_size and (held.os, held.tenancy) == (kind.os, kind.tenancy)


def _is_of_several(held: BilledCommitment, kinds: Sequence[KindUse]) -> bool:
    """Whether it may cover several kinds: it floats, or is of a family with several systems (instances: of machines
    with the same GiB a vCPU)."""
    if not held.option.is_of_a_family or not (held.region and held.family):
        return held.option in FLOATING
    ratios = [use.usual.memory_gib / use.usual.vcpus for use in kinds if _covers(held, use.kind)]
    return len(ratios) > 1 and (held.option.is_spend_based or len(set(ratios)) == 1)


def _covered_units(option: PurchaseOption, use: KindUse) -> float:
    """Unit-hours (the weights of sizes) of the kind that an option covered."""
    return use.covered_vcpu_hours(option) * _units_of_vcpu(use)


def _units_of_vcpu(use: KindUse) -> float:
    return float(use.usual.units / use.usual.vcpus)


def _hours_held(held: BilledCommitment, bill: Bill) -> int:
    """How many hours of the bill it held; where the bill does not say it, those between its begin and its end."""
    if held.hours is not None:
        return held.hours
    last = bill.start + timedelta(hours=bill.hours)
    begin, end = max(held.start or bill.start, bill.start), min(held.end or last, last)
    return max(int((end - begin) / timedelta(hours=1)), 1)


def _offer(held: BilledCommitment, kind: MachineKind, shape: InstanceType, hourly: Decimal, day: date) -> Offer:
    term = (held.option, held.term_years or 1, held.payment or Payment.NONE)
    key = OfferKey(kind.provider, kind.region, shape.name, *term, kind.os, kind.tenancy)
    return Offer(key, hourly, Decimal(0), Origin("the bill", day))
