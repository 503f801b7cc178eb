"""The controller's loop: observe, decide, note, act; whatever it is told twice it does once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from heapq import heappop, heappush
from typing import Protocol

from hcloud import __version__
from hcloud.control.operating.fold import Fold, JobRecord, MachinePhase, MachineRecord
from hcloud.control.operating.happened import of_jobs, performance_until, taken
from hcloud.control.operating.wanted import (
    SpendingLimits,
    kept_from_launch,
    key_of,
    to_begin,
    to_end,
    to_launch,
    to_stop,
)
from hcloud.control.ports import Clock, Crash, Engine, JobSource
from hcloud.control.session import ControlSession
from hcloud.errors import (
    HcloudError,
    ThrottledError,
    UnavailableError,
    UnknownOutcomeError,
)
from hcloud.live.operating.machines import End, Machines, NotCertainError, Sight, order_of
from hcloud.live.operating.workers import Answer, Workers
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import Machine, Owner
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import (
    UNKNOWN,
    BelowQos,
    Cancelled,
    ClockTick,
    Event,
    Interruption,
    LaunchFailed,
    Lost,
    Pool,
    Quality,
    Ready,
)
from hcloud.model.running.job import JobOrder, JobPhase, JobPlace, JobSighting, MachineRole, NodePhase
from hcloud.model.running.note import (
    Asked,
    AttemptOver,
    Beginning,
    ControllerStarted,
    Ended,
    Held,
    Joined,
    Launched,
    Launching,
    Note,
    NotLaunched,
)

Line = Event | Decision | Note
_OPEN = (ThrottledError, UnavailableError, UnknownOutcomeError)


class LiveJournal(Protocol):
    """Where lines are kept before anything follows from them."""

    def append(self, lines: Sequence[Line]) -> None:
        """Add lines; returns when they will outlast a crash. Raises HcloudError where they will not: none of them is
        there then."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Seconds; all are ours. ``period`` between two looks at an engine that tells nothing by itself, ``look`` between
    two looks at the cloud, ``join`` until a machine has to be ready, ``settled`` until a list of the cloud has to show
    what it made; a type that could not be launched is left alone for ``first_backoff``, doubled up to
    ``longest_backoff``; ``again`` until what an engine did not take is said to it again."""

    period: float = 1.0
    look: float = 15.0
    join: float = 600.0
    settled: float = 120.0
    first_backoff: float = 15.0
    longest_backoff: float = 600.0
    again: float = 5.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What a controller works under, beside its policy. ``price`` is dollars an hour by type and option, ``zones`` those
    of a type, ``vector`` what is estimated of a job before it runs, ``coin`` a number in 0..1 that is a job's own.
    ``follow``: it goes on when all known jobs are over."""

    owner: Owner
    price: Callable[[str, PurchaseOption], Decimal]
    zones: Callable[[str], Sequence[str]]
    coin: Callable[[str], float]
    limits: SpendingLimits = field(default_factory=SpendingLimits)
    rhythm: Rhythm = field(default_factory=Rhythm)
    vector: Callable[[JobOrder], tuple[int, ...]] = field(default=lambda order: UNKNOWN)
    probe: Callable[[int], float | None] | None = None
    follow: bool = False


@dataclass(slots=True)
class Parts:
    """Everything that the loop needs of the world."""

    engine: Engine
    source: JobSource
    machines: Machines
    journal: LiveJournal
    clock: Clock
    workers: Workers
    requests: Callable[[], Sequence[Asked]] = field(default=lambda: ())
    crash: Crash = field(default=lambda name: None)


class OperatingLoop:
    """One controller at work. ``troubles`` are what it cannot do at the moment, by what it is about, and ``made`` the
    decisions since somebody emptied it, both for people."""

    def __init__(self, session: ControlSession, fold: Fold, parts: Parts, terms: Terms) -> None:
        self.session, self.fold, self.parts, self.terms = session, fold, parts, terms
        self.nodes: dict[int, NodePhase] = {}
        self.sightings: dict[str, JobSighting] = {}
        self.troubles: dict[str, str] = {}
        self.closed = False
        self.made: list[Decision] = []
        self._unwritten: list[Line] = []
        self._coming: list[tuple[float, int, JobOrder]] = []
        self._known: set[str] = set(fold.jobs)
        self._progress: dict[str, float] = {}
        self._below: dict[str, float] = {}
        self._said: dict[tuple[str, str, int], float] = {}
        self._looked = -math.inf
        self._scores: dict[int, float] = {}
        self._over: set[str] = set()
        self._refused: dict[str, int] = {}
        self._tell(ControllerStarted(self._now(), __version__))

    # ---- one pass

    def step(self) -> bool:
        """Observe, decide, note and act once; whether anything is left to do."""
        now = self._now()
        self._hear(now)
        self._observe(now)
        for answer in self.parts.workers.answers():
            self._answered(answer, now)
        self._take_jobs(now)
        self._judge(now)
        self._pass_time(now)
        actions = self._intended(now)
        if self._write():
            self.parts.crash("operate.noted")
            for action in actions:
                action()
        return self._goes_on()

    def wait(self) -> None:
        """Until something is likely to have happened."""
        now, rhythm = self._now(), self.terms.rhythm
        until = min(self.session.next_due(), self._coming[0][0] if self._coming else math.inf)
        busy = 0.0 if self.parts.workers.idle else 0.02
        seconds = min(rhythm.period, max(until - now, 0.0)) if not busy else busy
        self.parts.engine.wait(max(seconds, 0.001))

    def _now(self) -> float:
        """The time, which never falls: a clock that was set back stands still until it is where it was."""
        return max(self.parts.clock.now(), self.fold.last)

    def _goes_on(self) -> bool:
        if self._unwritten or not self.parts.workers.idle:
            return True
        if self._keeps:
            return bool(self.fold.active)
        if not self._finishing:
            return True
        return bool(self.fold.active) or any(m.stands for m in self.fold.standing.values())

    @property
    def _finishing(self) -> bool:
        """Whether all machines go: somebody said stop, or no job is left and none will come."""
        if self.fold.asked == "stop":
            return True
        if self._keeps:
            return False
        ends = (self.closed and not self.terms.follow) or self.fold.asked == "drain"
        return ends and not self.fold.active and (not self._coming or self.fold.asked == "drain")

    @property
    def _keeps(self) -> bool:
        """Whether somebody asked to end the jobs and to leave the machines."""
        return self.fold.asked == "stop-keeping-machines"

    # ---- the journal

    def _tell(self, line: Line) -> None:
        self.fold.take((line,))
        self._unwritten.append(line)

    def _happen(self, event: Event) -> list[Decision]:
        made = self.session.handle(event)
        if made or not isinstance(event, ClockTick):
            self._tell(event)
            for decision in made:
                self._tell(decision)
            self.made += made
        return made

    def _write(self) -> bool:
        """Whether all that is known is noted; else nothing may follow from it, and it is tried again."""
        if not self._unwritten:
            return True
        try:
            self.parts.journal.append(self._unwritten)
        except HcloudError as error:
            self.troubles["journal"] = f"no new jobs are taken: {error}"
            return False
        self._unwritten = []
        self.troubles.pop("journal", None)
        return True

    # ---- observing

    def _hear(self, now: float) -> None:
        for asked in self.parts.requests():
            self._tell(Asked(now, asked.what, asked.job))
            job = self.fold.active.get(asked.job)
            if asked.what == "cancel" and job is not None and not job.is_over:
                self._happen(Cancelled(now, asked.job))
            if asked.what.startswith("stop"):
                for name in [n for n, j in self.fold.active.items() if not j.is_over]:
                    self._happen(Cancelled(now, name))

    def _observe(self, now: float) -> None:
        if self._look_at_engine(now):
            for machine in list(self.fold.standing.values()):
                self._see_machine(machine, now)
        if now - self._looked >= self.terms.rhythm.look:
            self._looked = now
            lineage = self.terms.owner.lineage
            self.parts.workers.do(("look", 0), lambda: self.parts.machines.look(lineage, now))

    def _look_at_engine(self, now: float) -> bool:
        """Note what came of jobs; False where the engine does not answer: nothing follows from that."""
        try:
            view = self.parts.engine.look()
        except HcloudError as error:
            self.troubles["engine"] = str(error)
            return False
        self.troubles.pop("engine", None)
        self.nodes = dict(view.nodes)
        self.sightings = {s.job: s for s in view.jobs}
        for line in of_jobs(self.fold, view.jobs, self.nodes, self._progress, now):
            if isinstance(line, Note):
                self._tell(line)
            else:
                self._happen(line)
        for name, seen in self.sightings.items():
            if seen.phase in (JobPhase.ENDED, JobPhase.LOST) and name not in self.fold.active:
                self._over.add(name)
        return True

    def _see_machine(self, machine: MachineRecord, now: float) -> None:
        node = self.nodes.get(machine.instance, NodePhase.JOINING)
        if machine.phase is MachinePhase.STARTING and node is NodePhase.READY:
            self._welcome(machine, now)
        elif machine.phase is MachinePhase.STARTING and self._is_overdue(machine, now):
            self._give_up(machine, "it did not become ready for jobs in time", now)
        elif machine.phase in (MachinePhase.STARTING, MachinePhase.READY) and node is NodePhase.GONE:
            self._end(machine, "it does not run jobs any more")
        elif machine.phase is MachinePhase.READY and node is NodePhase.LEAVING:
            self._take_leave(machine, now)

    def _is_overdue(self, machine: MachineRecord, now: float) -> bool:
        return machine.launched is not None and now - machine.launched > self.terms.rhythm.join

    def _welcome(self, machine: MachineRecord, now: float) -> None:
        """A machine runs jobs from now on; what is rented is probed before."""
        number, probe = machine.instance, self.terms.probe
        if probe is not None and number not in self._scores:
            self.parts.workers.do(("probe", number), lambda: probe(number))
            return
        self._tell(Joined(now, number))
        if not machine.reserved:
            self._happen(Ready(now, number))
        score = self._scores.pop(number, math.nan)
        if not math.isnan(score):
            self._happen(Quality(now, number, score))

    def _give_up(self, machine: MachineRecord, why: str, now: float) -> None:
        if machine.reserved:
            self._end(machine, why)
            return
        self._fail(machine, why, now)

    def _fail(self, machine: MachineRecord, why: str, now: float) -> None:
        """A launch came to nothing: the controller decides what its jobs do instead."""
        self._happen(LaunchFailed(now, machine.instance, why, self._not_before(machine, now)))

    def _not_before(self, machine: MachineRecord, now: float) -> float:
        tried = self._refused[machine.type_name] = self._refused.get(machine.type_name, 0) + 1
        rhythm = self.terms.rhythm
        return now + min(rhythm.first_backoff * 2.0 ** min(tried - 1, 30), rhythm.longest_backoff)

    def _take_leave(self, machine: MachineRecord, now: float) -> None:
        """The cloud takes a machine back soon: its jobs go elsewhere while there is time."""
        if machine.option is PurchaseOption.SPOT and machine.released is None:
            self._happen(Interruption(now, machine.instance))

    # ---- what workers found

    def _answered(self, answer: Answer, now: float) -> None:
        what, who = answer.about if isinstance(answer.about, tuple) else (answer.about, 0)
        handler: Mapping[str, Callable[[Answer, MachineRecord, float], None]] = {
            "launch": self._launch_answered,
            "end": self._end_answered,
            "probe": self._probe_answered,
            "check": self._check_answered,
        }
        if what in handler:
            handler[what](answer, self.fold.machines[who], now)
        elif what == "look" and isinstance(answer.found, Sight):
            self.troubles.pop("cloud", None)
            self._seen(answer.found, now)
        elif answer.error is not None:
            self.troubles["cloud" if what in ("look", "strays") else "engine"] = str(answer.error)

    def _launch_answered(self, answer: Answer, machine: MachineRecord, now: float) -> None:
        if isinstance(answer.found, Machine):
            launched = answer.found.launched
            at = launched.timestamp() if launched is not None else now
            self._tell(Launched(now, machine.instance, answer.found.id, at))
            self._refused.pop(machine.type_name, None)
            self.troubles.pop("cloud", None)
        elif isinstance(answer.error, _OPEN):
            self.troubles["cloud"] = str(answer.error)
            self._said[("launch", "", machine.instance)] = now
        elif answer.error is not None:
            why, until = str(answer.error), self._not_before(machine, now)
            self._tell(NotLaunched(now, machine.instance, why, until))
            if not machine.reserved and machine.phase is MachinePhase.WANTED:
                self._happen(LaunchFailed(now, machine.instance, why, until))

    def _end_answered(self, answer: Answer, machine: MachineRecord, now: float) -> None:
        if not isinstance(answer.found, End):
            self._said[("end", "", machine.instance)] = now
            if answer.error is not None and not isinstance(answer.error, NotCertainError):
                self.troubles["cloud"] = str(answer.error)
            return
        self.troubles.pop("cloud", None)
        at = answer.found.at
        self._tell(Ended(now, machine.instance, at.timestamp() if at is not None else None))
        self._end_attempts(machine, now)
        self._lose(machine, now)

    def _end_attempts(self, machine: MachineRecord, now: float) -> None:
        """What was begun on a machine that is gone is over, as the engine tells it, or lost."""
        number = machine.instance
        if any(job.on == number for job in self.fold.active.values()):
            self._look_at_engine(now)
        for job in [j for j in self.fold.active.values() if j.on == number]:
            seen = self.sightings.get(job.order.id)
            began = seen.began if seen is not None and seen.attempt == job.attempt else None
            if seen is None or seen.phase is not JobPhase.WAITING:
                began = began if began is not None else now  # it may have begun, so it did
            self._tell(AttemptOver(now, job.order.id, job.attempt, JobPhase.LOST, began, now))

    def _lose(self, machine: MachineRecord, now: float) -> None:
        """A machine is gone that the controller still counts on; the reserve is brought back to its size."""
        number = machine.instance
        if number not in self.session.instances or (machine.reserved and self._finishing):
            return
        unbegun = tuple(n for n in machine.jobs if self.fold.jobs[n].on is None and self.fold.jobs[n].began is None)
        self._happen(Lost(now, number, unbegun))
        if machine.reserved and not self._finishing:
            self._happen(Pool(now, self.fold.setup.pool))

    def _probe_answered(self, answer: Answer, machine: MachineRecord, now: float) -> None:
        self._scores[machine.instance] = answer.found if isinstance(answer.found, float) else math.nan

    def _check_answered(self, answer: Answer, machine: MachineRecord, now: float) -> None:
        if answer.found is True:
            self._end(machine, "its cloud ended it")

    def _seen(self, sight: Sight, now: float) -> None:
        """Compare what the cloud shows with what should stand."""
        wanted = {m.key: m for m in self.fold.standing.values() if m.stands}
        settled = sight.asked - self.terms.rhythm.settled
        for machine in wanted.values():
            there = machine.phase in (MachinePhase.STARTING, MachinePhase.READY)
            if there and machine.key not in sight.machines and (machine.launched or now) <= settled:
                self.parts.workers.do(("check", machine.instance), lambda m=replace(machine): self.parts.machines.is_gone(m))
        strays = [m.id for key, m in sight.machines.items() if key not in wanted]
        if strays:
            self.parts.workers.do(("strays", 0), lambda: self.parts.machines.end_strays(strays))

    # ---- jobs

    def _take_jobs(self, now: float) -> None:
        if self._unwritten and "journal" in self.troubles:
            return
        try:
            found = self.parts.source.new()
            self.troubles.pop("jobs", None)
        except HcloudError as error:
            self.troubles["jobs"] = str(error)
            return
        self.closed = found.closed
        for order in found.orders:
            if order.id not in self._known:
                self._known.add(order.id)
                heappush(self._coming, (order.submit, len(self._known), order))
        for name in found.cancelled:
            job = self.fold.active.get(name)
            if job is not None and not job.is_over:
                self._happen(Cancelled(now, name))
        if self.fold.asked:
            return
        while self._coming and self._coming[0][0] <= now:
            order = heappop(self._coming)[2]
            note, arrival = taken(order, self.terms.vector(order), self.terms.coin(order.id), now)
            self._tell(note)
            self._happen(arrival)

    def _judge(self, now: float) -> None:
        """Tell the controller of batch jobs that have been slow for longer than the patience of the strategy."""
        rules = self.session.setup.rules
        if not rules.monitor:
            return
        for job in self.fold.active.values():
            if job.on is None or job.leaving or job.is_over:
                continue
            seen = self.sightings.get(job.order.id)
            if seen is None or seen.phase is not JobPhase.RUNNING or seen.began is None:
                continue
            share = performance_until(job.order, seen.began, seen.progress, now)
            if share is None or share >= rules.monitor_level:
                self._below.pop(job.order.id, None)
            elif now - self._below.setdefault(job.order.id, now) >= rules.patience:
                del self._below[job.order.id]
                self._suffering(job, share, now)

    def _suffering(self, job: JobRecord, share: float, now: float) -> None:
        made = self._happen(BelowQos(now, job.order.id, share))
        for decision in made:
            if decision.action is DecisionAction.ENLARGE and decision.job is not None:
                name, cores = decision.job, self.session.cores_of(decision.job)
                grown = self.fold.jobs[name]
                self.parts.workers.do(
                    ("resize", name), lambda: self.parts.engine.resize(name, grown.attempt, cores)
                )

    def _pass_time(self, now: float) -> None:
        self._happen(ClockTick(now))

    # ---- acting

    def _intended(self, now: float) -> list[Callable[[], object]]:
        """What is to be done, once it is noted that it will be."""
        actions: list[Callable[[], object]] = []
        if not (self._finishing or self._keeps):
            for machine in list(to_launch(self.fold, now)):
                self._intend_launch(machine, now, actions)
        for machine in list(to_end(self.fold, all_of_them=self._finishing and self._nothing_runs)):
            actions.append(lambda m=machine: self._end(m, ""))
        for job in list(to_begin(self.fold, self.nodes)):
            if not self.fold.asked.startswith("stop"):
                self._intend_begin(job, now, actions)
        actions += [lambda j=job: self._stop(j) for job in to_stop(self.fold)]
        actions += [lambda name=name: self.parts.engine.forget(name) for name in self._over]
        self._over.clear()
        actions += [lambda j=job: self._say_again(j, now) for job in self.fold.active.values() if job.on is not None]
        return actions

    @property
    def _nothing_runs(self) -> bool:
        return all(job.on is None for job in self.fold.active.values())

    def _intend_launch(self, machine: MachineRecord, now: float, actions: list[Callable[[], object]]) -> None:
        number = machine.instance
        if self.parts.workers.busy(("launch", number)) or self.parts.workers.busy(("end", number)):
            return
        if now - self._said.get(("launch", "", number), -math.inf) < self.terms.rhythm.again:
            return
        if machine.phase is MachinePhase.WANTED:
            hourly = self.terms.price(machine.type_name, machine.option)
            if why := kept_from_launch(self.fold, hourly, self.terms.limits, now):
                if machine.why != why:
                    self._tell(Held(now, number, why))
                return
            zones = self.terms.zones(machine.type_name)
            zone, key = zones[machine.orders % len(zones)], key_of(self.terms.owner.lineage, machine)
            where = (machine.type_name, zone, machine.option)
            self._tell(Launching(now, number, key, *where, hourly, machine.reserved))
        actions.append(lambda: self._launch(machine))

    def _launch(self, machine: MachineRecord) -> None:
        role = MachineRole(machine.instance, machine.type_name, machine.reserved)
        order = order_of(machine, self.terms.owner, self.parts.engine.joining(role))
        self.parts.crash("operate.launch")
        self.parts.workers.do(("launch", machine.instance), lambda: self.parts.machines.launch(order))

    def _intend_begin(self, job: JobRecord, now: float, actions: list[Callable[[], object]]) -> None:
        number = job.instance
        if number is None or self.parts.workers.busy(("stop", job.order.id)):
            return
        self._tell(Beginning(now, job.order.id, job.attempt + 1, number))
        actions.append(lambda: self._begin(job, now))

    def _begin(self, job: JobRecord, now: float) -> None:
        assert job.on is not None
        name, cores = job.order.id, job.order.cores
        if name in self.session.tables.rows:
            cores = self.session.cores_of(name)
        place = JobPlace(job.on, job.attempt, cores, job.order.memory)
        self._said[("begin", name, job.attempt)] = now
        self.parts.crash("operate.begin")
        self.parts.workers.do(("begin", name), lambda: self.parts.engine.begin(job.order, place))

    def _say_again(self, job: JobRecord, now: float) -> None:
        """What was begun by the journal and is not known to the engine: this process was killed in between."""
        seen = self.sightings.get(job.order.id)
        is_known = seen is not None and seen.attempt == job.attempt and seen.phase is not JobPhase.WAITING
        said = self._said.get(("begin", job.order.id, job.attempt), -math.inf)
        if is_known:
            self._said.pop(("begin", job.order.id, job.attempt), None)
        elif not job.is_over and not job.leaving and now - said >= self.terms.rhythm.again:
            self._begin(job, now)

    def _stop(self, job: JobRecord) -> None:
        name, attempt = job.order.id, job.attempt
        if not self.parts.workers.busy(("begin", name)):
            self.parts.workers.do(("stop", name), lambda: self.parts.engine.stop(name, attempt))

    def _end(self, machine: MachineRecord, why: str) -> None:
        number, now = machine.instance, self._now()
        if self.parts.workers.busy(("launch", number)):
            return
        if now - self._said.get(("end", "", number), -math.inf) < self.terms.rhythm.again:
            return
        machine.why = machine.why or why
        known, order = replace(machine), order_of(machine, self.terms.owner, "")
        self.parts.engine.let_go(number)
        self.parts.crash("operate.end")
        self.parts.workers.do(("end", number), lambda: self.parts.machines.end(known, order))
