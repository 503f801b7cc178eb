"""Where the runs of a sweep happen: in this process, in one process a core, or on a Dask cluster; in order, always."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any

from hcloud.errors import HcloudError
from hcloud.sim.setup.grid import WhatIfBatch
from hcloud.store.sweep_rows import SweepRow
from hcloud.usecases.studies.sweep_bench import SweepBench

_AHEAD = 4
"""Batches that wait for each worker: none is idle, and the results that wait for their turn stay few."""

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
    """Each worker gets the bench once. When the reader leaves early, workers are ended at once, not waited for."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, (bench,))
    finished = False
    try:
        yield from _in_order(lambda batch: _submitted(pool, batch), batches, workers * _AHEAD)
        finished = True
    except BrokenProcessPool:
        raise HcloudError(
            "a worker process ended unexpectedly; the rows finished before it are kept",
            hint="often memory runs out: try fewer with --workers",
        ) from None
    finally:
        pool.shutdown(wait=finished, cancel_futures=True)
        if not finished:
            for child in multiprocessing.active_children():
                child.terminate()


def _submitted(pool: ProcessPoolExecutor, batch: WhatIfBatch) -> Future[tuple[SweepRow, ...]]:
    """Handing out a batch may start a worker, which is born deaf to Ctrl-C: while it imports what it needs it could
    only tell of it by a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(_rows, batch)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(bench: SweepBench) -> None:
    """A worker ends with its parent, even one that was killed; Ctrl-C is for the parent to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _bench[:] = [bench]


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
    yield from _in_order(lambda batch: client.submit(SweepBench.rows, shared, batch, pure=False), batches, width)


def _in_order(submit: Callable[[WhatIfBatch], Any], batches: Iterable[WhatIfBatch], width: int) -> Answers:
    waiting = deque[Any]()
    for batch in batches:
        waiting.append(submit(batch))
        if len(waiting) >= width:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
