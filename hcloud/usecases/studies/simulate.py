"""``hcloud simulate`` and ``hcloud compare``: strategies over one workload, once or over several seeds and loads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.control.state import INTERRUPTIBLE, RENTED
from hcloud.model.running.strategy import Strategy
from hcloud.readers.strategies import STRATEGIES, Part, load_strategy, with_parts
from hcloud.sim.outcomes.comparison import (
    RESERVED,
    ComparedStrategy,
    Simulated,
    StrategyComparison,
    Timeline,
    with_front,
)
from hcloud.sim.outcomes.measure import Measures, batch_performance, measure, service_tails
from hcloud.sim.run import RunOutcome
from hcloud.sim.setup.fitting import held_by_some
from hcloud.sim.setup.scenarios import RECIPES, self_check
from hcloud.units import counted
from hcloud.usecases.studies.clusters import check_rents
from hcloud.usecases.studies.simulation import Study, at_load, simulate_once, with_seed
from hcloud.usecases.studies.sized import check_free_to_size, check_share, with_sizes
from hcloud.usecases.workloads.modelled import of_rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Jobs, Kinds


def strategies_named(
    names: Sequence[str],
    placements: Sequence[str] = (),
    sizings: Sequence[str] = (),
    admissions: Sequence[str] = (),
    watchings: Sequence[str] = (),
) -> tuple[Strategy, ...]:
    """The strategies of the given names or files, all six for ``all``, each with every placement, sizing, admission
    and watching that is named."""
    wanted = [n for name in names for n in (STRATEGIES if name.lower() == "all" else name.split(","))]
    found = tuple(load_strategy(name) for name in dict.fromkeys(wanted))
    stated: dict[Part, Sequence[str]] = {
        "placement": placements,
        "sizing": sizings,
        "admission": admissions,
        "watching": watchings,
    }
    for part, given in stated.items():
        found = with_parts(found, part, given)
    return found


def compare(
    study: Study,
    strategies: Sequence[Strategy],
    seeds: int = 1,
    advance: Callable[[float], None] = lambda done: None,
    pool: int | None = None,
) -> StrategyComparison:
    """Every strategy at so many seeds from the study's own on: of a scenario other seeds are other jobs, too. Those
    that reserve have ``pool`` servers, or what their own rule says."""
    if study.cluster is not None:
        check_rents(study.cluster, study.shop, strategies)
    runs: list[list[Measures]] = [[] for _ in strategies]
    firsts: list[Simulated] = []
    chosen = tuple(range(study.seed, study.seed + seeds))
    for at, seed in enumerate(chosen):
        seeded = study if seed == study.seed else with_seed(study, seed)
        for place, strategy in enumerate(strategies):
            reserve = pool if strategy.follows("reserved") else None
            outcome = simulate_once(seeded, strategy, pool=reserve)
            runs[place].append(measure(outcome))
            if at == 0:
                firsts.append(kept(outcome, runs[place][0]))
            del outcome  # its tables go before the next run has its own
            advance((at * len(strategies) + place + 1) / (seeds * len(strategies)))
    told = zip(strategies, runs, firsts, strict=True)
    made = [ComparedStrategy(s.name, tuple(r), f, dropped=study.dropped) for s, r, f in told]
    checks = self_check(study.scenario, study.jobs) if study.scenario in RECIPES else ()
    checks = checks if study.cluster is None else study.cluster.checks
    name, shop = study.jobs.provenance.name, study.shop
    large = shop.types[shop.large].shape.name
    return StrategyComparison(
        name, len(study.jobs), study.cloud.name, shop, study.profiled, chosen, tuple(with_front(made)), checks,
        study.window, tuple(dict.fromkeys(b.instance_type for b in study.beside if b.instance_type != large)),
        assumed=(*study.notes, *_assumed(study), *_by_own_rules(study, strategies, pool)), target=study.target,
    )  # fmt: skip


def _by_own_rules(study: Study, strategies: Sequence[Strategy], pool: int | None) -> Iterator[str]:
    """That reserves are those of the strategies' own rules, where a plan might take others."""
    if pool is None and study.cluster is None and any(s.follows("reserved") for s in strategies):
        yield "each reserve follows its strategy's own rule; 'hcloud plan --strategy auto' tries others beside it"


def _assumed(study: Study) -> Iterator[str]:
    """What a trace does not say of its jobs; a scenario is drawn as a whole."""
    jobs = study.jobs
    if study.scenario is not None:
        return
    caused, borne = (
        _known(jobs, apps, stated) for apps, stated in ((jobs.vectors, jobs.causes), (jobs.tolerates, jobs.bears))
    )
    yield from of_rules(jobs.provenance.modelled)
    if study.shop.whole is not None:
        yield _larger(study)
    unknown, assumed = len(jobs) - int(caused.sum()), int((caused & ~borne).sum())
    if unknown:
        whose = (
            "the trace has no interference data"
            if unknown == len(jobs)
            else f"of {counted(unknown, 'job')} of {len(jobs):,}"
        )
        yield f"interference is random (cloud model {study.cloud.name}): {whose}"
    if assumed:
        yield f"tolerance of {counted(assumed, 'job')} is assumed: 99 points less than what each causes"


def _larger(study: Study) -> str:
    """What becomes of the jobs that are larger than the reserved type."""
    large, whole = study.shop.types[study.shop.large].shape, study.shop.whole
    assert whole is not None
    left, work = ~held_by_some([large], study.jobs), study.jobs.cores * study.jobs.duration
    count, share = int(left.sum()), float(work[left].sum() / work.sum())
    return (
        f"{counted(count, 'job')} ({share:.1%} of the work) {'needs' if count == 1 else 'need'} a larger type than"
        f" {large.name}, which is rented; a strategy that rents nothing reserves {whole.key.instance_type} instead"
    )


def _known(jobs: Jobs, apps: Collection[str], stated: Kinds | None) -> NDArray[np.bool_]:
    by_app = np.array([name in apps for name in jobs.apps] + [False], np.bool_)[jobs.app]
    return by_app if stated is None else by_app | (stated[:, 0] >= 0)


def kept(outcome: RunOutcome, measures: Measures) -> Simulated:
    """What is kept of a run: its figures and pictures, not its tables."""
    return Simulated(
        measures, _timeline(outcome), batch_performance(outcome), service_tails(outcome), outcome.tasks.left_out
    )


def _timeline(outcome: RunOutcome) -> Timeline:
    series, types = outcome.world.series, outcome.setting.shop.types
    rented, servers = {}, outcome.setting.servers
    vcpus = {RESERVED: outcome.setting.reserved_cores / 1000 / servers if servers else 0.0}
    for paid, suffix in ((RENTED, "on-demand"), (INTERRUPTIBLE, "spot")):
        for at, rentable in enumerate(types):
            counts = series[:, 4 + paid * len(types) + at]
            if counts.any():
                name = f"{rentable.shape.name} {suffix}"
                rented[name], vcpus[name] = counts.copy(), float(rentable.shape.vcpus)
    return Timeline(
        series[:, 0].copy(),
        servers,
        rented,
        vcpus,
        series[:, 1].copy(),
        series[:, 2].copy(),
        series[:, 3].copy(),
        np.asarray(outcome.world.heat).copy(),
    )


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
