"""``hcloud plan --strategy``: the plan's candidates run on the trace, and the one that keeps the target chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from hcloud.catalog.book import PriceBook
from hcloud.errors import UsageError
from hcloud.model.plans.operation import Band, OperatingPoint, Operation
from hcloud.model.running.strategy import Strategy
from hcloud.model.workload import Jobs, Workload
from hcloud.planning.decide import FleetDecision
from hcloud.planning.forecasting.dividing import settled
from hcloud.planning.forecasting.forecast import of_its_last_year
from hcloud.planning.forecasting.window import window_of
from hcloud.planning.strategies.choice import (
    OperatingTarget,
    choose,
    in_doubt,
    is_affordable,
    is_kept,
    may_keep,
    meets,
    with_front,
)
from hcloud.planning.strategies.choice_reasons import how_sure, judged, why
from hcloud.planning.strategies.operation import (
    BASELINE,
    LARGER,
    NOTHING,
    OWN_RULE,
    OWNED,
    REFINED,
    closer,
    enlarged,
    main_commitment,
    refined,
    reserves_to_try,
)
from hcloud.policy.limits import Feedback, Fixed
from hcloud.policy.registry import compose, rents_whole_servers, rule_of
from hcloud.policy.retention import keep_seconds
from hcloud.policy.rule import Rule
from hcloud.policy.sizes.sizing import SteadyMinimum
from hcloud.readers.clouds import load_cloud
from hcloud.readers.configuration.config import Config
from hcloud.readers.strategies import STRATEGIES, load_strategy
from hcloud.sim.outcomes.comparison import dollars_per_hour, kept_qos
from hcloud.sim.outcomes.interval import Interval
from hcloud.sim.outcomes.measure import Measures, measure
from hcloud.sim.setup.build import mean_of, size_model
from hcloud.sim.setup.shop import Shop, shop_for, shop_of
from hcloud.units import HOURS_PER_MONTH, cents, rate
from hcloud.usecases.progress import Progress, part_of, unheard
from hcloud.usecases.studies.simulate import strategies_named
from hcloud.usecases.studies.simulation import (
    Study,
    able_strategies,
    pool_for,
    quality_asked,
    simulate_once,
    strategy_for,
    with_seed,
)

AUTO = "auto"
STRICTER = 0.2
"""Ours: the part of ``operation.alike`` that seeds may leave open: of points that few seeds were run with the one that
was lucky looks best, and what it saves is then told too high (decision 173)."""
ADDING = 0.7  # ours: the part of the progress bar that is over when seeds begin to be added


@dataclass(frozen=True, slots=True)
class OperationBasis:
    """What a plan was decided from and what came out, and whether larger servers are tried where these miss the
    target: no seeds are then added to tell which of them misses it least."""

    config: Config
    workload: Workload
    book: PriceBook
    decision: FleetDecision
    has_larger: bool = False


@dataclass(frozen=True, slots=True)
class OwnedServers:
    """Servers of the large type's size that are owned already, what all that is owned costs an hour, and whether they
    are all that can be reserved, because no commitment is allowed."""

    servers: int
    hourly: Decimal
    are_all: bool


@dataclass(frozen=True, slots=True, eq=False)
class StrategyCandidate:
    """A strategy with a reserve (servers in all, owned ones included) and where that number comes from."""

    strategy: Strategy
    reserve: int
    rule: str


def operate(ground: OperationBasis, advance: Progress) -> Operation:
    """Simulate every candidate at the same seeds, add seeds for those that the choice is open between, and choose.

    Raises UsageError for a demand series, which has no jobs, and where no strategy can be run at all.
    """
    wish, decision = ground.config.operation, ground.decision
    strategies = strategies_named(STRATEGIES if wish.strategy == AUTO else [str(wish.strategy)])
    study = _study(ground)
    runs = _Runs(study, _held(decision, study), {})
    target = study.target
    candidates = _candidates(study, strategies, decision, runs.held)
    _predict(runs, candidates, ground, target, advance)
    points, chosen, baseline = _chosen(runs, target)
    strategy = strategy_for(study, next(s for s in strategies if s.name == chosen.strategy))
    commitment = main_commitment(decision)
    return Operation(
        strategy=chosen.strategy,
        reserve=chosen.reserve,
        reserved_type=study.shop.types[study.shop.large].shape.name,
        commitment=str(commitment.key) if commitment and chosen.reserve else "",
        cloud=study.cloud.name,
        seeds=tuple(range(study.seed, study.seed + max(len(p.kept_by_seed) for p in points))),
        qos_target=wish.qos,
        budget=wish.budget,
        meets_target=is_kept(points, target),
        within_budget=is_affordable(chosen, target),
        **_limits(rule_of(strategy, "limits")),
        **_retention(study, strategy),
        on_demand_types=_on_demand_types(shop_for(study.shop, strategy), strategy),
        points=judged(points, chosen, target),
        baseline=baseline,
        reasons=(*why(points, chosen, target), how_sure(points, chosen, target, runs.count)),
        confidence=wish.confidence,
        alike=wish.alike,
        runs=runs.count,
        settled=not in_doubt(points, target),
        service_wait=wish.service_wait,
        job_wait=wish.job_wait,
    )


def _chosen(runs: _Runs, target: OperatingTarget) -> tuple[list[OperatingPoint], OperatingPoint, OperatingPoint]:
    """All points, the choice among them and what it is compared with, which has run with its seeds at the least: a
    point that is both has one figure."""
    chosen = choose(runs.points(), target)
    while True:
        count, baseline = runs.count, runs.baseline(chosen, target)
        points = with_front(runs.points())
        chosen = choose(points, target)
        if runs.count == count:
            return points, chosen, baseline


def _predict(
    runs: _Runs, candidates: list[StrategyCandidate], ground: OperationBasis, target: OperatingTarget, advance: Progress
) -> None:
    """Every candidate at the first seed, there also with larger reserves where the largest misses the target or costs
    least, then with the reserves beside the best ones at all of ``wish.seeds``. Then, as long as ``wish.runs`` lasts,
    larger ones alike and those nearer and nearer to the choice, and where there is none of these the points that it is
    open between at one more seed, those with the fewest first: one may take the target from what kept it by chance."""
    wish = ground.config.operation
    first, last = runs.study.seed, runs.study.seed + wish.seeds
    strategies = {c.strategy.name: c.strategy for c in candidates}

    def with_reserves(found: Mapping[str, tuple[int, ...]], words: str) -> list[StrategyCandidate]:
        return [StrategyCandidate(strategies[name], n, words) for name, counts in found.items() for n in counts]

    def larger() -> list[StrategyCandidate]:
        return with_reserves(enlarged(runs.points(), target, runs.reserved), LARGER)

    runs.add(candidates, range(first, first + 1), part_of(advance, 0.0, 1 / (1 + wish.seeds)))
    while (more := larger()) and runs.count < wish.runs:
        runs.add(more, range(first, first + 1), unheard)
        candidates += more
    candidates += with_reserves(refined(runs.points(), target), REFINED)
    runs.add(candidates, range(first, last), part_of(advance, 1 / (1 + wish.seeds), ADDING))
    by_name = {(c.strategy.name, c.reserve): c for c in candidates}
    while runs.count < wish.runs:
        if more := larger() + with_reserves(closer(runs.points(), target), REFINED):
            runs.add(more, range(first, last), unheard)
            by_name |= {(c.strategy.name, c.reserve): c for c in more}
        else:
            points = runs.points()
            if ground.has_larger and not may_keep(points, target):
                break
            unsure = in_doubt(points, replace(target, alike=target.alike * STRICTER))
            fewest = min((len(p.kept_by_seed) for p in unsure), default=0)
            doubtful = [by_name[p.strategy, p.reserve] for p in unsure if len(p.kept_by_seed) == fewest]
            if not doubtful or runs.count + len(doubtful) > wish.runs:
                break
            runs.add(doubtful, range(first, first + fewest + 1), unheard)
        advance(ADDING + (1 - ADDING) * min(runs.count / wish.runs, 1.0))


def _study(ground: OperationBasis) -> Study:
    """The trace in the plan's own market: its type with the smaller sizes of the family, and its commitment."""
    if not isinstance(ground.workload, Jobs):
        raise UsageError(
            "a demand series has no jobs and cannot be simulated",
            hint="plan without --strategy, or give a job table (submit, duration, cores)",
        )
    jobs = settled(ground.workload.as_started, ground.config.planning.divisible)
    on_demand = ground.decision.evaluations[0].candidate.on_demand
    shop = shop_of(ground.book, on_demand, main_commitment(ground.decision), jobs)
    cloud = load_cloud(ground.config.operation.cloud or f"measured-{on_demand.key.provider}")
    section = ground.config
    window, scenario = of_its_last_year(window_of(jobs)), section.workload.scenario
    return Study(
        jobs, cloud, shop, True, section.planning.seed, scenario, window, True, target=quality_asked(section.operation)
    )


def _held(decision: FleetDecision, study: Study) -> OwnedServers:
    owned = decision.owned
    large = study.shop.types[study.shop.large].shape
    vcpus = sum((o.shape.vcpus * o.count for o in owned if o.is_used), Decimal(0))
    hourly = sum((o.offer.effective_hourly * o.count for o in owned if o.hours_left), Decimal(0))
    return OwnedServers(int(vcpus / large.vcpus), hourly, main_commitment(decision) is None)


def _candidates(
    study: Study, strategies: Sequence[Strategy], decision: FleetDecision, held: OwnedServers
) -> list[StrategyCandidate]:
    able = able_strategies(study, strategies)
    made = [c for s in able for c in _of_strategy(study, s, decision, held)]
    if not made:
        raise UsageError(
            f"{study.shop.types[study.shop.large].shape.name} has no commitment among the allowed options, and every"
            " strategy that was named reserves",
            hint="allow more with markets.options and markets.terms, or name OdF or OdM",
        )
    return made


def _of_strategy(
    study: Study, strategy: Strategy, decision: FleetDecision, held: OwnedServers
) -> Iterator[StrategyCandidate]:
    if not strategy.follows("reserved"):
        yield StrategyCandidate(strategy, 0, OWN_RULE)
        return
    is_hybrid = isinstance(rule_of(strategy, "reserved"), SteadyMinimum)
    if main_commitment(decision) is None:
        if is_hybrid or held.servers:
            yield StrategyCandidate(strategy, held.servers, OWNED if held.servers else NOTHING)
        return
    own = pool_for(study, strategy)
    tried: Mapping[int, str] = {own: OWN_RULE}
    if is_hybrid:
        tried = reserves_to_try(decision.evaluations[0].candidate, decision, max(own - held.servers, 0))
        tried = {count + held.servers: words for count, words in tried.items()}
    yield from (StrategyCandidate(strategy, max(count, held.servers), words) for count, words in tried.items())


@dataclass(frozen=True, slots=True)
class _Runs:
    """What candidates did at the seeds they were run with so far."""

    study: Study
    held: OwnedServers
    made: dict[StrategyCandidate, dict[int, Measures]]

    @property
    def count(self) -> int:
        """How many simulations of candidates there were."""
        return sum(len(runs) for candidate, runs in self.made.items() if candidate.rule != BASELINE)

    def reserved(self, servers: int) -> Decimal:
        """Dollars an hour of a reserve of so many servers, owned ones among them; endless where none can be bought."""
        if self.held.are_all:
            return Decimal("Infinity")
        return self.held.hourly + max(servers - self.held.servers, 0) * self.study.shop.reserved.effective_hourly

    def add(self, candidates: Sequence[StrategyCandidate], seeds: Sequence[int], advance: Progress) -> None:
        """Run every candidate at every seed it was not run with yet."""
        for at, seed in enumerate(seeds):
            seeded = self.study if seed == self.study.seed else with_seed(self.study, seed)
            for place, candidate in enumerate(candidates):
                runs = self.made.setdefault(candidate, {})
                if seed not in runs:
                    runs[seed] = measure(simulate_once(seeded, candidate.strategy, pool=candidate.reserve))
                advance((at * len(candidates) + place + 1) / (len(seeds) * len(candidates)))

    def points(self) -> list[OperatingPoint]:
        """Every candidate with its figures over the seeds."""
        return [self._point(c) for c in self.made if c.rule != BASELINE]

    def baseline(self, chosen: OperatingPoint, target: OperatingTarget) -> OperatingPoint:
        """What a chosen point is compared with, at the seeds of that one at the least: the cheapest that has no more
        than what is owned and keeps the target; where none does, its own strategy alike, or whole servers rented where
        it rents nothing."""
        least = [c for c in self.made if c.reserve == self.held.servers and c.strategy.follows("on_demand")]
        keeping = [c for c in least if meets(self._point(c), target)]
        found = min(keeping, key=lambda c: self._point(c).hourly, default=None) or self._own_baseline(chosen, least)
        seeds = range(self.study.seed, self.study.seed + len(chosen.kept_by_seed))
        self.add([found], seeds, unheard)
        return replace(self._point(found), reserve_rule=BASELINE)

    def _own_baseline(self, chosen: OperatingPoint, least: Sequence[StrategyCandidate]) -> StrategyCandidate:
        rents = next(c.strategy for c in self.made if c.strategy.name == chosen.strategy)
        if not rents.follows("on_demand"):
            rents = load_strategy("HF" if self.held.servers else "OdF")
        wanted = StrategyCandidate(rents, self.held.servers, BASELINE)
        return next((c for c in least if c.strategy.name == rents.name), wanted)

    def _point(self, candidate: StrategyCandidate) -> OperatingPoint:
        return _point(self.study, candidate, tuple(self.made[candidate].values()), self.held)


def _point(study: Study, candidate: StrategyCandidate, runs: Sequence[Measures], held: OwnedServers) -> OperatingPoint:
    cost = Interval.of([dollars_per_hour(run) for run in runs])
    paid = min(candidate.reserve, held.servers) * study.shop.reserved.effective_hourly
    hourly = Decimal(repr(cost.mean)) - paid + held.hourly
    return OperatingPoint(
        strategy=candidate.strategy.name,
        reserve=candidate.reserve,
        reserve_rule=candidate.rule,
        hourly=rate(hourly),
        hourly_half=None if math.isnan(cost.half) else rate(Decimal(repr(cost.half))),
        monthly=cents(hourly * HOURS_PER_MONTH),
        kept_qos=_band(runs, kept_qos) or Band(0.0, None),
        batch_p5=_band(runs, lambda m: m.service.batch.p5),
        tail_p95=_band(runs, lambda m: m.service.tail.p95),
        wait_p95=_band(runs, lambda m: m.service.waiting.p95),
        utilisation=_band(runs, lambda m: m.use.utilisation),
        hourly_by_seed=tuple(rate(Decimal(repr(dollars_per_hour(run))) - paid + held.hourly) for run in runs),
        kept_by_seed=tuple(round(kept_qos(run), 6) for run in runs),
        service_wait=_band(runs, lambda m: m.service.service_wait),
        job_wait=_band(runs, lambda m: m.service.job_wait),
    )


def _band(runs: Sequence[Measures], figure: Callable[[Measures], float]) -> Band | None:
    found = Interval.of([figure(run) for run in runs])
    if math.isnan(found.mean):
        return None
    return Band(round(found.mean, 6), None if math.isnan(found.half) else round(found.half, 6))


def _limits(rule: Rule) -> dict[str, float | None]:
    if not isinstance(rule, Fixed | Feedback):
        return {"soft_limit": None, "hard_limit": None}
    return {"soft_limit": rule.soft if isinstance(rule, Fixed) else rule.soft_start, "hard_limit": rule.hard}


def _retention(study: Study, strategy: Strategy) -> dict[str, float | None]:
    if not strategy.follows("retention"):
        return {"retention_factor": None, "retention_seconds": None}
    large = study.shop.types[study.shop.large].shape
    rules = compose(strategy, study.shop.large, (0,))
    start = mean_of(size_model(study.cloud, int(large.vcpus * 1000)).spin_up)
    return {"retention_factor": rules.factor, "retention_seconds": round(keep_seconds(rules, start, 0.0), 1)}


def _on_demand_types(shop: Shop, strategy: Strategy) -> tuple[str, ...]:
    if not strategy.follows("on_demand"):
        return ()
    names = tuple(t.shape.name for t in shop.types)
    return (names[shop.large],) if rents_whole_servers(strategy) else names
