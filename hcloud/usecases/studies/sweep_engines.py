"""What a sweep runs and where: in this process, in one process a core, or on a Dask cluster; in order, always."""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from hcloud import __version__
from hcloud.errors import HcloudError, UsageError
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
from hcloud.temporary import temporary_folder
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
        dollars, hourly = made.total, made.per_ideal_hour
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


_AHEAD = 4
"""Batches that wait for each worker: none is idle, and the results that wait for their turn stay few."""

_HEARD_WITHIN = 0.1
"""Ours: seconds until Ctrl-C is told while no answer comes."""

Answers = Generator[tuple[SweepRow, ...], None, None]


@dataclass(frozen=True, slots=True)
class SweepEngine:
    """How a sweep is spread: ``workers`` (0: all cores) processes, or a Dask cluster at ``scheduler`` (empty: one that
    is started here)."""

    name: str = "local"
    workers: int = 0
    scheduler: str = ""

    def fitted(self, runs: int) -> SweepEngine:
        """The same with no more local workers than there is work for, nor fewer than one."""
        wanted = self.workers or usable_cores()
        return self if self.name == "dask" else replace(self, workers=max(min(wanted, runs), 1))

    @property
    def here(self) -> bool:
        """Whether runs happen in this very process."""
        return self.name != "dask" and self.workers == 1

    def answers(self, bench: SweepBench, batches: Iterable[WhatIfBatch]) -> Answers:
        """The rows of each batch, in the order of the batches whichever worker is first."""
        if self.name == "dask":
            return on_dask(bench, batches, self)
        return (bench.rows(b) for b in batches) if self.here else in_processes(bench, batches, self.workers)


def usable_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


_bench: list[SweepBench] = []


def in_processes(bench: SweepBench, batches: Iterable[WhatIfBatch], workers: int) -> Answers:
    """Each worker reads the bench once, from a file: through a pipe this process waited, deaf to Ctrl-C, until one had
    imported what it needs, and began the next only then. When the reader leaves early, workers are ended at once."""
    with _ctrl_c_kept() as tell, temporary_folder() as folder:
        kept = folder / "bench"
        kept.write_bytes(pickle.dumps(bench))
        yield from _pooled(kept, batches, workers, tell)


def _pooled(bench: Path, batches: Iterable[WhatIfBatch], workers: int, tell: Callable[[], None]) -> Answers:
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, (bench,))
    finished = False
    try:
        submit, answer = (lambda batch: _submitted(pool, batch)), (lambda future: _answered(future, tell))
        yield from _in_order(submit, batches, workers * _AHEAD, answer)
        finished = True
    except BrokenProcessPool:
        raise HcloudError(
            "a worker process ended unexpectedly; the rows finished before it are kept",
            hint="often memory runs out: try fewer with --workers",
        ) from None
    finally:
        for child in () if finished else multiprocessing.active_children():
            child.terminate()
        pool.shutdown(cancel_futures=True)  # one that is not waited for leaves semaphores, of which Python warns


@contextmanager
def _ctrl_c_kept() -> Iterator[Callable[[], None]]:
    """Ctrl-C is told where the returned function is called, and at the end, rather than wherever Python happens to be:
    inside the pool it could leave a lock taken for ever, and whoever ends the pool waited for that lock."""
    heard: list[int] = []

    def tell() -> None:
        if heard:
            heard.clear()
            raise KeyboardInterrupt

    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield tell
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            tell()


def _answered(future: Future[T], tell: Callable[[], None]) -> T:
    while True:
        done, _ = wait([future], timeout=_HEARD_WITHIN)
        tell()
        if done:
            return future.result()


def _submitted(pool: ProcessPoolExecutor, batch: WhatIfBatch) -> Future[tuple[SweepRow, ...]]:
    """Handing out a batch may start a worker, which is born deaf to Ctrl-C: while it imports what it needs it could
    only tell of it by a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(_rows, batch)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(bench: Path) -> None:
    """A worker ends with its parent, even one that was killed; Ctrl-C is for the parent to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _bench[:] = [pickle.loads(bench.read_bytes())]


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _rows(batch: WhatIfBatch) -> tuple[SweepRow, ...]:
    return _bench[0].rows(batch)


def on_dask(bench: SweepBench, batches: Iterable[WhatIfBatch], engine: SweepEngine) -> Answers:
    """Rows from the workers of a Dask cluster, which get the bench once.

    Raises MissingExtraError where Dask is not installed, HcloudError where no scheduler answers.
    """
    from hcloud.usecases.extras import require

    require(["dask"])
    import distributed

    dask: Any = distributed
    if engine.scheduler:
        try:
            client = dask.Client(engine.scheduler, timeout=10)
        except (OSError, ValueError) as error:
            raise HcloudError(f"no Dask scheduler answers at {engine.scheduler}: {error}") from None
        with client:
            yield from _through(client, bench, batches)
        return
    workers = engine.workers or usable_cores()
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with dask.LocalCluster(**options) as cluster, dask.Client(cluster) as client:
        yield from _through(client, bench, batches)


def _through(client: Any, bench: SweepBench, batches: Iterable[WhatIfBatch]) -> Answers:
    shared = client.scatter(bench, broadcast=True, hash=False)
    width = max(sum(client.nthreads().values()), 1) * _AHEAD
    yield from _in_order(
        lambda batch: client.submit(SweepBench.rows, shared, batch, pure=False), batches, width, lambda f: f.result()
    )


def _in_order(
    submit: Callable[[WhatIfBatch], Any], batches: Iterable[WhatIfBatch], width: int, answer: Callable[[Any], Any]
) -> Answers:
    waiting = deque[Any]()
    for batch in batches:
        waiting.append(submit(batch))
        if len(waiting) >= width:
            yield answer(waiting.popleft())
    while waiting:
        yield answer(waiting.popleft())
