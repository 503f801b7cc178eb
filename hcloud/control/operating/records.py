"""A machine and a job of live work as their journal tells of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from hcloud.control.operating.harvested import HarvestLedger
from hcloud.control.operating.job_ids import JobIds
from hcloud.model.catalog import PurchaseOption
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.job import KEPT, JobOrder, with_wait
from hcloud.model.running.note import CommitmentsAdvised, EstimateFitted, LimitsSet
from hcloud.model.workload import JobKind

ADDRESS = "operate"
"""Where reports count machines of live work."""
JOB_STATES = ("queued", "placed", "running")
WORK = f"{ADDRESS}-"
"""How the addresses of its machines begin in their clouds."""
DRAINED = (
    "drained in its engine: jobs there go on, no other begins until somebody opens it (Slurm: 'sinfo -R' says why,"
    " 'scontrol update nodename=NODE state=resume')"
)
"""Why a machine that is there gets no job."""
_SAME = 0.95
"""Ours: a latency that is not below so much of what it was is no better."""
_BELOW = "below-qos"
"""The reason of a move for the sake of the job itself."""
RESULTS = ("completed", "failed", "lost", "cancelled", "refused")
"""How a job ended; ``lost``: with its machine."""


class MachinePhase(StrEnum):
    """How far a machine is: decided, ordered (the answer may be lost), there, ready for jobs, to be ended, gone."""

    WANTED = "wanted"
    ORDERED = "ordered"
    STARTING = "starting"
    READY = "ready"
    ENDING = "ending"
    GONE = "gone"


@dataclass(slots=True)
class MachineRecord:
    """A machine by its number. Times are seconds since 1970; ``idle_until`` is when it is given back if nobody takes
    it; ``why`` says what it waits for, or what ended it, ``end_is_told`` whether ``ended`` is what its cloud told; one
    that is ``settled`` is gone where its cloud does not list it."""

    instance: int
    type_name: str
    option: PurchaseOption
    reserved: bool
    wanted_at: float
    phase: MachinePhase = MachinePhase.WANTED
    key: str = ""
    zone: str = ""
    id: str = ""
    hourly: Decimal | None = None
    least_seconds: int = 0
    ordered_at: float | None = None
    launched: float | None = None
    joined: float | None = None
    released: float | None = None
    ended: float | None = None
    end_is_told: bool = True
    idle_until: float | None = None
    not_before: float = 0.0
    failures: int = 0
    orders: int = 0
    settled: bool = False
    quality: float | None = None
    why: str = ""
    jobs: dict[str, None] = field(default_factory=dict)

    def ended_for(self, why: str) -> str:
        """Why it ends: the first reason counts, but not that it got no jobs."""
        return why if self.why == DRAINED else self.why or why

    def want_again(self) -> None:
        """It is of the reserve, was ended with its controller, and is wanted once more."""
        self.phase, self.id, self.key, self.why, self.settled = MachinePhase.WANTED, "", "", "", False
        self.launched = self.joined = self.ended = self.ordered_at = None
        self.orders += 1

    @property
    def stands(self) -> bool:
        """Whether it is, or may be, there and charged for."""
        return self.phase not in (MachinePhase.WANTED, MachinePhase.GONE)


@dataclass(slots=True)
class JobRecord:
    """A job. ``instance`` is where it is wanted (None: it is queued, or over), ``on`` where its present attempt was
    begun (None: it was not); ``leaving`` says that this attempt is to end so that another may begin, ``rests`` that it
    did its work: a piece keeps its place until the other pieces of its job did theirs. ``result`` says
    how it ended: completed, failed, cancelled, lost, refused. ``kept_looks`` is the sum of the shares of its target
    that a service kept at so many ``looks``, the last of which found it at ``p99`` milliseconds; ``sized`` thousandths
    of a vCPU are what it was given since it began (None: nothing else than it asks for). Since the last decision about
    it, it was below its target in ``vain`` so often, and at ``best`` at so many milliseconds. If it moved and has
    missed its target ever since, it was at ``fled`` before (None: it has not), and so many looks in a row found it no
    better (``stuck``)."""

    order: JobOrder
    came: float
    instance: int | None = None
    attempt: int = 0
    on: int | None = None
    leaving: bool = False
    rests: bool = False
    began: float | None = None
    ended: float | None = None
    code: int | None = None
    result: str = ""
    out_of_memory: bool = False
    performance: float | None = None
    decision: Decision | None = None
    looks: int = 0
    kept_looks: float = 0.0
    p99: float | None = None
    sized: int | None = None
    best: float | None = None
    vain: int = 0
    fled: float | None = None
    stuck: int = 0

    def heard(self, decision: Decision) -> None:
        """Something was decided about it."""
        if decision.action is DecisionAction.MOVE and decision.reason == _BELOW:
            self.fled = self.best
        self.decision, self.best, self.vain, self.stuck = decision, None, 0, 0

    def saw(self, p99: float) -> None:
        """Its latency was measured."""
        if self.order.target is None:
            return
        self.looks, self.p99 = self.looks + 1, p99
        self.kept_looks += self.order.target.kept_at(p99)
        self.best = p99 if self.best is None else min(self.best, p99)
        if p99 <= self.order.target.milliseconds:
            self.vain, self.fled = 0, None
        self.stuck = self.stuck + 1 if self.fled is not None and p99 >= _SAME * self.fled else 0

    @property
    def cores(self) -> int:
        """Thousandths of a vCPU that it has, or asks for."""
        return self.sized or self.order.cores

    @property
    def reached(self) -> float | None:
        """The share of what was promised that it reached, as reports have it: a service what it kept of its target in
        the mean of all looks so far, a batch job the seconds expected over those from its submission to its end. None
        where nothing was promised, or nothing is known yet."""
        if self.order.kind is JobKind.SERVICE:
            return self.kept_looks / self.looks if self.looks else None
        if self.order.expect is None or self.performance is None or self.ended is None or self.began is None:
            return None
        took = self.ended - min(self.order.submit, self.began)
        return with_wait(self.performance, self.ended - self.began, took, self.order.expect)

    def performance_left(self, now: float) -> float | None:
        """The share of its performance that a batch job which waits can still reach; None where it promised no time."""
        waited = max(now - self.came, 0.0)
        if not self.order.expect or self.order.is_limit or self.order.kind is JobKind.SERVICE:
            return None
        return self.order.expect / (self.order.expect + waited)

    @property
    def kept(self) -> bool | None:
        """Whether one that is over kept its quality of service. None of one that failed by itself, and of one that was
        cancelled, unless it is a service whose latency was measured until then."""
        gone, says_nothing = self.result in ("lost", "refused"), self.result == "cancelled" and not self.looks
        if self.result == "failed" or says_nothing or (self.reached is None and not gone):
            return None
        return not gone and (self.reached or 0.0) >= KEPT

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to it."""
        return bool(self.result)

    @property
    def state(self) -> str:
        """Where it is in a word: one of JOB_STATES, or how it ended."""
        runs = self.on is not None or self.rests
        return self.result or ("running" if runs else "queued" if self.instance is None else "placed")


@dataclass(slots=True)
class FoldImage:
    """What of a fold has to be kept so that it can go on: no job and no machine of which nothing can be said any more,
    but every id that was ever taken."""

    machines: list[MachineRecord]
    jobs: list[JobRecord]
    queue: list[str]
    known: JobIds
    counted: dict[str, int]
    shut: list[tuple[str, PurchaseOption, float]]
    decisions: list[Decision]
    spent_before: Decimal
    asked: str
    is_finished: bool
    began: float
    last: float
    limits: LimitsSet | None = None
    judged: int = 0
    kept: int = 0
    core_seconds_before: float = 0.0
    fitted: list[EstimateFitted] = field(default_factory=list)
    advised: CommitmentsAdvised | None = None
    harvested: HarvestLedger | None = None
    parts: list[tuple[str, int, str]] = field(default_factory=list)
    follow: bool = False
    launched: int = 0
    unlucky: list[JobRecord] = field(default_factory=list)
