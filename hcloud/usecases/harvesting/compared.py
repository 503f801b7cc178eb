"""Strategies compared with batch in the idle hours of their reserve, and without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hcloud.errors import UsageError
from hcloud.model.running.strategy import Strategy
from hcloud.model.workload import JobKind, Jobs
from hcloud.planning.explanations.harvested import carried_jobs
from hcloud.planning.settings import Market, PlanSettings
from hcloud.sim.outcomes.comparison import ComparedStrategy, StrategyComparison, with_front
from hcloud.units import counted
from hcloud.usecases.deciding.plan import planned_demand
from hcloud.usecases.harvesting.idle import AskIdle
from hcloud.usecases.studies.loads import CompareRequest
from hcloud.usecases.studies.simulate import compare
from hcloud.usecases.studies.simulation import Study, setting_for

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
    """Every strategy as it is, and with the jobs left out that run in the idle hours of its reserve, which stays as
    large. A strategy that reserves nothing has none.

    UsageError for a scenario: its services have no history.
    """
    if study.scenario is not None or asked.loads:
        raise UsageError("--harvest: a scenario is drawn, and its services have no history", hint="name a trace")
    ask, which = idle
    large = study.shop.types[study.shop.large].shape.vcpus
    settings = PlanSettings(markets=(Market(vcpus=int(large)),))
    demand = planned_demand(study.jobs, settings)
    use = ask(study.jobs, demand, settings, float(large))
    found, made, said = list[StrategyComparison](), list[ComparedStrategy](), list[str]()
    steps = len(strategies) * len(which)
    for at, (strategy, switch) in enumerate((s, w) for s in strategies for w in which):

        def told(done: float, before: int = at) -> None:
            advance((before + done) / steps)

        if switch == OFF:
            found.append(compare(study, [strategy], asked.seeds, told, asked.pool))
            made += found[-1].strategies
            continue
        setting = setting_for(study, strategy, asked.pool if strategy.follows("reserved") else None)
        vcpus = setting.reserved_cores / 1000
        marks = carried_jobs(study.jobs, demand, use, vcpus) if setting.servers else np.zeros(len(study.jobs), np.bool_)
        left = replace(study, jobs=study.jobs.at(np.flatnonzero(~marks)))
        found.append(compare(left, [strategy], asked.seeds, told, setting.servers or None))
        name = f"{strategy.name}, {IDLE_HOURS}"
        made += [replace(one, name=name) for one in found[-1].strategies]
        said.append(_said(name, study.jobs, int(marks.sum()), vcpus))
    told_of = dict.fromkeys((*found[0].assumed, *said))
    return replace(found[0], jobs=len(study.jobs), strategies=tuple(with_front(made)), assumed=tuple(told_of))


def _said(name: str, jobs: Jobs, carried: int, vcpus: float) -> str:
    batch = int((jobs.kind == JobKind.BATCH).sum())
    if not carried:
        return f"{name}: nothing runs in idle hours of {vcpus:,.0f} reserved vCPUs"
    return (
        f"{name}: {carried:,} of {counted(batch, 'job')} of batch run in idle hours of {vcpus:,.0f} reserved vCPUs, on"
        " no machine of their own; figures are of the others"
    )
