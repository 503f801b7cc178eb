"""What a journal says at its end: the machines and the jobs of live work, as they stand and as they are wanted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from functools import singledispatchmethod

from hcloud.control.operating.costs import cost_of, lasted, rental_of
from hcloud.control.operating.harvested import HarvestLedger
from hcloud.control.operating.job_ids import JobIds
from hcloud.control.operating.records import FoldImage, JobRecord, MachinePhase, MachineRecord
from hcloud.control.operating.results import Results
from hcloud.model.catalog import PurchaseOption
from hcloud.model.report import MachineRental
from hcloud.model.running.decision import Decision, DecisionAction, finite
from hcloud.model.running.event import BelowQos, Cancelled, Completion, Event, Failed, Latency, LaunchFailed, Quality
from hcloud.model.running.harvest_note import HarvestNote
from hcloud.model.running.job import KEPT
from hcloud.model.running.note import (
    KEEPING,
    Asked,
    AttemptOver,
    Beginning,
    CommitmentsAdvised,
    ControllerStarted,
    Ended,
    EstimateFitted,
    Finished,
    Held,
    JobTaken,
    Joined,
    Launched,
    Launching,
    LimitsSet,
    Note,
    NotLaunched,
    Settled,
    Sized,
)
from hcloud.policy.facts import Setup

LAST_DECISIONS = 12  # that a screen shows


class Fold:
    """The sum of a journal, line by line. ``decisions`` are the last few; a type of which a launch failed is ``shut``
    until a moment; ``rented`` is every rental that is over, ``fitted`` what was seen that applications are like."""

    def __init__(self, setup: Setup, started: float = 0.0) -> None:
        self.setup = setup
        self.machines: dict[int, MachineRecord] = {}
        self.jobs: dict[str, JobRecord] = {}
        self.active: dict[str, JobRecord] = {}
        self.known = JobIds()
        self.standing: dict[int, MachineRecord] = {}
        self.queue: dict[str, None] = {}
        self.decisions: list[Decision] = []
        self.results = Results()
        self.spent_before = Decimal(0)
        self.asked = ""
        self.is_finished = self.follow = False
        self.limits: LimitsSet | None = None
        self.judged = self.kept = self.launched = 0
        self.core_seconds_before = 0.0
        self._cores = {t.name: t.cores / 1000 for t in setup.types}
        self.fitted: dict[str, EstimateFitted] = {}
        self.advised: CommitmentsAdvised | None = None
        self.harvested = HarvestLedger()
        self.rented: list[MachineRental] = []
        self.shut: dict[tuple[str, PurchaseOption], float] = {}
        self.began = self.last = started
        for number, kind in enumerate(setup.reserve):
            self._add(MachineRecord(number, setup.types[kind].name, PurchaseOption.ON_DEMAND, True, started))

    def _add(self, machine: MachineRecord) -> None:
        self.machines[machine.instance] = self.standing[machine.instance] = machine

    def image(self) -> FoldImage:
        """All that is needed to go on."""
        return FoldImage(
            self._needed(),
            [replace(job, decision=finite(job.decision)) for job in self.active.values()],
            list(self.queue),
            self.known.image(),
            dict(self.results.counted),
            [(*what, until) for what, until in self.shut.items()],
            [told for d in self.decisions if (told := finite(d)) is not None],
            self.spent_before,
            self.asked,
            self.is_finished,
            self.began,
            self.last,
            self.limits,
            self.judged,
            self.kept,
            self.core_seconds_before,
            list(self.fitted.values()),
            self.advised,
            self.harvested.image(),
            [(name, *said) for name, said in self.results.open.items()],
            self.follow,
            self.launched,
            list(self.results.unlucky),
        )

    def _needed(self) -> list[MachineRecord]:
        return [m for m in self.machines.values() if m.phase is not MachinePhase.GONE or m.released is None]

    def forget(self) -> None:
        """Let go of what no image has: all that is over, of which there is more and more."""
        self.machines, self.jobs, self.rented = {m.instance: m for m in self._needed()}, dict(self.active), []
        self.harvested = self.harvested.image() or self.harvested

    @classmethod
    def of_image(cls, setup: Setup, image: FoldImage) -> Fold:
        """A fold that goes on where the one did that the image was taken of; the image stays as it is."""
        made = cls(setup, image.began)
        made.machines = {m.instance: replace(m, jobs=dict(m.jobs)) for m in image.machines}
        made.standing = {n: m for n, m in made.machines.items() if m.phase is not MachinePhase.GONE}
        made.jobs = {job.order.id: replace(job) for job in image.jobs}
        made.active, made.known = dict(made.jobs), image.known.image()
        made.queue = dict.fromkeys(image.queue)
        made.shut = {(name, option): until for name, option, until in image.shut}
        made.results, made.decisions = Results(image.counted, image.parts, image.unlucky), [*image.decisions]
        made.spent_before, made.asked, made.is_finished = image.spent_before, image.asked, image.is_finished
        made.last, made.limits, made.follow, made.launched = image.last, image.limits, image.follow, image.launched
        made.judged, made.kept, made.core_seconds_before = image.judged, image.kept, image.core_seconds_before
        made.fitted, made.advised = {one.app: one for one in image.fitted}, image.advised
        made.harvested = (image.harvested and image.harvested.image()) or made.harvested
        return made

    def take(self, entries: Iterable[Event | Decision | Note]) -> None:
        """Add lines of the journal, in order."""
        for entry in entries:
            self.last = max(self.last, entry.at)
            if isinstance(entry, Decision):
                self._decided(entry)
            else:
                self._note(entry)

    # ---- decisions

    def _decided(self, decision: Decision) -> None:
        self.decisions = [*self.decisions[1 - LAST_DECISIONS :], decision]
        if decision.action is DecisionAction.RETAIN and decision.instance is not None:
            self.machines[decision.instance].idle_until = decision.until
            return
        if decision.job is not None:
            self._about_job(decision, decision.job)
        if decision.action is DecisionAction.LAUNCH and decision.instance is not None:
            self._wanted(decision, decision.instance)
        if decision.action is DecisionAction.RELEASE and decision.instance is not None:
            self._released(decision, self.machines[decision.instance])
        if decision.job is not None and decision.job in self.jobs and decision.instance is not None:
            self._seat(decision, self.jobs[decision.job])

    def _about_job(self, decision: Decision, name: str) -> None:
        job = self.jobs.get(name)
        if job is None:
            return
        job.heard(decision)
        if decision.action in (DecisionAction.QUEUE, DecisionAction.MOVE):
            self._leave_machine(job)
        if decision.action is DecisionAction.QUEUE:
            self.queue[name] = None
        elif decision.action is DecisionAction.REFUSE:
            self._over(job, "refused", decision.at)
        elif decision.action is DecisionAction.END:
            self._over(job, "lost", decision.at)

    def _seat(self, decision: Decision, job: JobRecord) -> None:
        if decision.action not in (DecisionAction.PLACE, DecisionAction.LAUNCH) or job.is_over:
            return
        self._leave_machine(job)
        number = decision.instance
        assert number is not None
        job.instance = number
        self.queue.pop(job.order.id, None)
        machine = self.machines[number]
        machine.jobs[job.order.id] = None
        machine.idle_until = None

    def _leave_machine(self, job: JobRecord) -> None:
        """It is wanted elsewhere from now on; what was begun of it has to end first."""
        if job.instance is not None:
            self.machines[job.instance].jobs.pop(job.order.id, None)
            job.instance = None
        job.leaving, job.rests = job.on is not None, False

    def _wanted(self, decision: Decision, number: int) -> None:
        paid, _, name = decision.place.partition(" ")
        reserved = paid == "reserved"
        option = PurchaseOption.SPOT if paid == "spot" else PurchaseOption.ON_DEMAND
        type_name = self.setup.large.name if reserved else name
        self._add(MachineRecord(number, type_name, option, reserved, decision.at))

    def _released(self, decision: Decision, machine: MachineRecord) -> None:
        machine.released, machine.idle_until = decision.at, None
        if machine.phase is MachinePhase.GONE:  # it was lost: a controller that goes on does not want it again
            return
        machine.why = machine.ended_for(decision.why)
        if machine.phase is MachinePhase.WANTED:
            self._gone(machine, decision.at)
        else:
            machine.phase = MachinePhase.ENDING

    # ---- notes and events

    @singledispatchmethod
    def _note(self, entry: object) -> None:
        """What changes nothing here."""

    @_note.register
    def _(self, entry: JobTaken) -> None:
        self.asked = self.asked if entry.attempt else ""  # whoever takes jobs went on, as a 'run' of before did
        self.known.add(name := entry.order.id)
        self.jobs[name] = self.active[name] = JobRecord(entry.order, entry.at, attempt=entry.attempt)

    @_note.register
    def _(self, entry: Launching) -> None:
        machine = self.machines[entry.instance]
        machine.key, machine.zone, machine.hourly = entry.key, entry.zone, entry.hourly
        machine.least_seconds = entry.least_seconds
        machine.phase, machine.why = MachinePhase.ORDERED, ""
        machine.ordered_at = machine.ordered_at if machine.ordered_at is not None else entry.at

    @_note.register
    def _(self, entry: Launched) -> None:
        machine = self.machines[entry.instance]
        self.launched += machine.launched is None
        machine.id, machine.launched = entry.id, entry.launched
        if machine.phase is MachinePhase.ORDERED:
            machine.phase = MachinePhase.STARTING

    @_note.register
    def _(self, entry: Joined) -> None:
        machine = self.machines[entry.instance]
        if machine.phase is MachinePhase.STARTING:
            machine.phase, machine.joined, machine.failures = MachinePhase.READY, entry.at, 0

    @_note.register
    def _(self, entry: Settled) -> None:
        self.machines[entry.instance].settled = True

    @_note.register
    def _(self, entry: NotLaunched) -> None:
        machine = self.machines[entry.instance]
        machine.failures += 1
        machine.why, machine.not_before, machine.ordered_at = entry.why, entry.until, None
        if machine.phase is MachinePhase.ENDING:
            self._gone(machine, entry.at)
        else:
            machine.phase = MachinePhase.WANTED
            machine.orders += 1

    @_note.register
    def _(self, entry: Ended) -> None:
        machine = self.machines[entry.instance]
        if machine.phase is MachinePhase.GONE:
            return  # seen and ended at once: it is paid for once
        machine.why, machine.end_is_told = machine.ended_for(entry.why), entry.ended is not None
        self._gone(machine, entry.ended if entry.ended is not None else entry.at)

    @_note.register
    def _(self, entry: Beginning) -> None:
        job = self.jobs[entry.job]
        job.attempt, job.on, job.leaving, job.rests = entry.attempt, entry.instance, False, False
        job.began = job.ended = job.code = job.sized = None

    @_note.register
    def _(self, entry: Sized) -> None:
        self.jobs[entry.job].sized = entry.cores

    @_note.register
    def _(self, entry: AttemptOver) -> None:
        job = self.jobs[entry.job]
        if entry.attempt != job.attempt:
            return
        job.rests = entry.code == 0 and not (job.leaving or job.is_over)
        job.on, job.leaving = None, False
        job.began, job.ended, job.code = entry.began, entry.ended, entry.code
        job.out_of_memory = entry.out_of_memory
        if job.is_over:
            self.active.pop(entry.job, None)

    @_note.register
    def _(self, entry: Latency) -> None:
        self.jobs[entry.job].saw(entry.p99)

    @_note.register
    def _(self, entry: BelowQos) -> None:
        self.jobs[entry.job].vain += 1  # until something is decided

    @_note.register
    def _(self, entry: Completion) -> None:
        self.jobs[entry.job].performance = entry.performance
        self._over(self.jobs[entry.job], "completed", entry.at)

    @_note.register
    def _(self, entry: Failed) -> None:
        self._over(self.jobs[entry.job], "failed", entry.at)

    @_note.register
    def _(self, entry: Cancelled) -> None:
        job = self.jobs[entry.job]
        self._over(job, "completed" if job.code == 0 and not job.rests else "cancelled", entry.at)

    @_note.register
    def _(self, entry: LaunchFailed) -> None:
        machine = self.machines[entry.instance]
        self.shut[machine.type_name, machine.option] = entry.until

    @_note.register
    def _(self, entry: Quality) -> None:
        self.machines[entry.instance].quality = entry.score

    @_note.register
    def _(self, entry: Held) -> None:
        self.machines[entry.instance].why = entry.why

    @_note.register
    def _(self, entry: Asked) -> None:
        if entry.what == "cancel":
            self.known.add(entry.job)  # one that did not come yet is never taken
        else:
            self.asked = "" if entry.what == "go-on" else entry.what

    @_note.register
    def _(self, entry: ControllerStarted) -> None:
        self.asked, self.is_finished, self.follow = "" if self.asked == KEEPING else self.asked, False, entry.follow
        for machine in self.machines.values():
            if machine.reserved and machine.phase is MachinePhase.GONE and machine.released is None:
                machine.want_again()
                self.standing[machine.instance] = machine

    @_note.register
    def _(self, entry: LimitsSet) -> None:
        self.limits = entry

    @_note.register
    def _(self, entry: EstimateFitted) -> None:
        self.fitted[entry.app] = entry

    @_note.register
    def _(self, entry: CommitmentsAdvised) -> None:
        self.advised = entry

    @_note.register
    def _(self, entry: Finished) -> None:
        self.is_finished = True

    @_note.register
    def _(self, entry: HarvestNote) -> None:
        self.harvested.take(entry)

    # ---- what follows from several of them

    def _gone(self, machine: MachineRecord, ended: float) -> None:
        machine.phase, machine.ended, machine.idle_until = MachinePhase.GONE, ended, None
        self.spent_before += cost_of(machine, ended)
        self.core_seconds_before += self._core_seconds(machine, ended)
        if (rental := rental_of(machine)) is not None:
            self.rented.append(rental)
        self.standing.pop(machine.instance, None)

    def _over(self, job: JobRecord, result: str, at: float) -> None:
        job.result = result
        job.ended = job.ended if job.ended is not None else at
        self.results.count(job)
        self.harvested.left(job.order.id, result, job.ended)
        self.judged, self.kept = self.judged + (job.kept is not None), self.kept + bool(job.kept)
        self.queue.pop(job.order.id, None)
        if job.instance is not None:
            self.machines[job.instance].jobs.pop(job.order.id, None)
            job.instance = None
        if job.on is None:
            del self.active[job.order.id]

    def kept_so_far(self) -> tuple[int, int]:
        """How many jobs kept their quality of service, of how many of which that is known: those that are over, and
        services that run."""
        running = [r for job in self.active.values() if not job.is_over and (r := job.reached) is not None]
        return self.kept + sum(r >= KEPT for r in running), self.judged + len(running)

    def spent(self, now: float) -> Decimal:
        """Dollars for all machines so far, each from its launch to its end."""
        return self.spent_before + sum((cost_of(m, now) for m in self.standing.values()), Decimal(0))

    def _core_seconds(self, machine: MachineRecord, until: float) -> float:
        return lasted(machine, until) * self._cores.get(machine.type_name, 0.0)

    def core_seconds(self, now: float) -> float:
        """Seconds times vCPUs of all machines so far, each from its launch to its end."""
        return self.core_seconds_before + sum(self._core_seconds(m, now) for m in self.standing.values())

    def hourly(self) -> Decimal:
        """Dollars an hour of all that stands or may stand."""
        return sum((m.hourly or Decimal(0) for m in self.standing.values() if m.stands), Decimal(0))
