"""What is simulated: a workload in a cloud that sells types at prices, under a strategy, with a pool sized for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.errors import UsageError
from hcloud.model.catalog import InstanceType
from hcloud.model.requirement import Requirement, requirement_of
from hcloud.model.running.cloud import CloudModel
from hcloud.model.running.strategy import Parameter, ParameterOrigin, Strategy
from hcloud.model.workload import Jobs, Window, WindowRule, Workload
from hcloud.planning.fleets.candidates import is_allowed, other_gpus, why_none
from hcloud.planning.fleets.gpu_jobs import GpuRules, for_markets, said_of, without_gpu_jobs
from hcloud.planning.forecasting.demand import demand_of
from hcloud.planning.forecasting.dividing import settled
from hcloud.planning.forecasting.window import demand_within, window_of
from hcloud.planning.settings import Market
from hcloud.planning.strategies.choice import OperatingTarget
from hcloud.policy.placing.placements import Ideal
from hcloud.policy.placing.searching import MultiClass
from hcloud.policy.records import Reals
from hcloud.policy.registry import rule_of, sizing_of
from hcloud.policy.sizes.information import RequestedSizes
from hcloud.policy.sizes.sizing import Reservation, reserved_servers
from hcloud.readers.clouds import CLUSTERS, PAPER, load_cloud
from hcloud.readers.configuration.config import Loaded, OperationSection
from hcloud.readers.strategies import STRATEGIES
from hcloud.sim.outcomes.comparison import MOST_REFUSED, NOTHING_DROPPED, Dropped
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.build import Setting, unplaceable
from hcloud.sim.setup.clustered.clusters import ClusterScenario
from hcloud.sim.setup.fitting import Room, held_by_some, work_share
from hcloud.sim.setup.named_servers import last_named, with_named_servers
from hcloud.sim.setup.prepare import Tasks, origin, tasks_of
from hcloud.sim.setup.shop import Shop, ShopChoice, SmallerReserve, fitting_shop, open_shop, shop_for
from hcloud.units import counted
from hcloud.usecases.studies.clusters import check_rents, open_cluster, refuse_load
from hcloud.usecases.studies.placeable import check_placeable, held_jobs
from hcloud.usecases.workloads.scenarios import has_cluster, scenario_jobs, scenario_on_cluster
from hcloud.usecases.workloads.sources import check_regions, open_prices, open_workload

RESERVED_ONLY = "SR"
LARGE_VCPUS = 16
PAPER_SHAPES = ("n1-standard*", "n1-highmem*")
"""What a simulation chooses from in the study's own cloud, which rented the former."""
_STEP = 60
_SHORT, _FINE_STEP = 3600.0, 1
"""Ours: the load of work that is over within an hour counts by the second: minutes would hide a peak of seconds."""


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """What the user says about a simulation besides workload and market: the cloud model, the price of on-demand over
    reserved (None: from the book), whether jobs are profiled first, whether those that fit no type are dropped, the
    load of a scenario's own cluster (None: as the scenario says), whether jobs slow each other down, and how many vCPUs
    a reserved server has at least where no market is named."""

    cloud: str | None = None
    price_ratio: float | None = None
    profiled: bool = True
    drop_unplaceable: bool = False
    load: float | None = None
    interference: bool = True
    servers_of: int = LARGE_VCPUS


def quality_asked(wish: OperationSection) -> OperatingTarget:
    """The quality that is asked for, and what it may cost."""
    return OperatingTarget(wish.qos, wish.budget, wish.confidence, wish.alike, wish.service_wait, wish.job_wait)


@dataclass(frozen=True, slots=True)
class Study:
    """A workload, the cloud it runs in, what that cloud sells, and whether jobs are profiled first; ``scenario`` names
    the generated scenario, if it is one, so that other seeds can be drawn; ``seed`` is the first. Use and dollars are
    those of the ``window``, of all of the run where it is None; jobs that fit no type are an error unless they are to
    be dropped. Servers of other types may be reserved ``beside`` those of the large one. A scenario that is jobs on a
    ``cluster`` is run on that. ``notes`` say whose prices these are; ``target`` is the quality that is asked for."""

    jobs: Jobs
    cloud: CloudModel
    shop: Shop
    profiled: bool
    seed: int
    scenario: str | None = None
    window: Window | None = None
    drop_unplaceable: bool = False
    dropped: Dropped = NOTHING_DROPPED
    beside: tuple[SmallerReserve, ...] = ()
    cluster: ClusterScenario | None = None
    audit: bool = False
    notes: tuple[str, ...] = ()
    target: OperatingTarget = field(default_factory=lambda: quality_asked(OperationSection()))


def open_study(loaded: Loaded, asked: SimulationRequest, today: date) -> Study:
    """The study that configuration and flags ask for.

    With the cloud ``paper`` (the default unless a market is configured or named) the types and the price ratio are the
    thesis'. Raises UsageError for a demand series, which has no jobs, or where nothing is left to simulate.
    """
    if (name := clustered(loaded)) is not None:
        return _felt(_on_cluster(name, loaded, asked), asked)
    return study_of(open_workload(loaded), loaded, asked, today)


def clustered(loaded: Loaded) -> str | None:
    """The scenario with a cluster that is named, if one is."""
    name = loaded.config.workload.scenario
    return name if has_cluster(name) else None


def usual_strategies(loaded: Loaded) -> tuple[str, ...]:
    """The strategies that run where none is named: on a scenario's own cluster the one that rents nothing."""
    return STRATEGIES if clustered(loaded) is None else (RESERVED_ONLY,)


def _on_cluster(name: str, loaded: Loaded, asked: SimulationRequest) -> Study:
    """A scenario on its own cluster, whole and without other prices."""
    section = loaded.config
    if section.workload.window is not None:
        raise UsageError(f"workload.window: scenario:{name} is simulated whole", hint="leave the window out")
    seed = section.planning.seed
    ground = open_cluster(name, asked.cloud or CLUSTERS, seed, asked.load)
    found = ground.found
    return Study(
        found.jobs, ground.cloud, ground.shop, asked.profiled, seed, name, found.window, asked.drop_unplaceable,
        beside=ground.beside, cluster=found, target=quality_asked(section.operation),
    )  # fmt: skip


def study_of(jobs: Workload, loaded: Loaded, asked: SimulationRequest, today: date) -> Study:
    """The same of a workload that was read; what was read of a scenario with a cluster is drawn again with it."""
    name = clustered(loaded)
    return _felt(_of_jobs(jobs, loaded, asked, today) if name is None else _on_cluster(name, loaded, asked), asked)


def _felt(study: Study, asked: SimulationRequest) -> Study:
    return study if asked.interference else without_interference(study)


def without_interference(study: Study) -> Study:
    """The same study in a cloud where no job is sensitive to its neighbours, so that nobody is ever rated anew."""
    why = "Switched off: no job slows another down."
    model = study.cloud
    for section in ("batch", "service"):
        calm = tuple(
            Parameter(p.key, 0.0, p.unit, ParameterOrigin.OURS, "", why) if p.key == "sensitivity" else p
            for p in model.sections[section]
        )
        model = replace(model, sections={**model.sections, section: calm})
    return replace(study, cloud=replace(model, name=f"{model.name}, without interference"))


def _of_jobs(jobs: Workload, loaded: Loaded, asked: SimulationRequest, today: date) -> Study:
    if asked.load is not None:
        raise refuse_load(jobs.provenance.name)
    if not isinstance(jobs, Jobs):
        raise UsageError(
            "a demand series has no jobs and cannot be simulated",
            hint="give a job table (submit, duration, cores) or a scenario, for example scenario:high-variability",
        )
    if not len(jobs):
        raise UsageError(
            f"{jobs.provenance.name}: no job to simulate",
            hint="check the trace with hcloud workload show, and --window",
        )
    section = loaded.config
    jobs, shop, cloud = _market(loaded, asked, jobs.arriving, today)
    jobs, dropped = held_jobs(jobs, shop, drop=asked.drop_unplaceable)
    return Study(
        jobs, cloud, shop, asked.profiled, section.planning.seed, section.workload.scenario, window_of(jobs),
        asked.drop_unplaceable, dropped, notes=tuple(said_of(jobs)), target=quality_asked(section.operation),
    )  # fmt: skip


def _market(loaded: Loaded, asked: SimulationRequest, read: Jobs, today: date) -> tuple[Jobs, Shop, CloudModel]:
    """The jobs that are simulated, and what is sold, around the type that holds them at the least dollars; in the
    study's own cloud its generated scenarios have the type that the study reserved."""
    named = "markets" in loaded.config.model_fields_set
    market = loaded.config.settings().markets[0]
    name = asked.cloud or (f"measured-{market.provider}" if named else PAPER)
    wanted = ShopChoice.paper()
    if named:
        everything, _ = open_prices(loaded, today)
        check_regions(loaded, everything)
        here = replace(market, regions=market.regions[:1])
        rules = GpuRules(loaded.config.planning.divisible, drop=asked.drop_unplaceable)
        jobs, (market,) = for_markets(read, everything, [here], rules)
        families, size = market.families or ("*",), int(market.vcpus or LARGE_VCPUS)
        wanted = ShopChoice(market.provider, market.regions[0], families, size, os=market.os, or_less=True)
        book = _allowed(everything, market)
    else:
        from hcloud.readers.prices.shipped.bundled import load_bundled

        jobs = without_gpu_jobs(read)
        book = load_bundled(providers={wanted.provider}, regions={wanted.region}, systems={wanted.os})
    assert isinstance(jobs, Jobs)
    jobs = settled(jobs, loaded.config.planning.divisible)
    if asked.price_ratio is not None:
        wanted = replace(wanted, price_ratio=asked.price_ratio)
    if not named and loaded.config.workload.scenario is not None:
        return jobs, replace(open_shop(book, wanted), is_of_study=True), load_cloud(name)
    if not named:
        wanted = replace(wanted, patterns=PAPER_SHAPES, large_vcpus=asked.servers_of)
    wanted = replace(wanted, apart=loaded.config.operation.larger_jobs)
    own = named and bool(market.families)
    shop = fitting_shop(book, wanted, jobs, one_shape=not own, exact=named and bool(market.vcpus))
    return jobs, replace(shop, is_of_study=not named), load_cloud(name)


def _allowed(book: PriceBook, market: Market) -> PriceBook:
    """The book with the types that a plan would consider too, and those that are named one by one. UsageError where
    it would consider none of the families that are named."""
    named = {key for key, t in book.types.items() if t.name in market.families and not other_gpus(t, market)}
    if not named and (why := why_none(book, market)):
        hint = "allow it under markets in hcloud.yaml, or name other families"
        raise UsageError(f"{market.provider}: no type of {', '.join(market.families)} is allowed: {why}", hint=hint)
    return replace(book, types={key: t for key, t in book.types.items() if key in named or is_allowed(t, market)})


def with_seed(study: Study, seed: int) -> Study:
    """The same study at another seed: a scenario's jobs are drawn anew, a trace stays as it is."""
    if study.cluster is not None:
        return on_cluster_of(study, scenario_on_cluster(study.cluster.name, seed, study.cluster.asked_load), seed)
    jobs = study.jobs if study.scenario is None else scenario_jobs(study.scenario, seed)
    window = study.window if jobs is study.jobs or study.window is None else window_of(jobs)
    return replace(study, jobs=jobs, seed=seed, window=window)


def at_load(study: Study, load: float) -> Study:
    """The same scenario on its cluster at another load."""
    if study.cluster is None:
        raise refuse_load(study.jobs.provenance.name)
    return on_cluster_of(study, scenario_on_cluster(study.cluster.name, study.seed, load), study.seed)


def on_cluster_of(study: Study, drawn: ClusterScenario, seed: int) -> Study:
    """A study with a scenario that was drawn anew for the same cluster."""
    return replace(study, jobs=drawn.jobs, cluster=drawn, seed=seed, window=drawn.window)


def strategy_for(study: Study, strategy: Strategy) -> Strategy:
    """The strategy with the information that the study gives it: without profiling, users' own requests."""
    if study.profiled:
        return strategy
    mechanisms = tuple(replace(m, rule="requested") if m.name == "information" else m for m in strategy.mechanisms)
    return replace(strategy, mechanisms=mechanisms)


def pool_for(study: Study, strategy: Strategy) -> int:
    """Servers the strategy reserves for the study's load, in vCPUs or (where that takes more servers) in memory.

    The load counts by the minute, or by the second where all is short, within the window, or up to the last
    submission: what runs out after the last one is no steady load. Servers smaller than the strategy's count singly.
    """
    rule = rule_of(strategy, "reserved")
    if not isinstance(rule, Reservation):
        return 0
    if study.cluster is not None:
        return study.cluster.cluster.largest.servers
    shop = shop_for(study.shop, strategy)
    large, window = shop.types[shop.large].shape, study.window
    first, last = study.jobs.submit.min(), (study.jobs.submit + study.jobs.duration).max()
    step = _FINE_STEP if last - first < _SHORT else _STEP
    jobs = study.jobs if study.shop.whole is None else _held_by(large, study.jobs)
    demand = demand_of(jobs, step) if window is None else demand_within(jobs, step, window)
    load = np.maximum(demand.cores, demand.memory * float(large.vcpus / large.memory_gib))
    whole = window is not None and window.rule is not WindowRule.ARRIVALS  # whose end may lie up to a day later
    steps = len(load) if whole else max(int((float(study.jobs.begins.max()) - demand.start) // step), 1)
    steady = float(np.quantile(load[:steps], rule.load_quantile))
    known = study.profiled and not isinstance(sizing_of(strategy), RequestedSizes)
    size = min(rule.instance_vcpus, max(int(large.vcpus), 1))
    servers = reserved_servers(rule, float(load.max()), steady, profiled=known, vcpus=size)
    return int(np.ceil(servers * size / float(large.vcpus) - 1e-9))


def _held_by(large: InstanceType, jobs: Jobs) -> Jobs:
    """The jobs that may be on a reserved server; all where that are none."""
    held = np.flatnonzero(held_by_some([large], jobs))
    return jobs.at(held) if len(held) else jobs


def setting_for(study: Study, strategy: Strategy, pool: int | None = None) -> Setting:
    """A strategy in the study, with its own reserve unless ``pool`` states another; servers of other types that the
    study reserves stand beside a reserve (without one they are rented only)."""
    informed = strategy_for(study, strategy)
    if study.cluster is not None:
        check_rents(study.cluster, study.shop, [strategy])
    servers = pool_for(study, informed) if pool is None else pool
    beside = study.beside if servers else tuple(replace(one, servers=0) for one in study.beside)
    check_classes(informed, servers + sum(s.servers for s in beside))
    shop = shop_for(study.shop, informed, beside)
    speeds = _speeds(study, shop)
    setting = Setting(
        informed, study.cloud, shop, servers, study.seed, window=_counted(study), beside=beside, speeds=speeds,
        audit=study.audit,
    )  # fmt: skip
    return with_named_servers(setting, wanted_by(study.jobs))


def _counted(study: Study) -> tuple[float, float] | None:
    """The window in seconds of a run, before 0 where nothing is submitted when it begins; None where it is the whole
    trace."""
    window = study.window
    if window is None or window.is_whole:
        return None
    first = origin(study.jobs)
    return window.start - first, window.end - first


def tasks_for(study: Study, strategy: Strategy) -> Tasks:
    """The study's jobs as the strategy is told about them."""
    shop = shop_for(study.shop, strategy)
    largest = Room.of(shop.types[shop.large].shape)
    tasks = tasks_of(study.jobs, study.cloud, strategy_for(study, strategy), largest, study.seed)
    if isinstance(rule_of(strategy, "placement"), Ideal):
        tasks = tasks.fully_known()
    rows = None if study.cluster is None else study.cluster.platform_row[tasks.job]
    if study.jobs.requires is not None:
        wanted = study.jobs.requires[tasks.job].astype(np.int64) + 1
        rows = wanted + (0 if rows is None else rows * (len(study.jobs.requirements) + 1))
    return tasks if rows is None else replace(tasks, platform=rows)


def _speeds(study: Study, shop: Shop) -> Reals | None:
    """The speeds of types for jobs, 0 on those that jobs of a row may not run on: a row for each requirement of every
    row of a cluster, the first without any; None where all are alike."""
    names = [t.shape.name for t in shop.types]
    known = None if study.cluster is None else study.cluster.speeds_of(names)
    if study.jobs.requires is None:
        return known
    sizes = [(t.shape.name, float(t.shape.vcpus), float(t.shape.memory_gib)) for t in shop.types]
    met = np.array([[float(one.is_met(*size)) for size in sizes] for one in wanted_by(study.jobs)])
    base = np.ones((1, len(names))) if known is None else known
    made: Reals = (base[:, None, :] * met[None, :, :]).reshape(-1, len(names))
    return made


def wanted_by(jobs: Jobs) -> list[Requirement]:
    """What jobs require: first nothing, then each requirement."""
    return [Requirement(), *(requirement_of(text) or Requirement() for text in jobs.requirements)]


def able_strategies(study: Study, strategies: Sequence[Strategy]) -> tuple[Strategy, ...]:
    """The strategies that leave out hardly any of the work; raises EvidenceError with a job's id where none does."""
    able, least = [], last_named(wanted_by(study.jobs)) + 1
    for strategy in strategies:
        tasks = tasks_for(study, strategy)
        most = max(1 if tasks.pieces is None else int(tasks.pieces.max(initial=1)), least)
        setting = setting_for(study, strategy, most)
        if work_share(tasks.need, tasks.work, unplaceable(setting, tasks)) <= MOST_REFUSED:
            able.append(strategy)
    if not able and strategies:
        check_placeable(study.jobs, setting_for(study, strategies[-1], max(1, least)), tasks_for(study, strategies[-1]))
    return tuple(able)


def simulate_once(
    study: Study,
    strategy: Strategy,
    *,
    pool: int | None = None,
    journal: bool = False,
) -> RunOutcome:
    """One run of a strategy over the study; raises EvidenceError for a job that fits no type."""
    setting, tasks = setting_for(study, strategy, pool), tasks_for(study, strategy)
    if not study.drop_unplaceable:
        check_placeable(study.jobs, setting, tasks)
    return run(setting, tasks, journal=journal)


def check_classes(strategy: Strategy, servers: int) -> None:
    """Raises UsageError where a strategy has more classes than its reserve has servers."""
    rule = rule_of(strategy, "queueing")
    if isinstance(rule, MultiClass) and rule.classes > servers:
        raise UsageError(
            f"{strategy.name}: queueing.classes: {rule.classes} are more than the"
            f" {counted(servers, 'server')} of the reserve",
            hint="each class has a pool of servers of its own: reserve more (--pool), leave these classes out"
            " (--admission arrival-order), or state fewer (a copy of policies/admissions/multi-class.yaml,"
            " --admission ./mine.yaml)",
        )
