"""Scenarios that are jobs and a cluster: the servers, the jobs on them, and how fast each type runs which job."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from hcloud.catalog.book import PriceBook
from hcloud.errors import UsageError
from hcloud.model.catalog import BillingRule, InstanceType, Offer, OfferKey, Origin, Payment, Provider, PurchaseOption
from hcloud.model.measured.profile import RESOURCES
from hcloud.model.running.cloud import CloudModel
from hcloud.model.running.cluster import CapacityPrice, Cluster, ServerType
from hcloud.model.target import GoalKind, JobTarget, TargetedSize
from hcloud.model.workload import SCENARIO, Jobs, Modelled, Provenance, Window
from hcloud.planning.forecasting.window import window_of
from hcloud.sim.setup.clustered.cluster_jobs import (
    MEMORY_GROUPED,
    MOST,
    Applications,
    ClusterRecipe,
    applications_of_jobs,
    fillers_of,
    of_each,
    peak,
    residents_of,
    stretched,
    submissions,
)
from hcloud.sim.setup.clustered.queries import (
    QueryStages,
    as_queries,
    query_checks,
    residents_of_servers,
    window_of_queries,
)
from hcloud.sim.setup.clustered.recipes import RECIPES
from hcloud.sim.setup.scenarios import ScenarioCheck
from hcloud.sim.setup.shop import Rentable, Shop, SmallerReserve, commitment_of, in_order
from hcloud.sim.setup.streams import stream

if TYPE_CHECKING:
    from hcloud.model.workload import Floats
    from hcloud.policy.records import Ints, Reals

MOST_LOAD = 1.5
_PREFERENCE = 0.15
"""Ours: types differ by so much, for each application in another order. With one order for all, and servers three times
as fast as others, only the jobs on the few best could keep 95 %."""
_TOLERANCE_SPREAD = 15.0
"""Ours: points by which what an application tolerates lies around 99 less what it causes, where both are known."""
_STEPS = 50
_NEAR = 1e-6
"""vCPUs; a peak may miss a load by the largest job besides, since a job runs whole."""
_LONGEST = 1e9
_RARE = 3.3
"""Standard deviations by which chance alone misses a share once in a thousand times."""
_STATED = {
    "local-40": (40, 178),
    "ec2-1000": (1000, 7355),
    "tarcil-110": (100, 800),
    "tarcil-110-mixed": (100, 0),
    "tarcil-200": (200, 0),
    "quasar-200": (200, 0),
    "tarcil-400": (400, 4178),
    "fleet-10000": (10_000, 80_000),
}
"""Servers and vCPUs as the sources count them; 0 where they do not."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterScenario:
    """Jobs and the cluster they run on. ``platform_speeds`` [row, type] are the speeds of types relative to the best
    for a job (1.0), in the order of ``types``; ``platform_row`` is each job's row. ``causes`` and ``tolerates`` are
    points [application, resource] that each application is known to press on and bear. ``load`` is the vCPUs needed
    over those there are, ``asked_load`` that which was asked for (None: the scenario's own), ``checks`` what the
    sources state beside what was generated."""

    name: str
    cluster: Cluster
    jobs: Jobs
    load: float
    types: tuple[str, ...]
    platform_speeds: Reals
    platform_row: Ints
    causes: Ints
    tolerates: Ints
    checks: tuple[ScenarioCheck, ...]
    asked_load: float | None = None

    @property
    def window(self) -> Window | None:
        """What of the run counts: of a steady stream the time in which jobs come, of queries without its begin, else
        all of it."""
        recipe = RECIPES[self.name]
        if recipe.queries is not None:
            return window_of_queries(recipe.queries, self.jobs)
        return window_of(self.jobs) if recipe.steady else None

    def speeds_of(self, types: Sequence[str]) -> Reals:
        """The speeds of types in another order; UsageError for one that the cluster does not have."""
        lacking = [name for name in types if name not in self.types]
        if lacking:
            raise UsageError(f"scenario:{self.name}: no speed is known of {', '.join(lacking)}")
        found: Reals = self.platform_speeds[:, [self.types.index(name) for name in types]]
        return np.ascontiguousarray(found)


def cluster_scenario(
    name: str, cluster: Cluster, cloud: CloudModel, seed: int = 42, load: float | None = None
) -> ClusterScenario:
    """The jobs of a scenario on its cluster; the same name, seed and load give the same bits. How hard jobs press is
    said by a cloud.

    The ``load`` (None: the scenario's own) changes how long jobs run and nothing else. Raises UsageError for one that
    these jobs cannot have.
    """
    recipe = RECIPES[name]
    found = Applications.drawn(recipe, cloud, seed)
    submit, span = submissions(recipe, cluster, seed)
    filling, times = fillers_of(recipe, found, seed)
    app, submit = np.append(applications_of_jobs(recipe, found, seed), filling), np.append(submit, times)
    order = np.argsort(submit, kind="stable")
    app, submit, own = app[order], submit[order], order < len(order) - len(filling)
    stages = None if recipe.queries is None else QueryStages.drawn(recipe, recipe.queries, seed)
    if stages is not None:
        app, submit, own = app[stages.query], submit[stages.query], own[stages.query]
    groups, chance = found.group[app], stream(seed, f"{name}: sizes")
    cores = of_each(recipe, groups, lambda g, n: chance.choice(g.vcpus, n).astype(np.float64))
    chance = stream(seed, f"{name}: lengths")
    lengths = of_each(recipe, groups, lambda g, n: g.lengths.drawn(chance, n))
    level = _Level(recipe, cluster, submit, cores, span)
    stays = recipe.stated and load is None
    usual = level.of(lengths) + recipe.resident if stays else recipe.load
    wanted = usual if load is None else load
    load = None if wanted == recipe.load and not recipe.stated else load
    if wanted <= recipe.resident:
        raise UsageError(
            f"--load {wanted:g}: {recipe.resident:g} of the vCPUs of scenario:{name} are held by residents alone",
            hint=f"write a load above {recipe.resident:g}",
        )
    seconds = lengths if stays else level.fitted(lengths, wanted - recipe.resident)
    checked = groups[own], (wanted, level.of(seconds) + recipe.resident, load is None)
    residents = residents_of if stages is None else residents_of_servers
    beside, held = residents(recipe, found, cluster)
    app, cores = np.append(beside, app), np.append(held, cores)
    submit, seconds = np.append(np.zeros(len(held)), submit), np.append(np.full(len(held), span), seconds)
    jobs = _jobs(recipe, cluster, seed, (submit, seconds, cores, app, found, load))
    checks = tuple(_checks(recipe, cluster, jobs, *checked)) if stages is None else ()
    if stages is not None:
        told = query_checks(recipe, stages, float(held.sum()) / cluster.vcpus, checked[1][:2])
        checks = (*_size_checks(cluster), *told)
        jobs, rows = as_queries(jobs, recipe, cluster, stages, seed)
        app = app[rows]
    tolerates = _tolerated(recipe, found.causes, seed)
    return ClusterScenario(
        name, cluster, jobs, wanted, tuple(t.name for t in cluster.types),
        _speeds(recipe, len(found.names), cluster, seed), app, found.causes, tolerates, checks, load,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """How much of a cluster jobs need."""

    recipe: ClusterRecipe
    cluster: Cluster
    submit: Floats
    cores: Floats
    span: float

    def of(self, seconds: Floats) -> float:
        """The vCPUs needed over those there are."""
        if self.recipe.steady:
            return float((seconds * self.cores).sum()) / self.span / self.cluster.vcpus
        return peak(self.submit, seconds, self.cores) / self.cluster.vcpus

    def fitted(self, lengths: Floats, load: float) -> Floats:
        """The lengths, stretched until the load is as wanted: of a peak the least stretch that reaches it."""
        if self.recipe.steady:
            return lengths * (load / self.of(lengths))
        limits, low, high = self.recipe.limits, 0.0, 1.0
        while high < _LONGEST and self.of(stretched(lengths, high, limits)) < load:
            high *= 2
        for _ in range(_STEPS):
            middle = (low + high) / 2
            enough = self.of(stretched(lengths, middle, limits)) >= load
            low, high = (low, middle) if enough else (middle, high)
        made = stretched(lengths, high, limits)
        if abs(self.of(made) - load) * self.cluster.vcpus > self.cores.max() + _NEAR:
            raise self._unreachable(lengths, load)
        return made

    def _unreachable(self, lengths: Floats, load: float) -> UsageError:
        least, most = (self.of(stretched(lengths, factor, self.recipe.limits)) for factor in (0.0, _LONGEST))
        return UsageError(
            f"--load {load:g}: the {len(lengths):,} jobs of scenario:{self.recipe.name} cannot need that much of"
            f" {self.cluster.vcpus:,} vCPUs, however long they run",
            hint=f"a load from {np.ceil(least * 100) / 100:g} to {np.floor(most * 100) / 100:g} is possible",
        )


_Drawn = tuple["Floats", "Floats", "Floats", "Ints", Applications, float | None]


def _jobs(recipe: ClusterRecipe, cluster: Cluster, seed: int, drawn: _Drawn) -> Jobs:
    submit, seconds, cores, app, found, load = drawn
    per_vcpu = np.floor(cluster.gib_per_vcpu * MEMORY_GROUPED) / MEMORY_GROUPED
    kinds = np.array([int(group.kind) for group in recipe.groups], np.int8)
    at_load = "" if load is None else f", load {load:g}"
    rules = (Modelled("memory", f"{per_vcpu:g} GiB per vCPU: what every server has", "fixed"),)
    return Jobs(
        submit, seconds, cores, cores * per_vcpu, np.zeros(len(submit)), kinds[found.group[app]],
        app.astype(np.int32), found.names, np.full(len(submit), -1, np.int32), (),
        Provenance(f"scenario:{recipe.name}", SCENARIO, f"seed {seed}{at_load}", len(submit), modelled=rules),
        vectors=_by_application(found, found.causes),
        tolerates=_by_application(found, _tolerated(recipe, found.causes, seed)) if recipe.tolerance_apart else {},
        vector_errors=dict.fromkeys(found.names, (math.nan,) * len(RESOURCES)),
        courses=_courses(recipe, found),
        **_best_effort(recipe, found, app),
    )  # fmt: skip


def _courses(recipe: ClusterRecipe, found: Applications) -> dict[str, tuple[tuple[float, float], ...]]:
    told = {name: recipe.groups[at].course for name, at in zip(found.names, found.group.tolist(), strict=True)}
    return {name: course for name, course in told.items() if course}


def _best_effort(recipe: ClusterRecipe, found: Applications, app: Ints) -> dict[str, Any]:
    """The target of those that take what others leave."""
    if not any(group.best_effort for group in recipe.groups):
        return {}
    spare = np.array([group.best_effort for group in recipe.groups])[found.group[app]]
    target = TargetedSize(JobTarget(GoalKind.NONE))
    return {"target": np.where(spare, 0, -1).astype(np.int32), "targets": (target,)}


def _by_application(found: Applications, points: Ints) -> dict[str, tuple[int, ...]]:
    return {name: tuple(vector) for name, vector in zip(found.names, points.tolist(), strict=True)}


def _speeds(recipe: ClusterRecipe, apps: int, cluster: Cluster, seed: int) -> Reals:
    """Each application's own speeds on the types, the best of them 1.0."""
    chance = stream(seed, f"{recipe.name}: platforms")
    drawn = 1 + _PREFERENCE * (2 * chance.random((apps, len(cluster.types))) - 1)
    made: Reals = drawn / drawn.max(axis=1, keepdims=True)
    return made


def _tolerated(recipe: ClusterRecipe, causes: Ints, seed: int) -> Ints:
    spread = _TOLERANCE_SPREAD if recipe.tolerance_apart else 0.0
    apart = spread * stream(seed, f"{recipe.name}: tolerance").standard_normal(causes.shape)
    return np.clip(np.rint(MOST - causes + apart), 0, MOST).astype(np.int64)


def _checks(
    recipe: ClusterRecipe, cluster: Cluster, jobs: Jobs, groups: Ints, level: tuple[float, float, bool]
) -> Iterator[ScenarioCheck]:
    """What the sources state beside what was generated."""
    wanted, needed, is_usual = level
    yield from _size_checks(cluster)
    residents = len(jobs) - len(groups) - (recipe.filler.jobs if recipe.filler else 0)
    yield ScenarioCheck("jobs", recipe.arrivals.count, len(groups), 0.0)
    if residents:
        held = float(jobs.cores[:residents].sum()) / cluster.vcpus
        yield ScenarioCheck("vCPUs that residents hold", recipe.resident, held, 0.02)
    yield ScenarioCheck("vCPUs needed / vCPUs available", wanted, needed, 0.02)
    if recipe.filler is not None:
        yield ScenarioCheck("best effort beside them", recipe.filler.jobs, len(jobs) - len(groups), 0.0)
    elif recipe.arrivals.gap is not None and not recipe.arrivals.bell:
        usual = recipe.arrivals.burst.after if recipe.arrivals.burst else len(jobs)
        gap = float(np.diff(jobs.submit[:usual]).mean())
        yield ScenarioCheck("mean inter-arrival seconds", recipe.arrivals.gap, gap, 0.03)
    elif is_usual and recipe.steady:
        yield ScenarioCheck("mean duration seconds", recipe.mean_seconds, float(jobs.duration[residents:].mean()), 0.05)
    if not recipe.phases:  # they choose applications by what these press on
        for at, group in enumerate(recipe.groups):
            share, got = _share(recipe, at), float((groups == at).mean())
            if not share:
                continue
            by_chance = _RARE * np.sqrt((1 - share) / share / (len(groups) / recipe.arrivals.together))
            yield ScenarioCheck(f"share of {group.name} jobs", share, got, float(by_chance))


def _size_checks(cluster: Cluster) -> Iterator[ScenarioCheck]:
    servers, vcpus = _STATED[cluster.name]
    yield ScenarioCheck("servers", servers, cluster.servers, 0.0)
    if vcpus:
        yield ScenarioCheck("vCPUs of all servers", vcpus, cluster.vcpus, 0.001)


def _share(recipe: ClusterRecipe, at: int) -> float:
    """The part of the jobs that a group has, of those that come once each and of the rest."""
    count, apps = recipe.arrivals.count, sum(g.apps for g in recipe.groups if not g.best_effort)
    if recipe.groups[at].best_effort:
        return 0.0
    first = min(apps, count) if recipe.once_each else 0
    group = recipe.groups[at]
    return (first * group.apps / apps + (count - first) * group.share) / count


OWN = "own servers"
"""What stands for the region of servers that nobody sells."""
_BY_THE_SECOND = BillingRule(1, 1)


def cluster_shop(
    cluster: Cluster, book: PriceBook | None, price: CapacityPrice
) -> tuple[Shop, tuple[SmallerReserve, ...]]:
    """What a run on a cluster reserves: the shop around its largest type, and the servers of the other types. ``book``
    has the prices of those who sell the types; None where nobody does."""
    found = {t.name: _sold(cluster, t, book) or _own(t, price) for t in cluster.types}
    types = in_order(rentable for rentable, _ in found.values())
    large = cluster.largest.name
    place = next(at for at, t in enumerate(types) if t.shape.name == large)
    billing = _BY_THE_SECOND if book is None or cluster.sold_by is None else book.billing[cluster.sold_by[0]]
    shop = Shop(types, place, found[large][1], billing, None)
    others = (t for t in cluster.types if t.name != large)
    return shop, tuple(SmallerReserve(t.name, t.servers, found[t.name][1]) for t in others)


def _sold(cluster: Cluster, server: ServerType, book: PriceBook | None) -> tuple[Rentable, Offer] | None:
    """A type with its prices on demand and for a year, where both are known."""
    if book is None or cluster.sold_by is None:
        return None
    provider, region = cluster.sold_by
    key = OfferKey(provider, region, server.name, PurchaseOption.ON_DEMAND)
    shape, on_demand = book.types.get((provider, server.name)), book.offers.get(key)
    if shape is None or on_demand is None or (reserved := commitment_of(book, on_demand, None)) is None:
        return None
    return Rentable(shape, on_demand, book.offers.get(replace(key, option=PurchaseOption.SPOT))), reserved


def _own(server: ServerType, price: CapacityPrice) -> tuple[Rentable, Offer]:
    """A type that counts by its vCPUs and memory, for whoever has it for a year as for an hour."""
    shape = InstanceType(
        Provider.AWS, server.name, server.name, Decimal(server.vcpus), server.memory_gib, Decimal(server.vcpus)
    )
    key = OfferKey(Provider.AWS, OWN, server.name, PurchaseOption.ON_DEMAND)
    origin = Origin(price.source, price.day, "by vCPU and GiB")
    held = replace(key, option=PurchaseOption.RESERVED, term_years=1, payment=Payment.NONE)
    hourly = price.hourly(server)
    return Rentable(shape, Offer(key, hourly, Decimal(0), origin), None), Offer(held, hourly, Decimal(0), origin)
