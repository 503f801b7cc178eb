"""``hcloud plan BILL``: each kind of machine in a bill planned by the planner of traces, and summed up."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path

from hcloud import __version__
from hcloud.catalog.book import PriceBook
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.bill import Bill
from hcloud.model.catalog import OfferKey, Provider, PurchaseOption
from hcloud.model.plans.bill_plan import BillPlan, KindPlan
from hcloud.planning.billed.cautions import of_prices, old, told_apart, uncommitted
from hcloud.planning.billed.held import FLOATING, HeldRule, HeldShares, held_of
from hcloud.planning.billed.kinds import KindUse, MachineKind
from hcloud.planning.billed.worst import at_worst
from hcloud.planning.fleets.owned import Owned
from hcloud.readers.bills.options import is_of_bill
from hcloud.readers.configuration.config import Loaded, MarketSection
from hcloud.readers.configuration.owned_section import OwnedSection
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, counted, format_money, format_span
from hcloud.usecases.deciding.plan import Beside, DecidedPlan, plan_for
from hcloud.usecases.progress import Progress, part_of, unheard
from hcloud.usecases.workloads.billed import SHOWN_NAMES, BillOfKinds, bill_by_kinds
from hcloud.usecases.workloads.bills import bill_name
from hcloud.usecases.workloads.sources import open_prices

READING = 0.7  # ours: the part of the progress bar that reading takes
SHOWN_SAID = 4


@dataclass(frozen=True, slots=True)
class BillBasis:
    """What is planned of a bill: its kinds within the markets that are asked for, those too small to plan, what is held
    of each, the prices, and where there are some."""

    found: BillOfKinds
    kinds: tuple[KindUse, ...]
    small: tuple[KindUse, ...]
    held: HeldShares
    book: PriceBook
    priced: frozenset[tuple[Provider, str, str, str]]
    loaded: Loaded

    @property
    def bill(self) -> Bill:
        """The bill."""
        return self.found.bill


def basis_of(found: BillOfKinds, loaded: Loaded, now: datetime) -> BillBasis:
    """What is planned of a bill. Where the configuration names markets, kinds outside them are left out."""
    kinds = [use for use in found.kinds if _market(loaded, use.kind) is not None]
    if not kinds:
        raise _nothing(found)
    for section in loaded.config.owned:
        if section.option in FLOATING:
            raise UsageError(
                f"owned: {section.key} floats over the kinds of machines in a bill and cannot be given to one",
                hint="leave it out of 'owned': commitments in the bill are used first",
            )
    book = _book_of(found.bill, loaded, now)
    held = held_of(found.bill, kinds, found.types, _held_rule(found, loaded, book, now))
    least = sum((use.size for use in kinds), Decimal(0)) * Decimal(loaded.config.bill.least_share)
    large = tuple(use for use in kinds if use.size >= least)
    small = tuple(use for use in kinds if use.size < least)
    priced = frozenset((key.provider, key.region, key.os, key.tenancy) for key in book.offers)
    return BillBasis(found, large, small, held, book, priced, loaded)


def _held_rule(found: BillOfKinds, loaded: Loaded, book: PriceBook, now: datetime) -> HeldRule:
    horizon = loaded.config.settings().outlook.horizon_hours
    floating = frozenset(
        (k.provider, k.region, k.instance_type, k.os, k.tenancy) for k in book.offers if k.option in FLOATING
    )
    until = loaded.config.bill.held_until
    return HeldRule(now, until, horizon, found.recent_hours, found.end, found.shrunk, floating)


def plan_bill(loaded: Loaded, now: datetime, progress: Progress = unheard) -> BillPlan:
    """Read the bill that the configuration names and plan each kind of machine in it.

    Raises InputError for an unusable bill, UsageError for settings that leave nothing of it. A kind that cannot be
    planned (no price, no longer running) stays as it is, with the reason.
    """
    basis = basis_of(bill_by_kinds(loaded, part_of(progress, 0.0, READING)), loaded, now)
    return plan_of(basis, now, part_of(progress, READING, 1.0))


def plan_of(basis: BillBasis, now: datetime, progress: Progress = unheard) -> BillPlan:
    """The plans of a bill's kinds, and what they add up to."""
    plans = []
    for number, use in enumerate(basis.kinds):
        plans.append(_kind_plan(basis, use, now))
        progress((number + 1) / len(basis.kinds))
    return _summed(basis, plans, now)


def plan_kind(loaded: Loaded, now: datetime, progress: Progress = unheard) -> DecidedPlan:
    """The whole plan of the kind of machine that the configuration names, with what a user should know of the bill."""
    basis = basis_of(bill_by_kinds(loaded, progress), loaded, now)
    use = basis.found.named(loaded)
    made = _planned(basis, use, now)
    said = (*_said(basis, use, basis.found.since(use)), *_endless(basis))
    return replace(made, plan=replace(made.plan, warnings=(*made.plan.warnings, *said)))


def _kind_plan(basis: BillBasis, use: KindUse, now: datetime) -> KindPlan:
    bill, since = basis.bill, basis.found.since(use)
    covered = use.covered_vcpu_hours()
    at_list = use.list_cost
    made = KindPlan(
        use.kind.name,
        use.kind.provider,
        use.kind.region,
        _monthly(use.cost, bill),
        None if at_list is None else _monthly(at_list, bill),
        _at_book(basis, use),
        float(use.cores[since:].mean()),
        covered / float(use.cores.sum()),
        history_hours=bill.hours - since,
        said=tuple(_said(basis, use, since)),
    )
    if basis.found.has_ended(use):
        recent = format_span(basis.found.recent_hours * SECONDS_PER_HOUR)
        return replace(made, why_not=f"none ran in the last {recent} of the bill")
    if _market_key(use.kind) not in basis.priced:
        return replace(made, why_not=f"the price book has no prices of {_described(use.kind)}")
    try:
        plan = _planned(basis, use, now).plan
    except (EvidenceError, UsageError) as error:
        return replace(made, why_not=str(error))
    return replace(made, plan=plan, at_worst=at_worst(bill, use, plan, since, basis.book))


def _market_key(kind: MachineKind) -> tuple[Provider, str, str, str]:
    return kind.provider, kind.region, kind.os, kind.tenancy


def _described(kind: MachineKind) -> str:
    hardware = "" if kind.tenancy == "shared" else f" on {kind.tenancy} hardware"
    return f"{kind.os}{hardware} in {kind.region}"


def _planned(basis: BillBasis, use: KindUse, now: datetime) -> DecidedPlan:
    market = _market(basis.loaded, use.kind)
    assert market is not None, "kinds outside the markets were left out"
    config = basis.loaded.config.model_copy(update={"markets": (market,), "owned": _bought_since(basis, use)})
    demand = basis.found.demand(use)
    held: tuple[Owned, ...] = basis.held.by_kind.get(use.kind, ())
    return plan_for(demand, replace(basis.loaded, config=config), now, beside=Beside(held))


def _market(loaded: Loaded, kind: MachineKind) -> MarketSection | None:
    """The offers that a kind may choose from: its own machines. None where the configuration's markets leave it out."""
    chosen = "markets" in loaded.config.model_fields_set
    sections = [m for m in loaded.config.markets if m.provider == kind.provider] if chosen else []
    if chosen and not any(_within(section, kind) for section in sections):
        return None
    base = next((s for s in sections if _within(s, kind)), MarketSection(provider=kind.provider))
    own = {
        "regions": (kind.region,),
        "families": (kind.family,),
        "architectures": (kind.arch,),
        "vcpus": kind.vcpus or "auto",
        "os": kind.os,
        "tenancy": kind.tenancy,
        "gpus": kind.gpus,
    }
    return base.model_copy(update=own)


def _bought_since(basis: BillBasis, use: KindUse) -> tuple[OwnedSection, ...]:
    """What the configuration says is owned beside what the bill says, each by the largest kind that it covers."""
    return tuple(section for section in basis.loaded.config.owned if _largest_covered(section, basis) is use)


def _largest_covered(section: OwnedSection, basis: BillBasis) -> KindUse | None:
    family = basis.book.instance_type(section.provider, section.instance_type).family
    place = (section.provider, section.region, family)
    found = (use for use in basis.kinds if (use.kind.provider, use.kind.region, use.kind.family) == place)
    return next(found, None)


def _within(section: MarketSection, kind: MachineKind) -> bool:
    families = section.families
    return (not section.regions or kind.region in section.regions) and (
        not families or any(fnmatchcase(kind.family, pattern) for pattern in families)
    )


def _said(basis: BillBasis, use: KindUse, since: int) -> Iterator[str]:
    if since and use.cores[since:].any():
        share = float(use.cores[since:].mean()) / float(use.cores.mean()) - 1
        yield f"use fell by {-share:.0%}: planned from the last {format_span((basis.bill.hours - since) * 3600)} alone"


def _summed(basis: BillBasis, plans: Sequence[KindPlan], now: datetime) -> BillPlan:
    bill = basis.bill
    unplanned: dict[str, Decimal] = {}
    for one in basis.found.unplanned:
        unplanned[f"{one.name}: {one.why}"] = _monthly(one.cost, bill)
    if basis.small:
        small = sum((use.cost for use in basis.small), Decimal(0))
        least = f"{basis.loaded.config.bill.least_share:.1%}"
        unplanned[f"{counted(len(basis.small), 'kind')} below {least} of the machines"] = _monthly(small, bill)
    return BillPlan(
        __version__,
        now,
        bill.name,
        _source(basis),
        bill.format,
        bill.digest,
        bill.rows,
        bill.files,
        bill.start,
        bill.hours,
        bill.daily,
        bill.total,
        tuple(plans),
        _monthly(sum((used.spot_cost for used in bill.usage), Decimal(0)), bill),
        unplanned,
        len(bill.commitments),
        basis.held.endless,
        basis.held.unused,
        tuple(_warnings(basis, plans, now)),
        tuple(_ends(basis, now)),
        basis.found.missing_days,
    )


def _ends(basis: BillBasis, now: datetime) -> Iterator[tuple[date, str]]:
    """When what is held and counted ends, by day: each commitment by what it covers."""
    counted_ones = (h for h in basis.bill.commitments if h.id not in basis.held.unused)
    for held in sorted((h for h in counted_ones if h.end is not None and h.end > now), key=lambda h: (h.end, h.id)):
        assert held.end is not None, "those without were left out"
        what = " ".join(word for word in (held.option, held.instance_type or held.family, held.region) if word)
        yield held.end.date(), what


def _source(basis: BillBasis) -> str:
    """The arguments that name the bill here, with what its currencies are worth."""
    section = basis.loaded.config.workload
    if section.path is None:
        return shlex.quote(basis.bill.name)
    rates = (f"{key}={value}" for key, value in section.options.items() if is_of_bill(key))
    where = shlex.quote(bill_name(basis.loaded).removeprefix(f"{Path.cwd()}/"))
    return " ".join([where, *(f"--set {shlex.quote(rate)}" for rate in rates)])


def _warnings(basis: BillBasis, plans: Sequence[KindPlan], now: datetime) -> Iterator[str]:
    short = [p for p in plans if p.plan is not None and p.plan.history is not None and not p.plan.history.is_enough]
    if short:
        dollars = sum((p.plan.history.committed for p in short if p.plan and p.plan.history), Decimal(0))
        yield (
            f"{format_span(basis.bill.hours * SECONDS_PER_HOUR)} of bill is too short for commitments of "
            f"{format_money(dollars)} ({counted(len(short), 'kind')}): add earlier months before you buy "
            "(planning.history_1y, planning.history_3y)"
        )
    if basis.found.missing_days:
        yield (
            f"the bill has nothing of {counted(basis.found.missing_days, 'day')} between its first and its last: they "
            "do not count; add what is missing"
        )
    said = list({**basis.bill.repaired, **basis.bill.said}.items())
    for what, rows in said[:SHOWN_SAID]:
        yield f"{what}: {rows:,}"
    if len(said) > SHOWN_SAID:
        more = counted(len(said) - SHOWN_SAID, "more remark")
        yield f"{more} on lines of the bill: hcloud workload show {_source(basis)}"
    rule = basis.loaded.config.bill
    yield from old(basis.bill, basis.found.missing_days, now, timedelta(seconds=rule.old))
    yield from _endless(basis)
    for name, why in basis.held.unused.items():
        yield f"{name} is held and not counted: {why}: check what else it covers before you buy"
    yield from of_prices(plans)
    differs = Decimal(str(rule.differs))
    yield from told_apart(plans, differs)
    yield from uncommitted(plans, differs, dict(_sustained(basis)))


def _sustained(basis: BillBasis) -> Iterator[tuple[str, Decimal]]:
    """The part of list prices that use in all hours of a month is charged, of each kind with sustained use."""
    for use in basis.kinds:
        if rule := basis.book.sustained.get((use.kind.provider, use.kind.family)):
            yield use.kind.name, rule.full_month_factor


def _endless(basis: BillBasis) -> Iterator[str]:
    """That commitments have no end in the bill, and which of them ended there."""
    if stopped := list(basis.held.stopped.items()):
        named = ", ".join(f"{name} ({last:%Y-%m-%d})" for name, last in stopped[:SHOWN_SAID])
        more = f" and {counted(len(stopped) - SHOWN_SAID, 'other')}" if len(stopped) > SHOWN_SAID else ""
        yield f"the bill says no end of {named}{more}, and has nothing of it after that day: not counted as held"
    if basis.held.endless:
        count = len(basis.held.endless)
        ends = "1 commitment ends" if count == 1 else f"{count:,} commitments end"
        yield (
            f"the bill does not say when {ends}: assumed for the whole horizon, so that nothing is bought twice; "
            "bill.held_until in hcloud.yaml says when"
        )


def _at_book(basis: BillBasis, use: KindUse) -> Decimal | None:
    """Dollars a month on demand of the very machines in the bill, at the prices of the price book."""
    total = Decimal(0)
    for used in use.usage:
        kind = used.kind
        key = OfferKey(
            kind.provider, kind.region, kind.instance_type, PurchaseOption.ON_DEMAND, os=kind.os, tenancy=kind.tenancy
        )
        offer = basis.book.offers.get(key)
        if offer is None:
            return None
        total += offer.hourly * Decimal(float(used.hours.sum()))
    return _monthly(total, basis.bill)


def _monthly(amount: Decimal, bill: Bill) -> Decimal:
    return amount / bill.hours * HOURS_PER_MONTH


def _book_of(bill: Bill, loaded: Loaded, now: datetime) -> PriceBook:
    """The prices of every place and system in a bill."""
    places: dict[tuple[Provider, str, str], set[str]] = {}
    for used in bill.usage:
        kind = used.kind
        places.setdefault((kind.provider, kind.os, kind.tenancy), set()).add(kind.region)
    markets = tuple(
        MarketSection(provider=provider, regions=tuple(sorted(regions)), os=os, tenancy=tenancy)
        for (provider, os, tenancy), regions in sorted(places.items())
    )
    if not markets:
        return PriceBook({}, {})
    config = loaded.config.model_copy(update={"markets": markets, "owned": ()})
    return open_prices(replace(loaded, config=config), now.date())[0]


def _nothing(found: BillOfKinds) -> UsageError:
    name = found.bill.name
    if found.kinds:
        names = ", ".join(use.kind.name for use in found.kinds[:SHOWN_NAMES])
        return UsageError(f"{name}: no machine of it is in the markets that are asked for", hint=f"it has {names}")
    if not found.unplanned:
        return UsageError(
            f"{name}: no machines that ran on demand or under commitments are in the bill",
            hint="'hcloud workload show' lists what is in it",
        )
    why = "; ".join(f"{one.name}: {one.why}" for one in found.unplanned[:SHOWN_NAMES])
    return UsageError(
        f"{name}: nothing in the bill can be planned: {why}",
        hint="prices come with 'hcloud pricing refresh', 'hcloud pricing import' or an overlay",
    )
