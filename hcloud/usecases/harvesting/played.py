"""A strategy beside idle hours, played: jobs of batch ask the classes of the reserve first, tick by tick, and go to the
strategy where no class has room, where they are killed too often, or where they slip.

The two ledgers meet in rounds. A run of the strategy without idle hours says what the reserve holds; batch is played
beside that; who is not done there joins the next run, from when he left. In that all go where they went without idle
hours; services that were on rented machines may take room that batch leaves on the reserve. Rounds end when the same
jobs leave, or after six; then the dearest of them counts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.control.state import FREE, OWN, TO_RENT, TO_RESERVE
from hcloud.harvest.histories import DAY
from hcloud.harvest.jobs import Thresholds, expected_seconds, thresholds
from hcloud.harvest.policy import HarvestPolicy
from hcloud.harvest.results import PlayedBatch, ServicesBeside
from hcloud.model.workload import JobKind, Jobs
from hcloud.planning.forecasting.dividing import can_split
from hcloud.policy.codes import SCALE
from hcloud.sim.harvesting.beside import SILENT, STEP, idle_beside
from hcloud.sim.harvesting.graphs import VCPU, of_single_tasks
from hcloud.sim.harvesting.run import run_ticks
from hcloud.sim.harvesting.setup import BESIDE, Arrivals, IdlePool, build, kept_cores
from hcloud.sim.harvesting.world import KILLED, LONGEST, USEFUL, WASTED, IdleWorld
from hcloud.sim.machine_code.compiled import foresee
from hcloud.sim.outcomes.measure import cost_of, last_end
from hcloud.sim.run import RunOutcome, run
from hcloud.sim.setup.prepare import Tasks, origin
from hcloud.sim.setup.resumed import some_tasks
from hcloud.sim.setup.vectors import MOST
from hcloud.units import SECONDS_PER_HOUR
from hcloud.usecases.harvesting.idle import AskIdle
from hcloud.usecases.studies.simulation import Study

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Floats

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.intp]


class PlayLimits(NamedTuple):
    """Ours: the rounds that are played, and the server-ticks of each; where a trace is longer, servers are looked at
    less often. What services use changes every ``step`` seconds at most."""

    rounds: int = 6
    work: int = 60_000_000
    step: int = STEP


USUAL = PlayLimits()


class _PlayedJobs(NamedTuple):
    """Of each job whether it ever asks for idle hours; whether it leaves them since no class has room for it (or it is
    not done in the end), or moves; when it comes to the strategy, and the part of it that does."""

    asks: Flags
    no_class: Flags
    moved: Flags
    submit: Floats
    part: Floats

    @property
    def on_machines(self) -> Flags:
        """The jobs that the strategy has to do with."""
        return ~self.asks | self.no_class | self.moved

    def asked_by(self, some: Flags, submit: Floats) -> _PlayedJobs:
        """The same where only some ask; all others come to the strategy whole, as they came."""
        left = self.no_class & some, self.moved & some
        return _PlayedJobs(some, *left, np.where(some, self.submit, submit), np.where(some, self.part, 1.0))


class PlayedRun(NamedTuple):
    """A run of the strategy with all that idle hours do not carry; what became of batch in these; and which jobs ended
    there."""

    outcome: RunOutcome
    batch: PlayedBatch
    in_idle_hours: Flags


class _Batch(NamedTuple):
    """All jobs, the seconds that each that may ask is expected to take, where short and long ones begin, by which
    numbers, and the seed."""

    jobs: Jobs
    seconds: Floats
    lengths: Thresholds
    policy: HarvestPolicy
    seed: int


def play(study: Study, without: RunOutcome, idle: AskIdle, limits: PlayLimits = USUAL) -> PlayedRun:
    """The strategy of a run ``without`` idle hours beside them; where the rounds do not settle that of the dearest
    round."""
    jobs, policy, outcome, shop = study.jobs, idle.opened.policy, without, without.setting.shop
    largest = float(shop.types[shop.large].shape.vcpus)
    room = largest - float(kept_cores(np.array([largest]), policy)[0]) / VCPU
    none = np.zeros(len(jobs), np.bool_)
    asks = may_ask(jobs, room, can_split(jobs))
    left = _PlayedJobs(asks, none, none, jobs.submit.astype(np.float64), np.ones(len(jobs)))
    if not without.setting.pool or not asks.any() or asks.all():
        return PlayedRun(without, nobody(jobs, left, policy), none)
    tasks = as_before(without)
    needs, setting = needed_quality(tasks, len(jobs)), without.setting
    batch, begins = _batch(jobs, asks, idle, study.seed), origin(jobs)
    dearest: PlayedRun | None = None
    costs, last, until = list[Decimal](), last_end(tasks), (setting.window or (0.0, math.inf))[1]
    foresee(len(tasks) * min(limits.rounds, 2))
    for at in range(limits.rounds):
        seconds = max(outcome.seconds, float(jobs.ends[left.asks].max()) - begins + DAY)
        servers = idle_beside(
            outcome, idle.types, _histories(jobs, outcome.tasks, idle), (begins, seconds), limits.step
        )
        asking = np.flatnonzero(left.asks)
        world = _played(servers, batch, asking, (begins, limits.work))
        before, left = left, _who_left(world, left, asking, (begins, until))
        found = replace(_told(world, batch, asking, left), too_sensitive=int((asks & ~left.asks).sum()), rounds=at + 1)
        settled = at > 0 and not ((before.no_class ^ left.no_class) | (before.moved ^ left.moved)).any()
        demanding = left.asks & (needs > found.quality)
        if settled and not demanding.any():
            return PlayedRun(outcome, found, ~left.on_machines)
        left = left.asked_by(left.asks & ~demanding, jobs.submit) if settled else left
        outcome = run(setting, some_tasks(tasks, left.on_machines, left.submit - jobs.submit, left.part))
        if not left.asks.any():
            nobody_asks = replace(nobody(jobs, left, policy), too_sensitive=int(asks.sum()), rounds=at + 1)
            return PlayedRun(outcome, nobody_asks, none)
        costs.append(cost_of(outcome, last).total)
        if dearest is None or costs[-1] >= max(costs):
            dearest = PlayedRun(outcome, found, ~left.on_machines)
    assert dearest is not None, "a round is played at least"
    spread = float(1 - min(costs) / max(costs)) if max(costs) else 0.0
    return dearest._replace(batch=replace(dearest.batch, settled=False, rounds=limits.rounds, spread=spread))


def play_on(
    servers: IdlePool, jobs: Jobs, asks: Flags, idle: AskIdle, limits: tuple[float, int]
) -> tuple[PlayedBatch, Flags]:
    """Batch on servers that have nothing but their services; and which jobs ended there. ``limits`` are the second of
    the trace at which it begins, and the server-ticks."""
    none = np.zeros(len(jobs), np.bool_)
    left = _PlayedJobs(asks, none, none, jobs.submit.astype(np.float64), np.ones(len(jobs)))
    if not asks.any():
        return nobody(jobs, left, idle.opened.policy), none
    batch, asking = _batch(jobs, asks, idle, 0), np.flatnonzero(asks)
    world = _played(servers, batch, asking, limits)
    left = _who_left(world, left, asking, (limits[0], math.inf))
    return _told(world, batch, asking, left), ~left.on_machines


def _batch(jobs: Jobs, asks: Flags, idle: AskIdle, seed: int) -> _Batch:
    """What is known of the jobs that ask, before any is played."""
    rows = np.flatnonzero(asks)
    mine, seconds = jobs.at(rows), np.full(len(jobs), np.nan)
    seconds[rows] = expected_seconds(mine)
    middle = float(np.nanmedian(seconds)) if not np.isnan(seconds).all() else 0.0
    known = np.where(np.isnan(seconds), middle, seconds)[rows]
    lengths = thresholds(idle.types, idle.opened.policy, known, mine.cores * mine.duration)
    return _Batch(jobs, seconds, lengths, idle.opened.policy, seed)


def may_ask(jobs: Jobs, room: float, splits: Flags) -> Flags:
    """Jobs of batch on one server that can be split, or have room on a server beside its reserve."""
    found: Flags = (jobs.kind == JobKind.BATCH) & (jobs.cores > 0) & (jobs.duration > 0)
    found &= (jobs.cores <= room) | splits
    if jobs.after is not None and jobs.serial is not None:  # the two ledgers know nothing of an end in the other one
        found &= ~np.isin(jobs.serial, jobs.after)
    return found if jobs.servers is None else found & (jobs.servers <= 1)


def as_before(outcome: RunOutcome) -> Tasks:
    """The tasks of a run, bound to where they went in it; what waited to the end is free, and so are services that were
    on rented machines: these may find room that batch leaves."""
    on_reserve, began = outcome.of_tasks("paid") == OWN, outcome.of_tasks("began") >= 0
    batch = outcome.tasks.service == 0
    bound = np.where(on_reserve, TO_RESERVE, np.where(batch, TO_RENT, FREE))
    return replace(outcome.tasks, bound=np.where(began, bound, FREE).astype(np.int8))


def needed_quality(tasks: Tasks, jobs: int) -> Floats:
    """Of each job the quality that it needs, 0 to 1, by the two resources on which it tolerates least."""
    felt = np.sort(MOST - tasks.tolerates.astype(np.int64), axis=1)
    found = np.ones(jobs)
    found[tasks.job] = (felt[:, -1] * 100 + felt[:, -2]) / SCALE
    return found


def _histories(jobs: Jobs, tasks: Tasks, idle: AskIdle) -> NDArray[np.int64]:
    """Of each task the row of its service's history. Where no service has a name, all tenants stand for all services:
    each has a part of them, as large as it is."""
    histories, app = idle.opened.histories, jobs.app[tasks.job]
    services = np.flatnonzero(tasks.service == 1)
    found = np.full(len(tasks), SILENT, np.int64)
    if (app[services] >= 0).any():
        tenants = {name: at for at, name in enumerate(histories.tenants)}
        by_app = np.array([*(tenants.get(name, SILENT) for name in jobs.apps), SILENT], np.int64)
        found[services] = by_app[app[services]]
    else:
        share = np.cumsum(histories.cores) / histories.cores.sum()
        found[services] = np.searchsorted(share, (np.arange(len(services)) + 0.5) / max(len(services), 1))
    return found


def _played(servers: IdlePool, batch: _Batch, rows: Rows, limits: tuple[float, int]) -> IdleWorld:
    """Some jobs beside the services of a run, until all is over; ``limits`` are the second of the trace at which it
    begins and the server-ticks."""
    begins, most = limits
    mine = batch.jobs.at(rows)
    until = servers.use.shape[1] * servers.step
    least = max(batch.policy.tick, len(servers) * until // most)
    tick = next((one for one in range(least, servers.step) if servers.step % one == 0), servers.step)
    order = np.argsort(mine.submit, kind="stable")
    many = np.where(can_split(mine), np.ceil(mine.cores), 1.0)  # as many tasks as a job that can be split has vCPUs
    containers = np.column_stack((mine.cores / many, mine.memory / many))
    graphs = of_single_tasks(many.astype(np.int64), mine.duration, containers, batch.seconds[rows])
    arrivals = Arrivals(np.maximum(mine.submit[order] - begins, 0.0), order.astype(np.int64))
    plan = (replace(batch.policy, tick=tick), batch.lengths, batch.seed)
    world = build(servers, BESIDE, (graphs, arrivals), plan)
    run_ticks(world, until // tick)
    return world


def _who_left(world: IdleWorld, left: _PlayedJobs, asking: Rows, counted: tuple[float, float]) -> _PlayedJobs:
    """The same as a round finds it. Who moved comes to the strategy when it did, all others as they came: so does who
    moves when the run does not count any more, else its rent would not count either."""
    begins, until = counted
    work, rows, submit, part = world.work, asking[world.work.dag], left.submit.copy(), np.ones(len(left.part))
    submit[rows] = np.maximum(work.submit, 0.0) + begins
    no_class, moved = np.zeros(len(submit), np.bool_), np.zeros(len(submit), np.bool_)
    moves = (work.moved > 0) & (work.labels != 0) & (work.moves - world.rules.spin_up < until)
    moved[rows[moves]] = True
    no_class[rows[~moves & ((work.labels == 0) | (work.moved > 0) | (work.ended < 0))]] = True
    submit[rows[moves]] = begins + work.moves[moves] - world.rules.spin_up
    part[rows[moves]] = (work.moved / work.tasks[work.dag])[moves]
    return _PlayedJobs(left.asks, no_class, moved, submit, part)


def _told(world: IdleWorld, batch: _Batch, asking: Rows, left: _PlayedJobs) -> PlayedBatch:
    jobs, policy = batch.jobs, replace(batch.policy, tick=world.rules.tick)
    work, rows = world.work, asking[world.work.dag]
    done = (work.ended >= 0) & (work.moved == 0) & (work.labels > 0)
    taken, alone = work.ended[done] - work.submit[done], jobs.duration[rows[done]]
    spent = float(world.ledger[USEFUL] + world.ledger[WASTED])
    return replace(
        nobody(jobs, left, policy),
        ended=int(done.sum()),
        vcpu_hours=float((jobs.cores[rows[done]] * alone).sum()) / SECONDS_PER_HOUR,
        times_alone=float((taken / alone).mean()) if done.any() else 1.0,
        kills=int(world.tally[KILLED]),
        lost=float(world.ledger[WASTED]) / spent if spent > 0 else 0.0,
        longest_broken=float(world.tally[LONGEST] * policy.tick),
    )


def nobody(jobs: Jobs, left: _PlayedJobs, policy: HarvestPolicy) -> PlayedBatch:
    """Nothing is reserved, or nobody asks for idle hours any more."""
    slipped = (left.submit - jobs.submit)[left.moved]
    no_class, moved = (int(flags.sum()) for flags in (left.no_class, left.moved))
    mean = float(slipped.mean()) if len(slipped) else 0.0
    batch = int((jobs.kind == JobKind.BATCH).sum())
    return PlayedBatch(batch, 0, 0.0, no_class, moved, 0, 1.0, 0, 0.0, mean, 0.0, policy.tick)


def services_beside(outcome: RunOutcome, without: RunOutcome) -> ServicesBeside:
    """What services do in a run with idle hours, and did in the same without."""
    return ServicesBeside(*_services(outcome), *_services(without))


def _services(outcome: RunOutcome) -> tuple[int, int]:
    """How many services ran on rented machines, and how many waited in the queue of the reserve."""
    service = outcome.tasks.service == 1
    rented = service & (outcome.of_tasks("began") >= 0) & (outcome.of_tasks("paid") != OWN)
    return int(rented.sum()), int((service & (outcome.of_tasks("queued") >= 0)).sum())
