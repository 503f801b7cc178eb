"""What is simulated: a workload in a cloud that sells types at prices, under a strategy, with a pool sized for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from hcloud.errors import UsageError
from hcloud.model.catalog import Provider
from hcloud.model.cloud import CloudModel
from hcloud.model.strategy import Strategy
from hcloud.model.workload import Jobs
from hcloud.planning.demand import demand_of
from hcloud.policy.sizing import load_quantile, reserved_servers
from hcloud.readers.clouds import load_cloud
from hcloud.readers.config import Loaded
from hcloud.sim.build import Setting
from hcloud.sim.prepare import Tasks, tasks_of
from hcloud.sim.run import Outcome, run
from hcloud.sim.scenarios import scenario
from hcloud.sim.shop import Shop, Wanted, open_shop, shop_for
from hcloud.usecases.sources import check_regions, open_prices, open_workload

PAPER = "paper"
LARGE_VCPUS = 16
PATTERNS = {Provider.AWS: ("m5.*",), Provider.GCP: ("n2-standard*",), Provider.AZURE: ("Dsv5",)}
"""The families a simulation rents where none is named: general-purpose, every size up to the large one."""
_STEP = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user says about a simulation besides workload and market: the cloud model, the price of on-demand over
    reserved (None: from the book), whether jobs are profiled first."""

    cloud: str | None = None
    price_ratio: float | None = None
    profiled: bool = True


@dataclass(frozen=True, slots=True)
class Study:
    """A workload, the cloud it runs in, what that cloud sells, and whether jobs are profiled first; ``scenario`` names
    the generated scenario, if it is one, so that other seeds can be drawn; ``seed`` is the first."""

    jobs: Jobs
    cloud: CloudModel
    shop: Shop
    profiled: bool
    seed: int
    scenario: str | None = None


def open_study(loaded: Loaded, asked: Asked, today: date, progress: Callable[[float], None] | None = None) -> Study:
    """The study that configuration and flags ask for.

    With the cloud ``paper`` (the default unless a market is configured or named) the types and the price ratio are the
    thesis'. Raises UsageError for a demand series, which has no jobs, or where nothing is left to simulate.
    """
    jobs = open_workload(loaded, progress)
    if not isinstance(jobs, Jobs):
        raise UsageError(
            "a demand series cannot be simulated: it holds no jobs",
            hint="give a job table (submit, duration, cores) or a scenario, for example scenario:high-variability",
        )
    if not len(jobs):
        raise UsageError(f"{jobs.provenance.name}: no job to simulate")
    shop, cloud = _market(loaded, asked, today)
    section = loaded.config
    return Study(jobs, cloud, shop, asked.profiled, section.planning.seed, section.workload.scenario)


def _market(loaded: Loaded, asked: Asked, today: date) -> tuple[Shop, CloudModel]:
    named = "markets" in loaded.config.model_fields_set
    market = loaded.config.settings().markets[0]
    name = asked.cloud or (f"measured-{market.provider}" if named else PAPER)
    wanted = Wanted.paper() if not named else Wanted(market.provider, market.regions[0], ("*",))
    if named:
        patterns = market.families or PATTERNS[market.provider]
        wanted = replace(wanted, patterns=patterns, large_vcpus=int(market.vcpus or LARGE_VCPUS), os=market.os)
    if asked.price_ratio is not None:
        wanted = replace(wanted, price_ratio=asked.price_ratio)
    if named:
        book, _ = open_prices(loaded, today)
        check_regions(loaded, book)
    else:
        from hcloud.readers.prices.bundled import load_bundled

        book = load_bundled(providers={wanted.provider}, regions={wanted.region}, systems={wanted.os})
    return open_shop(book, wanted), load_cloud(name)


def with_seed(study: Study, seed: int) -> Study:
    """The same study at another seed: a scenario's jobs are drawn anew, a trace stays as it is."""
    jobs = study.jobs if study.scenario is None else scenario(study.scenario, seed)
    return replace(study, jobs=jobs, seed=seed)


def strategy_for(study: Study, strategy: Strategy) -> Strategy:
    """The strategy with the information that the study gives it: without profiling, users' own requests."""
    if study.profiled:
        return strategy
    mechanisms = tuple(replace(m, rule="requested") if m.name == "information" else m for m in strategy.mechanisms)
    return replace(strategy, mechanisms=mechanisms)


def pool_for(study: Study, strategy: Strategy) -> int:
    """Servers the strategy reserves for the study's load, in vCPUs or (where that takes more servers) in memory.

    The load counts from the first to the last submission, in steps of a minute: what runs out after the last one is no
    steady load.
    """
    mechanism = strategy.mechanism("reserved")
    if mechanism.rule == "none":
        return 0
    large = study.shop.types[study.shop.large].shape
    demand = demand_of(study.jobs, _STEP)
    memory_as_cores = demand.memory * float(large.vcpus / large.memory_gib)
    steps = max(int((float(study.jobs.submit.max()) - demand.start) // _STEP), 1)
    load = np.maximum(demand.cores, memory_as_cores)
    steady = float(np.quantile(load[:steps], load_quantile(mechanism)))
    servers = reserved_servers(mechanism, float(load.max()), steady, profiled=study.profiled)
    vcpus = mechanism.number("instance_vcpus") / float(large.vcpus)
    return int(np.ceil(servers * vcpus - 1e-9))


def setting_for(study: Study, strategy: Strategy, pool: int | None = None) -> Setting:
    """A strategy in the study, with its own reserve unless ``pool`` states another."""
    informed = strategy_for(study, strategy)
    servers = pool_for(study, informed) if pool is None else pool
    return Setting(informed, study.cloud, shop_for(study.shop, informed), servers, study.seed)


def tasks_for(study: Study, strategy: Strategy) -> Tasks:
    """The study's jobs as the strategy is told about them."""
    largest = int(study.shop.types[study.shop.large].shape.vcpus * 1000)
    return tasks_of(study.jobs, study.cloud, strategy_for(study, strategy), largest, study.seed)


def simulate_once(
    study: Study,
    strategy: Strategy,
    *,
    pool: int | None = None,
    journal: bool = False,
    advance: Callable[[float], None] | None = None,
) -> Outcome:
    """One run of a strategy over the study."""
    return run(setting_for(study, strategy, pool), tasks_for(study, strategy), journal=journal, advance=advance)
