"""Strategies over one scenario at several loads of its cluster, put into one comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hcloud.model.running.strategy import Strategy
from hcloud.sim.outcomes.comparison import StrategyComparison
from hcloud.usecases.studies.simulate import compare
from hcloud.usecases.studies.simulation import Study, at_load
from hcloud.usecases.studies.sized import check_free_to_size, check_share, with_sizes


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """How often and on what: the number of seeds, the reserved servers (None: each strategy's own rule), the loads of
    the scenario's own cluster (none: that of the study), and the share of jobs to find the least reserve for."""

    seeds: int
    pool: int | None = None
    loads: tuple[float, ...] = ()
    size_for: float | None = None


def compare_at_loads(
    study: Study, strategies: Sequence[Strategy], asked: CompareRequest, advance: Callable[[float], None]
) -> StrategyComparison:
    """Every strategy at every load; with several loads each is named with its own, and is compared with the others at
    that load only."""
    if len(asked.loads) <= 1:
        return compare(study, strategies, asked.seeds, advance, asked.pool)
    found = []
    studies = [study, *(at_load(study, load) for load in asked.loads[1:])]
    for at, loaded in enumerate(studies):

        def told(done: float, before: int = at) -> None:
            advance((before + done) / len(asked.loads))

        found.append(compare(loaded, strategies, asked.seeds, told, asked.pool))
    named = [
        replace(one, name=f"{one.name} at {load:g}", load=load)
        for load, made in zip(asked.loads, found, strict=True)
        for one in made.strategies
    ]
    checks = tuple(dict.fromkeys(check for made in found for check in made.checks))
    return replace(found[0], strategies=tuple(named), checks=checks)


Compares = Callable[[Study, Sequence[Strategy], CompareRequest, Callable[[float], None]], StrategyComparison]


def compare_and_size(
    study: Study,
    strategies: Sequence[Strategy],
    asked: CompareRequest,
    advance: Callable[[float], None],
    compares: Compares = compare_at_loads,
) -> StrategyComparison:
    """The same (or what else ``compares``) with the least reserve for the share of jobs that is asked for, if one is;
    UsageError where that would be of several loads."""
    check_share(asked.size_for, asked.loads)
    check_free_to_size(study, asked.size_for)
    comparison = compares(study, strategies, asked, advance)
    return comparison if asked.size_for is None else with_sizes(study, strategies, comparison, asked.size_for)
