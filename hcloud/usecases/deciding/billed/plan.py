"""``hcloud plan BILL``: each kind of machine in a bill planned by the planner of traces, and summed up."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from hcloud import __version__
from hcloud.catalog.cover.steps import bought_key
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.bill import Bill, LineKind
from hcloud.model.catalog import OfferKey, PurchaseOption
from hcloud.model.plans.bill_plan import BillPlan, KindPlan, told_of_daily_rows
from hcloud.planning.billed.beside import beside_kind
from hcloud.planning.billed.cautions import by_hand, idle_parts, of_prices, old, told_apart, uncommitted
from hcloud.planning.billed.kinds import KindUse, MachineKind
from hcloud.planning.billed.longer import LongTerms, longer_term
from hcloud.planning.billed.worst import more_at_worst
from hcloud.planning.decide import ComparedFleets
from hcloud.planning.fleets.fleet import Holding
from hcloud.planning.fleets.floor import LeftOut
from hcloud.planning.fleets.owned import Owned
from hcloud.readers.bills.options import is_of_bill
from hcloud.readers.configuration.config import Loaded
from hcloud.units import (
    HOURS_PER_MONTH,
    HOURS_PER_YEAR,
    SECONDS_PER_HOUR,
    counted,
    format_money,
    format_span,
    some_of,
)
from hcloud.usecases.deciding.billed.basis import (
    BillBasis,
    BoughtSince,
    basis_of,
    market_key,
    market_of,
    question_of,
    with_bought,
    without_kind,
)
from hcloud.usecases.deciding.billed.licences import told_of_licences
from hcloud.usecases.deciding.billed.together import (
    JointChoice,
    TogetherKinds,
    bought_already,
    on_demand_key,
    together,
)
from hcloud.usecases.deciding.plan import Beside, DecidedPlan, compared_for, plan_for
from hcloud.usecases.progress import Progress, part_of, unheard
from hcloud.usecases.workloads.billed import bill_by_kinds
from hcloud.usecases.workloads.bills import bill_name

READING = 0.7  # ours: the part of the progress bar that reading takes
COMPARING = 0.4  # ours: the part of planning that finds what to choose among
CHOOSING = 0.8  # ours: the part of planning after which that is chosen for all kinds together
SHOWN_SAID = 4


def plan_bill(loaded: Loaded, now: datetime, progress: Progress = unheard) -> BillPlan:
    """Read the bill that the configuration names and plan each kind of machine in it.

    Raises InputError for an unusable bill, UsageError for settings that leave nothing of it. A kind that cannot be
    planned (no price, no longer running) stays as it is, with the reason.
    """
    basis = basis_of(bill_by_kinds(loaded, part_of(progress, 0.0, READING)), loaded, now)
    return plan_of(basis, now, part_of(progress, READING, 1.0))


def plan_of(basis: BillBasis, now: datetime, progress: Progress = unheard) -> BillPlan:
    """The plans of a bill's kinds, and what they add up to."""
    compared = dict(_compared(basis, now, part_of(progress, 0.0, COMPARING)))
    joint = together(compared, basis)
    held, left_out = _chosen(basis, joint, part_of(progress, COMPARING, CHOOSING))
    plans, decided = [], {}
    for number, use in enumerate(basis.kinds):
        beside = Beside(compared=compared.get(use.kind), holdings=held.get(use.kind), explained=False)
        made, plan = _kind_plan(basis, use, now, beside)
        plans.append(made)
        if plan is not None:
            decided[use.kind] = plan.decision.fleet.holdings
            left_out = left_out if use.kind in held else left_out.plus(plan.decision.left_out)
        part_of(progress, CHOOSING, 1.0)((number + 1) / len(basis.kinds))
    return _summed(basis, list(_priced(basis, plans, joint, decided)), left_out, now)


def _compared(basis: BillBasis, now: datetime, progress: Progress) -> Iterator[tuple[MachineKind, ComparedFleets]]:
    """What the fleet of each kind that can be planned is chosen among."""
    for number, use in enumerate(basis.kinds):
        if not basis.found.has_ended(use) and market_key(use.kind) in basis.priced:
            with suppress(EvidenceError, UsageError):  # said where the kind is planned
                yield use.kind, compared_for(*question_of(basis, use), now, _held(basis, use))
        progress((number + 1) / len(basis.kinds))


def _chosen(basis: BillBasis, joint: TogetherKinds | None, progress: Progress = unheard) -> JointChoice:
    """What to hold of each kind where commitments float between them; sizes by regret are those of each alone."""
    by_regret = basis.loaded.config.settings().risk.regret_quantile is not None
    return JointChoice({}) if joint is None or by_regret else joint.chosen(progress)


def _priced(
    basis: BillBasis,
    plans: Sequence[KindPlan],
    joint: TogetherKinds | None,
    held: Mapping[MachineKind, tuple[Holding, ...]],
) -> Iterator[KindPlan]:
    """The plans with the dollars of all kinds together, where commitments float between them."""
    dollars = {} if joint is None else joint.dollars(held)
    for use, plan in zip(basis.kinds, plans, strict=True):
        of_all = dollars.get(use.kind)
        if of_all is None or plan.plan is None:
            yield plan
        else:
            yield replace(plan, together=(of_all.now, of_all.saved, of_all.more_held_vcpus))


def plan_kind(
    loaded: Loaded, now: datetime, progress: Progress = unheard, since: BoughtSince | None = None
) -> DecidedPlan:
    """The whole plan of the kind of machine that the configuration names, with what a user should know of the bill.
    Of what a cloud says was bought ``since`` its end, what can be this kind's alone counts as owned."""
    basis = basis_of(bill_by_kinds(loaded, progress), loaded, now)
    use = basis.found.named(loaded)
    there, told = ((), ()) if since is None else since(basis.found.end, str(on_demand_key(use)))
    basis, several, uncounted = with_bought(basis, there)
    compared = dict(_compared(basis, now, unheard))  # what is bought for another kind may cover this one too
    joint = together(compared, basis)
    held = _chosen(basis, joint).held
    beside_it = Beside(_held(basis, use), compared=compared.get(use.kind), holdings=held.get(use.kind))
    if several and beside_it.compared is not None:
        wanted = held.get(use.kind, beside_it.compared.optimum.fleet.holdings)
        owned, left = bought_already(several, wanted, basis, now)
        all_held = (*beside_it.held, *owned)
        beside_it = Beside(all_held, compared=compared_for(*question_of(basis, use), now, all_held), holdings=left)
    made = plan_for(*question_of(basis, use), now, beside=beside_it)
    since_hour = basis.found.since(use)
    worst = more_at_worst(basis.bill, use, made.plan, since_hour, basis.book)
    said = (
        *_said(basis, use, since_hour),
        *_told_of_held(basis),
        *_told_together(use, joint, held, is_bought=bool(several)),
        *told_of_licences(made.plan, use.kind),
        *([told_of_daily_rows(worst)] if worst else []),
    )
    bought = {kind: held.get(kind, of.optimum.fleet.holdings) for kind, of in compared.items()}
    beside = tuple(beside_kind(use.kind, basis.held, bought, basis.found.end, now))
    return replace(
        made, plan=replace(made.plan, warnings=(*made.plan.warnings, *told, *uncounted, *said), beside=beside)
    )


def _told_together(
    use: KindUse, joint: TogetherKinds | None, held: Mapping[MachineKind, tuple[Holding, ...]], *, is_bought: bool
) -> Iterator[str]:
    """What a kind costs where what floats is applied in the order of the cloud, not divided."""
    if joint is not None and use.kind in held:
        dollars = joint.dollars(held)[use.kind]
        with_it = ", with what was bought since the bill," if is_bought else ""
        saves = f"the purchase{with_it} saves {format_money(dollars.saved)}/month of all kinds"
        yield (
            "what is bought is chosen for all kinds together, as commitments cover several of them: as the cloud "
            f"applies these, this kind costs {format_money(dollars.now)}/month without a purchase, and "
            f"{saves if held[use.kind] else 'nothing is bought for it'}; other figures of this plan divide them in "
            "proportion to what runs"
        )


def _kind_plan(basis: BillBasis, use: KindUse, now: datetime, beside: Beside) -> tuple[KindPlan, DecidedPlan | None]:
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
        gib_per_vcpu=use.usual.memory_gib / use.usual.vcpus,
    )
    if basis.found.has_ended(use):
        recent = format_span(basis.found.recent_hours * SECONDS_PER_HOUR)
        return replace(made, why_not=f"none ran in the last {recent} of the bill"), None
    if market_key(use.kind) not in basis.priced:
        why = f"the price book has no prices of {_described(use.kind)}; 'hcloud pricing import' adds them"
        return replace(made, why_not=why), None
    try:
        decided = _planned(basis, use, now, beside)
    except (EvidenceError, UsageError) as error:
        return replace(made, why_not=str(error)), None
    plan = decided.plan
    return replace(made, plan=plan, more_at_worst=more_at_worst(bill, use, plan, since, basis.book)), decided


def _described(kind: MachineKind) -> str:
    hardware = "" if kind.tenancy == "shared" else f" on {kind.tenancy} hardware"
    return f"{kind.os}{hardware} in {kind.region}"


def _planned(basis: BillBasis, use: KindUse, now: datetime, beside: Beside) -> DecidedPlan:
    return plan_for(*question_of(basis, use), now, beside=replace(beside, held=_held(basis, use)))


def _held(basis: BillBasis, use: KindUse) -> tuple[Owned, ...]:
    return basis.held.by_kind.get(use.kind, ())


def _said(basis: BillBasis, use: KindUse, since: int) -> Iterator[str]:
    if since and use.cores[since:].any():
        share = float(use.cores[since:].mean()) / float(use.cores.mean()) - 1
        yield f"use fell by {-share:.0%}: planned from the last {format_span((basis.bill.hours - since) * 3600)} alone"


def _summed(basis: BillBasis, plans: Sequence[KindPlan], left_out: LeftOut, now: datetime) -> BillPlan:
    bill = basis.bill
    unplanned = {f"{one.name}: {one.why}": _monthly(one.cost, bill) for one in basis.found.unplanned}
    rented = {
        f"{one.name}: {one.why}": _monthly(one.cost - one.covered, bill) for one in basis.found.unplanned if one.covered
    }
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
        _accounts(basis, plans),
        longer_term(plans, basis.book, {use.kind.name: _terms(basis, use) for use in basis.kinds}),
        rented,
        bill.longest_days,
        tuple(left_out.said(basis.loaded.config.settings().commit_min_saving, "at least ")),
        _monthly(bill.lines[LineKind.LICENCE].cost, bill) if LineKind.LICENCE in bill.lines else Decimal(0),
    )


def _accounts(basis: BillBasis, plans: Sequence[KindPlan]) -> int:
    """How many accounts use the machines that something is bought for."""
    bought = (use for use, plan in zip(basis.kinds, plans, strict=True) if plan.purchases)
    return len({used.kind.account for use in bought for used in use.usage})


def _terms(basis: BillBasis, use: KindUse) -> LongTerms:
    """The terms beyond the horizon that may be bought for a kind, and how they may be paid."""
    market, horizon = market_of(basis.loaded, use.kind), basis.loaded.config.settings().outlook.horizon_hours
    assert market is not None, "kinds outside the markets were left out"
    beyond = tuple(years for years in market.terms if years * HOURS_PER_YEAR > horizon)
    return LongTerms(beyond, market.payments)


def _ends(basis: BillBasis, now: datetime) -> Iterator[tuple[date, str]]:
    """When what is held and counted ends, by day: each commitment by what it covers."""
    counted_ones = (h for h in basis.bill.commitments if h.id not in basis.held.unused)
    for held in sorted((h for h in counted_ones if h.end is not None and h.end > now), key=lambda h: (h.end, h.id)):
        assert held.end is not None, "those without were left out"
        what = " ".join(word for word in (held.option, held.instance_type or held.family, held.region) if word)
        if held.option.is_spend_based and held.count is not None:
            what += f" at {format_money(held.count, 2)}/h"
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
    yield from _told_of_held(basis)
    for name, why in basis.held.unused.items():
        yield f"{name} is held and not counted: {why}: check what else it covers before you buy"
    yield from of_prices(plans)
    yield from by_hand(plans)
    yield from idle_parts(basis.bill, basis.kinds, plans)
    differs = Decimal(str(rule.differs))
    yield from told_apart(plans, differs, {use.kind.name: _at_book(basis, use, bare=True) for use in basis.kinds})
    yield from uncommitted(plans, differs, dict(_sustained(basis)))


def _sustained(basis: BillBasis) -> Iterator[tuple[str, Decimal]]:
    """The part of list prices that use in all hours of a month is charged, of each kind with sustained use."""
    for use in basis.kinds:
        if rule := basis.book.sustained.get((use.kind.provider, use.kind.family)):
            yield use.kind.name, rule.full_month_factor


def _told_of_held(basis: BillBasis) -> Iterator[str]:
    """That commitments have no end in the bill, which of them ended, there or since, and which no kind can use."""
    for section in basis.expired:
        yield f"owned: {section.key} has expired and is not counted"
    if useless := without_kind(basis):
        yield f"owned and not counted, as no kind that is planned can use it: {some_of(useless, SHOWN_SAID)}"
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


def _at_book(basis: BillBasis, use: KindUse, *, bare: bool = False) -> Decimal | None:
    """Dollars a month on demand of the very machines in the bill, at the prices of the price book; of covered ones
    ``bare``, without licences that commitments do not cover."""
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
        if bare and (alone := basis.book.offers.get(bought_key(key))) is not None:
            covered = sum(float(hours.sum()) for hours in used.covered.values())
            total -= (offer.hourly - alone.hourly) * Decimal(covered)
    return _monthly(total, basis.bill)


def _monthly(amount: Decimal, bill: Bill) -> Decimal:
    return amount / bill.hours * HOURS_PER_MONTH
