"""Who misses the quality of service that was promised, and for how long: batch jobs by the time they take, services by
their latency."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from hcloud.control.operating.happened import performance_until
from hcloud.control.operating.reached import gains_nothing, rate_of, unreachable
from hcloud.control.operating.records import JobRecord
from hcloud.errors import HcloudError
from hcloud.live.harvesting.gauge import Gauge
from hcloud.live.operating.acting import Action
from hcloud.live.operating.desk import OperatingDesk
from hcloud.live.operating.quality.learning import Learner
from hcloud.live.operating.workers import Answer
from hcloud.model.running.decision import Decision
from hcloud.model.running.event import BelowQos, Closing, Latency
from hcloud.model.running.job import JobPhase, JobSighting, Told
from hcloud.model.running.note import Sized
from hcloud.policy.adjusting import Sighting, below_or_above, due_at, notice, unseen


class Judge:
    """Tells the controller of jobs that have been below the level of the strategy for longer than its patience."""

    def __init__(self, desk: OperatingDesk, learner: Learner) -> None:
        self._desk, self._learner = desk, learner
        self._below: dict[str, float] = {}
        self._adjuster = Adjuster(desk)
        self._sized: dict[str, tuple[int, int]] = {}
        self._judged: set[str] = set()

    def judge(self, now: float) -> None:
        """Look at all that run, and at what others measured."""
        told, self._desk.told = self._desk.told, []
        self._adjuster.look(now)
        for event in told:
            self._hear(event, now)
        for name in self._judged - self._desk.fold.active.keys():
            self._forget(name)
            self._learner.forget(name)
        self._judged = set(self._desk.fold.active)
        for job in list(self._desk.fold.active.values()):
            seen = self._runs(job)
            if seen is None:  # what begins anew is judged anew
                self._forget(job.order.id)
                continue
            if job.order.target is not None:
                self._measure(job, now)
                continue
            share = None if seen.began is None else performance_until(job.order, seen.began, seen.progress, now)
            if share is not None:
                self._compare(job, share, None, now)

    def _forget(self, job: str) -> None:
        self._below.pop(job, None)
        self._sized.pop(job, None)
        self._adjuster.forget(job)
        self._learner.begins_anew(job)
        self._desk.measured.pop(job, None)
        for what in ("latency", "target"):
            self._desk.troubles.pop(f"{what} of {job}", None)

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
        if job is None or self._runs(job) is None:
            return
        if not isinstance(answer.found, float):
            self._desk.troubles[f"latency of {name}"] = str(answer.error)
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
        if (
            not cores
            or job.sized is None
            or self._sized.get(about[0]) == (job.attempt, cores)
            or not desk.may_say("resize", about, now)
        ):
            return []

        def resized() -> None:
            desk.parts.engine.resize(*about, cores)
            self._sized[about[0]] = about[1], cores

        desk.said("resize", about, now)
        return [partial(desk.do, "resize", job.order.id, resized)]


_USED = "use of processors"
_LONGEST, _MOST_VAIN = 30.0, 6
"""Ours: the controller is told of a job that nothing can be done for more and more rarely, but every half a minute."""


class Adjuster:
    """What was seen of each running job since it was last adjusted."""

    def __init__(self, desk: OperatingDesk) -> None:
        self._desk, self._rules = desk, desk.session.setup.rules
        self._seen: dict[str, Sighting] = {}
        self._told: dict[str, tuple[float, int]] = {}
        self._gauge, self._gauged = Gauge(), -math.inf
        self._stuck: set[str] = set()

    @property
    def is_on(self) -> bool:
        """Whether the strategy adjusts running jobs."""
        return self._rules.watching > 0

    @property
    def period(self) -> float:
        """Seconds between two looks at the latency of a service."""
        return self._rules.monitor_period if self.is_on else self._desk.terms.rhythm.measure

    def look(self, now: float) -> None:
        """Note what all jobs use of processors, where the engine can tell, once a period."""
        used = self._desk.terms.used
        if not self.is_on or used is None or now - self._gauged < self._rules.monitor_period:
            return
        self._gauged = now
        try:
            self._gauge.look(used(), now)
        except HcloudError as error:
            self._desk.troubles[_USED] = str(error)
            self._gauge.forget()
        else:
            self._desk.troubles.pop(_USED, None)

    def forget(self, job: str) -> None:
        """An attempt is over, or has not begun: what begins is seen anew."""
        self._seen.pop(job, None)
        self._told.pop(job, None)
        self._stuck.discard(job)

    def is_below(self, performance: float) -> bool:
        """Whether that is less than is promised."""
        return below_or_above(self._rules, (performance, performance))[0]

    def rate(self, job: JobRecord, p99: float) -> float | None:
        """The most that a service could do of its target with what it has; None where nobody knows."""
        target, name = job.order.target, job.order.id
        if target is None:
            return None
        cores = self._desk.session.cores_of(name) / 1000
        used = self._gauge.used((name, job.attempt))
        (self._stuck.add if gains_nothing(job, used, cores) else self._stuck.discard)(name)
        return rate_of(target.milliseconds, p99, used, cores)

    def measured(self, job: JobRecord, performance: float, rate: float | None, now: float) -> list[Decision] | None:
        """Tell the controller of a job that has been off its target for long enough: what it decided about that job;
        None where it was not told, as of one that another place did not help."""
        desk, rules, name = self._desk, self._rules, job.order.id
        seen = self._seen.setdefault(name, unseen())
        notice(rules, seen, (performance, performance if rate is None else rate), now)
        tables, (told, vain) = desk.session.tables, self._told.get(name, (-math.inf, 0))
        wait = min(rules.apart * 2.0**vain, _LONGEST) if vain else 0.0
        if (
            name not in tables.rows
            or name in self._stuck
            or now < max(due_at(rules, seen, tables.control.watched[tables.rows[name]]), told + wait)
        ):
            return None
        self._seen[name] = unseen()  # whether or not anything follows
        made = [d for d in desk.happen(BelowQos(now, name, performance, rate)) if d.job == name]
        self._told[name] = now, 0 if made else min(vain + 1, _MOST_VAIN)
        return made

    def close(self, job: JobRecord, performance: float, now: float, *, told: bool) -> None:
        """Close the reserved machine of a job that is below its target and of which the controller was ``told``, and
        open it when the job is back, where the strategy has it so."""
        desk, name, number = self._desk, job.order.id, job.on
        if not self._rules.closes or number is None:
            return
        is_below, reserved = performance < self._rules.monitor_level, desk.fold.machines[number].reserved
        if desk.shut_for.get(number) == name and not is_below:
            del desk.shut_for[number]
            desk.happen(Closing(now, number, over=True, suffers=name))
        elif told and is_below and reserved and job.instance == number and not desk.session.is_closed(number):
            desk.shut_for[number] = name
            desk.happen(Closing(now, number, suffers=name))
