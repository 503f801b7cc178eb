"""What all what-ifs of a sweep share, sent to each worker once, and the rows of a run under several prices."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar, cast

from hcloud import __version__
from hcloud.errors import UsageError
from hcloud.model.running.strategy import Strategy
from hcloud.readers import clouds, strategies
from hcloud.sim.outcomes.measure import WEEK_HOURS, Distribution, Measures, measure
from hcloud.sim.outcomes.pricing_models import bill
from hcloud.sim.run import run
from hcloud.sim.setup.grid import Changes, SweepCase, WhatIfBatch
from hcloud.sim.setup.prepare import Tasks
from hcloud.sim.setup.shop import RESERVE, PricingModel, shop_for
from hcloud.sim.setup.variation import varied_cloud, varied_strategy
from hcloud.store.sweep_rows import Figure, SweepRow
from hcloud.units import plain, rate
from hcloud.usecases.studies.clusters import check_rents
from hcloud.usecases.studies.placeable import check_placeable
from hcloud.usecases.studies.simulation import (
    Study,
    pool_for,
    setting_for,
    strategy_for,
    tasks_for,
    with_seed,
)

T = TypeVar("T")
_SAMPLES = 1
"""A sweep shows nothing over time, so its runs record as little of that as they can."""


@dataclass(frozen=True, slots=True, eq=False)
class SweepBench:
    """The study and its strategies as they are before anything is changed."""

    study: Study
    strategies: Mapping[str, Strategy]
    last: dict[str, tuple[object, ...]] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """sha256 of all that a row depends on besides its own what-if."""
        study, jobs = self.study, self.study.jobs
        columns = (jobs.submit, jobs.duration, jobs.cores, jobs.memory, jobs.gpus, jobs.kind, jobs.app)
        waits = b"" if jobs.after is None else jobs.after.tobytes()
        stated = {
            "version": __version__,
            "jobs": hashlib.sha256(b"".join((*(c.tobytes() for c in columns), waits))).hexdigest(),
            "strategies": {name: s.digest() for name, s in self.strategies.items()},
            "scenario": study.scenario,
            "profiled": study.profiled,
            "cloud": repr((sorted(study.cloud.sections.items()), study.cloud.sizes)),
            "applications": (jobs.apps, sorted(jobs.vectors.items()), sorted(jobs.vector_errors.items())),
            "offers": [repr(offer) for offer in study.shop.offers],
            "billing": repr((study.shop.billing, study.shop.sustained, study.shop.large)),
        }
        return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()

    def check(self, strategy: str, changes: Changes) -> None:
        """Raises UsageError where a what-if cannot be."""
        if any(c.key == "pricing" and c.value == "gce" for c in changes) and self.study.shop.sustained is None:
            family = self.study.shop.types[self.study.shop.large].shape.family
            raise UsageError(f"pricing=gce: {family} has no discount by use", hint="n1 of gcp has one")
        if self.study.cluster is not None:
            check_rents(self.study.cluster, self.study.shop, [self.strategies[strategy]])
            if any(c.key == "pool" for c in changes):
                raise UsageError(f"pool: scenario:{self.study.scenario} has its own servers", hint="vary other keys")
        if any(c.key == "pool" for c in changes) and not self.strategies[strategy].follows("reserved"):
            raise UsageError(f"{strategy} reserves nothing, so there is no pool to vary")
        varied, cloud = varied_strategy(self.strategies[strategy], changes), varied_cloud(self.study.cloud, changes)
        misfits = (*strategies.misfits(varied), *clouds.misfits(cloud))
        if wrong := "; ".join(f"{where} {what}: {why}" for where, what, why in misfits):
            raise UsageError(f"{strategy} with {' '.join(c.text for c in changes)}: {wrong}")

    def rows(self, batch: WhatIfBatch) -> tuple[SweepRow, ...]:
        """One run, and a row for each of the prices it is looked at with."""
        first = batch.first
        strategy = varied_strategy(self.strategies[first.strategy], first.changes)
        seeded = self._kept("study", first.seed, lambda: with_seed(self.study, first.seed))
        study = replace(seeded, cloud=varied_cloud(self.study.cloud, first.changes))
        setting = setting_for(study, strategy, self._pool(study, strategy, first.changes))
        tasks = self._tasks(study, strategy)
        if not study.drop_unplaceable:
            check_placeable(study.jobs, setting, tasks)
        measures = measure(run(replace(setting, samples=_SAMPLES), tasks))
        service = service_figures(measures)
        return tuple(self._row(what_if, measures, service) for what_if in batch.what_ifs)

    def _pool(self, study: Study, strategy: Strategy, changes: Changes) -> int:
        if stated := [int(str(c.value)) for c in changes if c.key == "pool"]:
            return stated[0]
        rents, rule = strategy.follows("on_demand"), strategy.mechanism("information").rule
        parts = (study.seed, strategy.mechanism("reserved"), rule, rents)
        return self._kept("pool", parts, lambda: pool_for(study, strategy_for(study, strategy)))

    def _tasks(self, study: Study, strategy: Strategy) -> Tasks:
        rents = strategy.follows("on_demand")
        parts = (study.seed, strategy.mechanism("information"), study.cloud.sections["jobs"], rents)
        return self._kept("tasks", parts, lambda: tasks_for(study, strategy))

    def _kept(self, name: str, parts: object, make: Callable[[], T]) -> T:
        """What neighbouring what-ifs share is made once; only the last of each is kept."""
        if self.last.get(name, (None,))[0] != parts:
            self.last[name] = (parts, make())
        return cast("T", self.last[name][1])

    def _row(self, what_if: SweepCase, measures: Measures, service: Mapping[str, Figure]) -> SweepRow:
        figures = {**service, **self._dollars(what_if, measures)}
        return SweepRow(what_if.digest, what_if.strategy, what_if.seed, what_if.labels, figures)

    def _dollars(self, what_if: SweepCase, measures: Measures) -> Mapping[str, Figure]:
        """What the run costs at the prices of a what-if; over a duration the whole of every term that was begun."""
        prices = {c.key: c.value for c in what_if.changes if c.scope == "price"}
        ratio, weeks = prices.get("price_ratio"), prices.get("duration_weeks")
        made = bill(
            measures.cost,
            shop_for(self.study.shop, self.strategies[what_if.strategy]),
            measures.pool,
            None if ratio is None else float(str(ratio)),
            cast("PricingModel", prices.get("pricing", RESERVE)),
        )
        dollars, hourly = made.reserved + made.rented, made.per_hour
        if weeks is not None:
            dollars = made.over_weeks(int(str(weeks)))
            hourly = dollars / (int(str(weeks)) * WEEK_HOURS)
        return {
            "cost_per_hour": plain(rate(hourly)),
            "dollars": plain(rate(dollars)),
            "reserved_dollars": plain(rate(made.reserved)),
            "rented_dollars": plain(rate(made.rented)),
        }


def service_figures(measures: Measures) -> Mapping[str, Figure]:
    """The figures of a run that do not depend on prices."""
    service, use = measures.service, measures.use
    return {
        "jobs": measures.jobs,
        "pool": measures.pool,
        **_levels("performance", service.batch, ("mean", "p5", "p50", "p95")),
        **_levels("tail", service.tail, ("mean", "p95", "p99")),
        **_levels("waiting", service.waiting, ("mean", "p95")),
        **_levels("queued", service.queued, ("count", "p95")),
        "kept_qos": service.kept_qos,
        **{name: _number(value) for name, value in asdict(use).items()},
        "hours": measures.cost.hours,
    }


def _levels(name: str, spread: Distribution, levels: tuple[str, ...]) -> dict[str, Figure]:
    return {f"{name}_{level}": _number(getattr(spread, level)) for level in levels}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
