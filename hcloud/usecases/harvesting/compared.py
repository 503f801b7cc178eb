"""Strategies compared with batch in the idle hours of their reserve, and without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hcloud.errors import UsageError
from hcloud.model.running.strategy import Strategy
from hcloud.planning.settings import Market, PlanSettings
from hcloud.sim.outcomes.comparison import ComparedStrategy, Simulated, StrategyComparison, with_front
from hcloud.sim.outcomes.measure import Measures, last_end, measure
from hcloud.units import counted, format_duration
from hcloud.usecases.deciding.plan import planned_demand
from hcloud.usecases.harvesting.idle import AskIdle, idle_hours
from hcloud.usecases.harvesting.opened import UseRequest
from hcloud.usecases.harvesting.played import play, services_beside
from hcloud.usecases.studies.simulate import CompareRequest, compare, kept
from hcloud.usecases.studies.simulation import Study, setting_for, simulate_once, with_seed

ON, OFF = "on", "off"
IDLE_HOURS, UNUSED = "idle hours", "idle hours unused"
LEAST_TOLD = 0.0001  # ours: a smaller share of the cost is told as below it, not as 0.00%
TAIL_KEPT = 0.01
"""Services' tails may be longer by so much with idle hours, as a share (ours)."""


def switches(stated: str) -> tuple[str, ...]:
    """Of ``on,off`` those that are named; UsageError for anything else."""
    named = tuple(dict.fromkeys(stated.lower().split(",")))
    if not set(named) <= {ON, OFF}:
        raise UsageError(f"--harvest {stated}: on, off, or both as on,off")
    return named


def idle_hours_asked(
    harvest: str | None, util: str | None, servers: Path | None, keys: tuple[str, ...] = (), *, planned: bool
) -> tuple[AskIdle, tuple[str, ...]]:
    """The histories that are named, read, and whether runs are with idle hours or without; UsageError where that is not
    whole, or a plan is simulated."""
    if harvest is None or util is None:
        raise UsageError("--harvest on,off and --util FILE go together", hint="--harvest on,off --util util.csv")
    if planned:
        raise UsageError("--harvest: the plan already sets that", hint="name the trace instead of the plan")
    which = switches(harvest)
    return idle_hours(UseRequest(util, servers, keys=keys, given="--harvest-set")), which


def compare_with_idle_hours(
    study: Study,
    strategies: Sequence[Strategy],
    asked: CompareRequest,
    advance: Callable[[float], None],
    idle: tuple[AskIdle, tuple[str, ...]],
) -> StrategyComparison:
    """Every strategy as it is, and with batch that asks for the idle hours of its reserve first, which stays as large;
    where that does not pay or harms services in a run, they are not used. A strategy that reserves nothing has none.

    UsageError for a scenario: its services have no history.
    """
    if study.scenario is not None or asked.loads:
        raise UsageError("--harvest: a scenario is drawn, and its services have no history", hint="name a trace")
    ask, which = idle
    large = study.shop.types[study.shop.large].shape.vcpus
    settings = PlanSettings(markets=(Market(vcpus=int(large)),))
    ask(study.jobs, planned_demand(study.jobs, settings), settings, float(large))  # refuses names that do not meet
    made, said = list[ComparedStrategy](), list[str]()
    for at, strategy in enumerate(strategies):

        def told(done: float, before: int = at) -> None:
            advance((before + done) / len(strategies))

        without, beside = _paired(study, strategy, (asked.seeds, asked.pool), ask, told)
        made += [{OFF: without, ON: beside}[switch] for switch in which]
        said += _said(strategy.name, beside) if ON in which else []
    found = compare(study, (), asked.seeds)
    assumed = tuple(dict.fromkeys((*found.assumed, *said)))
    return replace(found, strategies=tuple(with_front(made)), assumed=assumed)


def _paired(
    study: Study, strategy: Strategy, runs: tuple[int, int | None], ask: AskIdle, told: Callable[[float], None]
) -> tuple[ComparedStrategy, ComparedStrategy]:
    """A strategy over all seeds without idle hours, and with them as far as they are used; its reserve is that of all
    jobs, and a job is the same in both."""
    (seeds, pool), pairs = runs, list[tuple[Measures, Measures]]()
    firsts: tuple[Simulated, Simulated] | None = None
    for at in range(seeds):
        seeded = study if at == 0 else with_seed(study, study.seed + at)
        servers = setting_for(seeded, strategy, pool if strategy.follows("reserved") else None).servers
        without = simulate_once(seeded, strategy, pool=servers)
        outcome, batch, _ = play(seeded, without, ask)
        services = services_beside(outcome, without)
        pairs.append(
            (measure(without), replace(measure(outcome, last_end(without.tasks)), idle=replace(batch, beside=services)))
        )
        firsts = firsts or (kept(without, pairs[0][0]), kept(outcome, pairs[0][1]))
        del outcome, without  # their tables go before the next run has its own
        told((at + 1) / seeds)
    assert firsts is not None, "there is a seed"
    off, on = tuple(one for one, _ in pairs), tuple(one for _, one in pairs)
    kept_off = ComparedStrategy(strategy.name, off, firsts[0], dropped=study.dropped)
    kept_on = ComparedStrategy(f"{strategy.name}, {IDLE_HOURS}", on, firsts[1], dropped=study.dropped)
    return kept_off, _used(kept_off, kept_on)


def _used(off: ComparedStrategy, on: ComparedStrategy) -> ComparedStrategy:
    """A strategy with idle hours where they pay and harm no service in any of its runs; else without, with the reason:
    they are never to do so."""
    why = why_withheld(list(zip(off.runs, on.runs, strict=True)))
    if not why:
        return on
    runs = tuple(
        replace(without, idle=replace(with_idle.idle, withheld=why))
        for without, with_idle in zip(off.runs, on.runs, strict=True)
        if with_idle.idle is not None
    )
    return replace(off, name=f"{off.name}, {UNUSED}", runs=runs, first=replace(off.first, measures=runs[0]))


def why_withheld(pairs: Sequence[tuple[Measures, Measures]]) -> str:
    """Why batch had better not use idle hours, of runs without and with them of the same seeds: the first of them that
    costs more or harms services; "" where none does."""
    found = [(without.seed, why) for without, beside in pairs if (why := _harm(without, beside))]
    if not found:
        return ""
    (seed, why), runs = found[0], len(pairs)
    return why if runs == 1 else f"{why} (seed {seed}); {len(found)} of {runs} runs cost more or harm services"


def _harm(without: Measures, beside: Measures) -> str:
    """What idle hours do to a run that they must not; "" where they cost nothing and harm no service."""
    costs = without.cost.total, beside.cost.total
    if costs[1] > costs[0]:
        share = costs[1] / costs[0] - 1 if costs[0] else 1.0
        more = f"{share:.2%}" if share >= LEAST_TOLD else f"less than {LEAST_TOLD:.2%}"
        return f"it costs {more} more with them" if costs[0] else "it costs more with them"
    services = None if beside.idle is None else beside.idle.beside
    if services is not None and services.queued > services.queued_without:
        return "more services wait for the reserve with them"
    if services is not None and services.rented > services.rented_without:
        return "more services run on demand with them"
    for name in ("mean", "p95"):
        tails = [getattr(one.service.tail, name) for one in (without, beside)]
        if tails[1] > tails[0] * (1 + TAIL_KEPT):  # never where there is no service: both are NaN
            return f"tails of services are {tails[1] / tails[0] - 1:.1%} longer with them ({name})"
    return ""


def _said(name: str, found: ComparedStrategy) -> Iterator[str]:
    """What became of batch, in the mean over seeds."""
    played = [run.idle for run in found.runs if run.idle is not None]

    def mean(figure: str) -> float:
        return sum(float(getattr(one, figure)) for one in played) / len(played)

    if played[0].withheld:
        yield (
            f"{found.name}: not used, so the figures are those of {name}: {played[0].withheld}"
            f" ({mean('ended'):,.0f} of {counted(played[0].jobs, 'job')} of batch would run there)"
        )
        return
    if not any(one.ended for one in played):
        yield f"{found.name}: no job of batch runs in idle hours"
        return
    broken = max(one.longest_broken for one in played)
    yield (
        f"{found.name}: {mean('ended'):,.0f} of {counted(played[0].jobs, 'job')} of batch run in idle hours of what is"
        f" reserved, {mean('times_alone'):.2f} times as long as alone; {mean('kills'):,.0f} kills lose"
        f" {mean('lost'):.1%} of their work; figures are of all other jobs"
    )
    yield (
        f"{found.name}: no class has room for {mean('no_class'):,.0f}, {mean('moved'):,.0f} move to machines after"
        f" {format_duration(round(mean('slipped')))} in the mean, {mean('too_sensitive'):,.0f} need more than the"
        f" quality of {mean('quality'):.3f}; batch breaks a reserve for {format_duration(round(broken))} at most"
    )
    unsettled = [one for one in played if not one.settled]
    if unsettled:
        worst = max(one.spread for one in unsettled)
        yield (
            f"{found.name}: which jobs leave idle hours did not settle in {unsettled[0].rounds} rounds of"
            f" {counted(len(unsettled), 'seed')}; the dearest round counts, {worst:.1%} dearer than the cheapest"
        )
