"""What a controller of live work knows at the moment, and its one way to note something."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.happened import NO_CODE, never_begun, of_jobs, performance
from hcloud.control.operating.records import MachineRecord
from hcloud.control.operating.together import ended_with
from hcloud.control.sessions.batches import LONGEST_GAP
from hcloud.control.sessions.session import ControlSession
from hcloud.errors import HcloudError, LockedError
from hcloud.live.operating.machines import keep_only
from hcloud.live.operating.terms import Line, Parts, Terms
from hcloud.model.holdings.live import Notice
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import (
    Cancelled,
    ClockTick,
    Completion,
    Event,
    Failed,
    Interruption,
    Lost,
    OfInstance,
    Pool,
    Ready,
)
from hcloud.model.running.job import JobPhase, JobSighting, NodePhase, Told
from hcloud.model.running.note import KEEPING, CommitmentsAdvised, Note, PassNoted

CATCHING_UP = 0.5
"""Ours: how fast time passes while the clock is behind, so that nothing waits for ever, and the clock catches up."""
STRIDE = LONGEST_GAP / 2
"""Ours: the most time that passes before it is noted: with a gap that sessions refuse nobody could go on."""
FORCED = "stop --force"
CORRECT = "no retry mends this: correct the settings or the rights; until then hcloud tries one such machine at a time"


@dataclass
class OperatingDesk:
    """The controller's policy (``session``), the sum of its journal (``fold``), and what the engine showed last.

    ``troubles`` are what cannot be done at the moment, by what it is about, ``made`` the decisions, ``failed`` the jobs
    that failed and ``advice`` what was planned since somebody emptied it, all for people; ``over`` are jobs that the
    engine may forget, ``external`` machines on which somebody else runs something, ``passed_by`` jobs that the engine
    places by itself, ``told`` what it measured; ``before`` looks at an event before the controller does; ``closed``
    says that no more jobs will come, ``harvests`` that some will for idle capacity, ``answers`` that the engine did
    when it was asked last, ``freed`` that somebody left a machine, or a launch came to be held back, since it was
    looked whether a job waits for one that cannot be launched; ``unwilling`` are jobs that wanted nothing of what is
    free since; ``notices`` are about machines that their cloud takes away; ``zones`` are those of types that were asked
    for them; machines get no other job (``shut_for``) while one of theirs is below its target; ``going`` are to end in
    this pass, and ``ending`` those whose end is asked for; why it is not certain of some is told of one for all
    (``slow``); nothing is launched while it is ``barred``, of types whose last launch was refused for what no
    retry mends (``wrong``), and of no type while there is none whose last launch was not (``well``).
    """

    session: ControlSession
    fold: Fold
    parts: Parts
    terms: Terms
    nodes: dict[int, NodePhase] = field(default_factory=dict)
    sightings: dict[str, JobSighting] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)
    external: set[int] = field(default_factory=set)
    passed_by: tuple[str, ...] = ()
    troubles: dict[str, str] = field(default_factory=dict)
    made: list[Decision] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    closed: bool = False
    coming: int = 0
    harvests: bool = False
    answers: bool = False
    freed: bool = False
    unwilling: set[str] = field(default_factory=set)
    unwritten: list[Line] = field(default_factory=list)
    progress: dict[str, float] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)
    refused: dict[str, tuple[int, float]] = field(default_factory=dict)
    barred: float = -math.inf
    wrong: dict[str, str] = field(default_factory=dict)
    well: set[str] = field(default_factory=set)
    measured: dict[str, float] = field(default_factory=dict)
    notices: dict[int, Notice] = field(default_factory=dict)
    zones: dict[str, Sequence[str]] = field(default_factory=dict)
    shut_for: dict[int, str] = field(default_factory=dict)
    going: list[MachineRecord] = field(default_factory=list)
    ending: set[int] = field(default_factory=set)
    slow: dict[int, str] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    advice: list[CommitmentsAdvised] = field(default_factory=list)
    before: Callable[[Event], None] = field(default=lambda event: None)
    _said: dict[tuple[str, object], float] = field(default_factory=dict)
    _now: float = -math.inf
    _passed: float = math.inf
    _noted: float = math.nan

    def __post_init__(self) -> None:
        self._noted = self.session.now

    def now(self) -> float:
        """The time, which never falls: while a clock that was set back is not where it was, time passes more slowly,
        and where it was set forward, or nobody worked for long, by one stride a pass. A snapshot may be of a later
        moment than the last line before it."""
        passed = self.parts.clock.passed()
        last = max(self._now, self.fold.last, self.session.now)  # which is no number before the first event
        slowly = last + max(passed - self._passed, 0.0) * CATCHING_UP
        self._now, self._passed = min(max(self.parts.clock.now(), slowly), self._noted + STRIDE), passed
        return self._now

    def is_kept_closed(self, machine: MachineRecord) -> bool:
        """Whether a machine is closed to others for the sake of a job that still runs there."""
        job = self.fold.active.get(self.shut_for.get(machine.instance, ""))
        return job is not None and job.on == machine.instance and not job.leaving

    # ---- the journal

    def tell(self, line: Line) -> None:
        """Note a line; it lasts when ``write`` says so."""
        self.fold.take((line,))
        self.unwritten.append(line)

    def happen(self, event: Event) -> list[Decision]:
        """Let the controller decide about an event, and note both; of the passing of time only what it brings. That is
        nothing before the first event that is noted: periods count from there. Where an instance was given back by what
        was due before, nothing more is told of it."""
        if isinstance(event, ClockTick) and math.isnan(self.session.now):
            return []
        if isinstance(event, Lost | Interruption):
            self._keep_what_is_done(event)
        if isinstance(event, OfInstance) and self.session.next_due() <= event.at:
            self.session.catch_up(event)
            if event.instance not in self.session.instances:
                return self.happen(ClockTick(event.at))
        self.before(event)
        made = self.session.handle(event)
        if made or not isinstance(event, ClockTick) or event.at >= self._noted + STRIDE:
            self._noted = event.at
            self.tell(event)
            if self.parts.agents is not None:
                self.parts.agents.tell(event)
            for decision in made:
                self.tell(decision)
            self.made += made
            self.failed += [event] if isinstance(event, Failed) else []
            if isinstance(event, Completion | Failed | Cancelled | Ready | Pool):
                self.freed = True
                self.unwilling.clear()
            made += self._end_others(made)
        return made

    def _keep_what_is_done(self, event: Lost | Interruption) -> None:
        """A piece that did its work is over when its machine goes, and no other begins anew because of it."""
        for name in list(self.fold.machines[event.instance].jobs):
            job = self.fold.jobs[name]
            if job.rests:
                seen = self.sightings.get(name)
                self.happen(Completion(event.at, name, 1.0 if seen is None else performance(job.order, seen)))

    def _end_others(self, made: Sequence[Decision]) -> list[Decision]:
        """A piece that was lost for good ends the others of its job."""
        brought: list[Decision] = []
        for lost in (d for d in made if d.action is DecisionAction.END and d.job is not None):
            job = self.fold.jobs[lost.job or ""]
            for event in ended_with(self.fold, job, Failed(lost.at, job.order.id, NO_CODE)):
                brought += self.happen(event)
        return brought

    def write(self) -> bool:
        """Whether all that is known is noted; else nothing may follow from it, and it is tried again."""
        if not self.unwritten:
            return True
        try:
            self.parts.journal.append([*self.unwritten, PassNoted(self.fold.last)])
        except LockedError:
            raise  # another controller works here by now
        except HcloudError as error:
            self.troubles["journal"] = f"no new jobs are taken: {error}"
            return False
        self.unwritten = []
        self.troubles.pop("journal", None)
        return True

    # ---- what was said to the world, and when

    def said(self, what: str, about: object, now: float) -> None:
        """Remember that something was said to the cloud or the engine."""
        self._said[what, about] = now

    def may_say(self, what: str, about: object, now: float) -> bool:
        """Whether it was not said a moment ago."""
        return now - self._said.get((what, about), -math.inf) >= self.terms.rhythm.again

    def unsay(self, what: str, about: object) -> None:
        """It need not be remembered any more."""
        self._said.pop((what, about), None)

    def forget(self) -> None:
        """Let go of what is about jobs that are over and machines that are gone, when a snapshot has all the rest."""
        self.fold.forget()
        self._said = {what: at for what, at in self._said.items() if self._now - at < self.terms.rhythm.again}
        keep_only(self.progress, self.fold.active)
        keep_only(self.scores, self.fold.standing)
        keep_only(self.shut_for, self.fold.standing)
        self.parts.machines.forget_others(self.fold.standing.values())

    def do(self, what: str, about: object, work: Callable[[], object]) -> None:
        """Begin a piece of work that blocks, unless the same is under way."""
        self.parts.workers.do((what, about), work)

    def busy(self, what: str, about: object) -> bool:
        """Whether it is under way."""
        return self.parts.workers.busy((what, about))

    # ---- the engine

    def look(self, now: float) -> bool:
        """Note what came of jobs; False where the engine does not answer: nothing follows from that."""
        try:
            view = self.parts.engine.look()
        except HcloudError as error:
            self.troubles["engine"], self.answers = str(error), False
            return False
        self.troubles.pop("engine", None)
        self.answers = True
        self.nodes = dict(view.nodes)
        self.sightings = {s.job: s for s in view.jobs}
        self.external = {job.instance for job in view.external}
        self.passed_by = view.passed_by
        self.told += view.told
        for line in of_jobs(self.fold, view.jobs, self.nodes, self.progress, now):
            if isinstance(line, Note):
                self.tell(line)
            else:
                self.happen(line)
        for over in never_begun(self.fold, view.jobs, partial(self.busy, "begin"), now):
            self.tell(over)
        ended = (s.job for s in view.jobs if s.phase in (JobPhase.ENDED, JobPhase.LOST))
        self.over.update(name for name in ended if name not in self.fold.active)
        return True

    def say(self, words: Callable[[], None]) -> bool:
        """Whether the engine took what it was told; else it is to be told again."""
        try:
            words()
        except HcloudError as error:
            self.troubles["engine"] = str(error)
            return False
        return True

    # ---- how far the work is

    @property
    def keeps(self) -> bool:
        """Whether somebody asked to end the jobs and to leave the machines."""
        return self.fold.asked == KEEPING

    @property
    def stops(self) -> bool:
        """Whether somebody asked to end the jobs."""
        return self.fold.asked in ("stop", KEEPING, FORCED)

    @property
    def forced(self) -> bool:
        """Whether machines are to end whatever the engine says, or does not say, of their jobs."""
        return self.fold.asked == FORCED

    @property
    def finishing(self) -> bool:
        """Whether all machines go: somebody said stop, or no job is left and none will come."""
        if self.stops:
            return not self.keeps
        drains = self.fold.asked == "drain"
        ends = drains or (self.closed and not self.terms.follow and not self.coming)
        return ends and not (self.fold.active or self.fold.harvested.open or self.harvests)

    @property
    def nothing_runs(self) -> bool:
        """Whether nothing of any job is left on a machine."""
        return not self.fold.harvested.running and all(job.on is None for job in self.fold.active.values())

    def goes_on(self) -> bool:
        """Whether anything is left to do."""
        if self.unwritten or not self.parts.workers.idle:
            return True
        if self.keeps:
            return bool(self.fold.active or self.fold.harvested.open)
        open_jobs = self.fold.active or self.fold.harvested.open
        return not self.finishing or bool(open_jobs) or any(m.stands for m in self.fold.standing.values())

    def not_before(self, type_name: str, now: float) -> float:
        """When a type (empty: any) that could not be launched is tried again: the wait doubles each time, and once for
        all that were asked for together."""
        tried, until = self.refused.get(type_name, (0, -math.inf))
        if now >= until:
            rhythm = self.terms.rhythm
            until = now + min(rhythm.first_backoff * 2.0 ** min(tried, 30), rhythm.longest_backoff)
            self.refused[type_name] = tried + 1, until
        return until

    def bar(self, type_name: str, error: HcloudError, now: float) -> None:
        """Launch one machine once in a while, until somebody corrects what is wrong; others only of types that go."""
        self.well.discard(type_name)
        self.barred = self.not_before("", now)
        hint = f"; {error.hint}" if error.hint else ""
        every = self.terms.rhythm.longest_backoff
        self.wrong[type_name] = f"{error}{hint}; {CORRECT}, at least every {every:.0f} s"
        self.troubles["launch"] = self.wrong[type_name]

    def unbar(self, type_name: str) -> None:
        """A cloud answered otherwise: what was wrong is not wrong for all, and not for this type."""
        self.well.add(type_name)
        if self.wrong.pop(type_name, None) is not None:
            self.barred = -math.inf
            self.refused.pop("", None)
            del self.troubles["launch"]
            if self.wrong:
                self.troubles["launch"] = next(iter(self.wrong.values()))

    def may_be_wrong(self, type_name: str) -> bool:
        """Whether launches of a type are likely to be refused for what no retry mends."""
        return type_name in self.wrong or bool(self.wrong and not self.well)
