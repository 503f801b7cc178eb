"""``hcloud plan``: from a workload and a configuration to a plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

from hcloud import __version__
from hcloud.catalog.book import PriceBook
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.catalog import InstanceType, OfferKey, refresh_command
from hcloud.model.plans.held import FIRST_WEEKS
from hcloud.model.plans.operation import Operation
from hcloud.model.plans.plan import Digests, Plan
from hcloud.model.workload import Demand, Jobs, Workload
from hcloud.planning.decide import ComparedFleets, FleetDecision, Given, compare, decide
from hcloud.planning.explanations.advice import advice, larger_jobs, on_spot
from hcloud.planning.explanations.harvested import with_idle_hours, with_jobs_carried
from hcloud.planning.explanations.renewals import renewal
from hcloud.planning.explanations.statement import Circumstances, state
from hcloud.planning.fleets.allowed_cover import AllowedCover, allowed_cover, with_licence
from hcloud.planning.fleets.fleet import Holding
from hcloud.planning.fleets.gpu_jobs import GpuRules, for_markets
from hcloud.planning.fleets.owned import Owned
from hcloud.planning.forecasting.demand import in_steps
from hcloud.planning.forecasting.forecast import choose_step
from hcloud.planning.forecasting.idle import IdleUse
from hcloud.planning.forecasting.window import demand_within, window_of
from hcloud.planning.settings import PlanSettings
from hcloud.planning.strategies.operation import planned_reserve
from hcloud.readers.configuration.config import Config, Loaded
from hcloud.readers.configuration.owned_section import OwnedSection
from hcloud.units import SECONDS_PER_HOUR, counted, format_age, format_money
from hcloud.usecases.deciding.fallen import since_it_fell
from hcloud.usecases.deciding.idle_plan import FindIdle, PlanQuestion, decide_with_idle_hours
from hcloud.usecases.deciding.known_of_jobs import leanest_of, required_of, running_of, speeds_of
from hcloud.usecases.deciding.plan_notes import PlanNoteInputs, assumptions, warnings
from hcloud.usecases.deciding.planned_apart import PlannedApart, PlannedTogether, by_memory, planned_apart, unpriced
from hcloud.usecases.deciding.servers import on_servers, server_size, whole_jobs
from hcloud.usecases.progress import Progress, part_of, unheard
from hcloud.usecases.workloads.sources import check_regions, open_prices

DAY = 86_400
MUCH_MORE = Decimal("1.15")  # ours: larger servers are tried where keeping the target costs so many times the cheapest
COUNTED_DIGITS = 4  # a savings plan is bought in rounded dollars: the instances it covers are whole but for that
READING = 0.2  # ours: the part of the progress bar that reading takes where strategies are simulated
READING_FIRST = 0.7  # ours: and where only the plan's own fleet may be


@dataclass(frozen=True, slots=True)
class DecidedPlan:
    """A plan, the decision it states (for pictures and explanations in the same run), and the flags of each of several
    plans that would cost less together."""

    plan: Plan
    decision: FleetDecision
    apart: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Beside:
    """What a plan may be told beside workload and configuration: what is owned beside what that says (``held``), what
    finds out how idle services are, where batch is to run in that, what the fleet is chosen among, where that was
    found before (``compared``), what to hold (``holdings``), and whether the plan says why and what was not taken."""

    held: Sequence[Owned] = ()
    idle: FindIdle | None = None
    compared: ComparedFleets | None = None
    holdings: tuple[Holding, ...] | None = None
    explained: bool = True


@dataclass(frozen=True, slots=True)
class PlanBasis:
    """What a plan is decided from, and what there is to say of prices and of demand that fell."""

    loaded: Loaded
    workload: Workload
    book: PriceBook
    demand: Demand
    settings: PlanSettings
    owned: tuple[Owned, ...]
    given: Given
    notes: Sequence[str]
    fell: tuple[str, ...]


def compared_for(read: Workload, loaded: Loaded, now: datetime, held: Sequence[Owned]) -> ComparedFleets:
    """All that the fleet of a plan is chosen among; raises as :func:`plan_for` does."""
    basis = _basis(read, loaded, now, Beside(held))
    return compare(basis.book, basis.demand, basis.settings, basis.owned, basis.given)


def _basis(read: Workload, loaded: Loaded, now: datetime, known: Beside) -> PlanBasis:
    book, notes = open_prices(loaded, now.date())
    check_regions(loaded, book)
    settings = loaded.config.settings()

    def held(settings: PlanSettings) -> tuple[Owned, ...]:
        return (*(_owned(section, book, now, settings) for section in loaded.config.owned), *known.held)

    rules = GpuRules(settings.divisible, _paid(held, settings))
    workload, markets = for_markets(read, book, settings.markets, rules)
    settings = replace(settings, markets=markets)
    demand = planned_demand(workload, settings)
    loaded, workload, fell = since_it_fell(loaded, workload, demand)
    demand = planned_demand(workload, settings) if fell else demand
    running = running_of(workload, settings.divisible, demand)
    settings = replace(settings, speeds=tuple(speeds_of(workload, book)))
    owned = held(settings)
    owned = tuple(with_licence(one, book, settings, apart=demand.by_part) for one in owned)
    required = required_of(workload, demand)
    given = Given(
        running,
        leanest=leanest_of(workload, demand),
        required=required,
        compared=known.compared,
        holdings=known.holdings,
    )
    return PlanBasis(loaded, workload, book, demand, settings, owned, given, notes, fell)


def plan_for(
    read: Workload, loaded: Loaded, now: datetime, progress: Progress = unheard, beside: Beside | None = None
) -> DecidedPlan:
    """Decide for a workload, simulate where a strategy is asked for, and state the plan; ``beside`` is what
    else is known.

    Raises UsageError for impossible settings, EvidenceError where a price is missing, quarantined or older than
    allowed.
    """
    simulated, known = loaded.config.operation.strategy is not None, beside or Beside()
    basis = _basis(read, loaded, now, known)
    loaded, workload, book, demand = basis.loaded, basis.workload, basis.book, basis.demand
    settings, owned, given = basis.settings, basis.owned, basis.given
    is_last = known.idle is None and not simulated
    first = settings if is_last else replace(settings, risk=replace(settings.risk, falls=()))
    decision, operation = decide(book, demand, first, owned, given), None
    without = decision
    use: IdleUse | None = None
    if known.idle is not None:
        asked = PlanQuestion(workload, book, demand, settings, owned, loaded.config)
        use = known.idle(workload, demand, settings, server_size(decision))
        decision, use = decide_with_idle_hours(asked, known.idle, use, given, without)
        given = replace(given, idle=use.hours, otherwise=without)
    if simulated:
        whole = whole_jobs(workload, settings.divisible)
        sized = on_servers(settings, book, (workload, demand, whole), without, given.required)
        asked_for = [(book, demand, of_size, owned, Given(required=given.required, whole=whole)) for of_size in sized]
        settings, decision, operation = _on_enough(loaded.config, workload, asked_for, part_of(progress, READING, 1.0))
        decision = replace(decision, rivals=without.rivals)  # "all on demand" is one figure, strategies or not
    used = book.restricted(k for k in _considered(decision) if k in book.offers)  # a bill's own prices are in no book
    oldest = min((o.origin.day for o in decision.offers_in_use), default=now.date())
    _check_age(loaded, decision, (now.date() - oldest).days)
    planned = PlannedTogether(workload, demand, without, given.required, by_arithmetic=simulated)
    apart = planned_apart(planned, book) if use is None else unpriced(replace(planned, decision=decision), book)
    lean = by_memory(planned, book) if known.explained and use is None and not simulated else None
    around = Circumstances(
        tool_version=__version__,
        generated_at=now,
        digests=Digests(used.digest(), _digest(settings, owned), demand.provenance.digest),
        price_day=oldest,
        seed=settings.seed,
        demand=demand,
        assumptions=tuple(assumptions(demand, settings, decision)),
        warnings=(
            *(_of_renewals(basis, decision, given) if known.explained else ()),
            *basis.notes,
            *basis.fell,
            *filter(None, [apart.said]),
            *warnings(PlanNoteInputs(loaded, workload, demand, decision, now.date(), operation, book)),
        ),
        operation=operation,
        advice=tuple(_advised(basis, decision, given, lean)) if known.explained else (),
        explained=known.explained,
    )
    plan = state(decision, around)
    if use is not None:
        plan = _with_idle_hours(with_idle_hours(plan, decision, without, use), workload, demand, use, owned)
    from hcloud.usecases.deciding.own_fleet import predicted, short_of, trace_of

    prediction = predicted(plan, workload, book, loaded.config)
    said = () if prediction is None else tuple(short_of(plan, prediction, loaded.config.operation.qos))
    plan = replace(plan, warnings=(*plan.warnings, *said), trace=trace_of(loaded), prediction=prediction)
    return DecidedPlan(plan, decision, apart.flags if lean is None else lean[1].flags)


def _advised(
    basis: PlanBasis, decision: FleetDecision, given: Given, apart: tuple[Decimal, PlannedApart] | None
) -> Iterator[str]:
    """What is said beside why a plan is as it is, that plans of its parts would save something too; what compares
    dollars by arithmetic where nothing was simulated."""
    is_simulated = basis.loaded.config.operation.strategy is not None
    if not is_simulated:
        yield from larger_jobs(basis.workload, decision)
        more = [] if apart is None else [(apart[0], apart[1].said)]
        yield from advice(decision, basis.book, basis.demand, given, more)
        if given.idle is None and given.holdings is None:
            yield from on_spot(decision, basis.book, basis.demand, given)


def _of_renewals(basis: PlanBasis, decision: FleetDecision, given: Given) -> Iterator[str]:
    """What renewing at its end what is owned would save, where that is known: dollars that a plan leaves."""
    is_stated = len(basis.owned) == len(basis.loaded.config.owned)  # a bill's own have its prices, and no key to change
    if is_stated and given.holdings is None:
        idle = "the plan has idle hours" if given.idle is not None else ""
        is_simulated = basis.loaded.config.operation.strategy is not None
        why_not = "the reserve is that of a strategy" if is_simulated else idle
        yield from renewal(decision, basis.book, basis.demand, given, why_not)


def _with_idle_hours(plan: Plan, workload: Workload, demand: Demand, use: IdleUse, owned: Sequence[Owned]) -> Plan:
    """The plan with the jobs marked that run in idle hours; a series has none."""
    if not isinstance(workload, Jobs):
        return plan
    vcpus = sum(float(o.shape.vcpus * o.speed * o.count) for o in owned if o.is_used)
    return with_jobs_carried(plan, workload, demand, use, vcpus)


Asked = tuple[PriceBook, Demand, PlanSettings, tuple[Owned, ...], Given]


def _operated(
    config: Config, workload: Workload, asked: Asked, progress: Progress, has_larger: bool = False
) -> tuple[FleetDecision, Operation]:
    """What strategies make of a decision, simulated on the workload."""
    from hcloud.usecases.deciding.operate import OperationBasis, operate

    book = asked[0]
    decision = decide(*asked)
    operation = operate(OperationBasis(config, workload, book, decision, has_larger), progress)
    return _as_operated(decision, operation, asked), operation


def _on_enough(
    config: Config, workload: Workload, sizes: Sequence[Asked], progress: Progress
) -> tuple[PlanSettings, FleetDecision, Operation]:
    """What strategies make of a decision on the first size of server; of the next ones too as long as the target is
    missed or dear to keep: the cheapest that keeps it, of larger ones rather not by chance; else the first."""
    tried: list[tuple[PlanSettings, FleetDecision, Operation]] = []
    for at, asked in enumerate(sizes):
        part = part_of(progress, at / len(sizes), (at + 1) / len(sizes))
        tried.append((asked[2], *_operated(config, workload, asked, part, at + 1 < len(sizes))))
        operation = tried[-1][2]
        if not operation.is_missed and not _costs_much(operation):
            break
    keeping = [one for one in tried if not one[2].is_missed]
    if not keeping and len(tried) > 1:
        return tried[0][0], *_operated(config, workload, sizes[0], part_of(progress, 1.0, 1.0))
    first = tried[0][2]
    settings, decision, operation = min(
        keeping or tried,
        key=lambda one: (one[2] is not first and _is_by_chance(one[2]), one[2].chosen.monthly),
    )
    if operation is first:
        return settings, decision, operation
    said = (
        f"on {first.reserved_type} {_kept_on(first)}; {operation.reserved_type} is chosen where servers may"
        " be as large as those that the plan without strategies runs on (markets.vcpus)"
    )
    return settings, decision, replace(operation, reasons=(*operation.reasons, said))


def _costs_much(operation: Operation) -> bool:
    """Whether what keeps the target costs far more than what was simulated beside it, or keeps it by chance alone."""
    dear = MUCH_MORE * min(point.monthly for point in operation.points)
    return _is_by_chance(operation) or operation.chosen.monthly > dear


def _is_by_chance(operation: Operation) -> bool:
    """Whether the choice misses the target in the mean, and is only not told from a point that keeps it."""
    return operation.chosen.kept_qos.mean < operation.qos_target


def _kept_on(operation: Operation) -> str:
    if operation.is_missed:
        within = "" if operation.budget is None else " within the budget"
        return f"none of {len(operation.points)} keeps the target{within}"
    return f"the choice would cost {format_money(operation.chosen.monthly)} a month"


def _as_operated(decision: FleetDecision, operation: Operation, asked: Asked) -> FleetDecision:
    """The decision with the reserve that was chosen by simulation, less what is owned."""
    book, demand, settings, owned, given = asked
    large = decision.evaluations[0].candidate.shape.vcpus
    owned_vcpus = sum((o.shape.vcpus * o.count for o in owned if o.is_used), Decimal(0))
    reserve = max(operation.reserve - int(owned_vcpus / large), 0)
    if reserve == planned_reserve(decision):
        return decision
    settings = replace(settings, risk=replace(settings.risk, regret_quantile=None))
    return decide(book, demand, settings, owned, replace(given, reserve=reserve, compared=decision.compared))


def planned_demand(workload: Jobs | Demand, settings: PlanSettings) -> Demand:
    """Demand by planning step within the window that counts; where a term ends inside the horizon the steps are hours
    at least. The steps of a series are its own where they are longer and fill the horizon and a day."""
    window = window_of(workload)
    step = choose_step(workload, window, settings.outlook)
    if settings.is_renewed:
        step = max(step, SECONDS_PER_HOUR)
    if isinstance(workload, Demand) and not settings.outlook.step_seconds:
        longer = max(step, workload.step_seconds)
        if settings.outlook.horizon_hours * SECONDS_PER_HOUR % longer or DAY % longer:
            workload = in_steps(workload, step)
        step = max(step, workload.step_seconds)
    return demand_within(workload, step, window)


def _owned(section: OwnedSection, book: PriceBook, now: datetime, settings: PlanSettings) -> Owned:
    cover = allowed_cover(section.key, book, settings)
    speed = settings.speed(section.provider, cover.shape.family)
    count, bought_as = _count(section, cover, book), None if cover.offer.key == section.key else section.key
    left, expires = hours_left(section, now), datetime.combine(section.expires, time(), UTC)
    return Owned(cover.offer, cover.shape, count, left, speed, cover.elsewhere, expires, bought_as)


def hours_left(section: OwnedSection, now: datetime) -> int:
    """The whole hours until what is owned expires."""
    return max(int((datetime.combine(section.expires, time(), UTC) - now) / timedelta(hours=1)), 0)


def _paid(
    held: Callable[[PlanSettings], Sequence[Owned]], settings: PlanSettings
) -> Iterator[tuple[InstanceType, float]]:
    """The types that are owned, with how many in the mean of the horizon; not looked for before somebody asks."""
    for one in held(settings):
        if not one.offer.key.option.is_spend_based:
            yield one.shape, float(one.count) * min(one.hours_left / settings.outlook.horizon_hours, 1.0)


def _count(section: OwnedSection, cover: AllowedCover, book: PriceBook) -> Decimal:
    """How many instances of the type that it is counted in; the same dollars cover another number of another type."""
    dollars = spent_on(section, book)
    if section.count is not None and cover.offer.key == section.key:
        return section.count
    return round(dollars / cover.offer.effective_hourly, COUNTED_DIGITS)


def spent_on(section: OwnedSection, book: PriceBook) -> Decimal:
    """Dollars an hour of what is owned. UsageError where its quantity is not said, or twice."""
    if (section.count is None) == (section.dollars_per_hour is None):
        raise UsageError(f"owned: {section.key}: give either count or dollars_per_hour")
    if section.dollars_per_hour is not None:
        return section.dollars_per_hour
    return book.offer(section.key).effective_hourly * (section.count or 0)


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
        allowed = counted(limit // DAY, "day")
        raise EvidenceError(
            f"the oldest price this plan needs is {format_age(days)}; prices.max_age allows {allowed}",
            hint=f"refresh it with '{refresh_command(key.provider, key.region)}' or import a newer price file",
        )
