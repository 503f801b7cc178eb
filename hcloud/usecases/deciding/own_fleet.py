"""A plan's own fleet simulated: what it does to jobs for the plan's screen, and ``hcloud simulate plan.json``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path

from hcloud.catalog.book import PriceBook
from hcloud.catalog.shapes import is_of_shape
from hcloud.errors import InputError, StaleError, UsageError
from hcloud.model.catalog import InstanceType, OfferKey
from hcloud.model.plans.plan import Plan, Prediction, Trace
from hcloud.model.workload import Jobs, Workload
from hcloud.planning.explanations.harvested import on_machines
from hcloud.planning.fleets.gpu_jobs import for_types
from hcloud.planning.forecasting.dividing import settled
from hcloud.planning.forecasting.forecast import of_its_last_year
from hcloud.planning.forecasting.window import window_of
from hcloud.planning.settings import Divisible
from hcloud.planning.strategies.own_fleet import STRATEGY, PlannedFleet, fleet_of
from hcloud.readers.clouds import load_cloud
from hcloud.readers.configuration.config import Config, Loaded, MarketSection, ProfilesSection, WorkloadSection
from hcloud.readers.strategies import load_strategy
from hcloud.sim.outcomes.measure import Measures, measure
from hcloud.sim.setup.fitting import largest_whole
from hcloud.sim.setup.named_servers import last_named
from hcloud.sim.setup.shop import SmallerReserve, shop_of
from hcloud.store.plan_file import load_plan
from hcloud.units import HOURS_PER_MONTH, cents, counted, format_money
from hcloud.usecases.studies.simulation import Study, quality_asked, simulate_once, tasks_for, wanted_by
from hcloud.usecases.workloads.sources import open_prices, open_workload

FAR_ABOVE = Decimal("1.25")  # ours: a simulated bill so many times the plan's own asks for a reserve by simulation
COMMAND = "'hcloud simulate PLAN' does it"
IN_PARTS = "reserved machines that are larger than any job needs run here as several smaller ones, of as many vCPUs"


def trace_of(loaded: Loaded) -> Trace | None:
    """Where the configuration's workload is read, for the plan made of it; None where it is from no file."""
    workload, profiles = loaded.config.workload, loaded.config.profiles
    if workload.path is None and workload.scenario is None:
        return None
    return Trace(
        path=_from_here(loaded.resolve(workload.path)) if workload.path is not None else "",
        scenario=workload.scenario or "",
        format=workload.format,
        options=dict(workload.options),
        window=workload.window or "",
        profiles=_from_here(loaded.resolve(profiles.folder)) if profiles.folder is not None else "",
        corpus=profiles.corpus,
    )


def _from_here(path: Path) -> str:
    """A path below the working directory relative to it, so that a plan and its trace may move together."""
    whole, here = path.resolve(), Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(path)


def predicted(plan: Plan, workload: Workload, book: PriceBook, config: Config) -> Prediction | None:
    """What the plan's own fleet does to the jobs, where there are few enough of them; None where strategies were
    simulated for the plan, or it has no machines."""
    fleet = _if_any(plan)
    if plan.operation is not None or fleet is None:
        return None
    told = Prediction(fleet.strategy, fleet.reserved, _cloud_of(fleet, config), plan.seed)
    workload = on_machines(plan, workload)
    most = config.operation.own_fleet_jobs
    if len(fleet.clouds) > 1:
        return replace(told, why_not=_in_several(fleet))
    if not isinstance(workload, Jobs):
        return replace(told, why_not="a demand series has no jobs")
    if last_named(wanted_by(workload)) >= 0:
        return replace(told, why_not="some jobs require certain reserved servers (server=N), and a plan numbers none")
    if len(workload) > most:
        return replace(told, why_not=_too_many(len(workload), most))
    fleet = on_whole_servers(fleet, workload, book, config)
    told, study = replace(told, reserved=fleet.reserved), _study(plan, fleet, (workload, book), config)
    if (tasks := len(tasks_for(study, load_strategy(fleet.strategy)))) > most:
        return replace(told, why_not=_too_many(tasks, most))
    found = measure(simulate_once(study, load_strategy(fleet.strategy), pool=fleet.servers))
    if found.still_queued:  # behind one that none of the reserved servers holds: what did not run has no bill
        return replace(told, why_not=f"{counted(found.still_queued, 'job')} would queue for its reserve for ever")
    wait, monthly = found.service.waiting.p95, _monthly(found)
    is_dearer = monthly > plan.now.monthly and fleet.servers > 0 and not fleet.dearer
    return replace(
        told,
        kept_qos=round(found.service.kept_qos, 6),
        wait_p95=None if math.isnan(wait) else round(wait, 6),
        monthly=monthly,
        all_on_demand=_all_on_demand(study) if is_dearer else None,
        covered=found.covered or None if plan.harvest is None else None,  # idle hours keep these machines busy
    )


def _if_any(plan: Plan) -> PlannedFleet | None:
    """The fleet of a plan; none where all is on spot, or is owned and serves it all."""
    try:
        return fleet_of(plan)
    except InputError:
        return None


def _all_on_demand(study: Study) -> Decimal:
    """What the same costs where nothing is reserved, run alike: another way to run it would be no comparison."""
    return _monthly(measure(simulate_once(study, load_strategy(STRATEGY).all_rented())))


def _monthly(found: Measures) -> Decimal:
    return cents(found.cost.per_ideal_hour * HOURS_PER_MONTH)


def short_of(plan: Plan, found: Prediction, qos: float) -> Iterator[str]:
    """What the simulated fleet falls short of: the share of jobs that shall keep their performance, and the cost that
    it was to be below."""
    if found.kept_qos is not None and found.kept_qos < qos:
        yield (
            f"simulated, {found.kept_qos:.1%} of jobs keep 95% of their performance on this fleet; operation.qos asks"
            f" for {qos:.0%}{_shared(plan, found.cloud)}. 'hcloud plan --strategy auto' looks for a fleet that reaches"
            " it"
        )
    other, fleet = found.all_on_demand, fleet_of(plan)
    if found.monthly is None or fleet.dearer:
        return
    billed, own = found.monthly - (found.covered or 0), plan.after.monthly
    if other is None or billed < other:
        if fleet.servers and 0 < FAR_ABOVE * own < billed and (found.kept_qos or 0) >= qos:
            yield (
                f"simulated, this fleet costs {billed / own:.1f} times what the plan says by its use alone; 'hcloud"
                " plan --strategy auto' looks for the reserve that costs least when simulated"
            )
        return
    yield (
        f"this plan does not pay: simulated, it costs {format_money(found.monthly)} a month with starts and idle"
        f" instances, and the same jobs all on demand cost {format_money(other)}; 'hcloud plan --strategy auto' looks"
        " for a fleet that pays"
    )


def _shared(plan: Plan, cloud: str) -> str:
    """That machines of the plan share their server with others, who slow their jobs; empty where all are whole ones."""
    whole = load_cloud(cloud).number("neighbours", "server_vcpus")
    if all(line.vcpus >= whole * float(line.count) for line in plan.mix):
        return ""
    return (
        f"; machines of under {whole:g} vCPUs share a server with other tenants ({cloud}), those of --vcpus {whole:g}"
        " do not"
    )


def _in_several(fleet: PlannedFleet) -> str:
    return f"its reserve is in {' and '.join(fleet.clouds)}, and one cloud is simulated at a time"


def _too_many(jobs: int, most: int) -> str:
    return f"{jobs:,} jobs, over {most:,}; {COMMAND}"


def on_whole_servers(fleet: PlannedFleet, jobs: Jobs, book: PriceBook, config: Config) -> PlannedFleet:
    """The same with several machines for each that is larger than a server without neighbours and than any job needs,
    where such are sold as the same and no size was asked for: nobody rents 64 vCPUs so that a job of 2 has a server to
    itself."""
    if any(isinstance(m.vcpus, int) for m in config.markets if m.provider is fleet.on_demand.provider):
        return fleet
    least = load_cloud(_cloud_of(fleet, config)).number("neighbours", "server_vcpus")
    need = largest_whole(settled(jobs.as_started, config.planning.divisible))

    def shape_of(key: OfferKey) -> InstanceType:
        return book.instance_type(key.provider, key.instance_type)

    def in_parts(key: OfferKey) -> tuple[OfferKey, int]:
        large, sold = shape_of(key), (replace(key, instance_type=name) for of, name in book.types if of == key.provider)
        parts = (
            one
            for one in sold
            if one in book.offers and is_of_shape(shape := shape_of(one), large) and need.fits(shape)
            if least <= shape.vcpus < large.vcpus and large.vcpus % shape.vcpus == 0
        )
        small = min(parts, key=lambda one: shape_of(one).vcpus, default=key)
        return small, int(large.vcpus / shape_of(small).vcpus)

    if fleet.commitment is None:
        return replace(fleet, on_demand=in_parts(fleet.on_demand)[0])
    lots: Counter[OfferKey] = Counter()
    for key, servers in ((fleet.commitment, fleet.servers), *fleet.beside):
        smaller, parts = in_parts(key)
        lots[smaller] += servers * parts
    first, *beside = sorted(lots, key=lambda key: (-shape_of(key).vcpus, -shape_of(key).memory_gib, str(key)))
    found = replace(
        fleet,
        on_demand=replace(fleet.on_demand, instance_type=first.instance_type),
        commitment=first,
        servers=lots[first],
        beside=tuple((key, lots[key]) for key in beside),
    )
    return found if found.reserved == fleet.reserved else replace(found, apart=(*fleet.apart, IN_PARTS))


def _cloud_of(fleet: PlannedFleet, config: Config) -> str:
    return config.operation.cloud or f"measured-{fleet.on_demand.provider}"


def _study(plan: Plan, fleet: PlannedFleet, found: tuple[Jobs, PriceBook], config: Config) -> Study:
    return replace(fleet_study(fleet, found, config), seed=plan.seed)


def fleet_study(fleet: PlannedFleet, found: tuple[Jobs, PriceBook], config: Config) -> Study:
    """A fleet with the jobs that it is for, as it is simulated; UsageError where it is in several clouds."""
    if len(fleet.clouds) > 1:
        why = f"the fleet of the plan cannot be simulated: {_in_several(fleet)}"
        raise UsageError(why, hint=f"plan each by itself: hcloud plan --provider {fleet.clouds[0]}")
    jobs, book = settled(found[0].as_started, config.planning.divisible), found[1]
    commitment = None if fleet.commitment is None else book.offer(fleet.commitment)
    beside = tuple(SmallerReserve(key.instance_type, servers, book.offer(key)) for key, servers in fleet.beside)
    shop = shop_of(book, book.offer(fleet.on_demand), commitment, jobs, fleet.others)
    cloud = load_cloud(_cloud_of(fleet, config))
    return Study(
        jobs, cloud, shop, True, config.planning.seed, config.workload.scenario, of_its_last_year(window_of(jobs)),
        drop_unplaceable=True, beside=beside, target=quality_asked(config.operation),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class OpenedPlan:
    """A plan read back with its workload: what is simulated, and its fleet."""

    study: Study
    fleet: PlannedFleet


def open_planned(path: Path, loaded: Loaded, at: date) -> OpenedPlan:
    """The very fleet and workload of a plan file, in the cloud that the configuration or else the plan names.

    Raises InputError where the plan names no trace or that is missing, StaleError where it is not the one that the plan
    was made from, UsageError where it holds no jobs.
    """
    plan = load_plan(path)
    if plan.trace is None:
        raise InputError(f"{path}: the plan does not say which trace it was made from", hint="plan again")
    there = _as_planned(plan, plan.trace, loaded, path)
    return fleet_opened(plan, open_workload(there), there, at, path.name)


def with_cloud(loaded: Loaded, cloud: str | None) -> Loaded:
    """The configuration with the cloud model that is asked for, if one is."""
    return loaded if cloud is None else loaded.changed(operation={"cloud": cloud})


def as_asked(found: OpenedPlan, seed: int | None, *, profiled: bool) -> OpenedPlan:
    """The same at another seed, with users' own requests where jobs are not profiled first."""
    seed = found.study.seed if seed is None else seed
    return replace(found, study=replace(found.study, seed=seed, profiled=profiled))


def fleet_opened(plan: Plan, workload: Workload, loaded: Loaded, at: date, name: str = "the plan") -> OpenedPlan:
    """The fleet of a plan with the workload that it was made from; StaleError where that is another one."""
    if workload.provenance.digest != plan.digests.workload:
        trace = plan.workload.name if plan.trace is None else plan.trace.path or plan.trace.scenario
        raise StaleError(
            f"{trace}: not the trace that {name} was made from: it has changed",
            hint="plan again with 'hcloud plan TRACE --out FILE'",
        )
    if not isinstance(workload, Jobs):
        name = plan.workload.name
        raise UsageError(
            f"{name}: the plan was made from a demand series, which has no jobs to simulate",
            hint="plan a table of jobs and simulate that plan, or simulate a table: hcloud simulate jobs.csv",
        )
    book, _ = open_prices(loaded, at)
    types = (book.instance_type(line.provider, line.instance_type) for line in plan.mix if not line.covers_nothing)
    fleet, left = fleet_of(plan), on_machines(plan, for_types(workload, types))
    assert isinstance(left, Jobs)
    fleet = fleet if plan.operation else on_whole_servers(fleet, left, book, loaded.config)
    return OpenedPlan(_study(plan, fleet, (left, book), loaded.config), fleet)


def _as_planned(plan: Plan, trace: Trace, loaded: Loaded, path: Path) -> Loaded:
    """The configuration with the plan's own workload, markets, seed, cloud model, and jobs that may be split."""
    config = loaded.config
    workload = WorkloadSection(
        path=_found(trace.path, path) if trace.path else None,
        scenario=trace.scenario or None,
        format=trace.format,
        options=trace.options,
        window=trace.window or None,
    )
    profiles = ProfilesSection(folder=_found(trace.profiles, path) if trace.profiles else None, corpus=trace.corpus)
    cloud = config.operation.cloud or (plan.operation.cloud if plan.operation is not None else None)
    divided = {a.key.partition(".")[2]: Divisible(a.value) for a in plan.assumptions if a.key == "planning.divisible"}
    bought = sorted({(position.provider, position.region, position.key.os) for position in plan.mix})
    told = (a for a in plan.assumptions if a.key == "markets.vcpus" and a.value.isdigit())
    sizes = {a.why.partition(":")[0]: int(a.value) for a in told}
    markets = tuple(
        MarketSection(provider=p, regions=(region,), os=os, vcpus=sizes.get(p, "auto")) for p, region, os in bought
    )
    made = loaded.changed(
        workload=workload,
        profiles=profiles,
        planning={"seed": plan.seed, **divided},
        operation={"cloud": cloud},
        markets=markets or config.markets,
    )
    return replace(made, base=Path())


def _found(name: str, plan: Path) -> Path:
    """A file or folder that a plan names, from here or beside the plan; InputError where it is in neither place."""
    for place in (Path(name), plan.parent / name):
        if place.exists():
            return place
    raise InputError(
        f"{plan}: was made from {name}, which is missing; the plan can only be simulated on it",
        hint="run it in the directory where you made the plan, copy the file next to the plan, or plan again",
    )


def refuse_beside_a_plan(flags: Sequence[tuple[str, object]]) -> None:
    """UsageError where a flag says what the plan says already."""
    given = [name for name, value in flags if value]
    if given:
        raise UsageError(
            f"{', '.join(given)}: the plan already sets that: 'simulate PLAN' uses its fleet and trace",
            hint="name the trace instead of the plan to choose others",
        )
