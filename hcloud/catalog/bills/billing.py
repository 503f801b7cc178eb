"""What usage and commitments are charged: a row a machine (or commitment), price and day, priced by the one formula."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from hcloud.catalog.bills.covered import Cover, Day
from hcloud.catalog.bills.days import DAY, Offers, RentalCharge, days, exact_dollars, exact_hours, month_of
from hcloud.catalog.bills.terms import Tariff, Term, terms_of
from hcloud.catalog.quote import usage_cost
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import Commitment
from hcloud.model.report import (
    Charge,
    ChargeCategory,
    ChargeFrequency,
    CommitmentStatus,
    Costs,
    MachineRental,
    Period,
    PricingCategory,
)


def charges(
    rented: Sequence[MachineRental], held: Sequence[Commitment], tariff: Tariff, period: Period
) -> tuple[Charge, ...]:
    """Every charge of a period, by day: of machines, of what commitments were not used for, and of their purchase.

    Machines are billed in whole seconds by the provider's step and minimum; what the minimum or a step adds is charged
    where it arises, so that successive periods add up to the bill of the whole. Commitments apply clock hour by clock
    hour as their provider does (:mod:`hcloud.catalog.cover.hour`), of one kind the first to end first, and the
    machine that has run longest is covered first. Raises EvidenceError where a price is missing.
    """
    rentals = _rentals(rented, tariff, period)
    terms = terms_of(held, tariff, Period(month_of(period.start).start, period.end))
    on_demand = [at for at, r in enumerate(rentals) if r.usage.option is PurchaseOption.ON_DEMAND]
    cover = Cover([rentals[at] for at in on_demand], terms, tariff.book)
    there = _by_day(rentals, month_of(period.start).start)
    places = {at: place for place, at in enumerate(on_demand)}
    found: list[Charge] = []
    before = Period(month_of(period.start).start, period.start) if cover.is_sustained else Period(0, 0)
    for day, is_told in _told_days(before, period):
        today = there.get(day.start // DAY, ())
        covered = _covered(cover, terms, day, [places[at] for at in today if at in places])
        if is_told:
            sheet = Sheet(tariff, rentals, terms, cover, day)
            found.extend(sheet.rows(covered, today, places))
    return tuple(found)


def _told_days(before: Period, period: Period) -> Iterator[tuple[Period, bool]]:
    """The days that matter, and whether they are reported: sustained use depends on the days of the month before."""
    yield from ((day, False) for day in days(before))
    yield from ((day, True) for day in days(period))


def _covered(cover: Cover, terms: Sequence[Term], day: Period, machines: Sequence[int]) -> Day:
    needed = cover.is_sustained or any(term.seconds(day) for term in terms)
    return cover.day(day, machines) if needed else Day()


def _rentals(rented: Sequence[MachineRental], tariff: Tariff, period: Period) -> list[RentalCharge]:
    """What ran, the longest-running first, with its prices."""
    rule, found = tariff.rule, []
    for usage in sorted(rented, key=lambda u: (u.start, u.resource, u.address)):
        if usage.start >= period.end:
            continue
        paid = tariff.offer(usage.instance_type, usage.option, usage.zone)
        contracted = tariff.offer(usage.instance_type, PurchaseOption.ON_DEMAND)
        offers = Offers(paid, contracted, tariff.list_offer(usage.instance_type))
        found.append(RentalCharge(usage, offers, rule, period.end))
    return found


def _by_day(rentals: Sequence[RentalCharge], since: int) -> Mapping[int, list[int]]:
    """The rentals of each day from a moment on, by its number."""
    found: dict[int, list[int]] = defaultdict(list)
    for at, rental in enumerate(rentals):
        start = rental.usage.start
        for number in range(max(start, since) // DAY, max(rental.end - 1, start) // DAY + 1):
            found[number].append(at)
    return found


ZERO = Decimal(0)
_NOISE = Decimal("1e-9")  # ours: seconds below which what is left over is a division's rounding


@dataclass(frozen=True, slots=True)
class _CoveredHours:
    """Hours of a machine under a commitment (None: on demand) and its costs."""

    term: int | None
    hours: Decimal
    costs: Costs


@dataclass(frozen=True, slots=True)
class Sheet:
    """One day's charges."""

    tariff: Tariff
    rentals: Sequence[RentalCharge]
    terms: Sequence[Term]
    cover: Cover
    day: Period

    def rows(self, covered: Day, there: Sequence[int], places: Mapping[int, int]) -> Iterator[Charge]:
        """Machines in their order, then commitments; ``places`` says which rentals are under cover, and as what."""
        effective, unused = self._amortised(covered)
        for at in there:
            rental = self.rentals[at]
            hours = rental.hours(self.day)
            if not hours:
                continue
            if at in places:
                parts = self._parts(places[at], hours, covered, effective)
            else:
                parts = iter([_CoveredHours(None, hours, _rented_costs(rental, hours))])
            yield from (self._of_machine(rental, part) for part in parts)
        for number, term in enumerate(self.terms):
            if term.seconds(self.day):
                yield from self._of_term(term, unused[number])

    def _amortised(self, covered: Day) -> tuple[dict[tuple[int, int], Decimal], dict[int, tuple[Decimal, Decimal]]]:
        """The day's share of each term's cost, dealt out to the machines that used it; and the share of the term that
        nobody used with its dollars. Both add up to the term's share exactly."""
        effective: dict[tuple[int, int], Decimal] = {}
        unused: dict[int, tuple[Decimal, Decimal]] = {}
        for number, term in enumerate(self.terms):
            whole, offered = term.amortised(self.day), covered.offered.get(number, ZERO)
            left, rest = offered, whole
            for rental, drawn in sorted(covered.drawn.get(number, {}).items()):
                left -= drawn
                dealt = rest if left <= offered * _NOISE else exact_dollars(whole * drawn / offered)
                effective[rental, number], rest = dealt, rest - dealt
            unused[number] = (max(left, ZERO) / offered if offered and rest else ZERO, rest)
        return effective, unused

    def _parts(
        self, place: int, hours: Decimal, covered: Day, effective: Mapping[tuple[int, int], Decimal]
    ) -> Iterator[_CoveredHours]:
        """A machine's hours under each term, then on demand. What is covered to the last second leaves nothing over;
        what no commitment covers (licences, devices) stays on demand."""
        rental, price = self.cover.rentals[place], self.cover.bare_price(place)
        contracted, at_list = rental.offers.contracted, rental.offers.at_list
        seconds: Mapping[int, Decimal] = covered.seconds.get(place, {})
        hours_left, dollars_left = hours, exact_dollars(usage_cost(contracted, hours))
        is_covered = rental.seconds(self.day) - sum(seconds.values(), ZERO) <= _NOISE
        for number, term in enumerate(sorted(seconds), start=1):
            last = is_covered and number == len(seconds)
            mine = hours_left if last else exact_hours(seconds[term])
            all_of_it = last and price == contracted.hourly
            dollars = dollars_left if all_of_it else exact_dollars(price * mine)
            hours_left, dollars_left = hours_left - mine, dollars_left - dollars
            yield _CoveredHours(term, mine, Costs(at_list(dollars), dollars, effective.get((place, term), ZERO), ZERO))
        if hours_left or dollars_left:
            paid = dollars_left - exact_dollars(covered.discount.get(place, ZERO))
            yield _CoveredHours(None, hours_left, Costs(at_list(dollars_left), paid, paid, paid))

    def _of_machine(self, rental: RentalCharge, part: _CoveredHours) -> Charge:
        usage, is_spot = rental.usage, rental.usage.option is PurchaseOption.SPOT
        term = None if part.term is None else self.terms[part.term]
        standard = PricingCategory.DYNAMIC if is_spot else PricingCategory.STANDARD
        return Charge(
            start=self.day.start,
            end=self.day.end,
            category=ChargeCategory.USAGE,
            frequency=ChargeFrequency.USAGE_BASED,
            pricing=PricingCategory.COMMITTED if term else standard,
            provider=str(self.tariff.provider),
            account=self.tariff.account,
            region=self.tariff.region,
            zone=usage.zone,
            resource=usage.resource,
            address=usage.address,
            instance_type=usage.instance_type,
            option=term.told.option if term else usage.option,
            hours=part.hours,
            list_price=rental.offers.listed.hourly,
            costs=part.costs,
            commitment=term.told.id if term else "",
            status=CommitmentStatus.USED if term else None,
            tags=usage.tags,
        )

    def _of_term(self, term: Term, unused: tuple[Decimal, Decimal]) -> Iterator[Charge]:
        share, dollars = unused
        hours = exact_hours(term.seconds(self.day))
        if dollars:
            machines = 1 if term.told.option.is_spend_based else term.told.count
            lost = (hours * machines * share).quantize(hours)
            costs = Costs(effective=dollars)
            yield self._of_commitment(term, (ChargeFrequency.USAGE_BASED, CommitmentStatus.UNUSED), lost, costs)
        upfront, recurring = term.upfront(self.day), term.recurring(self.day)
        if upfront:
            whole = Decimal(term.whole.term_hours)
            yield self._of_commitment(term, (ChargeFrequency.ONE_TIME, None), whole, Costs(billed=upfront))
        if recurring:
            yield self._of_commitment(term, (ChargeFrequency.RECURRING, None), hours, Costs(billed=recurring))

    def _of_commitment(
        self, term: Term, kind: tuple[ChargeFrequency, CommitmentStatus | None], hours: Decimal, costs: Costs
    ) -> Charge:
        frequency, status = kind
        once = frequency is ChargeFrequency.ONE_TIME
        return Charge(
            start=self.day.start,
            end=self.day.end,
            category=ChargeCategory.USAGE if status else ChargeCategory.PURCHASE,
            frequency=frequency,
            pricing=PricingCategory.COMMITTED if status else PricingCategory.STANDARD,
            provider=str(self.tariff.provider),
            account=self.tariff.account,
            region=self.tariff.region,
            zone="",
            resource="",
            address="",
            instance_type=term.told.instance_type,
            option=term.told.option,
            hours=hours,
            list_price=exact_dollars(term.whole.upfront / term.whole.term_hours) if once else term.whole.hourly,
            costs=costs,
            commitment=term.told.id,
            status=status,
        )


def _rented_costs(rental: RentalCharge, hours: Decimal) -> Costs:
    """Of what no commitment can cover: listed at the on-demand price, paid at its own."""
    listed = exact_dollars(usage_cost(rental.offers.listed, hours))
    paid = exact_dollars(usage_cost(rental.offers.paid, hours))
    return Costs(listed, paid, paid, paid)
