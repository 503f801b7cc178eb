"""``hcloud report``: charges of a plan, a journal or what is rented, with what they are compared to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

from hcloud.catalog.bills.billing import charges
from hcloud.catalog.bills.days import DAY, month_of
from hcloud.catalog.bills.terms import Tariff
from hcloud.catalog.book import PriceBook
from hcloud.errors import UsageError
from hcloud.model.catalog import Offer, PurchaseOption
from hcloud.model.holdings.live import Commitment
from hcloud.model.plans.plan import Plan
from hcloud.model.report import Charge, MachineRental, Period
from hcloud.planning.reports.of_plan import (
    month_of_plan,
    planned_charges,
    planned_counterfactuals,
    planned_holdings,
    planned_notes,
)
from hcloud.planning.reports.report import Counterfactual, Report, ReportedCommitment, ReportSource, total
from hcloud.planning.reports.savings import all_reserved
from hcloud.readers.configuration.config import Loaded
from hcloud.store.files.looked_at import check_file
from hcloud.store.plan_file import load_plan
from hcloud.units import HOURS_PER_YEAR
from hcloud.usecases.workloads.sources import in_places, open_prices


@dataclass(frozen=True, slots=True)
class RequestedPeriod:
    """What the command line says of the time: a first day (or month), and the day after the last."""

    start: date | None = None
    end: date | None = None
    is_month: bool = False

    def of(self, at: datetime) -> Period:
        """The period that is meant, up to now at the latest: what is said, else the month so far."""
        now = int(at.timestamp())
        if self.start is None:
            start, end = month_of(now).start, now
        else:
            start = midnight(self.start)
            end = month_of(start).end if self.is_month else now
        end = min(end if self.end is None else midnight(self.end), now)
        if end <= start:
            said = "is still to come" if start >= now else f"would end before it starts ({self.start})"
            raise UsageError(f"the time to report on {said}", hint="--from DAY --to DAY, or --month 2026-11")
        return Period(start, end)


def midnight(day: date) -> int:
    """The beginning of a day (UTC)."""
    return (day - date(1970, 1, 1)).days * DAY


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """What is to be reported on: the place it is in, the time, and the tag that names teams."""

    loaded: Loaded
    at: datetime
    span: RequestedPeriod
    team_tag: str


def is_journal(path: Path) -> bool:
    """Whether a file is a journal; InputError where it is neither that nor a plan."""
    hint = "hcloud plan --out FILE, hcloud simulate --journal FILE"
    return check_file(path, "a plan", "a journal", hint=hint) == "a journal"


def report_of_plan(path: Path, asked: ReportRequest, used: Decimal | None = None) -> Report:
    """One month of a plan, commitments in use for ``used`` of their hours, else as the plan uses them.

    Raises InputError for no plan, EvidenceError where a list price is missing.
    """
    return report_of_made(load_plan(path), path.name, asked, used)


def report_of_made(plan: Plan, name: str, asked: ReportRequest, used: Decimal | None = None) -> Report:
    """The same of a plan at hand."""
    if asked.span.end is not None:
        raise UsageError("a report of a plan covers one month: leave out --to", hint="--from DAY moves its beginning")
    first = asked.span.start or plan.generated_at.date()
    period = month_of_plan(midnight(first))
    places = sorted({(line.provider, line.region) for line in plan.mix})
    there = in_places(asked.loaded, places, {line.key.os for line in plan.mix})
    book, said = open_prices(there, asked.at.date())
    book = listed_prices(there, asked.at.date()) or book
    return Report(
        source=ReportSource.PLAN,
        name=name,
        period=period,
        charges=planned_charges(plan, book.offer, period, used),
        holdings=planned_holdings(plan, book.offer, period),
        counterfactuals=planned_counterfactuals(plan),
        price_day=plan.price_day,
        notes=(*said, *planned_notes(plan, book.offer, period)),
        team_tag=asked.team_tag,
    )


def listed_prices(loaded: Loaded, today: date) -> PriceBook | None:
    """The prices before negotiation; None where none was negotiated."""
    if loaded.config.prices.overlay is None:
        return None
    return open_prices(loaded.changed(prices={"overlay": None}), today)[0]


def commitment_of(name: str, offer: Offer, count: Decimal | int, starts: datetime, ends: datetime) -> Commitment:
    """What was bought of an offer as a commitment; of one to dollars the count says only how much."""
    key = offer.key
    return Commitment(
        id=name,
        option=key.option,
        offering="",
        instance_type=key.instance_type,
        count=0 if key.option.is_spend_based else int(count),
        term_years=key.term_years,
        payment=key.payment,
        state="active",
        starts=starts,
        ends=ends,
        upfront=offer.upfront * count,
        hourly=offer.hourly * count,
        currency="USD",
    )


def holding_of(told: Commitment, region: str) -> ReportedCommitment:
    """A commitment as reports tell of it."""
    hours = told.term_years * HOURS_PER_YEAR
    dollars = told.hourly + (told.upfront / hours if hours else Decimal(0))
    spends = told.option.is_spend_based
    return ReportedCommitment(
        id=told.id,
        option=told.option,
        instance_type=told.instance_type,
        region=region,
        count=Decimal(told.count),
        dollars_per_hour=dollars if spends else None,
        starts=told.starts,
        ends=told.ends,
    )


def oldest_price(rows: Sequence[Charge], tariff: Tariff) -> date | None:
    """The day of the oldest price among the machines' charges."""
    kinds = {(c.instance_type, c.zone) for c in rows if c.resource}
    offers = (tariff.offer(name, PurchaseOption.ON_DEMAND, zone) for name, zone in kinds)
    return min((o.origin.day for o in offers), default=None)


def counterfactuals(rented: Sequence[MachineRental], tariff: Tariff, period: Period) -> tuple[Counterfactual, ...]:
    """The same machines all on demand, and all under the cheapest one-year commitment of instances, bought for the most
    that ever ran at once; by the same formula."""
    plain = [replace(u, option=PurchaseOption.ON_DEMAND) for u in rented]
    on_demand = total(charges(plain, (), tariff, period)).effective
    found = [Counterfactual("all on demand", "every machine at its on-demand price", on_demand)]
    reserved = all_reserved(plain, tariff, period)
    return (*found, reserved) if reserved is not None else tuple(found)
