"""What usage and commitments are charged: a row a machine (or commitment), price and day, priced by the one formula."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from hcloud.catalog.bills.covered import Cover, Day
from hcloud.catalog.bills.days import DAY, Offers, RentalCharge, days, month_of
from hcloud.catalog.bills.rows import Sheet
from hcloud.catalog.bills.tariff import Tariff
from hcloud.catalog.bills.terms import Term, terms_of
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import Commitment
from hcloud.model.report import Charge, MachineRental, Period


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
