"""Who misses the quality of service that was promised, and for how long: batch jobs by the time they take, services by
their latency."""

from __future__ import annotations

import math
from functools import partial

from hcloud.control.operating.fold import JobRecord
from hcloud.control.operating.happened import performance_of_service, performance_until
from hcloud.live.operating.desk import OperatingDesk
from hcloud.live.operating.workers import Answer
from hcloud.model.running.decision import DecisionAction
from hcloud.model.running.event import BelowQos, Latency
from hcloud.model.running.job import JobPhase, JobSighting


class Judge:
    """Tells the controller of jobs that have been below the level of the strategy for longer than its patience."""

    def __init__(self, desk: OperatingDesk) -> None:
        self._desk = desk
        self._below: dict[str, float] = {}
        self._latency: dict[str, float] = {}

    def judge(self, now: float) -> None:
        """Look at all that run."""
        for job in list(self._desk.fold.active.values()):
            seen = self._runs(job)
            if seen is None:
                continue
            self._measure(job, now)
            share = self._share(job, seen, now)
            if self._desk.session.setup.rules.monitor and share is not None:
                self._compare(job, share, now)

    def _runs(self, job: JobRecord) -> JobSighting | None:
        """What is seen of a job's present attempt, where it runs and is to stay."""
        seen = self._desk.sightings.get(job.order.id)
        stays = job.on is not None and not (job.leaving or job.is_over)
        runs = seen is not None and seen.attempt == job.attempt and seen.phase is JobPhase.RUNNING
        return seen if stays and runs else None

    def _measure(self, job: JobRecord, now: float) -> None:
        desk, target, name = self._desk, job.order.target, job.order.id
        if target is None or desk.terms.measure is None or desk.busy("latency", name):
            return
        if now - desk.measured.get(name, -math.inf) >= desk.terms.rhythm.measure:
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
        self._latency[name] = answer.found
        self._desk.happen(Latency(now, name, answer.found))

    def _share(self, job: JobRecord, seen: JobSighting, now: float) -> float | None:
        target, p99 = job.order.target, self._latency.get(job.order.id)
        if target is not None:
            return None if p99 is None else performance_of_service(target.milliseconds, p99)
        return None if seen.began is None else performance_until(job.order, seen.began, seen.progress, now)

    def _compare(self, job: JobRecord, share: float, now: float) -> None:
        rules, name = self._desk.session.setup.rules, job.order.id
        if share >= rules.monitor_level:
            self._below.pop(name, None)
        elif now - self._below.setdefault(name, now) >= rules.patience:
            del self._below[name]
            self._latency.pop(name, None)
            self._suffers(job, share, now)

    def _suffers(self, job: JobRecord, share: float, now: float) -> None:
        desk, name = self._desk, job.order.id
        made = desk.happen(BelowQos(now, name, share))
        if any(d.action is DecisionAction.ENLARGE and d.job == name for d in made):
            cores = desk.session.cores_of(name)
            desk.do("resize", name, partial(desk.parts.engine.resize, name, job.attempt, cores))
