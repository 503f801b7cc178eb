"""``hcloud plan``: from a workload and a configuration to a plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from hcloud import __version__
from hcloud.catalog.book import PriceBook
from hcloud.errors import EvidenceError, InputError, UsageError
from hcloud.model.catalog import InstanceType, OfferKey, refresh_command
from hcloud.model.plans.held import FIRST_WEEKS
from hcloud.model.plans.operation import Operation
from hcloud.model.plans.plan import Digests, Plan
from hcloud.model.workload import Demand, JobKind, Jobs, WindowRule, Workload
from hcloud.planning.decide import FleetDecision, Given, decide
from hcloud.planning.explanations.advice import LEAST, advice, larger_jobs
from hcloud.planning.explanations.harvested import with_idle_hours, with_jobs_carried
from hcloud.planning.explanations.statement import Circumstances, state
from hcloud.planning.fleets.allowed_cover import AllowedCover, allowed_cover
from hcloud.planning.fleets.apart import Leanest
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.fleets.required import RequiredMachine, required_by, said_of
from hcloud.planning.forecasting.demand import without_gpu_jobs
from hcloud.planning.forecasting.dividing import SPLITTABLE, can_split
from hcloud.planning.forecasting.fall import fall_of
from hcloud.planning.forecasting.forecast import WEEK, choose_step
from hcloud.planning.forecasting.idle import IdleUse
from hcloud.planning.forecasting.packing import RunningJobs
from hcloud.planning.forecasting.speeds import family_speeds, fleet_speeds
from hcloud.planning.forecasting.window import AskedWindow, demand_within, restricted, window_of
from hcloud.planning.settings import Divisible, Market, PlanSettings, RiskSettings, Speed, fitting_vcpus
from hcloud.planning.strategies.operation import planned_reserve
from hcloud.readers.configuration.config import Config, Loaded
from hcloud.readers.configuration.owned_section import OwnedSection
from hcloud.units import (
    HOURS_PER_MONTH,
    HOURS_PER_YEAR,
    SECONDS_PER_HOUR,
    format_age,
    format_duration,
    format_money,
    format_span,
)
from hcloud.usecases.deciding.idle_plan import FindIdle, PlanQuestion, decide_with_idle_hours
from hcloud.usecases.deciding.plan_notes import PlanNoteInputs, assumptions, warnings
from hcloud.usecases.progress import Progress, part_of, unheard
from hcloud.usecases.workloads.sources import check_regions, open_prices

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

DAY = 86_400
COUNTED_DIGITS = 4  # a savings plan is bought in rounded dollars: the instances it covers are whole but for that
READING = 0.2  # ours: the part of the progress bar that reading takes where strategies are simulated
FITTING_JOBS = 0.95  # ours: the share of jobs an instance must be able to hold


@dataclass(frozen=True, slots=True)
class DecidedPlan:
    """A plan, and the decision it states (for pictures and explanations in the same run)."""

    plan: Plan
    decision: FleetDecision


@dataclass(frozen=True, slots=True)
class Beside:
    """What a plan may be told beside workload and configuration: what is owned beside what that says (``held``), and
    what finds out how idle services are, where batch is to run in that."""

    held: Sequence[Owned] = ()
    idle: FindIdle | None = None


def plan_for(
    read: Workload, loaded: Loaded, now: datetime, progress: Progress = unheard, beside: Beside | None = None
) -> DecidedPlan:
    """Decide for a workload, simulate where a strategy is asked for, and state the plan; ``beside`` is what
    else is known.

    Raises UsageError for impossible settings, EvidenceError where a price is missing, quarantined or older than
    allowed.
    """
    simulated, known = loaded.config.operation.strategy is not None, beside or Beside()
    workload = without_gpu_jobs(read)
    book, notes = open_prices(loaded, now.date())
    check_regions(loaded, book)
    settings = loaded.config.settings()
    demand = planned_demand(workload, settings)
    loaded, workload, fell = since_it_fell(loaded, workload, demand)
    demand = planned_demand(workload, settings) if fell else demand
    running = running_of(workload, settings.divisible, demand)
    settings = replace(settings, speeds=tuple(speeds_of(workload, book)))
    owned = (*(_owned(section, book, now, settings) for section in loaded.config.owned), *known.held)
    given = Given(running, leanest=leanest_of(workload, demand), required=_required(workload, demand))
    first = settings if known.idle is None else replace(settings, risk=replace(settings.risk, falls=()))
    decision, operation = decide(book, demand, first, owned, given), None
    without, size = decision, _server_size(decision)
    use: IdleUse | None = None
    if known.idle is not None:
        asked = PlanQuestion(workload, book, demand, settings, owned, loaded.config)
        use = known.idle(workload, demand, settings, size)
        decision, use = decide_with_idle_hours(asked, known.idle, use, given, without)
        given = replace(given, idle=use.hours, otherwise=without)
    if simulated:
        servers = tuple(_with_servers(m, workload, demand, size) for m in settings.markets)
        settings = replace(settings, mix_types=False, markets=servers)
        asked_for = (book, demand, settings, owned, Given(required=given.required))
        decision, operation = _operated(loaded.config, workload, asked_for, part_of(progress, READING, 1.0))
        decision = replace(decision, rivals=without.rivals)  # "all on demand" is one figure, strategies or not
    used = book.restricted(k for k in _considered(decision) if k in book.offers)  # a bill's own prices are in no book
    oldest = min((o.origin.day for o in decision.offers_in_use), default=now.date())
    _check_age(loaded, decision, (now.date() - oldest).days)
    around = Circumstances(
        tool_version=__version__,
        generated_at=now,
        digests=Digests(used.digest(), _digest(settings, owned), demand.provenance.digest),
        price_day=oldest,
        seed=settings.seed,
        demand=demand,
        assumptions=tuple(assumptions(demand, settings, decision)),
        warnings=(
            *notes,
            *fell,
            *_said_of_required(workload, demand, decision, (book, given), plain=not simulated and use is None),
            *warnings(PlanNoteInputs(loaded, workload, demand, decision, now.date(), operation, book.quarantine)),
        ),
        operation=operation,
        advice=() if simulated else (*larger_jobs(workload, decision), *advice(decision, book, demand, given)),
    )
    plan = state(decision, around)
    if use is not None:
        plan = _with_idle_hours(with_idle_hours(plan, decision, without, use), workload, demand, use, owned)
    from hcloud.usecases.deciding.own_fleet import predicted, short_of, trace_of

    prediction = predicted(plan, workload, book, loaded.config)
    said = () if prediction is None else tuple(short_of(plan, prediction, loaded.config.operation.qos))
    plan = replace(plan, warnings=(*plan.warnings, *said), trace=trace_of(loaded), prediction=prediction)
    return DecidedPlan(plan, decision)


def _with_idle_hours(plan: Plan, workload: Workload, demand: Demand, use: IdleUse, owned: Sequence[Owned]) -> Plan:
    """The plan with the jobs marked that run in idle hours; a series has none."""
    if not isinstance(workload, Jobs):
        return plan
    vcpus = sum(float(o.shape.vcpus * o.speed * o.count) for o in owned if o.is_used)
    return with_jobs_carried(plan, workload, demand, use, vcpus)


Asked = tuple[PriceBook, Demand, PlanSettings, tuple[Owned, ...], Given]


def _operated(config: Config, workload: Workload, asked: Asked, progress: Progress) -> tuple[FleetDecision, Operation]:
    """What strategies make of a decision, simulated on the workload."""
    from hcloud.usecases.deciding.operate import OperationBasis, operate

    book = asked[0]
    decision = decide(*asked)
    operation = operate(OperationBasis(config, workload, book, decision), progress)
    return _as_operated(decision, operation, asked), operation


def _as_operated(decision: FleetDecision, operation: Operation, asked: Asked) -> FleetDecision:
    """The decision with the reserve that was chosen by simulation, less what is owned."""
    book, demand, settings, owned, given = asked
    large = decision.evaluations[0].candidate.shape.vcpus
    owned_vcpus = sum((o.shape.vcpus * o.count for o in owned if o.is_used), Decimal(0))
    reserve = max(operation.reserve - int(owned_vcpus / large), 0)
    if reserve == planned_reserve(decision):
        return decision
    settings = replace(settings, risk=replace(settings.risk, regret_quantile=None))
    return decide(book, demand, settings, owned, replace(given, reserve=reserve))


def planned_demand(workload: Jobs | Demand, settings: PlanSettings) -> Demand:
    """Demand by planning step within the window that counts; where a term ends inside the horizon the steps are hours
    at least. Raises UsageError where steps do not fill the horizon."""
    window = window_of(workload)
    step = choose_step(window.seconds, settings.outlook)
    terms = [t for m in settings.markets for t in m.terms]
    if settings.outlook.horizon_hours > min(terms, default=1) * HOURS_PER_YEAR:
        step = max(step, SECONDS_PER_HOUR)
    if isinstance(workload, Demand) and not settings.outlook.step_seconds:
        step = max(step, workload.step_seconds)
    if settings.outlook.horizon_hours * SECONDS_PER_HOUR % step:
        raise UsageError(f"the horizon is not a whole number of steps of {format_duration(step)}; set planning.step")
    return demand_within(workload, step, window)


def _with_servers(market: Market, workload: Jobs | Demand, demand: Demand, most: int) -> Market:
    """The market with the size of the servers that strategies place jobs on: large enough for 95 % of the jobs that
    cannot be split, and no larger than ``most`` vCPUs, what the plan without strategies runs on (0: no such limit)."""
    if market.vcpus:
        return market
    whole = isinstance(workload, Jobs) and workload.provenance.format not in SPLITTABLE
    largest = float(np.quantile(workload.cores, FITTING_JOBS)) if isinstance(workload, Jobs) and whole else 0.0
    size = fitting_vcpus(float(np.mean(demand.cores)), largest)
    return replace(market, vcpus=min(size, most) if most else size)


def _server_size(plain: FleetDecision) -> int:
    """The vCPUs of the machines that do most of the work of the plan without strategies, reserved ones first; 0 where
    it has none."""
    shapes = {c.shape.name: c.shape for ladder in plain.ladders.values() for c in ladder}
    hours: dict[Decimal, Decimal] = {}
    for holding in plain.machines.holdings:
        size = shapes[holding.offer.key.instance_type].vcpus
        hours[size] = hours.get(size, Decimal(0)) + size * holding.count * holding.offer.term_hours
    for rental in plain.machines.rentals if not hours else ():
        size = shapes[rental.offer.key.instance_type].vcpus
        hours[size] = hours.get(size, Decimal(0)) + size * rental.hours
    return int(max(hours, key=lambda size: (hours[size], size), default=Decimal(0)))


def running_of(workload: Jobs | Demand, divisible: Divisible, demand: Demand) -> RunningJobs | None:
    """The jobs within the demand's window, where some of them cannot be split."""
    if not isinstance(workload, Jobs):
        return None
    seconds = _seconds_within(workload, demand)
    whole = (seconds > 0) & ~can_split(workload, divisible)
    if not whole.any():
        return None
    columns = (workload.begins, workload.ends, workload.cores, workload.memory, whole)
    return RunningJobs(*columns, workload.name, batch=(seconds > 0) & (workload.kind == JobKind.BATCH))


def leanest_of(workload: Jobs | Demand, demand: Demand) -> Leanest | None:
    """The jobs within the demand's window by their GiB per vCPU; nothing is known of it in a series."""
    if not isinstance(workload, Jobs):
        return None
    seconds = _seconds_within(workload, demand)
    some = (seconds > 0) & (workload.cores > 0)
    return Leanest.of(workload.cores[some], workload.memory[some], seconds[some]) if some.any() else None


def _required(workload: Jobs | Demand, demand: Demand) -> tuple[RequiredMachine, ...]:
    """What jobs within the demand's window require of their machine."""
    return required_by(workload, _seconds_within(workload, demand)) if isinstance(workload, Jobs) else ()


def _seconds_within(jobs: Jobs, demand: Demand) -> Floats:
    """How long each job runs within the demand's window."""
    last = demand.start + demand.step_seconds * len(demand)
    seconds: Floats = np.minimum(jobs.ends, last) - np.maximum(jobs.begins, demand.start)
    return np.maximum(seconds, 0.0)


def speeds_of(workload: Workload, book: PriceBook) -> Iterator[Speed]:
    """How much work a vCPU of each family does for this workload, as far as its applications' profiles say."""
    if not isinstance(workload, Jobs) or not workload.performance:
        return
    work = np.bincount(workload.app + 1, workload.cores * workload.duration, len(workload.apps) + 1)
    for provider in sorted({p for p, _ in book.types}):
        shapes = {name: shape for (p, name), shape in book.types.items() if p == provider}
        by_app = {app: family_speeds(known, shapes) for app, known in workload.performance.items()}
        named = [(float(work[1 + code]), by_app.get(app, {})) for code, app in enumerate(workload.apps)]
        for family, factor in fleet_speeds([(float(work[0]), {}), *named]).items():
            yield Speed(provider, family, factor)


def _owned(section: OwnedSection, book: PriceBook, now: datetime, settings: PlanSettings) -> Owned:
    if (section.count is None) == (section.dollars_per_hour is None):
        raise UsageError(f"owned: {section.key}: give either count or dollars_per_hour")
    cover = allowed_cover(section.key, book, settings)
    expires = datetime.combine(section.expires, time(), UTC)
    hours = (expires - now) / timedelta(hours=1)
    speed = settings.speed(section.provider, cover.shape.family)
    count, bought_as = _count(section, cover, book), None if cover.offer.key == section.key else section.key
    left = max(int(hours), 0)
    return Owned(cover.offer, cover.shape, count, left, speed, cover.elsewhere, expires, bought_as)


def _count(section: OwnedSection, cover: AllowedCover, book: PriceBook) -> Decimal:
    """How many instances of the type that it is counted in; the same dollars cover another number of another type."""
    count, dollars = section.count or Decimal(0), section.dollars_per_hour
    if dollars is None and cover.offer.key == section.key:
        return count
    dollars = book.offer(section.key).effective_hourly * count if dollars is None else dollars
    return round(dollars / cover.offer.effective_hourly, COUNTED_DIGITS)


def _said_of_required(
    workload: Workload, demand: Demand, decision: FleetDecision, ground: tuple[PriceBook, Given], *, plain: bool
) -> Iterator[str]:
    """That what some jobs require decides on the machines of others, and in a ``plain`` plan what that costs where it
    is worth a word."""
    book, given = ground
    if not (said := said_of(given.required, _in_use(decision, book))):
        return
    cost = _cost_of(decision)
    saved = cost - _cost_apart(workload, demand, decision, book) if plain else Decimal(0)
    if saved < cost * LEAST or not saved:
        yield said
    else:
        yield f"{said}, for {format_money(saved / decision.horizon_hours * HOURS_PER_MONTH)} a month less"


def _cost_apart(workload: Workload, demand: Demand, decision: FleetDecision, book: PriceBook) -> Decimal:
    """What plans of the jobs that require something, and of the others, cost together; that of the plan where it
    is another question: with what is owned, or for jobs that no plan holds."""
    if not isinstance(workload, Jobs) or workload.requires is None or demand.window is None or decision.owned:
        return _cost_of(decision)
    settings, cost = replace(decision.settings, risk=RiskSettings(futures=0, falls=())), Decimal(0)
    for rows in (workload.requires >= 0, workload.requires < 0):
        part = workload.at(np.flatnonzero(rows))
        needed = demand_within(part, demand.step_seconds, demand.window)
        required = _required(part, needed)
        running = running_of(part, settings.divisible, needed)
        apart = decide(book, needed, settings, (), Given(running, leanest=leanest_of(part, needed), required=required))
        if said_of(required, _in_use(apart, book)):
            return _cost_of(decision)
        cost += _cost_of(apart)
    return cost


def _cost_of(decision: FleetDecision) -> Decimal:
    return decision.machines.cost + decision.spot.cost


def _in_use(decision: FleetDecision, book: PriceBook) -> tuple[InstanceType, ...]:
    """The types that are bought and rented."""
    keys = {(o.key.provider, o.key.instance_type) for o in decision.offers_in_use}
    return tuple(book.instance_type(*key) for key in sorted(keys))


def _considered(decision: FleetDecision) -> Iterator[OfferKey]:
    for candidate in (c for ladder in decision.ladders.values() for c in ladder):
        yield candidate.on_demand.key
        yield from (o.key for o in candidate.commitments)
    yield from (r.offer.key for r in decision.spot.rentals)
    yield from (o.offer.key for o in decision.owned)


def _digest(settings: PlanSettings, owned: Sequence[Owned]) -> str:
    """sha256 over every setting the decision saw and what is owned."""
    held = [(str(o.offer.key), str(o.count), o.hours_left, *([o.elsewhere] if o.elsewhere else [])) for o in owned]
    chosen = asdict(settings)
    if settings.outlook.first_weeks == FIRST_WEEKS:  # digests from before this key stay as they were
        del chosen["outlook"]["first_weeks"]
    document = {"settings": chosen, "owned": held}
    return hashlib.sha256(json.dumps(document, sort_keys=True, default=str).encode()).hexdigest()


def _check_age(loaded: Loaded, decision: FleetDecision, days: int) -> None:
    limit = loaded.config.prices.max_age
    if limit is not None and days * DAY > limit:
        key = min(decision.offers_in_use, key=lambda o: o.origin.day).key
        raise EvidenceError(
            f"the oldest price this plan needs is {format_age(days)}; prices.max_age allows {limit // DAY:,} days",
            hint=f"refresh it with '{refresh_command(key.provider, key.region)}' or import a newer price file",
        )


def since_it_fell(
    loaded: Loaded, workload: Jobs | Demand, demand: Demand
) -> tuple[Loaded, Jobs | Demand, tuple[str, ...]]:
    """The weeks or days of a workload since its demand fell, the configuration that asks for them, and what to say of
    it; all as it was where a window is asked for, or demand did not fall."""
    planning = loaded.config.planning
    fall = fall_of(demand, planning.shrunk, planning.warm_up, planning.shrunk_days)
    if loaded.config.workload.window is not None or fall is None:
        return loaded, workload, ()
    text = format_span(fall.seconds)
    if not fall.share:
        whole = format_span(len(demand) * demand.step_seconds)
        raise InputError(
            f"{demand.provenance.name}: there was no demand in the last {text}: nothing is left to plan for",
            hint=f"if it comes back, --window {whole} plans from the whole trace",
        )
    since = restricted(workload, AskedWindow(text, last=float(fall.seconds)))
    section = loaded.config.workload.model_copy(update={"window": text})
    config = loaded.config.model_copy(update={"workload": section})
    unknown = "" if fall.seconds > WEEK else "; so short a time cannot show whether it falls further or comes back"
    said = (
        f"demand fell: the last {text} used {fall.share:.0%} of {fall.than}, so the plan is made from these {text}"
        f" alone{unknown}. Set planning.shrunk: 0 to plan from the whole trace"
    )
    return replace(loaded, config=config), _as_fallen(since), (said,)


def _as_fallen(workload: Jobs | Demand) -> Jobs | Demand:
    assert workload.window is not None
    return replace(workload, window=replace(workload.window, rule=WindowRule.FALLEN))
