"""The controller's loop: observe, decide, note, act; whatever it is told twice it does once."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from itertools import count, groupby

from hcloud import __version__
from hcloud.control.operating.fold import Fold
from hcloud.control.operating.happened import taken
from hcloud.control.operating.records import DRAINED, MachinePhase, MachineRecord
from hcloud.control.operating.together import ended_by_cancel
from hcloud.control.pieces import are_linked
from hcloud.control.sessions.session import ControlSession
from hcloud.errors import HcloudError, InputError, LockedError
from hcloud.live.operating.acting import Action, end_all, intended
from hcloud.live.operating.crash_points import NOTED
from hcloud.live.operating.desk import OperatingDesk
from hcloud.live.operating.harvester import Harvester
from hcloud.live.operating.losing import lose_ended
from hcloud.live.operating.quality.judging import Judge
from hcloud.live.operating.quality.learning import Learner
from hcloud.live.operating.seeing import answered, decide_anew, see_machine
from hcloud.live.operating.terms import Parts, Terms
from hcloud.live.operating.workers import Answer
from hcloud.model.running.event import Arrival, Cancelled, ClockTick
from hcloud.model.running.harvest_note import HarvestNote
from hcloud.model.running.job import JobOrder, NewJobs
from hcloud.model.running.note import Asked, CommitmentsAdvised, ControllerStarted, Finished, JobTaken, LimitsSet
from hcloud.model.workload import JobKind
from hcloud.policy.placing.turns import turn
from hcloud.units import counted, some_of

QUIET_SECONDS = 60.0
"""Ours: what hindered a moment ago, and does again, is not said again so soon."""
STOP_SECONDS = 10.0
"""Ours: jobs that are asked to end take so long where nothing is wrong; the engine of this machine kills after five."""
NAMED = 5
"""Jobs that a message names."""
WORKER_SECONDS = 0.02
"""Ours: how soon the answer of a worker is looked for."""
Pieces = tuple[JobOrder, ...]
"""A job of several servers by its pieces, in order, or a job that is on its own."""


class OperatingLoop:
    """One controller at work; what it knows is on its ``desk``."""

    def __init__(self, session: ControlSession, fold: Fold, parts: Parts, terms: Terms) -> None:
        self.desk = OperatingDesk(session, fold, parts, terms)
        self._coming: list[tuple[float, tuple[int, int, int], int, Pieces]] = []
        self._expected: set[str] = set()
        self._turns = count()
        self._deciding: dict[str, Pieces] = {}
        self._is_unread = False
        self._linked = are_linked(session.setup.rules)
        self._learner = Learner(self.desk, terms.known)
        self.desk.before = self._learner.before
        self._judge = Judge(self.desk, self._learner)
        harvest = terms.harvest
        self.harvester = None if harvest is None else Harvester(self.desk, harvest, self._take_from_idle, self._cancel)
        self.desk.harvests = harvest is not None
        self._looked, self._stops_at = -math.inf, math.inf
        self._told: dict[tuple[str, str], float] = {}
        self._held: dict[int, str] = {}
        now = self.desk.now()
        self.desk.tell(ControllerStarted(now, __version__, terms.follow))
        self._note_limits(now)
        lose_ended(self.desk, now)

    def _note_limits(self, now: float) -> None:
        """Whoever goes on with this work keeps within them, also where nobody says so again."""
        limits, known = self.desk.terms.limits, self.desk.fold.limits or LimitsSet(now)
        told = LimitsSet(now, limits.hourly, limits.total, limits.machines)
        if replace(known, at=now) != told:
            self.desk.tell(told)

    @property
    def fold(self) -> Fold:
        """The sum of its journal."""
        return self.desk.fold

    def new_troubles(self) -> list[tuple[str, str]]:
        """What cannot be done at the moment; what comes and goes is told once in a while."""
        now, troubles = self.desk.now(), self.desk.troubles.items()
        for known, told in list(self._told.items()):
            if known in troubles:
                self._told[known] = now
            elif now - told >= QUIET_SECONDS:
                del self._told[known]
        found = [trouble for trouble in troubles if trouble not in self._told]
        self._told.update(dict.fromkeys(found, now))
        return found

    @property
    def not_come(self) -> list[str]:
        """Jobs that are known and have not come yet, in the order in which they would."""
        coming = (pieces[0] for *_, pieces in sorted(self._coming))
        return [one.piece.of if one.piece else one.id for one in coming if one.id not in self.desk.fold.known]

    @property
    def unread(self) -> str:
        """Why jobs may never have come that this work was given: their file cannot be read. Empty where it can, or
        where no more jobs are taken."""
        return self.desk.troubles.get("jobs", "") if self._is_unread and not self.fold.asked else ""

    def newly_held(self) -> list[MachineRecord]:
        """Machines that are wanted and not launched yet, or drained, for reasons that were not told of before."""
        standing = self.fold.standing.values()
        wanted = [m for m in standing if m.why and (m.phase is MachinePhase.WANTED or m.why == DRAINED)]
        found = [m for m in wanted if self._held.get(m.instance) != m.why]
        self._held = {m.instance: m.why for m in wanted}
        return found

    def told_of_idle_capacity(self) -> list[HarvestNote]:
        """What was noted of batch on idle capacity since this was asked last."""
        if self.harvester is None:
            return []
        told, self.harvester.told = self.harvester.told, []
        return told

    def forget_told(self) -> None:
        """Let go of what a screen shows as it is now, and nobody takes: of a month it would be all decisions."""
        self.desk.made, self.desk.failed, self.desk.advice = [], [], []
        self.told_of_idle_capacity()

    def step(self) -> bool:
        """Observe, decide, note and act once; whether anything is left to do."""
        desk, now = self.desk, self.desk.now()
        for asked in () if "journal" in desk.troubles else desk.parts.requests():  # or those it has are forgotten
            self._hear(asked, now)
        self._observe(now)
        for answer in desk.parts.workers.answers():
            self._answered(answer, now)
        decide_anew(desk, now)
        if self.harvester is not None:
            self.harvester.see(now)
        self._take_decided(now)
        self._take_jobs(now)
        self._judge.judge(now)
        self._learner.flush(now)
        self._await_ends(now)
        advise(desk, now)
        desk.happen(ClockTick(now))
        actions = self._on_idle_capacity(now) + intended(desk, now) + self._judge.intended(now)
        if desk.write():
            desk.parts.crash(NOTED)
            for action in actions:
                action()
            end_all(desk)
            if desk.parts.journal.is_long:
                self._renew()
        return desk.goes_on()

    def _on_idle_capacity(self, now: float) -> list[Action]:
        """What is to be done with the jobs beside the others."""
        if self.harvester is None:
            return []
        actions = self.harvester.intended(now)
        self.desk.harvests = not (self.harvester.is_done or self.desk.fold.asked)
        return actions

    def finish(self) -> None:
        """Note that nothing is left to do, where no machine stands and no file is ``unread``: to be called when
        somebody was told how it went, as the last thing before the process ends. Whoever is killed before is followed
        by a controller that finds all jobs over; after it, the same command is other work."""
        if not (self.unread or any(machine.stands for machine in self.fold.standing.values())):
            self.desk.tell(Finished(self.desk.now()))
            self.desk.write()

    def wait(self) -> None:
        """Until something is likely to have happened."""
        desk = self.desk
        comes = self._coming[0][0] if self._coming and not desk.fold.asked else math.inf  # else it is never taken
        due = min(desk.session.next_due(), comes)
        seconds = min(desk.terms.rhythm.period, max(due - desk.now(), 0.0))
        idle = desk.parts.workers.idle and not self._deciding
        desk.parts.engine.wait(max(seconds if idle else min(seconds, WORKER_SECONDS), 0.001))

    def _renew(self) -> None:
        """Begin the journal anew with a snapshot of all there is."""
        try:
            self.desk.parts.renew(self.desk.session, self.desk.fold)
            self.desk.forget()
            self.desk.troubles.pop("snapshot", None)
        except LockedError:
            raise
        except HcloudError as error:
            self.desk.troubles["snapshot"] = str(error)

    def _answered(self, answer: Answer, now: float) -> None:
        what, who = answer.about if isinstance(answer.about, tuple) else ("", "")
        if what == "latency":
            self._judge.measured(answer, str(who), now)
        elif what in ("refit", "record"):
            self._learner.answered(answer, str(who), now)
        elif what == "replan":
            advised(self.desk, answer, now)
        else:
            answered(self.desk, answer, now)

    def _hear(self, asked: Asked, now: float) -> None:
        desk = self.desk
        desk.tell(Asked(now, asked.what, asked.job))
        wanted = [asked.job] if asked.what == "cancel" else list(desk.fold.active) if desk.stops else []
        self._cancel(wanted, now)

    def _cancel(self, names: list[str], now: float) -> None:
        for name in names:
            if self.harvester is not None:
                self.harvester.cancel(name, now)
            for job in ended_by_cancel(self.fold, name):
                if not job.is_over:
                    self.desk.happen(Cancelled(now, job.order.id))
                    if job.on is None:
                        self.desk.over.add(job.order.id)

    def _observe(self, now: float) -> None:
        desk = self.desk
        if desk.look(now):
            for machine in list(desk.fold.standing.values()):
                see_machine(desk, machine, now)
        ends = desk.finishing and desk.ending  # that asks about the same machines, and may be throttled
        if now - self._looked >= desk.terms.rhythm.look and not ends:
            self._looked = now
            desk.do("look", 0, partial(desk.parts.machines.look, desk.terms.owner.lineage, now))

    def _await_ends(self, now: float) -> None:
        """Say what a stop waits for: machines are kept while something of a job may still run on them."""
        desk = self.desk
        self._stops_at = min(self._stops_at, now) if desk.stops and not desk.forced else math.inf
        slow = slow_to_stop(desk.fold) if now >= self._stops_at + STOP_SECONDS else ""
        desk.troubles |= {"stop": slow}
        if not slow:
            del desk.troubles["stop"]

    def expect(self, found: NewJobs, now: float) -> None:
        """Jobs that will come, each at its time; those that are known are not taken twice, and those that were
        cancelled meanwhile not at all."""
        self.desk.closed = found.closed
        for whole, orders in groupby(found.orders, lambda order: order.piece.of if order.piece else order.id):
            pieces = tuple(orders)
            names = [order.id for order in pieces]
            if not any(name in self._expected or name in self.fold.known for name in {whole, *names}):
                self._expected.update(names)
                one, large = pieces[0], self.desk.session.setup.large
                first = turn(int(one.kind is JobKind.SERVICE), (one.cores, one.memory), (large.cores, large.memory))
                heappush(self._coming, (one.submit, first, next(self._turns), pieces))
        self.desk.coming = len(self._coming)
        for name in found.cancelled:
            if name not in self.fold.known:
                self.desk.tell(Asked(now, "cancel", name))
        self._cancel([name for name in found.cancelled if name in self.fold.active], now)

    def _take_jobs(self, now: float) -> None:
        desk = self.desk
        self.expect(self._new_jobs(), now)
        while self._coming and self._coming[0][0] <= now and not desk.fold.asked:
            pieces = heappop(self._coming)[-1]
            if self._was_given_up(pieces):
                continue
            if desk.parts.agents is None:
                self._take(pieces, now)
                continue
            for asked in [pieces] if self._linked else [(one,) for one in pieces]:
                self._deciding[asked[0].id] = asked
                desk.parts.agents.ask(self._lines_of(asked[0], now)[1])
        desk.coming = len(self._coming) + len(self._deciding)

    def _was_given_up(self, pieces: Pieces) -> bool:
        """Whether a job was cancelled before it came: by its own name, or that of one of its pieces."""
        known, piece = self.desk.fold.known, pieces[0].piece
        return any(order.id in known for order in pieces) or (piece is not None and piece.of in known)

    def _take_decided(self, now: float) -> None:
        """Commit what agents propose; a job that was cancelled meanwhile, or comes while all is to stop, is not taken:
        as long as no agent has answered nothing is noted of it, and whoever goes on finds it where it came from."""
        desk = self.desk
        for proposed in desk.parts.agents.answers(now) if desk.parts.agents is not None else ():
            pieces = self._deciding.pop(proposed.job)
            if not self._was_given_up(pieces) and not desk.fold.asked:
                self._take(pieces, now, proposed)

    def _take_from_idle(self, order: JobOrder, now: float, attempt: int) -> None:
        """Take a job that leaves idle capacity, with the attempts that it had there."""
        note, arrival = self._lines_of(order, now)
        self.desk.tell(replace(note, attempt=attempt))
        self.desk.happen(arrival)

    def _take(self, pieces: Pieces, now: float, proposed: Arrival | None = None) -> None:
        """Let a job come; what an agent proposed for all of its pieces is told with the last."""
        for order in pieces:
            note, arrival = self._lines_of(order, now)
            if proposed is not None:
                arrival = replace(arrival, vector=proposed.vector)
            if proposed is not None and order is pieces[-1]:
                agent, age, ranked = proposed.agent, proposed.copy_age, proposed.ranked
                arrival = replace(arrival, agent=agent, copy_age=age, ranked=ranked)
            self.desk.tell(note)
            self.desk.happen(arrival)
            self._expected.discard(order.id)

    def _lines_of(self, order: JobOrder, now: float) -> tuple[JobTaken, Arrival]:
        desk = self.desk
        fitted = desk.fold.fitted.get(order.app)
        vector = desk.terms.vector(order) if fitted is None else fitted.vector
        return taken(order, vector, desk.terms.coin(order.id), now, linked=self._linked)

    def _new_jobs(self) -> NewJobs:
        """What came; nothing while the journal cannot be written, or its source cannot be read."""
        desk = self.desk
        if "journal" in desk.troubles:
            return NewJobs(closed=desk.closed)
        try:
            found = desk.parts.source.new()
        except HcloudError as error:
            desk.troubles["jobs"] = "; ".join(line.strip() for line in str(error).splitlines())
            self._is_unread = isinstance(error, InputError)
            return NewJobs(closed=desk.closed)
        desk.troubles.pop("jobs", None)
        return found


def slow_to_stop(fold: Fold) -> str:
    """What a stop waits for, where jobs are asked to end and did not; empty where none is left."""
    slow = [name for name, job in fold.active.items() if job.on is not None]
    ends = "'hcloud operate stop --force' terminates the machines all the same"
    return f"waits for {counted(len(slow), 'job')} that did not end yet: {some_of(slow, NAMED)}; {ends}" if slow else ""


def advise(desk: OperatingDesk, now: float) -> None:
    """Have a plan made where the last one is as old as it may be; that is known by the journal."""
    last = desk.fold.began if desk.fold.advised is None else desk.fold.advised.at
    if desk.terms.replan is not None and now - last >= desk.terms.replan_every:
        desk.do("replan", 0, partial(desk.terms.replan, now))


def advised(desk: OperatingDesk, answer: Answer, now: float) -> None:
    """Note what was planned; what could not be planned is tried again in its time, too."""
    found = answer.found
    if not isinstance(found, CommitmentsAdvised):
        found = CommitmentsAdvised(now, desk.terms.replan_every, why_not=str(answer.error))
    desk.tell(found)
    desk.advice.append(found)
