"""``hcloud plan``: from a configuration to a plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import numpy as np

from hcloud import __version__
from hcloud.catalog.book import PriceBook
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.catalog import Offer, OfferKey
from hcloud.model.plan import Assumption, Digests, Plan
from hcloud.model.workload import Demand, Jobs
from hcloud.planning.decide import Decision, decide
from hcloud.planning.demand import demand_of
from hcloud.planning.forecast import choose_step, whole_periods
from hcloud.planning.owned import Owned
from hcloud.planning.settings import Market, PlanSettings, fitting_vcpus
from hcloud.planning.statement import Circumstances, state
from hcloud.readers.config import Loaded, OwnedSection
from hcloud.units import HOURS_PER_YEAR, SECONDS_PER_HOUR, format_duration
from hcloud.usecases.sources import open_prices, open_workload

DAY = 86_400
SPLITTABLE = frozenset({"swim"})  # MapReduce tasks run on any machine: a job need not fit on one
FITTING_JOBS = 0.95  # ours: the share of jobs an instance must be able to hold
STILL_RISING = 1.5  # ours: the last day's mean demand above this multiple of the first day's is worth a warning


@dataclass(frozen=True, slots=True)
class Outcome:
    """A plan, and the decision it states (for pictures and explanations in the same run)."""

    plan: Plan
    decision: Decision


def make_plan(loaded: Loaded, now: datetime, progress: Callable[[float], None] | None = None) -> Outcome:
    """Read the workload and the prices, decide, and state the plan.

    Raises InputError for unusable files, UsageError for impossible settings, EvidenceError where a price is missing,
    quarantined or older than allowed.
    """
    workload = open_workload(loaded, progress)
    book, notes = open_prices(loaded, now.date())
    settings = loaded.config.settings()
    demand = _demand(workload, settings)
    settings = replace(settings, markets=tuple(_sized(m, workload, demand) for m in settings.markets))
    owned = tuple(_owned(section, book, now) for section in loaded.config.owned)
    decision = decide(book, demand, settings, owned)
    used = book.restricted(_considered(decision))
    oldest = min((o.origin.day for o in _offers_in_use(decision)), default=now.date())
    _check_age(loaded, (now.date() - oldest).days)
    around = Circumstances(
        tool_version=__version__,
        generated_at=now,
        digests=Digests(used.digest(), _digest(_settings_document(settings)), demand.provenance.digest),
        price_day=oldest,
        seed=settings.seed,
        demand=demand,
        assumptions=tuple(_assumptions(demand, settings, decision)),
        warnings=(
            *notes,
            *_too_large(workload, settings),
            *_warnings(loaded, demand, decision, (now.date() - oldest).days),
        ),
    )
    return Outcome(state(decision, around), decision)


def _demand(workload: Jobs | Demand, settings: PlanSettings) -> Demand:
    """Demand by planning step. Of a job trace the time between the first and the last submission counts, so that its
    draining tail is not mistaken for low demand; where a term ends inside the horizon the steps are hours at least."""
    if isinstance(workload, Jobs):
        begin, end = float(workload.submit[0]), float(workload.submit[-1])
    else:
        begin, end = workload.start, workload.start + len(workload) * workload.step_seconds
    step = choose_step(end - begin, settings.outlook)
    terms = [t for m in settings.markets for t in m.terms]
    if settings.outlook.horizon_hours > min(terms, default=1) * HOURS_PER_YEAR:
        step = max(step, SECONDS_PER_HOUR)
    return _between(demand_of(workload, step), begin, end)


def _between(demand: Demand, begin: float, end: float) -> Demand:
    """The steps that lie at least half between two times, one at the least."""
    first = round((begin - demand.start) / demand.step_seconds)
    last = max(round((end - demand.start) / demand.step_seconds), first + 1)
    return replace(
        demand,
        start=demand.start + first * demand.step_seconds,
        cores=demand.cores[first:last],
        memory=demand.memory[first:last],
        batch_cores=demand.batch_cores[first:last],
    )


def _sized(market: Market, workload: Jobs | Demand, demand: Demand) -> Market:
    """The market with its instance size settled: large enough for the 95th percentile of jobs that cannot be split."""
    if market.vcpus:
        return market
    whole = isinstance(workload, Jobs) and workload.provenance.format not in SPLITTABLE
    largest = float(np.quantile(workload.cores, FITTING_JOBS)) if isinstance(workload, Jobs) and whole else 0.0
    return replace(market, vcpus=fitting_vcpus(float(np.mean(demand.cores)), largest))


def _too_large(workload: Jobs | Demand, settings: PlanSettings) -> Iterator[str]:
    """What is said about jobs that need more vCPUs than an instance of the plan has."""
    if not isinstance(workload, Jobs):
        return
    size = min(m.vcpus for m in settings.markets)
    count = int(np.sum(workload.cores > size))
    if count:
        yield f"{count:,} jobs ask for more than the {size} vCPUs of one instance: they count as split over several"


def _owned(section: OwnedSection, book: PriceBook, now: datetime) -> Owned:
    key = OfferKey(
        section.provider,
        section.region,
        section.instance_type,
        section.option,
        section.term_years,
        section.payment,
        section.os,
        section.tenancy,
    )
    offer = book.offer(key)
    if (section.count is None) == (section.dollars_per_hour is None):
        raise UsageError(f"owned: {key}: give either count or dollars_per_hour")
    dollars = section.dollars_per_hour
    count = section.count if dollars is None else dollars / offer.effective_hourly
    hours = (datetime.combine(section.expires, time(), UTC) - now) / timedelta(hours=1)
    shape = book.instance_type(section.provider, section.instance_type)
    return Owned(offer, shape, count or Decimal(0), max(int(hours), 0))


def _considered(decision: Decision) -> Iterator[OfferKey]:
    for evaluation in decision.evaluations:
        candidate = evaluation.candidate
        yield candidate.on_demand.key
        yield from (o.key for o in candidate.commitments)
    yield from (r.offer.key for r in decision.spot.rentals)
    yield from (o.offer.key for o in decision.owned)


def _settings_document(settings: PlanSettings) -> Mapping[str, object]:
    return asdict(settings)


def _digest(document: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True, default=str).encode()).hexdigest()


def _check_age(loaded: Loaded, days: int) -> None:
    limit = loaded.config.prices.max_age
    if limit is not None and days * DAY > limit:
        raise EvidenceError(
            f"the oldest price this plan needs is {days} days old; prices.max_age allows {limit // DAY}",
            hint="refresh it with 'hcloud pricing refresh' or import a newer price file",
        )


def _assumptions(demand: Demand, settings: PlanSettings, decision: Decision) -> Iterator[Assumption]:
    outlook = settings.outlook
    hours = len(demand) * demand.step_seconds / SECONDS_PER_HOUR
    pattern = whole_periods(len(demand), demand.step_seconds) * demand.step_seconds
    yield Assumption(
        "planning.horizon",
        format_duration(outlook.horizon_hours * SECONDS_PER_HOUR),
        f"the last {format_duration(pattern)} of the {hours:,.1f} h trace repeat; unexpired terms are charged in full",
    )
    yield Assumption("planning.growth_per_year", f"{outlook.growth_per_year:g}", "compounded monthly")
    yield Assumption(
        "planning.step",
        format_duration(demand.step_seconds),
        "commitments meet the mean demand of a step; what is unused in it is lost",
    )
    for market in settings.markets:
        yield Assumption("markets.vcpus", str(market.vcpus), f"{market.provider}: whole instances of this many vCPUs")
    yield Assumption(
        "markets.families",
        "a vCPU is a vCPU",
        "types differ in speed; name the families you trust until one is profiled",
    )
    if decision.spot.rentals:
        yield Assumption(
            "planning.spot_share_of_batch", f"{settings.spot_share_of_batch:g}", "batch work that may be interrupted"
        )
    for rule in demand.provenance.modelled:
        yield Assumption(f"workload.options.{rule.key}", rule.column, rule.rule)


def _warnings(loaded: Loaded, demand: Demand, decision: Decision, age_days: int) -> Iterator[str]:
    if age_days * DAY > loaded.config.prices.warn_age:
        yield f"the oldest price is {age_days} days old; 'hcloud pricing refresh' fetches today's"
    for reason, count in sorted(demand.provenance.left_out.items()):
        yield f"{count:,} rows of the workload are left out: {reason}"
    for reason, count in sorted(demand.provenance.repaired.items()):
        yield f"{count:,} rows of the workload were repaired: {reason}"
    derived = sorted({o.key.option for o in _offers_in_use(decision) if o.origin.derived})
    if derived:
        yield f"derived prices are in use ({', '.join(derived)}): see 'hcloud explain' before buying"
    if loaded.config.planning.regret_quantile is not None and decision.spread is None:
        yield (
            "planning.regret_quantile is not applied: it needs a trace of two days or more and a reserve bought all "
            "at once"
        )
    per_day = DAY // demand.step_seconds
    cores = demand.cores[loaded.config.planning.warm_up // demand.step_seconds :]
    if len(cores) >= 2 * per_day:
        first, last = float(np.mean(cores[:per_day])), float(np.mean(cores[-per_day:]))
        if last > STILL_RISING * first:
            yield (
                f"demand is still rising: the last day needs {last / first if first else float('inf'):.1f} times the "
                "first; if the trace began with an empty cluster, set planning.warm_up"
            )


def _offers_in_use(decision: Decision) -> Sequence[Offer]:
    holdings = [h.offer for h in decision.fleet.holdings]
    return [*holdings, *(r.offer for r in decision.fleet.rentals), *(r.offer for r in decision.spot.rentals)]
