"""Builds the tables of a run from what people write: strategy, cloud model, shop and workload."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hcloud.control.opening import COMMANDS, new_control
from hcloud.control.pieces import are_linked
from hcloud.control.sessions.arrivals import at_once
from hcloud.control.state import FULL_SPEED, BoundJob, Job, RentableKind
from hcloud.control.tables import URGENT
from hcloud.model.catalog import Offer
from hcloud.model.measured.profile import RESOURCES
from hcloud.model.running.cloud import CloudModel, Quantiles, SizeModel
from hcloud.model.running.strategy import Strategy
from hcloud.policy.codes import SCALE
from hcloud.policy.quality import HALF, complement, encode, leading
from hcloud.policy.records import Bytes, Ints, Reals, Table, column, record, table
from hcloud.policy.registry import compose, copies_pieces, most_servers, rents_whole_servers
from hcloud.policy.rules import Rules
from hcloud.sim.kernels import world
from hcloud.sim.kernels.heap import push
from hcloud.sim.setup.opening import open_reserve
from hcloud.sim.setup.prepare import Tasks
from hcloud.sim.setup.shop import Shop, SmallerReserve
from hcloud.sim.setup.streams import stream
from hcloud.sim.setup.vectors import MOST
from hcloud.sim.setup.watched import errors_anew, phase_table, stage_tables, watch_table, with_copies

_SPARE = 1024
_MOST_DRAWS = 1 << 18
_MOST_CHANCES = 4093
"""Numbers of chance for all agents, a prime; they come again after that."""


class Capacity(NamedTuple):
    """How much a run has room for: servers at a time, coming events, rentals, lines of journal, commands an event."""

    servers: int
    events: int
    rentals: int
    lines: int
    commands: int


class Lot(NamedTuple):
    """Reserved servers of one type of the shop, and the commitment they are bought as."""

    kind: int
    servers: int
    offer: Offer


@dataclass(frozen=True, slots=True)
class Setting:
    """All of a run but its jobs: the strategy, the cloud, what it sells, the reserved servers of the large type, the
    seed, how many samples of the record are taken, from when to when (s from the first submission) use and dollars
    count, None for all, the reserved servers of other types, and the speeds [row of jobs, type] of types relative to
    the fastest (None: all alike); whether each choice of a server is ranked among all that had room."""

    strategy: Strategy
    cloud: CloudModel
    shop: Shop
    pool: int
    seed: int
    samples: int = 240
    window: tuple[float, float] | None = None
    beside: tuple[SmallerReserve, ...] = ()
    speeds: Reals | None = None
    audit: bool = False

    @property
    def lots(self) -> tuple[Lot, ...]:
        """All that is reserved, the large type first."""
        kinds = {t.shape.name: at for at, t in enumerate(self.shop.types)}
        others = (Lot(kinds[b.instance_type], b.servers, b.reserved) for b in self.beside)
        return (Lot(self.shop.large, self.pool, self.shop.reserved), *others)

    @property
    def reserved_cores(self) -> int:
        """Thousandths of a vCPU of all reserved servers; fewer while one that was lost is not replaced."""
        return sum(int(self.shop.types[lot.kind].shape.vcpus * 1000) * lot.servers for lot in self.lots)

    @property
    def servers(self) -> int:
        """How many servers are reserved."""
        return sum(lot.servers for lot in self.lots)


def usual_capacity(tasks: int, pool: int, *, journal: bool) -> Capacity:
    """Room that is nearly always enough."""
    lines = 24 * tasks + _SPARE if journal else 0
    return Capacity(pool + tasks + _SPARE, 4 * (tasks + _SPARE), 2 * tasks + _SPARE, lines, COMMANDS)


def build(setting: Setting, tasks: Tasks, capacity: Capacity) -> world.SimulatedWorld:
    """The world of a run before its first event."""
    kinds = rental_kinds(setting)
    rows, copied = with_copies(tasks, copies_pieces(setting.strategy), most_servers(setting.strategy) - 1)
    jobs = job_table(setting, rows, kinds)
    known = (column(jobs, "high")[: len(tasks)] // (HALF // SCALE)).tolist()
    rules = compose(setting.strategy, setting.shop.large, known)
    speeds = np.ones((1, len(kinds))) if setting.speeds is None else setting.speeds
    rules = rules._replace(audit=int(setting.audit))
    link_pieces(jobs, tasks, rules)
    control = new_control(rules, kinds, jobs, capacity.servers, capacity.commands)
    control = control._replace(speeds=np.rint(speeds * FULL_SPEED).astype(np.int64))
    if rows.bound is not None:
        control = control._replace(bound=table(BoundJob, len(rows)))
        column(control.bound, "where")[:] = rows.bound
    series = np.zeros((setting.samples, 4 + 3 * len(kinds)))
    series[:, 0] = sample_times(tasks, setting.samples)
    made = world.SimulatedWorld(
        control,
        record(cloud_numbers(setting.cloud)),
        behaviours(setting.cloud, kinds),
        speeds,
        agents_table(rules),
        stream(setting.seed, "agents").random(_MOST_CHANCES),
        draws(setting, len(tasks)),
        task_table(rows, setting),
        table(world.ServerSlot, capacity.servers),
        table(world.Event, capacity.events),
        table(world.SimulatedRental, capacity.rentals),
        table(world.JournalLine, capacity.lines),
        table(world.Tally, 1)[0],
        np.zeros((3, len(kinds)), np.int64),
        series,
        np.zeros((setting.samples, setting.servers)),
        phase_table(tasks),
        watch_table(rows, copied, watched=rules.watching > 0),
        np.tile([1.0, 0.0], (1 if tasks.app is None else int(tasks.app.max(initial=0)) + 1, 1)),
        np.ones((1, 1)) if tasks.together is None else tasks.together,
        errors_anew(len(rows), setting.strategy, setting.seed),
        *stage_tables(rows),
    )
    made.tally.since, made.tally.until = setting.window or (0.0, math.inf)
    if rules.watching:
        column(control.watched, "spare")[:] = 0 if rows.spare is None else rows.spare
        column(made.tasks, "over")[len(tasks) :] = 1  # until it begins
    if rules.sampled_share and len(tasks):
        push(made, float(tasks.decide[0]) + rules.sample_every, world.SWEEP, 0, 0)
    open_reserve(made, ((lot.kind, lot.servers) for lot in setting.lots))
    return made


def agents_table(rules: Rules) -> Table[world.SimulatedAgent]:
    """Those that decide, with nothing to do and a copy of the empty servers; one where nobody does."""
    made = table(world.SimulatedAgent, max(rules.agents, 1))
    for field in ("first", "last"):
        column(made, field)[:] = -1
    column(made, "renews")[:] = rules.copy_most * (np.arange(len(made)) + 1.0) / len(made)
    return made


def sample_times(tasks: Tasks, samples: int) -> Reals:
    """When the record is sampled: evenly over the time that the jobs would take without waiting."""
    end = float((tasks.submit + tasks.work).max()) if len(tasks) else 0.0
    steps = np.arange(samples, dtype=np.float64) + 0.5
    return steps * (end / max(samples, 1))


def rental_kinds(setting: Setting) -> Table[RentableKind]:
    """The types of the shop as the controller sees them, with the quality the cloud model leads one to expect."""
    kinds = table(RentableKind, len(setting.shop.types))
    for at, rentable in enumerate(setting.shop.types):
        kind = kinds[at]
        kind.cores, kind.memory = int(rentable.shape.vcpus * 1000), int(rentable.shape.memory_gib * 1024)
        kind.spin_up = mean_of(size_model(setting.cloud, kind.cores).spin_up)
        load = setting.cloud.number("neighbours", "mean_load")
        felt = (external_pressure(setting.cloud, kind.cores) * load).astype(np.int64)
        kind.prior = leading(complement(*encode(felt))[0])
    for lot in setting.lots:
        kinds[lot.kind].whole = int(kinds[lot.kind].cores == kinds[setting.shop.large].cores)
    return kinds


def size_model(model: CloudModel, cores: int) -> SizeModel:
    """The model of the largest size that is not above the type's (the smallest for a type below all)."""
    return next((s for s in reversed(model.sizes) if s.vcpus * 1000 <= cores), model.sizes[0])


def mean_of(quantiles: Quantiles) -> float:
    """The mean of a distribution given by its quantiles."""
    return float(np.trapezoid(quantiles.values, quantiles.probabilities))


def external_pressure(model: CloudModel, cores: int) -> Reals:
    """Points of pressure by resource at full load of the neighbours: the less of a server a type is, the more of it
    belongs to others; a whole server still shares its network."""
    weights = np.array([model.number("neighbours", f"weight_{r}") for r in RESOURCES])
    exposure = np.full(len(RESOURCES), max(1 - cores / (model.number("neighbours", "server_vcpus") * 1000), 0.0))
    network = RESOURCES.index("network")
    exposure[network] = max(exposure[network], model.number("neighbours", "network_floor"))
    pressure: Reals = exposure * weights * 100
    return pressure


def cloud_numbers(model: CloudModel) -> world.CloudParameters:
    """The numbers of a cloud model that do not depend on the type."""
    keys = {
        "neighbours": ("mean_load", "amplitude", "period_seconds", "resample_seconds"),
        "batch": ("sensitivity", "worst_slowdown"),
        "service": ("load", "sensitivity", "worst_tail", "waiting_tail"),
    }
    numbers = [float(model.number(section, key)) for section, names in keys.items() for key in names]
    interruptions = float(model.number("spot", "interruptions_per_hour")) / 3600
    losses = float(model.number("faults", "lost_per_hour")) / 3600
    shares = (float(model.number(*path)) for path in (("spot", "lost_share"), ("faults", "failed_launches")))
    crashes = float(model.number("faults", "agent_crashes_per_hour")) / 3600
    return world.CloudParameters._make([*numbers, interruptions, *shares, losses, crashes])


def behaviours(model: CloudModel, kinds: Table[RentableKind]) -> Table[world.Behaviour]:
    """How each type behaves in a cloud."""
    made, steps = table(world.Behaviour, len(kinds)), np.linspace(0, 1, world.STEPS)
    for at in range(len(kinds)):
        cores, one = kinds[at].cores, made[at]
        size = size_model(model, cores)
        one.varies = int(cores < model.number("neighbours", "server_vcpus") * 1000)
        one.external[:] = external_pressure(model, cores)
        for field in ("spin_up", "spread", "slowness"):
            quantiles: Quantiles = getattr(size, field)
            getattr(one, field)[:] = np.interp(steps, quantiles.probabilities, quantiles.values)
    return made


def draws(setting: Setting, tasks: int) -> Table[world.Draw]:
    """Chance for every instance that may be launched; a very long run uses the same numbers again."""
    made = table(world.Draw, min(setting.servers + tasks + _SPARE, _MOST_DRAWS))
    purposes = ("spin_up", "spread", "slowness", "phase", "interruption", "launch", "loss")
    for purpose in purposes:
        column(made, purpose)[:] = stream(setting.seed, f"instance {purpose}").random(len(made))
    return made


def task_table(tasks: Tasks, setting: Setting) -> Table[world.Task]:
    """The jobs as the cloud sees them, none of them begun."""
    made = table(world.Task, len(tasks))
    for field in ("submit", "decide", "work", "service", "need"):
        column(made, field)[:] = getattr(tasks, field)
    column(made, "vector")[:], column(made, "tolerates")[:] = tasks.truth, tasks.true_tolerates
    for field in ("began", "ended", "queued", "action", "decided", "agent", "ahead", "following", "held"):
        column(made, field)[:] = -1
    column(made, "cancelled")[:] = _cancelled(tasks, setting)
    return made


def _cancelled(tasks: Tasks, setting: Setting) -> Reals:
    """When the users of some jobs cancel them: at a moment of the time that they would take undisturbed; -1: never.

    All pieces of a job are cancelled, and the same jobs under every strategy.
    """
    rows, share = int(tasks.job.max(initial=-1)) + 1, setting.cloud.number("faults", "cancelled")
    who, when = (stream(setting.seed, f"cancelled {what}").random(rows)[tasks.job] for what in ("who", "when"))
    return np.where(who < share, tasks.decide + when * tasks.work, -1.0)


def job_table(setting: Setting, tasks: Tasks, kinds: Table[RentableKind]) -> Table[Job]:
    """What the controller is told about the jobs."""
    made = table(Job, len(tasks))
    allowed = allowed_types(setting, tasks)
    size = smallest_fitting(tasks, kinds, allowed)
    column(made, "high")[:], column(made, "low")[:] = encoded(MOST - tasks.tolerates)
    column(made, "kind")[:] = _rented_as(setting, tasks, kinds, (size, allowed))
    if setting.strategy.follows("spot"):
        column(made, "restartable")[:] = 1 - tasks.service
    column(made, "movable")[:] = 1
    column(made, "platform")[:] = 0 if tasks.platform is None else tasks.platform
    column(made, "expected")[:] = -1.0 if tasks.expected is None else tasks.expected
    column(made, "slack")[:] = -1.0 if tasks.slack is None else tasks.slack
    column(made, "again")[:] = 1 - tasks.service
    column(made, "urgent")[:] = 0 if tasks.urgent is None else tasks.urgent * URGENT
    for field in ("ask", "memory", "vector", "tolerates", "coin"):
        column(made, field)[:] = getattr(tasks, field)
    for field in ("server", "next", "before", "behind", "chosen"):
        column(made, field)[:] = -1
    return made


def link_pieces(jobs: Table[Job], tasks: Tasks, rules: Rules) -> None:
    """Link the pieces of each job of several servers in a ring, where they are decided on together."""
    if tasks.pieces is None or not are_linked(rules):
        return
    rows = np.flatnonzero(tasks.pieces > 1)
    if not len(rows):
        return
    first = np.r_[True, np.diff(tasks.job[rows]) != 0]
    begins = rows[first]
    ends = rows[np.r_[first[1:], True]]
    after, before = column(jobs, "piece_after"), column(jobs, "piece_before")
    after[rows], before[rows] = rows + 2, rows
    after[ends], before[begins] = begins + 1, ends + 1


def encoded(vector: Bytes) -> tuple[Ints, Ints]:
    """The two halves of the encodings of many vectors, as :func:`hcloud.policy.quality.encode` gives them for one."""
    digits = -np.sort(-np.clip(vector, 0, 99), axis=1)
    weights = 100 ** np.arange(4, -1, -1, dtype=np.int64)
    return digits[:, :5] @ weights, digits[:, 5:] @ weights


def unplaceable(setting: Setting, tasks: Tasks) -> NDArray[np.bool_]:
    """Which tasks no server holds that the strategy may use: reserved ones, or any type where it rents on demand."""
    kinds = rental_kinds(setting)
    allowed = allowed_types(setting, tasks)
    held = _reservable(setting, tasks, kinds, allowed) & ~too_many(setting, tasks, kinds, allowed)
    if setting.strategy.follows("on_demand"):
        held |= smallest_fitting(tasks, kinds, allowed) >= 0
    return ~held


def allowed_types(setting: Setting, tasks: Tasks) -> NDArray[np.bool_]:
    """Which types [task or the one row of all, type] each task may run on: those of which it has a speed."""
    if setting.speeds is None:
        return np.ones((1, len(setting.shop.types)), np.bool_)
    rows = np.zeros(len(tasks), np.int64) if tasks.platform is None else tasks.platform
    return setting.speeds[rows] > 0


def _rented_as(
    setting: Setting, tasks: Tasks, kinds: Table[RentableKind], fitting: tuple[Ints, NDArray[np.bool_]]
) -> Ints:
    """The type that each task is rented: the cheapest whole one that holds it where servers are rented whole, else the
    smallest; where nothing is rented the large one stands for the reserve. -1 where none holds it."""
    strategy, (size, allowed) = setting.strategy, fitting
    if not strategy.follows("on_demand"):
        held = _reservable(setting, tasks, kinds, allowed) & ~too_many(setting, tasks, kinds, allowed)
        return np.where(held, setting.shop.large, -1)
    for at in reversed([at for at in range(len(kinds)) if kinds[at].whole] if rents_whole_servers(strategy) else []):
        held = (tasks.ask <= kinds[at].cores) & (tasks.memory <= kinds[at].memory) & allowed[:, at]
        size = np.where(held, at, size)
    return size


def too_many(
    setting: Setting, tasks: Tasks, kinds: Table[RentableKind], allowed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which tasks are of jobs whose pieces an empty reserve does not hold at once, where they have to begin so."""
    rules = compose(setting.strategy, setting.shop.large, (0,))
    over = np.zeros(len(tasks), np.bool_)
    if tasks.pieces is None or not rules.gang:
        return over
    rows = np.flatnonzero(tasks.pieces > 1)
    for row in rows[np.r_[True, np.diff(tasks.job[rows]) != 0]] if len(rows) else rows:
        mine = allowed[row if len(allowed) > 1 else 0]
        room = {s.kind: (int(kinds[s.kind].cores), int(kinds[s.kind].memory)) for s in setting.lots if mine[s.kind]}
        lots = [(*room.get(s.kind, (0, 0)), s.servers) for s in setting.lots]
        piece = int(tasks.ask[row]), int(tasks.memory[row])
        over[row : row + tasks.pieces[row]] = at_once(lots, piece, rules) < tasks.pieces[row]
    return over


def _reservable(
    setting: Setting, tasks: Tasks, kinds: Table[RentableKind], allowed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which tasks an empty server of a reserved type holds."""
    held = np.zeros(len(tasks), np.bool_)
    for lot in setting.lots:
        its = kinds[lot.kind]
        held |= (tasks.ask <= its.cores) & (tasks.memory <= its.memory) & allowed[:, lot.kind]
    return held


def smallest_fitting(tasks: Tasks, kinds: Table[RentableKind], allowed: NDArray[np.bool_]) -> Ints:
    """The first type (they stand by size, then price) that holds each task and that it may run on; -1 where none
    does."""
    size = np.full(len(tasks), -1, np.int64)
    for kind in range(len(kinds) - 1, -1, -1):
        its = kinds[kind]
        size[(tasks.ask <= its.cores) & (tasks.memory <= its.memory) & allowed[:, kind]] = kind
    return size
