"""A live controller: events with names in, decisions out. It keeps the tables long enough and fires what is due."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple
from typing import Any, Self, get_type_hints

from hcloud.control import handle
from hcloud.control.mapped import look
from hcloud.control.ranks import BOUND, CONTROL, EXPIRE, rank_of
from hcloud.control.sessions.arrivals import HeldJobs, check_arrival, join_others
from hcloud.control.sessions.batches import LONGEST_GAP, EventBatch
from hcloud.control.sessions.instances import Instance, InstanceBook, Order, booked, proposal, put_forward
from hcloud.control.sessions.snapshot import SessionImage, read, written
from hcloud.control.sessions.teller import Kernels, Teller
from hcloud.control.state import CLOSED, INTERRUPTIBLE, OWN, STARTING, UP
from hcloud.control.tables import ControlTables, encoded, quality_needed
from hcloud.model.running.decision import Decided, Decision
from hcloud.model.running.event import (
    ENTRIES,
    UNKNOWN,
    Arrival,
    BelowQos,
    Cancelled,
    ClockTick,
    Closing,
    Completion,
    Event,
    EventError,
    Failed,
    Interruption,
    Known,
    Latency,
    LaunchFailed,
    Lost,
    OfInstance,
    OfJob,
    Pool,
    Progress,
    Quality,
    Ready,
    Reclassified,
    Sample,
    tolerated,
)
from hcloud.policy import codes
from hcloud.policy.facts import DecisionFacts, Setup
from hcloud.policy.mapping import MAP_ON_DEMAND, Situation
from hcloud.policy.quality import complement, leading

_KINDS = tuple(get_type_hints(Situation).values())
_RUNS = (UP, CLOSED)


class ControlSession:
    """One controller and its state. ``kernels`` are plain or compiled (``hcloud.sim.machine_code.compiled``); the
    answers agree.
    ``watch`` is called with a job's row and the time when a job has come and nothing is decided about it yet.
    """

    def __init__(self, setup: Setup, kernels: Kernels) -> None:
        self.setup = setup
        self.tables = ControlTables(setup)
        self._book = InstanceBook(setup.reserve)
        self.watch: Callable[[int, float], None] | None = None
        self.now = setup.start if setup.start is not None else math.nan
        self._control = self.now
        self._due: list[Decision] = []
        self._held = HeldJobs()
        self._teller = Teller(self.tables, kernels)
        self._teller.open_reserve(setup.lots)
        self._handlers: dict[type, Callable[[Any], list[Decision]]] = {
            Arrival: self._arrival,
            Completion: self._completion,
            Failed: self._failed,
            Cancelled: self._cancelled,
            BelowQos: self._below_qos,
            Progress: self._noted,
            Latency: self._noted,
            Reclassified: self._reclassified,
            Ready: self._ready,
            LaunchFailed: self._launch_failed,
            Sample: self._sample,
            Quality: self._quality,
            Interruption: self._interruption,
            Lost: self._lost,
            Pool: self._pool,
            Closing: self._closing,
            ClockTick: lambda event: [],
        }

    @property
    def instances(self) -> dict[int, Instance]:
        """Those that there are, by number."""
        return self._book.instances

    def handle(self, event: Event) -> list[Decision]:
        """What is decided because of an event, after what was due before it.

        Raises EventError where the event cannot be. Nothing has then happened but what was due before it, which is
        decided all the same and told with the next event.
        """
        self._check_names(event)
        begins = math.isnan(self.now)
        self._check_time(event.at)
        self._due += self._fire(event.at, rank_of(event))
        try:
            made = self._handlers[type(event)](event)
        except EventError:
            if begins:
                self.now = self._control = math.nan
            raise
        made, self._due = self._due + made, []
        self.now = event.at
        return made

    def catch_up(self, event: Event) -> None:
        """Let happen what was due before an event; what is decided of it is told with whatever is handled next."""
        self._check_time(event.at)
        self._due += self._fire(event.at, rank_of(event))

    def _check_names(self, event: Event) -> None:
        """Refuse, before any time passes, what names a job or an instance that nobody was told of."""
        if isinstance(event, Arrival):
            if event.job in self.tables.rows:
                raise EventError(f"job {event.job} has arrived already and has not ended")
        elif isinstance(event, OfJob):
            if event.job not in self.tables.rows:
                raise EventError(f"job {event.job} has not arrived, or has ended")
        elif isinstance(event, OfInstance):
            self._book.named(event.instance)

    def _check_time(self, at: float) -> None:
        if math.isnan(self.now):
            self.now = self._control = at
        if at < self.now:
            raise EventError(f"at {at!r} is earlier than the previous event, at {self.now!r}")
        if at - self.now > LONGEST_GAP:
            raise EventError(f"at {at!r} is more than a year after the previous event; times are in seconds")

    def _fire(self, at: float, rank: int) -> list[Decision]:
        """Retention deadlines and control periods that come before an event of a rank, in order."""
        made: list[Decision] = []
        while True:
            control = self._control + self.setup.rules.period
            bound = min(self._held.due, self.tables.wake.item())
            due, order = min((self._book.deadline, EXPIRE), (bound, BOUND), (control, CONTROL))
            if due > at or (due == at and order >= rank):
                return made
            self.now = due
            if order == CONTROL:
                self.now = self._control = self.tables.last_alike(control, min(at, bound, self._book.deadline))
                made += self._call(handle.TICK, -1, self.now)
            elif order == BOUND:
                made += self._call(handle.OVERDUE, self._held.next() if self._held.due == due else -1, due)
            else:
                instance = self._book.due()
                made += self._call(handle.EXPIRE, instance.slot, due) if instance else []

    def _call(self, what: int, who: int, at: float, *, more: int = 0, said: str = "", **told: Any) -> list[Decision]:
        """What the controller decides, which may launch ``more`` instances than other events; ``said`` is about
        releases."""
        tables = self.tables
        tables.make_room(more)
        around = (at, tables.utilisation(), tables.soft.item())
        self._teller.tell(what, who, at, **told)
        return [self._obey(record, around, said) for record in tables.orders()]

    def _obey(
        self, record: tuple[int, int, int, int, int, float], around: tuple[float, float, float], said: str
    ) -> Decision:
        """Book what a command changes, and put it into words."""
        what, row, slot, action, reason, margin = record
        tables = self.tables
        job = tables.names[row] if row >= 0 else None
        launched = (int(tables.type_of[slot]), int(tables.paid[slot])) if what == codes.LAUNCH else ()
        order = Order(what, slot, action, reason, margin, job, *launched)
        made = Decision(*booked(self.setup, self._book, order, self._facts(row, around), said))
        if reason == codes.HELD_BACK:
            self._held.hold(tables, row, margin)
        if what in (codes.TURN_AWAY, codes.END):
            tables.forget(row)
        return made

    def _facts(self, row: int, around: tuple[float, float, float]) -> DecisionFacts:
        if row < 0:
            return DecisionFacts(*around, 0, 0, 0, 0.0, -1, False)
        ask, memory, high, _, kind, _, coin = self.tables.given[row]
        measured = kind >= 0 and bool(self.tables.samples[kind])
        platform = self.tables.platform_of(row)
        return DecisionFacts(*around, leading(high), ask, memory, coin, kind, measured, platform)

    def _arrival(self, event: Arrival) -> list[Decision]:
        check_arrival(self.tables, event)
        row = self.tables.add(event, self._known(event))
        if not join_others(self.tables, self.setup, event, row):
            return []
        if self.watch is not None:
            self.watch(row, event.at)
        if event.agent is not None:
            desk = self.tables.control.desk
            desk.agent, desk.refused = event.agent, event.refused
            desk.copy_age = 0.0 if event.ranked else event.copy_age
            put_forward(self.tables, self.instances, event.ranked)
        what, of = handle.ARRIVE if event.copy_of is None else handle.COPY, self.tables.rows.get(event.copy_of or "", 0)
        return self._call(what, row, event.at, more=event.pieces, also=(of, 0))

    def _known(self, event: Arrival) -> Known:
        """What a job causes and tolerates, as far as that is known."""
        if not self.setup.rules.informed:
            return UNKNOWN, tolerated(UNKNOWN)
        return event.vector, tolerated(event.vector, event.tolerates)

    def proposal(self, event: Arrival) -> tuple[int, ...]:
        """Instances that would take a job now, the best first. Nothing is decided, and nothing changes."""

        def propose(row: int) -> None:
            self._teller.tell(handle.PROPOSE, row, math.nan)

        return proposal(self.tables, self._book, propose, (event, self._known(event)))

    def _running(self, job: str) -> int:
        """The row of a job that is running; raises EventError where it is not."""
        row = self.tables.rows[job]
        slot = self.tables.server[row]
        if slot < 0:
            raise EventError(f"job {job} is in the queue and has not started")
        if self.tables.status[slot] not in _RUNS:
            raise EventError(f"job {job} has not started: its instance {self._book.number(slot)} is not ready")
        return row

    def _completion(self, event: Completion) -> list[Decision]:
        row = self._running(event.job)
        made = self._call(handle.LEAVE, row, event.at, figure=event.performance)
        self.tables.forget(row)
        return made

    def _failed(self, event: Failed) -> list[Decision]:
        row = self._running(event.job)
        made = self._call(handle.LEAVE, row, event.at, figure=1.0)
        self.tables.forget(row)
        return made

    def _cancelled(self, event: Cancelled) -> list[Decision]:
        row = self.tables.rows[event.job]
        made = self._call(handle.CANCEL, row, event.at)
        self.tables.forget(row)
        return made

    def _noted(self, event: Progress | Latency) -> list[Decision]:
        self._running(event.job)
        return []

    def _below_qos(self, event: BelowQos) -> list[Decision]:
        row = self._running(event.job)
        if not self.setup.rules.monitor:
            return []
        rate = event.performance if event.rate is None else event.rate
        return self._call(handle.SUFFER, row, event.at, figure=event.performance, also=(round(rate * codes.SCALE), 0))

    def _reclassified(self, event: Reclassified) -> list[Decision]:
        if not self.setup.rules.informed:
            raise EventError(f"job {event.job}: {self.setup.strategy} does not use job profiles")
        row = self.tables.rows[event.job]
        tolerates = tolerated(event.estimate, event.tolerates)
        self.tables.correct(row, *quality_needed(tolerates))
        self._teller.nature[:] = (*event.estimate, *tolerates)
        return self._call(handle.RECLASSIFY, row, event.at, figure=event.performance)

    def _ready(self, event: Ready) -> list[Decision]:
        instance = self._book.named(event.instance)
        if self.tables.status[instance.slot] != STARTING:
            raise EventError(f"instance {event.instance} is ready already")
        took = event.at - instance.launched if event.spin_up is None else event.spin_up
        return self._call(handle.READY, instance.slot, event.at, figure=took)

    def _up(self, number: int) -> int:
        """The slot of an instance that can be measured."""
        slot = self._book.named(number).slot
        if self.tables.status[slot] not in _RUNS:
            raise EventError(f"instance {number} is not ready; it cannot be measured")
        return slot

    def _sample(self, event: Sample) -> list[Decision]:
        slot = self._up(event.instance)
        return self._measured(slot, event.contention, event.at)

    def _quality(self, event: Quality) -> list[Decision]:
        contention = round((1.0 - event.score) * 99)
        slot = self._up(event.instance)
        return self._measured(slot, (contention,) * ENTRIES, event.at)

    def _measured(self, slot: int, contention: tuple[int, ...], at: float) -> list[Decision]:
        high, low = complement(*encoded(contention))
        return self._call(handle.SAMPLED, slot, at, also=(high, low))

    def _interruption(self, event: Interruption) -> list[Decision]:
        instance = self._book.named(event.instance)
        if instance.paid != INTERRUPTIBLE:
            raise EventError(f"instance {event.instance} is not a spot instance and cannot be interrupted")
        return self._call(handle.INTERRUPT, instance.slot, event.at)

    def _launch_failed(self, event: LaunchFailed) -> list[Decision]:
        instance, number = self._book.named(event.instance), event.instance
        if instance.paid == OWN:
            raise EventError(f"instance {number} is reserved; its launch is tried again until it succeeds")
        if self.tables.status[instance.slot] != STARTING:
            raise EventError(f"instance {number} is ready already; its launch has not failed")
        if event.until < event.at:
            raise EventError(f"until {event.until!r} is before at, {event.at!r}")
        return self._lose(instance.slot, codes.LAUNCH_FAILED, event.until, event.at, said=event.why)

    def _lost(self, event: Lost) -> list[Decision]:
        """Also jobs that may not begin anew do so where they had not begun."""
        slot = self._book.named(event.instance).slot
        rows = [self.tables.rows.get(job, -1) for job in event.unbegun]
        for job, row in zip(event.unbegun, rows, strict=True):
            if row < 0 or self.tables.server[row] != slot:
                raise EventError(f"job {job} is not on instance {event.instance}")
        again = self.tables.again[rows].tolist()
        self.tables.again[rows] = 1
        made = self._lose(slot, codes.LOST, 0.0, event.at)
        self.tables.again[rows] = again
        return made

    def _lose(self, slot: int, why: int, until: float, at: float, *, said: str = "") -> list[Decision]:
        return self._call(
            handle.LOSE, slot, at, also=(why, 0), figure=until, more=int(self.tables.tenants[slot]), said=said
        )

    def _closing(self, event: Closing) -> list[Decision]:
        slot, number = self._book.named(event.instance).slot, event.instance
        if self.tables.status[slot] != (CLOSED if event.over else UP):
            raise EventError(f"instance {number} is not {'closed' if event.over else 'ready and open'}")
        return self._call(handle.SHUT, slot, event.at, also=(int(event.over), 0))

    def is_closed(self, number: int) -> bool:
        """Whether an instance gets no more jobs."""
        return bool(self.tables.status[self._book.named(number).slot] == CLOSED)

    def _pool(self, event: Pool) -> list[Decision]:
        kind = self.setup.reserved_as(event.type)
        mine = [n for n, i in self.instances.items() if i.paid == OWN and i.kind == kind]
        more = event.size - len(mine)
        if more > 0:
            if self.setup.rules.mapping == MAP_ON_DEMAND:
                raise EventError(f"size {event.size}: {self.setup.strategy} reserves nothing")
            return self._call(handle.GROW, kind, event.at, also=(more, 0), more=more)
        idle = [n for n in reversed(mine) if self.tables.tenants[self.instances[n].slot] == 0]
        if -more > len(idle):
            least = len(mine) - len(idle)
            raise EventError(f"size {event.size}: {least} of the {len(mine)} reserved servers have jobs")
        going = [self.instances[n].slot for n in idle[:-more]]
        return [d for slot in going for d in self._lose(slot, codes.POOL_SHRUNK, 0.0, event.at)]

    def follow(self, batch: EventBatch, until: int) -> list[Decided]:
        """What is decided because of the events of a batch before a number, or the first that only ``handle`` takes."""
        if self.setup.rules.acts_between_events:
            return []
        self.now, self._control = batch.follow(self.tables, until, self.now, self._control, self._book.deadline)
        made = [astuple(due) for due in self._due]
        made += batch.decided(self.setup, self._book, self.tables)
        self._due = []
        batch.settle(self.tables)
        return made

    def cores_of(self, job: str) -> int:
        """Thousandths of a vCPU that a job may use now; 0 while it is in the queue. KeyError for an unknown job."""
        row = self.tables.rows[job]
        return int(self.tables.cores[row]) if self.tables.server[row] >= 0 else 0

    def next_due(self) -> float:
        """When a control period or a retention ends next; infinite before the first event of a clock not set."""
        soonest = min(self._book.deadline, self._held.due, float(self.tables.wake.item()))
        return soonest if math.isnan(self._control) else min(soonest, self._control + self.setup.rules.period)

    def snapshot(self) -> bytes:
        """All that is needed to go on, as one JSON object without a line's end."""
        state = self.now, self._control
        return written(self.setup, SessionImage(*state, self._due, self._book.image(), self.tables.image()))

    @classmethod
    def restored(cls, setup: Setup, kernels: Kernels, data: bytes) -> Self:
        """A session that decides from now on as the one that the snapshot was taken of. Raises InputError where that
        had another setup, or was taken by a version of hcloud that decides otherwise."""
        made = cls(setup, kernels)
        image = read(setup, data, made.tables.image())
        made.now, made._control, made._due = image.now, image.control, image.due
        made._book.adopt(image.book)
        made.tables.adopt(image.tables)
        made._held.adopt(made.tables)
        return made

    def situation(self, row: int, now: float) -> Situation:
        """All that a mapping could look at for a job that has just come, also what its rule would not ask for."""
        seen = look(self.tables.control, row, now)
        return Situation._make(kind(value) for kind, value in zip(_KINDS, seen, strict=True))
