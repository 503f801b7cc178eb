"""What a plan rests on and what its reader should be told: assumptions with their keys, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.catalog.checks import derived_in_use, newer_hidden
from hcloud.model.catalog import QuarantinedPrice, refresh_command
from hcloud.model.plans.operation import Operation
from hcloud.model.plans.plan import Assumption
from hcloud.model.workload import Demand, Jobs, Workload, odd_times
from hcloud.planning.decide import FleetDecision
from hcloud.planning.fleets.candidates import UNPRICED, offers_compared
from hcloud.planning.forecasting.fall import WORTH_A_WARNING, end_of, ends_lower, filling_days
from hcloud.planning.forecasting.forecast import (
    WEEK,
    far_above_means,
    finest_step,
    hidden_in_steps,
    is_filled_up,
)
from hcloud.planning.forecasting.needs import KEY
from hcloud.planning.forecasting.outliers import lone, outlier
from hcloud.planning.forecasting.rising import AT_EACH_END, growth_of
from hcloud.planning.forecasting.window import stopped, thinned, window_of
from hcloud.planning.settings import Divisible, PlanSettings
from hcloud.readers.configuration.config import Loaded
from hcloud.units import HOURS_PER_YEAR, SECONDS_PER_HOUR, counted, format_age, format_duration, format_span
from hcloud.usecases.workloads.modelled import of_rules
from hcloud.usecases.workloads.sources import bundled_prices

if TYPE_CHECKING:
    from hcloud.model.workload import Floats
    from hcloud.planning.forecasting.forecast import Forecast

DAY = 86_400
CUT_SHARE = 0.01  # ours: so much of a trace may be left out without a word
SERIES_KEYS = ("series_value", "series_cores", "cluster_cores", "requests_per_core_second")
APART_UNKNOWN = (
    "a series does not say which work takes how many GiB per vCPU: a mix of types holds it only where that differs"
    " (planning.mix_types)"
)
STILL_RISING = 1.25  # ours: mean demand at the end above this multiple of that at the begin is worth a warning


def assumptions(demand: Demand, settings: PlanSettings, decision: FleetDecision) -> Iterator[Assumption]:
    """The rules and defaults the plan rests on, each with the key that changes it."""
    outlook = settings.outlook
    hours = len(demand) * demand.step_seconds / SECONDS_PER_HOUR
    pattern = decision.forecast.pattern * demand.step_seconds
    missing = pattern - (len(demand) - outlook.warm_up_seconds // demand.step_seconds) * demand.step_seconds
    again = f", {format_span(missing)} missing to them as a week later" * (missing > 0) or _once_more(decision.forecast)
    yield Assumption(
        "planning.horizon",
        format_duration(outlook.horizon_hours * SECONDS_PER_HOUR),
        f"the last {format_duration(pattern)} of the {hours:,.1f} h trace repeat{again}; "
        "unexpired terms are charged in full and renewed at today's prices",
    )
    yield Assumption("planning.growth_per_year", f"{outlook.growth_per_year:g}", "compounded monthly")
    if (least := settings.commit_min_saving) != PlanSettings().commit_min_saving:
        yield Assumption(
            "planning.commit_min_saving", f"{least:g}", "commitments save so much of their cost, or are not bought"
        )
    yield from _of_futures(decision, settings)
    parts = "; machines that ran for a part of one are rented for that part" if demand.by_part else ""
    yield Assumption(
        "planning.step",
        format_duration(demand.step_seconds),
        f"commitments cover the mean demand of a step; unused capacity in it is lost{parts}",
    )
    yield from _of_sizes(settings, decision)
    if settings.speeds:
        listed = ", ".join(f"{s.family} {s.factor:.2f}" for s in sorted(settings.speeds, key=lambda s: -s.factor))
        yield Assumption(KEY, f"work a vCPU does: {listed}", "profiles say so; 1 for every other family")
    else:
        yield Assumption(
            "markets.families",
            "a vCPU is a vCPU",
            "types differ in speed: use --family for the families you trust, or profile one",
        )
    if used := [o for o in decision.owned if not o.elsewhere]:
        yield Assumption("owned", f"{len(used)}", "owned capacity serves demand first, whatever type is planned")
    for pool in (o for o in used if o.bought_as is not None):
        counted_in = f"{pool.count:f} of {pool.offer.key.instance_type}"
        yield Assumption("owned", counted_in, f"markets do not allow {pool.bought_as}: its $/h covers these")
    if decision.spot.rentals:
        yield Assumption(
            "planning.spot_share_of_batch", f"{settings.spot_share_of_batch:g}", "batch work that may be interrupted"
        )
    for rule in demand.provenance.modelled:
        key = rule.key if "." in rule.key else f"workload.options.{rule.key}"
        yield Assumption(key, rule.column, rule.rule)


def _once_more(forecast: Forecast) -> str:
    """How many weeks or days of what repeats are there once more: to fill two weeks, or as the horizon is no multiple
    of it."""
    step, repeats = forecast.step_seconds, forecast.pattern
    if is_filled_up(repeats, step):
        days = 2 * WEEK // DAY - repeats * step // DAY
        return f", {counted(days, 'day')} of them once more to fill two weeks"
    weeks = len(forecast) % repeats * step // WEEK
    return f", {counted(weeks, 'week')} spread over them once more" if weeks else ""


def _of_futures(decision: FleetDecision, settings: PlanSettings) -> Iterator[Assumption]:
    """What the interval of the cost rests on, where there is one."""
    if decision.spread is None:
        return
    risk, forecast = settings.risk, decision.forecast
    seconds = forecast.pattern * forecast.step_seconds
    periods = seconds // WEEK if seconds >= 2 * WEEK else seconds // DAY
    own = counted(periods, "week" if seconds >= 2 * WEEK else "day")
    prior = f"this prior, worth {risk.level_prior_weeks:g} weeks (ours)"
    known = f"the trace's own {own} and {prior}" if periods > 1 else f"{prior}, alone: the trace is under two days"
    yield Assumption(
        "planning.level_prior",
        f"{risk.level_prior:g}",
        f"futures draw the level of demand from {known}",
    )
    yield Assumption(
        "planning.growth_prior", f"{risk.growth_prior:g}", "futures draw growth a year with this deviation (ours)"
    )


NO_PRICES = PriceBook({}, {})


@dataclass(frozen=True, slots=True)
class PlanNoteInputs:
    """What warnings are drawn from; ``book`` are the prices it was made of."""

    loaded: Loaded
    workload: Workload
    demand: Demand
    decision: FleetDecision
    today: date
    operation: Operation | None = None
    book: PriceBook = NO_PRICES


def _of_sizes(settings: PlanSettings, decision: FleetDecision) -> Iterator[Assumption]:
    for market in settings.markets:
        size, why = str(market.vcpus), f"{market.provider}: whole instances of this many vCPUs"
        if not market.vcpus:
            size, why = "all sizes", f"{market.provider}: each family in its smallest size worth counting in"
        yield Assumption("markets.vcpus", size, why)
    for candidate in decision.types:
        if len(ladder := decision.ladders[candidate.address]) > 1:
            yield Assumption(
                "planning.size_waste",
                f"{settings.size_waste:g}",
                f"counted in {candidate.shape.name}; bought and rented in as few machines as hold it, up to "
                f"{ladder[-1].shape.name}: sizes of a family cost the same by the vCPU, and commitments cover any of "
                "them",
            )
    what = {
        Divisible.ALL: "every job may be split over several machines",
        Divisible.SERVICES: "services may run as replicas on several machines, a batch job runs on one",
        Divisible.NONE: "every job runs on one machine",
    }
    why = "no job of the trace has to run whole"
    if decision.divisible_cost is not None:
        costs = "" if decision.optimum_cost > decision.divisible_cost else "; in this plan that costs nothing extra"
        why = what[settings.divisible] + costs
    yield Assumption("planning.divisible", str(settings.divisible), why)


def warnings(seen: PlanNoteInputs) -> Iterator[str]:
    """Everything about the prices, the workload and the forecast that its reader should know: guesses first."""
    window, reserves = window_of(seen.workload), bool(seen.decision.machines.holdings)
    alone = lone(seen.workload, window) if reserves else ""
    going = [each(seen.workload, window) for each in (thinned, stopped)]
    yield from filter(None, [outlier(seen.workload, window), alone, *going])
    yield from _of_use(seen)
    yield from _of_guesses(seen)
    yield from _of_prices(seen)
    origin = seen.demand.provenance
    for reason, count in sorted(origin.left_out.items()):
        yield f"rows of the workload left out: {count:,} ({reason})"
    for reason, count in sorted(origin.repaired.items()):
        yield f"rows of the workload repaired: {count:,} ({reason})"
    if said := odd_times(len(seen.demand) * seen.demand.step_seconds):
        yield said
    yield from of_rules(origin.modelled)
    if not isinstance(seen.workload, Jobs) and len(seen.decision.types) > 1:
        yield APART_UNKNOWN
    if isinstance(seen.workload, Jobs) and seen.operation is not None:
        yield from _of_jobs(seen.workload, seen.decision)
    yield from _of_forecast(seen)
    if seen.operation is not None:
        yield from _of_operation(seen, seen.operation)


def _of_use(seen: PlanNoteInputs) -> Iterator[str]:
    """That the use of machines is planned for, and not the machines: what runs now at a third would run full."""
    machines, settings = seen.demand.provenance.machines, seen.loaded.config.workload
    cores = (settings.options if settings else {}).get("series_cores")
    if not machines or cores is None:
        return
    had, used = machines * float(str(cores)), float(np.mean(seen.demand.cores))
    room = seen.loaded.config.planning.headroom
    kept = f"and {room:.0%} more" if room else "filled to the last; planning.headroom: 0.3 leaves room"
    yield (
        f"planned are the {used:,.1f} vCPUs in use on average, of {had:,.0f} in {counted(machines, 'machine')},"
        f" {kept}: that takes fewer or smaller machines"
    )


def _of_guesses(seen: PlanNoteInputs) -> Iterator[str]:
    """What the values of a series were taken to mean without being told."""
    workload = seen.loaded.config.workload
    told = {key.removeprefix("workload.options.").replace("-", "_") for key in workload.options} if workload else set()
    for rule in seen.demand.provenance.modelled:
        if rule.key in SERIES_KEYS and rule.key not in told:
            yield f"the file does not state the unit of its values; assumed: {rule.rule} (--set {rule.key}=...)"


def _of_prices(seen: PlanNoteInputs) -> Iterator[str]:
    offers = seen.decision.offers_in_use
    age_days, oldest = max(((seen.today - o.origin.day).days, o.key) for o in offers) if offers else (0, None)
    if oldest is not None and age_days * DAY > seen.loaded.config.prices.warn_age:
        refresh = refresh_command(oldest.provider, oldest.region)
        yield f"the oldest price is {format_age(age_days)}; '{refresh}' fetches today's"
    if seen.loaded.config.prices.book == "user" and (shipped := bundled_prices(seen.loaded)) is not seen.book:
        compared = (o for m in seen.decision.settings.markets for o in offers_compared(seen.book, m))
        if hidden := newer_hidden(compared, shipped.offers):
            yield hidden
    if age_days < 0:
        yield "the prices are newer than the time the plan is made at (--now)"
    yield from _refused_terms(seen)
    unpriced = [r.address for r in seen.decision.refusals if r.reason.startswith(UNPRICED)]
    if unpriced:
        count = counted(len(unpriced), "type")
        yield f"{count} not considered, as a price is missing or quarantined: {', '.join(unpriced[:3])}"
    options = {o.key.option for o in offers if o.origin.derived}
    if options:
        yield derived_in_use(f"{o.in_words}s" if o.is_commitment else o.in_words for o in options)
    for owned in seen.decision.owned:
        if not owned.hours_left:
            yield f"owned: {owned.offer.key} has expired and is not counted"
        elif owned.elsewhere:
            yield f"owned: {owned.offer.key} covers nothing here, though it is paid for: {owned.elsewhere}"


def _refused_terms(seen: PlanNoteInputs) -> Iterator[str]:
    """That prices of commitments in the allowed regions were refused when they were read: nothing competes there."""
    places = {(m.provider, r, m.os) for m in seen.loaded.config.settings().markets for r in m.regions}

    def is_meant(row: QuarantinedPrice) -> bool:
        if row.key is not None:
            return (row.key.provider, row.key.region, row.key.os) in places
        return any(f".{region}.{system}." in row.row for _, region, system in places)

    rows = [row for row in seen.book.quarantine if row.is_of_a_term and is_meant(row)]
    if rows:
        yield (
            f"{counted(len(rows), 'price')} of commitments in the price book cannot be used, for example"
            f" {rows[0].row}: {rows[0].reason}"
        )


def _of_jobs(jobs: Jobs, decision: FleetDecision) -> Iterator[str]:
    shapes = [c.shape for c in decision.types]
    size, memory = max(float(s.vcpus) for s in shapes), max(float(s.memory_gib) for s in shapes)
    count = int(np.sum((jobs.cores > size) | (jobs.memory > memory)))
    if count:
        yield f"jobs larger than an instance of {size:g} vCPUs and {memory:g} GiB: {count:,}, treated as divisible"


def _of_parts(seen: PlanNoteInputs) -> Iterator[str]:
    """That far more jobs run at once than on average in any step, where the fleet is not simulated; or that use varies
    within the steps that machines are counted by."""
    jobs, step, settings = seen.workload, format_duration(seen.demand.step_seconds), seen.decision.settings
    is_simulated = seen.operation is not None or len(jobs) <= seen.loaded.config.operation.own_fleet_jobs
    assert seen.demand.window is not None
    if isinstance(jobs, Jobs) and not is_simulated and (most := far_above_means(jobs, seen.demand)):
        highest = float(np.max(seen.demand.cores))
        yield (
            f"up to {most:,.1f} vCPUs are in use at once, {most / highest:.1f} times the highest mean of {step}"
            f" ({highest:,.1f}) that machines are counted by. The plan costs more than it says, and its commitments"
            " save less: 'hcloud simulate PLAN' shows how much"
        )
    elif share := hidden_in_steps(jobs, seen.demand.step_seconds, seen.demand.window):
        finer = finest_step(jobs, seen.demand.step_seconds)
        long = ", or terms: [3] of markets" if settings.outlook.horizon_hours <= 3 * HOURS_PER_YEAR else ""
        yield (
            f"machines are counted by means of {step}, and at least {share / 2:.0%} of use is above these means."
            f" Commitments save less than this plan says: set planning.step: {format_duration(finer)}"
            + f" and a horizon in which no term ends (planning.horizon: 1y{long})" * settings.is_renewed
            + ", or compare by simulation with --strategy auto" * (isinstance(jobs, Jobs) and seen.operation is None)
        )
    elif isinstance(jobs, Demand) and jobs.step_seconds > SECONDS_PER_HOUR:
        yield (
            f"the series has means of {format_duration(jobs.step_seconds)}: how use varies within them is not known;"
            " where it does, commitments save less than this plan says. Give it in steps of an hour or less"
        )


def _cut(seen: PlanNoteInputs) -> Iterator[str]:
    """That the forecast is not of the beginning of a window of which only whole days or weeks repeat, a year or the
    horizon at most."""
    step, forecast = seen.demand.step_seconds, seen.decision.forecast
    usable = len(seen.demand) - seen.loaded.config.planning.warm_up // step
    if usable - forecast.pattern > usable * CUT_SHARE:
        cut, whole = (format_span(n * step) for n in (usable - forecast.pattern, forecast.pattern))
        yield (
            "the forecast repeats whole days or weeks, a year or the horizon at most: it uses the window's last"
            f" {whole} and leaves out its first {cut}"
        )


def _of_forecast(seen: PlanNoteInputs) -> Iterator[str]:
    if seen.decision.types:
        yield from _of_parts(seen)
    yield from _cut(seen)
    planning = seen.loaded.config.planning
    if planning.regret_quantile is not None and seen.decision.spread is None:
        yield "planning.regret_quantile has no effect: the plan buys no commitment, or planning.futures is 0"
    per_day = DAY // seen.demand.step_seconds
    cores = seen.demand.cores[planning.warm_up // seen.demand.step_seconds :]
    yield from _of_begin(cores, per_day, grows=bool(planning.growth_per_year))
    if (fell := ends_lower(cores, per_day)) is not None:
        yield (
            f"demand is falling: the last {fell.part} needs {fell.share:.0%} of {fell.than}; what is reserved is paid"
            " for to the end of its term"
        )


def _of_begin(cores: Floats, per_day: int, *, grows: bool) -> Iterator[str]:
    """That demand rose since the trace began, or is low in its first days alone."""
    end, filling = end_of(cores, per_day), filling_days(cores, per_day)
    if end is not None and end.share > STILL_RISING:
        goes_on = "" if grows else _if_it_goes_on(cores, per_day)
        if len(cores) < 8 * per_day:
            goes_on += "if the trace began with an empty cluster, set planning.warm_up"
        last = "14d plans for the last two weeks" if len(cores) >= 21 * per_day else "7d plans for the last week"
        goes_on = goes_on or f"--window {last} alone"
        more = f"needs {end.share:.1f} times {end.than}" if end.share < inf else f"needs something, {end.than} nothing"
        yield f"demand is still rising: the last {end.part} {more}; {goes_on}"
    if filling:
        yield (
            f"demand begins low: its first {filling}d need less than {1 / WORTH_A_WARNING:.0%} of the same days a week"
            f" later; if the trace began with an empty cluster, planning.warm_up: {filling}d leaves them out"
        )


def _if_it_goes_on(cores: Floats, per_day: int) -> str:
    """What plans for a demand that keeps rising as it did, where the trace shows how fast."""
    grows = growth_of(cores, per_day)
    if grows is None or grows <= 0:
        return ""
    asked = f"--window {AT_EACH_END * 7}d with planning.growth_per_year: {grows:.2f}"
    return f"if it keeps rising at this pace, {asked} plans for that"


def _of_operation(seen: PlanNoteInputs, operation: Operation) -> Iterator[str]:
    """What was not met, and where what was simulated is not what is planned for."""
    if any(c.speed != 1 for c in seen.decision.types):
        yield "the simulation counts all vCPUs as equal; only the plan's arithmetic uses the speeds of types"
    if not operation.meets_target:
        soon = " that begins jobs in time" if operation.chosen.kept_qos.mean >= operation.qos_target else ""
        yield f"no strategy{soon} keeps the target of {operation.qos_target:.1%} of jobs (exit code 3)"
    if not operation.within_budget:
        yield "no strategy stays within the budget: the cheapest is shown (exit code 3)"
    if not operation.settled:
        after = counted(operation.runs, "run")
        yield f"the choice of a strategy is not settled after {after}; operation.runs allows more"
    planning = seen.loaded.config.planning
    if planning.growth_per_year or planning.headroom:
        yield "strategies are simulated on the trace as it is, without growth and headroom"
    if planning.spot_share_of_batch:
        yield "strategies are simulated without spot: the simulation rents on demand what the plan gives to spot"
    if planning.regret_quantile is not None:
        yield "the reserve was chosen by simulation; planning.regret_quantile only limited the candidates"
    regions = {e.candidate.on_demand.key.region for e in seen.decision.evaluations}
    if len(regions) > 1:
        yield "strategies are simulated in the plan's own region only"
