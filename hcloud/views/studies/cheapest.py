"""The cheapest of the Pareto-optimal strategies, and those whose dollars the seeds do not separate from its own."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from hcloud.planning.strategies.choice import OperatingTarget
from hcloud.planning.strategies.choice_reasons import told_wait
from hcloud.sim.outcomes.comparison import ComparedStrategy, StrategyComparison, dollars_per_hour, kept_qos
from hcloud.sim.outcomes.interval import Interval
from hcloud.units import HOURS_PER_MONTH, and_last, counted
from hcloud.views.lines import less_on_a_bill

_NAMED = 4
_MUCH_APART = 0.1
"""Ours: less of a reserve that is idle beside what is rented is not told."""


def cheapest_of(comparison: StrategyComparison) -> ComparedStrategy | None:
    """The cheapest on the front, by the mean of its seeds; None where no strategy is compared."""
    front = [c for c in comparison.strategies if c.on_front]
    return min(front, key=lambda c: c.interval(dollars_per_hour).mean, default=None)


def as_cheap_by_chance(comparison: StrategyComparison, best: ComparedStrategy) -> str:
    """What is to be said of strategies whose dollars may be the same or less, seed by seed; empty where the seeds tell
    all of them apart, or there is one seed alone, which tells nothing."""
    others = (c for c in comparison.strategies if c.is_compared and c is not best)
    alike = [c.name for c in others if (gap := _dearer(c, best)).mean <= gap.half]
    if not alike:
        return ""
    more = [f"{len(alike) - _NAMED} others"] if len(alike) > _NAMED + 1 else []
    named = and_last([*alike[: _NAMED if more else len(alike)], *more])
    return f"{named} may cost as little: {counted(len(comparison.seeds), 'seed')} are too few to tell"


def _dearer(one: ComparedStrategy, best: ComparedStrategy) -> Interval:
    """How many dollars an hour one is dearer than the best, at the same seeds."""
    pairs = zip(one.runs, best.runs, strict=True)
    return Interval.of([dollars_per_hour(mine) - dollars_per_hour(its) for mine, its in pairs])


def keeps_too_few(comparison: StrategyComparison, best: ComparedStrategy) -> str:
    """That the cheapest strategy keeps fewer jobs as fast as alone than a plan would have to, or lets services wait,
    with the cheapest of those that do neither; empty where it does neither itself."""
    target = comparison.target
    if not (short := list(_short_of(best, target))):
        return ""
    enough = [c for c in comparison.strategies if c.is_compared and not any(_short_of(c, target))]
    said = f"{best.name} {and_last(short)}"
    if not enough:
        return f"{said}; none keeps the target"
    other = min(enough, key=lambda c: c.interval(dollars_per_hour).mean)
    return f"{said}; {other.name} is the cheapest that keeps the target"


def _short_of(one: ComparedStrategy, target: OperatingTarget) -> Iterator[str]:
    """What a strategy misses of the target."""
    if (kept := one.interval(kept_qos).mean) < target.qos:
        yield f"keeps 95% of performance for {kept:.1%} of jobs ({100 * target.qos:g}% asked for, operation.qos)"
    services = one.interval(lambda run: run.service.service_wait).mean
    jobs = one.interval(lambda run: run.service.job_wait).mean
    for key, wait, most in (("service_wait", services, target.service_wait), ("job_wait", jobs, target.job_wait)):
        if most is not None and wait > most:
            yield told_wait(key, wait, most)


def told_of_bills(comparison: StrategyComparison) -> Iterator[str]:
    """What bills have less than simulated dollars, and where they make another strategy the cheapest; nothing with
    batch in idle hours, which keeps these machines busy."""
    found = [(one, *_billed(one)) for one in comparison.strategies if all(run.idle is None for run in one.runs)]
    best = min((f for f in found if f[0].on_front), key=lambda f: f[1] - f[2], default=None)
    for one, monthly, covered in found:
        if less := less_on_a_bill(covered, monthly):
            is_turned = best is not None and one is best[0] and one is not cheapest_of(comparison)
            yield f"{one.name}, a month: {less}{', with which it is the cheapest' if is_turned else ''}"


def _billed(one: ComparedStrategy) -> tuple[Decimal, Decimal]:
    """Dollars a month as simulated, and those of them that commitments cover, in the mean of the seeds."""
    simulated = sum((run.cost.per_ideal_hour * HOURS_PER_MONTH for run in one.runs), Decimal(0))
    return simulated / len(one.runs), sum((run.covered for run in one.runs), Decimal(0)) / len(one.runs)


def told_of_idle(comparison: StrategyComparison) -> Iterator[str]:
    """How much of a reserve is idle because jobs are kept apart, and which key changes that; in one line."""
    runs = ((one.name, [run.apart for run in one.runs if run.idle is None]) for one in comparison.strategies)
    means = ((name, sum(apart) / max(len(apart), 1)) for name, apart in runs)
    told = [f"{name} {share:.0%}" for name, share in means if share >= _MUCH_APART]
    if told:
        yield (
            f"reserve idle while as many vCPUs are rented: {and_last(told)}; by limits, lack of room, and jobs that"
            " would slow each other (placement.violation_tolerance)"
        )
