"""The charges of one month of a plan, as planned: what is committed as far as it is used, the rest at its mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from hcloud.catalog.bills.days import days, exact_dollars, exact_hours, within
from hcloud.catalog.quote import usage_cost
from hcloud.model.catalog import Offer, OfferKey, Payment, PurchaseOption
from hcloud.model.plans.held import hours_held
from hcloud.model.plans.plan import OWNED, MixLine, Plan
from hcloud.model.report import (
    Charge,
    ChargeCategory,
    ChargeFrequency,
    CommitmentStatus,
    Costs,
    Period,
    PricingCategory,
)
from hcloud.planning.changes.slots import RESERVED, STANDING, slug
from hcloud.planning.explanations.statement import BOUND_NAME, PLAN_NAME
from hcloud.planning.reports.report import Counterfactual, ReportedCommitment
from hcloud.units import HOURS_PER_MONTH, HOURS_PER_YEAR, SECONDS_PER_HOUR, counted

MONTH_SECONDS = HOURS_PER_MONTH * SECONDS_PER_HOUR
SPOT = "spot"
WHOLE = Decimal(1)
ROUNDING = Decimal("0.0001")  # ours: dollars a day and machine below which prices are the same
HALF_A_CENT = Decimal("0.005") / 30  # a day's part of what a month is rounded by

Offers = Callable[[OfferKey], Offer]


@dataclass(frozen=True, slots=True)
class _PlannedLine:
    """A line of the mix in the month: from when, and its dollars for all of the month (730 h); ``lasts`` is the share
    of the horizon for which an owned commitment is held, ``used`` the share of a commitment's hours that are used."""

    line: MixLine
    id: str
    start: int
    listed: Offer
    monthly: Decimal
    upfront: Decimal
    recurring: Decimal
    lasts: Decimal = WHOLE
    used: Decimal = WHOLE

    @property
    def is_bought(self) -> bool:
        """Whether the plan buys it."""
        return self.line.option.is_commitment and not self.line.is_owned


def month_of_plan(start: int) -> Period:
    """The month that is planned for: 730 hours."""
    return Period(start, start + MONTH_SECONDS)


def planned_charges(plan: Plan, offers: Offers, period: Period, used: Decimal | None = None) -> tuple[Charge, ...]:
    """The charges of a plan's month, commitments in use for ``used`` of their hours, else as the plan uses them.
    ``offers`` gives the list prices that the plan does not state; EvidenceError where one is missing."""
    used = used_share(plan, offers) if used is None else used
    lines = (replace(one, used=used) if one.is_bought else one for one in _lines(plan, offers, period))
    return tuple(charge for one in lines for charge in _charges(one, period))


def planned_holdings(plan: Plan, offers: Offers, period: Period) -> tuple[ReportedCommitment, ...]:
    """The commitments among them: of owned ones a plan does not say when they began."""
    return tuple(_holding(one) for one in _lines(plan, offers, period) if one.line.option.is_commitment)


def planned_counterfactuals(plan: Plan) -> tuple[Counterfactual, ...]:
    """The other ways to serve the demand, by the month, as the plan compared them."""
    rivals = (a for a in plan.told_alternatives if a.name not in (PLAN_NAME, BOUND_NAME))
    return tuple(Counterfactual(a.name, a.description, a.monthly) for a in rivals)


def planned_notes(plan: Plan, offers: Offers, period: Period) -> Iterator[str]:
    """What a reader has to know of such a month."""
    used = used_share(plan, offers)
    later = [line for line in plan.mix if period.start + line.starts_hour * SECONDS_PER_HOUR >= period.end]
    if any(line.option.is_commitment for line in plan.mix):
        share = "all month" if used == WHOLE else f"{used:.1%} of its hours, by the on-demand dollars that it saves"
        yield f"as planned: committed capacity is in use {share}; the rest runs at its mean"
    if any(one.lasts != WHOLE for one in _lines(plan, offers, period)):
        yield "what is owned and ends within the plan's horizon counts at its mean over the horizon, as what follows it"
    if later:
        yield f"{counted(len(later), 'purchase')} of the plan begin after this month and are not in it"


def used_share(plan: Plan, offers: Offers) -> Decimal:
    """The share of the hours of what is to be bought that the plan uses: the dollars that all on demand would cost more
    than what is rented beside it, over its own list price. All of them where that cannot be told: nothing is bought,
    or list prices fall with use, so that dollars are no hours."""
    bought, rented, spot = list(plan.purchases), Decimal(0), Decimal(0)
    for line in plan.mix:
        listed = _listed(plan, line, offers)
        if line.option is PurchaseOption.ON_DEMAND:
            rented += line.total
            if abs(listed - line.total) > ROUNDING * plan.horizon_hours * max(line.count, WHOLE):
                return WHOLE
        elif line.option is PurchaseOption.SPOT:
            spot += listed
    sunk = sum((line.total for line in plan.mix if line.address.startswith(OWNED)), Decimal(0))
    listed = sum((_listed(plan, line, offers) for line in bought), Decimal(0))
    return min(max((plan.now.total - sunk - rented - spot) / listed, Decimal(0)), WHOLE) if listed else WHOLE


def _listed(plan: Plan, line: MixLine, offers: Offers) -> Decimal:
    """What a line's machines cost at list price over the horizon."""
    return offers(_on_demand(line)).hourly * line.count * hours_held(line, plan.horizon_hours)


def _lines(plan: Plan, offers: Offers, period: Period) -> Iterator[_PlannedLine]:
    for line, name in zip(plan.mix, _names(plan.mix), strict=True):
        start = period.start + line.starts_hour * SECONDS_PER_HOUR
        if start >= period.end:
            continue
        listed = offers(_on_demand(line))
        if line.address.startswith(OWNED):
            yield _owned(plan, line, offers(line.key), (name, start, listed))
        else:
            yield _planned(plan, line, (name, start, listed))


def _names(mix: Iterable[MixLine]) -> Iterator[str]:
    """What each line is called: by its address, with a number where several of one offer are owned."""
    seen: Counter[str] = Counter()
    for line in mix:
        name = f"{line.address}, hour {line.starts_hour}" if line.starts_hour else line.address
        seen[name] += 1
        yield f"{name} ({seen[name]})" if seen[name] > 1 else name


def _on_demand(line: MixLine) -> OfferKey:
    """The same machine on demand, of the system and tenancy of the line."""
    return replace(line.key, option=PurchaseOption.ON_DEMAND, term_years=0, payment=Payment.NONE)


def _owned(plan: Plan, line: MixLine, offer: Offer, at: tuple[str, int, Offer]) -> _PlannedLine:
    """Paid for before, at the plan's own dollars: no upfront payment falls on the month. Of what ends within the
    horizon a month has the share of the horizon for which it lasts, as it has of what is rented when it is gone:
    neither says on which day."""
    lasts = Decimal(hours_held(line, plan.horizon_hours)) / plan.horizon_hours
    monthly = line.total * HOURS_PER_MONTH / plan.horizon_hours
    by_the_hour = offer.hourly / offer.effective_hourly if offer.effective_hourly else WHOLE
    used = Decimal(0) if line.covers_nothing else WHOLE
    return _PlannedLine(line, *at, monthly, Decimal(0), monthly * by_the_hour, lasts=lasts, used=used)


def _planned(plan: Plan, line: MixLine, at: tuple[str, int, Offer]) -> _PlannedLine:
    # The plan spreads a term over its horizon; a month's own share is that of the term
    term = line.term_years * HOURS_PER_YEAR if line.option.is_commitment else plan.horizon_hours
    monthly = line.total * HOURS_PER_MONTH / term  # what is rounded by the month does not add up to the plan's cents
    if not line.option.is_commitment:
        return _PlannedLine(line, *at, monthly, Decimal(0), Decimal(0))
    return _PlannedLine(line, *at, monthly, line.upfront, (line.total - line.upfront) * HOURS_PER_MONTH / term)


def _holding(one: _PlannedLine) -> ReportedCommitment:
    line, starts = one.line, datetime.fromtimestamp(one.start, UTC)
    owned = line.address.startswith(OWNED)
    return ReportedCommitment(
        id=one.id,
        option=line.option,
        instance_type=line.instance_type,
        region=line.region,
        count=line.count,
        dollars_per_hour=one.monthly / HOURS_PER_MONTH / one.lasts if line.option.is_spend_based else None,
        starts=None if owned else starts,
        ends=line.expires if owned else starts + timedelta(hours=line.term_years * HOURS_PER_YEAR),
    )


def _charges(one: _PlannedLine, period: Period) -> Iterator[Charge]:
    for day in days(period):
        if not within(day, one.start, period.end):
            continue
        done, by = (exact_hours(max(at - one.start, 0)) for at in (day.start, day.end))

        def share(monthly: Decimal, done: Decimal = done, by: Decimal = by) -> Decimal:
            """The day's part; the parts of all days of the month are the month's amount exactly."""
            return exact_dollars(monthly * by / HOURS_PER_MONTH) - exact_dollars(monthly * done / HOURS_PER_MONTH)

        hours = _part(by - done, one.lasts) * one.line.count
        yield from _uses(one, day, hours, share(one.monthly))
        if one.line.option.is_commitment:
            if one.upfront and day.start <= one.start:
                yield _purchase(one, day, ChargeFrequency.ONE_TIME, one.upfront)
            if one.recurring:
                yield _purchase(one, day, ChargeFrequency.RECURRING, share(one.recurring))


def _part(hours: Decimal, share: Decimal) -> Decimal:
    """A share of some hours, in their own steps."""
    return hours if share == WHOLE else (hours * share).quantize(hours)


def _uses(one: _PlannedLine, day: Period, hours: Decimal, effective: Decimal) -> Iterator[Charge]:
    """The use of a day, and of a commitment what is not used of it."""
    if one.used == WHOLE:
        yield _use(one, day, hours, effective)
        return
    used, dollars = _part(hours, one.used), exact_dollars(effective * one.used)
    if used:
        yield _use(one, day, used, dollars)
    kind = (ChargeCategory.USAGE, ChargeFrequency.USAGE_BASED, PricingCategory.COMMITTED)
    idle = _charge(one, day, kind, (hours - used, Costs(effective=effective - dollars)))
    yield replace(idle, resource="", address="", status=CommitmentStatus.UNUSED)


def _use(one: _PlannedLine, day: Period, hours: Decimal, effective: Decimal) -> Charge:
    listed = exact_dollars(usage_cost(one.listed, hours))
    if one.line.option.is_commitment:
        kind = (ChargeCategory.USAGE, ChargeFrequency.USAGE_BASED, PricingCategory.COMMITTED)
        return _charge(one, day, kind, (hours, Costs(listed, listed, effective)))
    # A count told to a millionth and a month told to the cent make a difference of rounding, which is no discount
    rounding = ROUNDING * max(one.line.count, Decimal(1)) + HALF_A_CENT
    listed = effective if abs(listed - effective) < rounding else listed
    pricing = PricingCategory.DYNAMIC if one.line.option is PurchaseOption.SPOT else PricingCategory.STANDARD
    kind = (ChargeCategory.USAGE, ChargeFrequency.USAGE_BASED, pricing)
    return _charge(one, day, kind, (hours, Costs(listed, effective, effective, effective)))


def _purchase(one: _PlannedLine, day: Period, frequency: ChargeFrequency, billed: Decimal) -> Charge:
    once = frequency is ChargeFrequency.ONE_TIME
    hours = Decimal(one.line.term_years * HOURS_PER_YEAR) if once else exact_hours(day.end - max(day.start, one.start))
    kind = (ChargeCategory.PURCHASE, frequency, PricingCategory.STANDARD)
    return _charge(one, day, kind, (hours, Costs(billed=billed)))


Kind = tuple[ChargeCategory, ChargeFrequency, PricingCategory]


def _charge(one: _PlannedLine, day: Period, kind: Kind, amount: tuple[Decimal, Costs]) -> Charge:
    line, (hours, costs) = one.line, amount
    category, frequency, pricing = kind
    bought = category is ChargeCategory.PURCHASE
    address = "" if bought else _address(line)
    return Charge(
        start=max(day.start, one.start),
        end=day.end,
        category=category,
        frequency=frequency,
        pricing=pricing,
        provider=str(line.provider),
        account="",
        region=line.region,
        zone="",
        resource=address,
        address=address,
        instance_type=line.instance_type,
        option=line.option,
        hours=hours,
        list_price=exact_dollars(costs.billed / hours) if bought else one.listed.hourly,
        costs=costs,
        commitment=one.id if line.option.is_commitment else "",
        status=CommitmentStatus.USED if pricing is PricingCategory.COMMITTED else None,
        os=one.listed.key.os,
        tenancy=one.listed.key.tenancy,
    )


def _address(line: MixLine) -> str:
    """Where apply would put the machines of a line."""
    if line.option.is_commitment:
        return f"{RESERVED}-{slug(line.instance_type)}"
    return f"{SPOT if line.option is PurchaseOption.SPOT else STANDING}-{slug(line.instance_type)}"
