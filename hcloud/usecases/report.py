"""``hcloud report``: charges of a plan, a journal or what is rented, with what they are compared to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path

from hcloud.catalog.billing_time import DAY, month_of
from hcloud.errors import UsageError
from hcloud.model.catalog import Provider
from hcloud.model.plan import Plan
from hcloud.model.report import Period
from hcloud.planning.report import Report, Source
from hcloud.planning.report_plan import (
    month_of_plan,
    planned_charges,
    planned_counterfactuals,
    planned_holdings,
    planned_notes,
)
from hcloud.readers.config import Loaded, MarketSection
from hcloud.store.plan_file import head_of, load_plan
from hcloud.usecases.sources import open_prices


@dataclass(frozen=True, slots=True)
class Span:
    """What the command line says of the time: a first day (or month), and the day after the last."""

    start: date | None = None
    end: date | None = None
    is_month: bool = False

    def of(self, at: datetime) -> Period:
        """The period that is meant: what is said, else the month so far."""
        if self.start is None:
            return Period(month_of(int(at.timestamp())).start, int(at.timestamp()))
        start = _midnight(self.start)
        if self.is_month:
            return Period(start, min(month_of(start).end, max(int(at.timestamp()), start + 1)))
        end = int(at.timestamp()) if self.end is None else _midnight(self.end)
        if end <= start:
            raise UsageError(f"the report would end before it begins ({self.start})", hint="--from DAY --to DAY")
        return Period(start, end)


def _midnight(day: date) -> int:
    return (day - date(1970, 1, 1)).days * DAY


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be reported on: the place it is in, the time, and the tag that names teams."""

    loaded: Loaded
    at: datetime
    span: Span
    team_tag: str


def is_journal(path: Path) -> bool:
    """Whether a file is a journal; UsageError where there is none."""
    if not path.is_file():
        raise UsageError(
            f"{path}: no such plan or journal", hint="hcloud plan --out FILE, hcloud simulate --journal FILE"
        )
    return '"journal"' in head_of(path)


def report_of_plan(path: Path, asked: Asked) -> Report:
    """One month of a plan. Raises InputError for no plan, EvidenceError where a list price is missing."""
    plan = load_plan(path)
    if asked.span.end is not None:
        raise UsageError("of a plan a month is reported, so it takes no --to", hint="--from DAY moves its beginning")
    first = asked.span.start or plan.generated_at.date()
    period = month_of_plan(_midnight(first))
    book, said = open_prices(_markets(asked.loaded, _places(plan)), asked.at.date())
    charges = planned_charges(plan, book.offer, period)
    return Report(
        source=Source.PLAN,
        name=path.name,
        period=period,
        charges=charges,
        holdings=planned_holdings(plan, book.offer, period),
        counterfactuals=planned_counterfactuals(plan),
        price_day=plan.price_day,
        notes=(*said, *planned_notes(plan, period)),
        team_tag=asked.team_tag,
    )


def _places(plan: Plan) -> list[tuple[Provider, str]]:
    return sorted({(line.provider, line.region) for line in plan.mix})


def _markets(loaded: Loaded, places: Iterable[tuple[Provider, str]]) -> Loaded:
    """The configuration with the markets of some places alone."""
    by_provider: dict[Provider, list[str]] = {}
    for provider, region in places:
        by_provider.setdefault(provider, []).append(region)
    known = {m.provider: m for m in reversed(loaded.config.markets)}
    markets = tuple(
        known.get(p, MarketSection(provider=p)).model_copy(update={"regions": tuple(regions)})
        for p, regions in by_provider.items()
    )
    return replace(loaded, config=loaded.config.model_copy(update={"markets": markets}))
