"""What running jobs teach of their applications: an estimate that was wrong is fitted anew, and what was seen is kept.

A job that misses its target where its estimate said that it would keep it, and that neither more of its machine nor
another machine helped, is misclassified (Quasar, ASPLOS 2014, §3.2), or it does something else than before (a change of
phase; Paragon, TOCS 31(4), §3.4). Either way its estimate is fitted with what was seen as one more entry.
"""

from __future__ import annotations

from functools import partial

from hcloud.control.operating.records import JobRecord
from hcloud.control.servers.tenancy import weight_on
from hcloud.control.sessions.session import ControlSession
from hcloud.live.operating.desk import OperatingDesk
from hcloud.live.operating.terms import Teachable
from hcloud.live.operating.workers import Answer
from hcloud.model.measured.seen import FittedVector, SeenRun
from hcloud.model.running.event import ENTRIES, HIGHEST, Cancelled, Completion, Event, Latency, Reclassified
from hcloud.model.running.note import EstimateFitted

RECORD_SECONDS = 30.0
"""Ours: between two writes of what was seen, while jobs run."""


class Learner:
    """Sees when estimates are wrong and has them corrected. Nothing is learnt where ``known`` is None."""

    def __init__(self, desk: OperatingDesk, known: Teachable | None) -> None:
        self._desk, self._known = desk, known
        self._kept: dict[str, float] = {}
        self._phases: set[str] = set()
        self._suffering: dict[str, dict[str, float]] = {}
        self._unexplained: dict[str, str] = {}
        self._looks: dict[str, tuple[float, int]] = {}
        self._runs: list[SeenRun] = []
        self._recorded = desk.now()

    def begins_anew(self, job: str) -> None:
        """An attempt is over, or has not begun."""
        self._kept.pop(job, None)

    def forget(self, job: str) -> None:
        """It is over, however it ended."""
        self._looks.pop(job, None)
        self._phases.discard(job)
        if (app := self._unexplained.pop(job, None)) is not None and app not in self._unexplained.values():
            self._desk.troubles.pop(f"estimate of {app}", None)

    def keeps(self, job: str, now: float) -> None:
        """A job is at the level that it should be at."""
        self._kept.setdefault(job, now)

    def misses(self, job: JobRecord, now: float) -> None:
        """A job has been below its level for as long as the strategy is patient; did it keep it before?"""
        since, patience = self._kept.get(job.order.id), self._desk.session.setup.rules.patience
        seen = self._desk.sightings.get(job.order.id)
        is_watched = job.order.target is not None or (seen is not None and seen.progress is not None)
        if is_watched and since is not None and now - since >= 2 * patience:  # one of them it was below
            self._phases.add(job.order.id)

    def suspect(self, job: JobRecord, share: float, now: float) -> None:
        """Nothing more can be done for a job by its estimate: where that said that it would keep its target, it is
        fitted anew."""
        desk, app = self._desk, job.order.app
        if self._known is None or not app or not desk.session.setup.rules.informed or job.order.id in self._unexplained:
            return
        seen = self._seen(job, share, now)
        if seen is None or not bears(desk.session, job.order.id, seen.pressure):
            return
        fitted = desk.fold.fitted.get(app)
        if fitted is not None and fitted.vector != self._vector(job.order.id):  # it began before that was known
            desk.happen(Reclassified(now, job.order.id, fitted.vector, share))
            return
        if max(seen.pressure) <= 0:
            self._cannot_explain(job, "nothing presses on it there: its size or its target is wrong")
            return
        self._suffering.setdefault(app, {})[job.order.id] = share
        desk.do("refit", app, partial(self._known.refit, seen))

    def _vector(self, job: str) -> tuple[int, ...]:
        tables = self._desk.session.tables
        return tuple(tables.control.jobs[tables.rows[job]].vector.tolist())

    def _seen(self, job: JobRecord, share: float, now: float) -> SeenRun | None:
        desk, name = self._desk, job.order.id
        if job.instance is None or name not in desk.session.tables.rows:
            return None
        machine = desk.fold.machines[job.instance]
        pressure = pressure_on(desk.session, name, machine.quality)
        vcpus = next(t.cores for t in desk.fold.setup.types if t.name == machine.type_name) / 1000
        place = machine.type_name, vcpus, machine.quality, pressure
        return SeenRun(job.order.app, job.order.kind, share, now, *place, phase=name in self._phases)

    def _cannot_explain(self, job: JobRecord, why: str) -> None:
        self._unexplained[job.order.id] = job.order.app
        self._desk.troubles[f"estimate of {job.order.app}"] = f"{job.order.id} misses its target, and {why}"

    def answered(self, answer: Answer, about: str, now: float) -> None:
        """What a worker found of an application, or that it has written down what was seen."""
        desk = self._desk
        desk.troubles.pop("profiles", None)
        if answer.error is not None:
            desk.troubles["profiles"] = str(answer.error)
        suffering = self._suffering.pop(about, {})
        if isinstance(answer.found, FittedVector):
            desk.troubles.pop(f"estimate of {about}", None)
            desk.tell(EstimateFitted(now, about, answer.found.vector, answer.found.why))
            self._correct(about, answer.found.vector, suffering, now)
            return
        for job in (desk.fold.active[name] for name in suffering if name in desk.fold.active):
            self._cannot_explain(job, "what it tolerates was measured: its size or its target is wrong")

    def _correct(self, app: str, vector: tuple[int, ...], suffering: dict[str, float], now: float) -> None:
        """Tell of the jobs that suffer, and of those that have not begun; others go on as they are."""
        desk = self._desk
        for name, job in list(desk.fold.active.items()):
            if job.order.app != app or name not in desk.session.tables.rows or self._vector(name) == vector:
                continue
            if job.on is not None and name in suffering:
                desk.happen(Reclassified(now, name, vector, suffering[name]))
            elif job.on is None:
                desk.happen(Reclassified(now, name, vector, 1.0))

    # ---- what is kept for plans

    def before(self, event: Event) -> None:
        """Look at a job before the controller forgets it."""
        if self._known is None or not isinstance(event, Completion | Cancelled | Latency):
            return
        job = self._desk.fold.active.get(event.job)
        if job is None or not job.order.app:
            return
        if isinstance(event, Latency):
            if job.order.target is not None and event.p99 > 0:
                total, looks = self._looks.get(event.job, (0.0, 0))
                self._looks[event.job] = total + job.order.target.milliseconds / event.p99, looks + 1
            return
        self._phases.discard(event.job)
        share = self._share_of(job, event)
        seen = None if share is None else self._seen(job, share, event.at)
        self._runs += [seen] if seen is not None else []

    def _share_of(self, job: JobRecord, event: Completion | Cancelled) -> float | None:
        """What a job did of what was expected: a service by the mean of all looks, a batch job that ended by its time;
        None where nobody looked, or expected anything."""
        total, looks = self._looks.get(job.order.id, (0.0, 0))
        if looks:
            return total / looks
        order = job.order
        if isinstance(event, Cancelled) or order.expect is None or order.is_limit:
            return None
        return None if job.began is None or job.ended is None else order.expect / max(job.ended - job.began, 1e-3)

    def flush(self, now: float) -> None:
        """Have what was seen written down now and then, and when nothing runs."""
        if self._known is None or not self._runs or self._desk.busy("record", 0):
            return
        if now - self._recorded >= RECORD_SECONDS or not self._desk.fold.active:
            self._recorded, runs, self._runs = now, self._runs, []
            self._desk.do("record", 0, partial(self._known.record, runs))


def pressure_on(session: ControlSession, job: str, quality: float | None) -> tuple[float, ...]:
    """Points of each resource that a job finds taken on its server: by the other tenants as they are estimated, and by
    neighbours that a probe of the machine felt. Raises KeyError for a job that is not known."""
    c, row = session.tables.control, session.tables.rows[job]
    tenant, server = c.jobs[row], c.servers[c.jobs[row].server]
    weight, capacity = int(weight_on(c, server, tenant.cores)), int(c.kinds[server.kind].cores)
    outside = 0.0 if quality is None else HIGHEST * (1.0 - quality)
    others = (int(server.pressure[i]) - int(tenant.vector[i]) * weight for i in range(ENTRIES))
    return tuple(max(other, 0) / capacity + outside for other in others)


def bears(session: ControlSession, job: str, pressure: tuple[float, ...]) -> bool:
    """Whether a job is estimated to suffer by none of that."""
    tolerates = session.tables.control.jobs[session.tables.rows[job]].tolerates
    return all(taken <= int(tolerates[i]) for i, taken in enumerate(pressure))
