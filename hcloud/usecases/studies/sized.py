"""How large a reserve has to be for a strategy to keep a share of jobs within 5 % of their performance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hcloud.errors import UsageError
from hcloud.model.running.strategy import Strategy
from hcloud.sim.outcomes.comparison import ComparedStrategy, SizedReserve, StrategyComparison
from hcloud.sim.outcomes.measure import Measures, measure
from hcloud.usecases.studies.simulation import Study, pool_for, simulate_once, strategy_for

_MOST_TIMES = 8
"""Ours: a reserve is enlarged to so many times what it was at most."""


def check_share(share: float | None, loads: Sequence[float]) -> None:
    """Raises UsageError for a share that no reserve could keep or any does, and beside several loads."""
    if share is not None and not 0 < share < 1:
        raise UsageError(f"--size-for {share:g}: write a share of jobs above 0 and below 1, for example 0.95")
    if share is not None and len(loads) > 1:
        raise UsageError("--size-for is of one load", hint="name one, for example --load 0.8")


def with_sizes(
    study: Study,
    strategies: Sequence[Strategy],
    comparison: StrategyComparison,
    share: float,
    advance: Callable[[float], None] = lambda done: None,
) -> StrategyComparison:
    """A comparison in which every strategy is told with the reserve that keeps the share, at the first seed."""
    made: list[ComparedStrategy] = []
    for at, (strategy, one) in enumerate(zip(strategies, comparison.strategies, strict=True)):
        made.append(replace(one, sized=_least(study, strategy, share)))
        advance((at + 1) / len(strategies))
    return replace(comparison, strategies=tuple(made), sized_for=share)


def _least(study: Study, strategy: Strategy, share: float) -> SizedReserve | None:
    """The least reserve that keeps the share; None where eight times the reserve does not, or nothing is reserved.

    More servers are taken to keep no fewer jobs: between two sizes the middle one is tried.
    """
    usual = pool_for(study, strategy_for(study, strategy))
    if not usual:
        return None
    tried: dict[int, Measures] = {}

    def kept(servers: int) -> float:
        if servers not in tried:
            tried[servers] = measure(simulate_once(_scaled(study, servers / usual), strategy, pool=servers))
        return tried[servers].service.kept_qos

    enough = usual
    while kept(enough) < share:
        if enough >= usual * _MOST_TIMES:
            return None
        enough *= 2
    short = 0 if enough == usual else enough // 2
    while enough - short > max(usual // 100, 1):
        middle = (enough + short) // 2
        enough, short = (middle, short) if kept(middle) >= share else (enough, middle)
    found = tried[enough]
    return SizedReserve(found.pool, found.cost.per_ideal_hour, found.service.kept_qos)


def _scaled(study: Study, times: float) -> Study:
    """The study with so many times the servers of the smaller types that it reserves."""
    beside = tuple(replace(b, servers=max(round(b.servers * times), 1)) for b in study.beside)
    return replace(study, beside=beside)
