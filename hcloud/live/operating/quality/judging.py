"""Who misses the quality of service that was promised, and for how long: batch jobs by the time they take, services by
their latency."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hcloud.control.operating.happened import performance_until
from hcloud.control.operating.reached import unreachable
from hcloud.control.operating.records import JobRecord
from hcloud.live.operating.acting import Action
from hcloud.live.operating.desk import OperatingDesk
from hcloud.live.operating.quality.adjusting import Adjuster
from hcloud.live.operating.quality.learning import Learner
from hcloud.live.operating.workers import Answer
from hcloud.model.running.event import BelowQos, Latency
from hcloud.model.running.job import JobPhase, JobSighting, Told
from hcloud.model.running.note import Sized


class Judge:
    """Tells the controller of jobs that have been below the level of the strategy for longer than its patience."""

    def __init__(self, desk: OperatingDesk, learner: Learner) -> None:
        self._desk, self._learner = desk, learner
        self._below: dict[str, float] = {}
        self._adjuster = Adjuster(desk)
        self._sized: dict[tuple[str, int], int] = {}

    def judge(self, now: float) -> None:
        """Look at all that run, and at what others measured."""
        told, self._desk.told = self._desk.told, []
        self._adjuster.look(now)
        for event in told:
            self._hear(event, now)
        for job in list(self._desk.fold.active.values()):
            seen = self._runs(job)
            if seen is None:  # what begins anew is judged anew
                self._below.pop(job.order.id, None)
                self._adjuster.forget(job.order.id)
                self._learner.begins_anew(job.order.id)
                self._desk.measured.pop(job.order.id, None)
                continue
            if job.order.target is not None:
                self._measure(job, now)
                continue
            share = None if seen.began is None else performance_until(job.order, seen.began, seen.progress, now)
            if share is not None:
                self._compare(job, share, None, now)

    def _hear(self, event: Told, now: float) -> None:
        """What was measured elsewhere; of what is over, or gone, nothing follows."""
        desk = self._desk
        if isinstance(event, BelowQos | Latency):
            job = desk.fold.active.get(event.job)
            if job is None or self._runs(job) is None:
                return
            if isinstance(event, BelowQos):
                self._suffers(job, event.performance, now)
                return
        elif event.instance not in desk.session.instances:
            return
        desk.happen(replace(event, at=now))

    def _runs(self, job: JobRecord) -> JobSighting | None:
        """What is seen of a job's present attempt, where it runs and is to stay."""
        seen = self._desk.sightings.get(job.order.id)
        stays = job.on is not None and not (job.leaving or job.is_over)
        runs = seen is not None and seen.attempt == job.attempt and seen.phase is JobPhase.RUNNING
        return seen if stays and runs else None

    def _measure(self, job: JobRecord, now: float) -> None:
        """Ask for its latency now and then."""
        desk, target, name = self._desk, job.order.target, job.order.id
        if target is None or desk.terms.measure is None or desk.busy("latency", name):
            return
        if now - desk.measured.setdefault(name, now) >= self._adjuster.period:  # it may be starting still
            desk.measured[name] = now
            desk.do("latency", name, partial(desk.terms.measure, target))

    def measured(self, answer: Answer, name: str, now: float) -> None:
        """What a worker found of a service's latency; an error says nothing of the service."""
        job = self._desk.fold.active.get(name)
        if answer.error is not None:
            self._desk.troubles[f"latency of {name}"] = str(answer.error)
        if job is None or self._runs(job) is None or not isinstance(answer.found, float):
            return
        self._desk.troubles.pop(f"latency of {name}", None)
        self._desk.happen(Latency(now, name, answer.found))
        if job.order.target is not None:
            rate = self._adjuster.rate(job, answer.found)
            self._compare(job, job.order.target.kept_at(answer.found), rate, now)

    def _compare(self, job: JobRecord, share: float, rate: float | None, now: float) -> None:
        """Below the level at this look and at one so long ago, and not above it between."""
        rules, name = self._desk.session.setup.rules, job.order.id
        if not rules.monitor:
            return
        if self._adjuster.is_on:
            self._adjust(job, share, rate, now)
            return
        if share >= rules.monitor_level:
            self._below.pop(name, None)
            self._learner.keeps(name, now)
        elif now - self._below.setdefault(name, now) >= rules.patience:
            del self._below[name]
            self._suffers(job, share, now)

    def _adjust(self, job: JobRecord, share: float, rate: float | None, now: float) -> None:
        """Have a job adjusted that is off its target."""
        is_below = self._adjuster.is_below(share)
        if not is_below:
            self._learner.keeps(job.order.id, now)
        made = self._adjuster.measured(job, share, rate, now)
        self._adjuster.close(job, share, now, told=made is not None)
        if told := unreachable(job):
            self._desk.troubles[f"target of {job.order.id}"] = told
        else:
            self._desk.troubles.pop(f"target of {job.order.id}", None)
        if is_below and made is not None:
            self._learner.misses(job, now)
            if not made:
                self._learner.suspect(job, share, now)

    def _suffers(self, job: JobRecord, share: float, now: float) -> None:
        desk, name = self._desk, job.order.id
        self._learner.misses(job, now)
        if not any(d.job == name for d in desk.happen(BelowQos(now, name, share))):
            self._learner.suspect(job, share, now)

    def intended(self, now: float) -> list[Action]:
        """Running jobs are to have what was decided: noted here, and said until the engine took it."""
        found: list[Action] = []
        if not self._desk.session.setup.rules.monitor:
            return found
        for job in self._desk.fold.active.values():
            if self._runs(job) is not None:
                found += self._size(job, now)
        return found

    def _size(self, job: JobRecord, now: float) -> list[Action]:
        desk, about = self._desk, (job.order.id, job.attempt)
        cores = desk.session.cores_of(job.order.id) if job.order.id in desk.session.tables.rows else 0
        if cores and cores != (job.sized or job.order.cores):
            desk.tell(Sized(now, job.order.id, cores))
        if not cores or job.sized is None or self._sized.get(about) == cores or not desk.may_say("resize", about, now):
            return []

        def resized() -> None:
            desk.parts.engine.resize(*about, cores)
            self._sized[about] = cores

        desk.said("resize", about, now)
        return [partial(desk.do, "resize", job.order.id, resized)]
