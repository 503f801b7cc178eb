"""What live work cost beside what other strategies would have cost for its jobs: these are simulated on the same types
of machines, and all are priced by one formula."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path

from hcloud.catalog.book import PriceBook
from hcloud.catalog.quote import amortised_cost, rental_cost
from hcloud.control.operating.costs import rental_of
from hcloud.control.operating.fold import Fold
from hcloud.errors import EvidenceError, HcloudError
from hcloud.model.catalog import (
    BillingRule,
    InstanceType,
    Offer,
    OfferKey,
    Origin,
    Payment,
    Provider,
    PurchaseOption,
)
from hcloud.model.running.alternatives import DOLLARS, VCPU_HOURS, CostComparison, StrategyCost
from hcloud.model.running.cloud import CloudModel, Quantiles
from hcloud.model.running.strategy import Strategy
from hcloud.model.workload import Jobs
from hcloud.planning.changes.slots import CloudRegion
from hcloud.planning.reports.journeys import journeys_of
from hcloud.policy.facts import Setup
from hcloud.policy.registry import rule_of, sizing_of
from hcloud.policy.sizes.information import RequestedSizes
from hcloud.policy.sizes.sizing import PeakOverprovisioned
from hcloud.readers.clouds import PAPER, load_cloud
from hcloud.readers.configuration.config import Loaded
from hcloud.readers.strategies import load_strategy
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.source import open_source
from hcloud.sim.run import charges, reserved_cost
from hcloud.sim.setup.shop import COMMITMENTS, Rentable, Shop
from hcloud.store.journals.journal import JournalContents, LiveOrigin, read_journal
from hcloud.store.journals.live import read_whole
from hcloud.units import SECONDS_PER_HOUR, counted
from hcloud.usecases.live.ground import prices_of
from hcloud.usecases.live.operating.operate import fold_of
from hcloud.usecases.studies.simulation import Study, pool_for, simulate_once
from hcloud.usecases.workloads.journals import jobs_of_journal

BESIDE = ("SR", "OdF")
"""What people would do without hcloud: reserve for the peak, or rent all there is."""
SEED = 42
_DELAYS = ("profiling_seconds", "classification_seconds", "decision_seconds")


def compared(path: Path, loaded: Loaded, today: date, now: float = 0.0, *, at_end: bool = False) -> CostComparison:
    """The cost of live work by its journal until ``now`` (or its end), and of others; where there can be none, why.
    ``at_end`` is when somebody waits for the end of the work: then a long journal is left to who asks for it."""
    try:
        if at_end and read_journal(path).before is not None:
            return CostComparison(notes=("a long journal: 'hcloud operate status --compare' simulates SR and OdF",))
        known = read_whole(path)
        fold = fold_of(known)
        if not fold.jobs:
            return CostComparison()
        until = fold.last if fold.is_finished else max(fold.last, now)
        jobs = jobs_of_journal(known.lines, open_source(path), WorkloadOptions(), until)
        return _compared(known, jobs, _market(known, loaded, today), until)
    except HcloudError as error:
        return CostComparison(notes=(f"no comparison with {' and '.join(BESIDE)}: {error}",))


@dataclass(frozen=True, slots=True)
class _Market:
    """What the types of live work cost, and how its cloud behaves."""

    unit: str
    shop: Shop
    cloud: CloudModel
    notes: tuple[str, ...]


def _compared(known: JournalContents, jobs: Jobs, market: _Market, until: float) -> CostComparison:
    study = Study(jobs, market.cloud, market.shop, True, SEED)
    journeys = journeys_of(known.lines)
    running = sum(j.began is not None and j.ended is None for j in journeys)
    ended = [until] if running else [j.ended for j in journeys if j.ended is not None]
    began = min(j.arrived for j in journeys)
    took = max(ended) - began
    fold = fold_of(known)
    costs = [_lived(fold, market.shop, took, until)]
    vcpus = max(int(market.shop.types[market.shop.large].shape.vcpus), 1)
    for name in BESIDE:
        if name != known.setup.strategy:
            costs.append(_simulated(study, _as_here(load_strategy(name), vcpus), until - began))
    pieces = len(jobs) if jobs.servers is None else int(jobs.servers.sum())
    missing = [f"{counted(running, 'job')} still running: as long as so far"] if running else []
    if left_out := len(journeys) - pieces:
        missing.append(f"{counted(left_out, 'job')} left out: nothing of it ran, or it ran for no time")
    if fold.harvested.known or fold.harvested.jobs:
        missing.append("jobs on idle capacity cost nothing here; SR and OdF do not run them")
    return CostComparison(market.unit, tuple(costs), (*market.notes, *_reserve_of_sr(), *missing))


def _reserve_of_sr() -> Iterator[str]:
    strategy = load_strategy("SR")
    rule, known = rule_of(strategy, "reserved"), not isinstance(sizing_of(strategy), RequestedSizes)
    if isinstance(rule, PeakOverprovisioned):
        margin = rule.vcpus(1.0, 1.0, profiled=known) - 1
        yield f"SR reserves for the peak of these jobs, as if it were known, and {margin:.0%} more, in whole machines"


def _lived(fold: Fold, shop: Shop, seconds: float, now: float) -> StrategyCost:
    """The reserve over the time of the work, and each rented machine from its launch to its end."""
    setup, offers = fold.setup, {t.shape.name: t for t in shop.types}
    rented = Decimal(0)
    for machine in fold.machines.values():
        rental = rental_of(machine)
        if machine.reserved or rental is None:
            continue
        sold = offers[machine.type_name]
        offer = (sold.spot if machine.option is PurchaseOption.SPOT else None) or sold.on_demand
        until = math.ceil(now) if rental.end is None else rental.end
        rented += rental_cost(offer, max(until - rental.start, 0), shop.billing)
    reserve = amortised_cost(shop.reserved, 1) * setup.pool * Decimal(repr(seconds)) / SECONDS_PER_HOUR
    return StrategyCost(setup.strategy, setup.pool, reserve, rented, simulated=False)


def _simulated(study: Study, strategy: Strategy, seconds: float) -> StrategyCost:
    """What another strategy would have cost. Its machines, too, end with the work after so many ``seconds``, however
    long it would keep them for jobs to come."""
    pool = pool_for(study, strategy)
    outcome = simulate_once(study, strategy, pool=pool)
    window = (-math.inf, max(outcome.seconds, seconds))
    outcome = replace(outcome, setting=replace(outcome.setting, window=window))
    rented = sum((c.dollars for c in charges(outcome)), Decimal(0))
    return StrategyCost(strategy.name, pool, reserved_cost(outcome, outcome.seconds), rented)


def _as_here(strategy: Strategy, vcpus: int) -> Strategy:
    """The same strategy for jobs that are not profiled when they come, and servers of so many vCPUs, as those of live
    work."""
    values = {**dict.fromkeys(_DELAYS, 0), "instance_vcpus": vcpus}
    mechanisms = tuple(
        replace(m, parameters=tuple(replace(p, value=values.get(p.key, p.value)) for p in m.parameters))
        for m in strategy.mechanisms
    )
    return replace(strategy, mechanisms=mechanisms)


def _market(known: JournalContents, loaded: Loaded, today: date) -> _Market:
    live = known.live
    if live is None:
        raise EvidenceError("it is not a journal of live work")
    if live.cloud not in list(Provider):
        return _own_machine(known.setup)
    return _sold(known.setup, live, loaded, today)


def _sold(setup: Setup, live: LiveOrigin, loaded: Loaded, today: date) -> _Market:
    """The types of live work at the prices of its region."""
    provider = Provider(live.cloud)
    book = prices_of(loaded, CloudRegion(provider, live.region), today)
    types = tuple(_rentable(book, provider, live.region, t.name) for t in setup.types)
    large = types[setup.rules.large].on_demand
    usable = [o for o in book.commitments(large.key) if o.key.option in COMMITMENTS and o.key.term_years == 1]
    reserved = min(usable, key=lambda o: (o.key.payment != Payment.ALL, o.term_cost), default=None)
    if reserved is None:
        raise EvidenceError(f"{large.key}: the price book has no one-year commitment for it")
    shop = Shop(types, setup.rules.large, reserved, book.billing[provider], None)
    cloud = load_cloud(f"measured-{provider}")
    bought = f"{reserved.key.option}, 1 year, {reserved.key.payment}"
    return _Market(DOLLARS, shop, cloud, (f"every reserve is priced as {bought}; the rest on demand or spot", *_CLOUD))


_CLOUD = ("SR and OdF are simulated: neighbours, start-up times and interference are those of the cloud model",)


def _rentable(book: PriceBook, provider: Provider, region: str, name: str) -> Rentable:
    key = OfferKey(provider, region, name, PurchaseOption.ON_DEMAND)
    spot = book.offers.get(replace(key, option=PurchaseOption.SPOT))
    return Rentable(book.instance_type(provider, name), book.offer(key), spot)


def _own_machine(setup: Setup) -> _Market:
    """This machine: every vCPU costs 1 an hour, nothing disturbs anything, and machines start as they were told to."""
    origin = Origin("this machine", date.min, "vCPU-hours")

    def offer(name: str, vcpus: Decimal, option: PurchaseOption, years: int) -> Offer:
        key = OfferKey(Provider.AWS, "local", name, option, years, Payment.NONE)
        return Offer(key, vcpus, Decimal(0), origin)

    def rentable(name: str, cores: int, memory: int) -> Rentable:
        vcpus = Decimal(cores) / 1000
        shape = InstanceType(Provider.AWS, name, "local", vcpus, Decimal(memory) / 1024, vcpus)
        return Rentable(shape, offer(name, vcpus, PurchaseOption.ON_DEMAND, 0), None)

    types = tuple(rentable(t.name, t.cores, t.memory) for t in setup.types)
    large = types[setup.rules.large].shape
    reserved = offer(large.name, large.vcpus, PurchaseOption.RESERVED, 1)
    shop = Shop(types, setup.rules.large, reserved, BillingRule(1, 0), None)
    notes = (
        "machines on this computer have no price: costs are vCPU-hours, reserved or rented",
        "SR and OdF are simulated without interference",
    )
    return _Market(VCPU_HOURS, shop, _calm(load_cloud(PAPER), setup.large.spin_up), notes)


def _calm(cloud: CloudModel, spin_up: float) -> CloudModel:
    """A cloud without neighbours in which all machines are alike and jobs do not disturb each other."""

    def always(value: float) -> Quantiles:
        return Quantiles((0.0, 1.0), (value, value))

    sizes = tuple(replace(s, spin_up=always(spin_up), spread=always(1.0), slowness=always(1.0)) for s in cloud.sizes)
    quiet = {"neighbours": ("mean_load", "amplitude"), "batch": ("sensitivity",), "service": ("sensitivity",)}
    sections = {
        name: tuple(replace(p, value=0.0) if p.key in quiet.get(name, ()) else p for p in parameters)
        for name, parameters in cloud.sections.items()
    }
    return replace(cloud, sections=sections, sizes=sizes)
