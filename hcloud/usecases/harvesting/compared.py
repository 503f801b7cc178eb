"""Strategies compared with batch in the idle hours of their reserve, and without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hcloud.errors import UsageError
from hcloud.model.running.strategy import Strategy
from hcloud.planning.settings import Market, PlanSettings
from hcloud.sim.outcomes.comparison import ComparedStrategy, Simulated, StrategyComparison, with_front
from hcloud.sim.outcomes.measure import Measures, measure
from hcloud.units import counted, format_duration
from hcloud.usecases.deciding.plan import planned_demand
from hcloud.usecases.harvesting.idle import AskIdle
from hcloud.usecases.harvesting.played import play
from hcloud.usecases.studies.loads import CompareRequest
from hcloud.usecases.studies.simulate import compare, kept
from hcloud.usecases.studies.simulation import Study, setting_for, with_seed

ON, OFF = "on", "off"
IDLE_HOURS = "idle hours"


def switches(stated: str) -> tuple[str, ...]:
    """Of ``on,off`` those that are named; UsageError for anything else."""
    named = tuple(dict.fromkeys(stated.lower().split(",")))
    if not set(named) <= {ON, OFF}:
        raise UsageError(f"--harvest {stated}: on, off, or both as on,off")
    return named


def compare_with_idle_hours(
    study: Study,
    strategies: Sequence[Strategy],
    asked: CompareRequest,
    idle: tuple[AskIdle, tuple[str, ...]],
    advance: Callable[[float], None],
) -> StrategyComparison:
    """Every strategy as it is, and with batch that asks for the idle hours of its reserve first, which stays as large.
    A strategy that reserves nothing has none.

    UsageError for a scenario: its services have no history.
    """
    if study.scenario is not None or asked.loads:
        raise UsageError("--harvest: a scenario is drawn, and its services have no history", hint="name a trace")
    ask, which = idle
    large = study.shop.types[study.shop.large].shape.vcpus
    settings = PlanSettings(markets=(Market(vcpus=int(large)),))
    ask(study.jobs, planned_demand(study.jobs, settings), settings, float(large))  # refuses names that do not meet
    found: StrategyComparison | None = None
    made, said = list[ComparedStrategy](), list[str]()
    steps = len(strategies) * len(which)
    for at, (strategy, switch) in enumerate((s, w) for s in strategies for w in which):

        def told(done: float, before: int = at) -> None:
            advance((before + done) / steps)

        if switch == ON:
            made.append(_beside(study, strategy, (asked.seeds, asked.pool), ask, told))
            said += _said(made[-1])
            continue
        found = compare(study, [strategy], asked.seeds, told, asked.pool)
        made += found.strategies
    found = found or compare(study, strategies[:1], 1, lambda _: None, asked.pool)
    seeds = tuple(range(study.seed, study.seed + asked.seeds))
    assumed = tuple(dict.fromkeys((*found.assumed, *said)))
    return replace(found, jobs=len(study.jobs), seeds=seeds, strategies=tuple(with_front(made)), assumed=assumed)


def _beside(
    study: Study, strategy: Strategy, runs: tuple[int, int | None], ask: AskIdle, told: Callable[[float], None]
) -> ComparedStrategy:
    """A strategy over all seeds, with batch in idle hours; its reserve is that of all jobs."""
    (seeds, pool), measured = runs, list[Measures]()
    first: Simulated | None = None
    for at in range(seeds):
        seeded = study if at == 0 else with_seed(study, study.seed + at)
        servers = setting_for(seeded, strategy, pool if strategy.follows("reserved") else None).servers
        outcome, batch = play(seeded, strategy, servers or None, ask)
        measured.append(replace(measure(outcome), idle=batch))
        first = first or kept(outcome, measured[0])
        told((at + 1) / seeds)
    assert first is not None
    name = f"{strategy.name}, {IDLE_HOURS}"
    return ComparedStrategy(name, tuple(measured), first, dropped=study.dropped)


def _said(found: ComparedStrategy) -> list[str]:
    """What became of batch, in the mean over seeds."""

    played = [run.idle for run in found.runs if run.idle is not None]

    def mean(name: str) -> float:
        return sum(float(getattr(one, name)) for one in played) / len(played)

    batch = played[0]
    if not any(one.ended for one in played):
        return [f"{found.name}: no job of batch runs in idle hours"]
    broken = max(one.longest_broken for one in played)
    return [
        f"{found.name}: {mean('ended'):,.0f} of {counted(batch.jobs, 'job')} of batch run in idle hours of what is"
        f" reserved, {mean('times_alone'):.2f} times as long as alone; {mean('kills'):,.0f} kills lose"
        f" {mean('lost'):.1%} of their work; figures are of all other jobs",
        f"{found.name}: no class has room for {mean('no_class'):,.0f}, {mean('moved'):,.0f} move to machines after"
        f" {format_duration(round(mean('slipped')))} in the mean, {mean('too_sensitive'):,.0f} need more than the"
        f" quality of {mean('quality'):.3f}; batch breaks a reserve for {format_duration(round(broken))} at most",
    ]
