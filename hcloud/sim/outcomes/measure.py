"""What a run means: performance relative to isolation, waiting, use of capacity, and dollars."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from hcloud.control.state import OWN
from hcloud.harvest.results import PlayedBatch
from hcloud.policy.placing.searching import MultiClass
from hcloud.policy.records import Reals, column
from hcloud.policy.registry import rule_of
from hcloud.sim.outcomes.covered import apart_beside, covered_beside
from hcloud.sim.outcomes.placed import PlacementMeasures, placement_measures
from hcloud.sim.outcomes.watched import SizingMeasures, WatchMeasures, sizing_measures, watch_measures
from hcloud.sim.outcomes.workflows import WorkflowMeasures, workflow_measures
from hcloud.sim.run import CapacityCost, RunOutcome, charges, reserved_cost
from hcloud.sim.setup.build import unplaceable
from hcloud.sim.setup.fitting import work_share
from hcloud.sim.setup.prepare import Tasks
from hcloud.units import SECONDS_PER_HOUR

FEW_RELEASES = 3.0
"""With fewer servers that get free a pool and window, fewer classes are advised (ours)."""
_KEPT = 0.95


@dataclass(frozen=True, slots=True)
class ClassMeasures:
    """With several queues: how many, servers that get free a pool and window on average, jobs that took a server of the
    pool above (``up``), went to the queue below (``down``) or left at the end of their window (``late``), and jobs
    whose window is empty, who never wait."""

    classes: int
    releases: float
    up: int
    down: int
    late: int
    never: int


@dataclass(frozen=True, slots=True)
class AdmissionMeasures:
    """The mean of what jobs waited in queues over the time that they take alone, the share that kept 95 % if that is
    not counted, and what several queues did."""

    waiting: float
    kept_running: float
    classes: ClassMeasures | None


def admission_measures(outcome: RunOutcome, performance: Reals) -> AdmissionMeasures:
    """The figures of a run; ``performance`` is that of each job with its waiting."""
    tasks = outcome.tasks
    queued = np.maximum(outcome.of_tasks("queued"), 0.0)
    ended = outcome.of_tasks("ended") >= 0
    took = np.where(performance > 0, tasks.work / np.maximum(performance, 1e-12), np.inf)
    batch = ended & (tasks.service == 0)
    alone = np.where(batch, tasks.work / np.maximum(took - queued, 1e-9), performance)
    began = outcome.of_tasks("began") >= 0
    rule = rule_of(outcome.setting.strategy, "queueing")
    return AdmissionMeasures(
        float((queued / tasks.work)[began].mean()) if began.any() else 0.0,
        float((alone[ended] >= _KEPT).mean()) if ended.any() else 0.0,
        _of_classes(outcome, rule) if isinstance(rule, MultiClass) else None,
    )


def _of_classes(outcome: RunOutcome, rule: MultiClass) -> ClassMeasures:
    seconds = max(outcome.seconds, 1e-9)
    running = float(outcome.of_tasks("ran").sum()) / seconds
    releases = (1 - rule.promise) * rule.window_share * running / rule.classes
    up, down, late = (int(column(outcome.world.control.lines, name).sum()) for name in ("ups", "downs", "lates"))
    slack = outcome.tasks.slack
    never = 0 if slack is None or rule.window == "none" else int((slack * rule.window_share <= 0).sum())
    return ClassMeasures(rule.classes, releases, up, down, late, never)


QOS = 0.95
"""Share of the performance in isolation that counts as quality of service kept (thesis §3.5.1)."""
WEEK_HOURS = 168
WEEKS_A_TERM = 52


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution over jobs; all NaN where there is none."""

    count: int
    mean: float
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float
    p99: float

    @classmethod
    def of(cls, values: Reals) -> Distribution:
        """Mean and percentiles of some values."""
        if not len(values):
            return cls(0, *[float("nan")] * 7)
        levels = np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)).tolist()
        return cls(len(values), float(values.mean()), *levels)


@dataclass(frozen=True, slots=True)
class ServiceQuality:
    """Quality: performance of batch jobs (isolated over real completion time, waiting included), tail latency of
    services relative to isolation (seconds of waiting count as the model's ``waiting_tail``), completion seconds of
    batch jobs, seconds that jobs waited before they began, of all jobs and of those that were queued on the reserve;
    the share of jobs, but for those that were cancelled, that kept 95 % of their performance; and the seconds that all
    but 1 % of the services began within (NaN without services; what never began waits until it is cancelled or the run
    ends)."""

    batch: Distribution
    tail: Distribution
    completion: Distribution
    waiting: Distribution
    queued: Distribution
    kept_qos: float
    service_wait: float
    job_wait: float


@dataclass(frozen=True, slots=True)
class RunFaults:
    """What went wrong in a run: launches that failed, machines that were lost, jobs that ended with their machine, and
    jobs that were cancelled."""

    failed_launches: int = 0
    lost_machines: int = 0
    lost_jobs: int = 0
    cancelled_jobs: int = 0


@dataclass(frozen=True, slots=True)
class CapacityMeasures:
    """Capacity: mean utilisation of the reserved pool over the run; instances launched and reused; instances released
    as soon as they were empty, per use and per instance ever obtained; moves and enlargements of jobs; jobs refused,
    interrupted, and not finished; mappings that had no quality sample; the part of the work (vCPU-seconds) of jobs that
    no type holds."""

    utilisation: float
    spin_ups: int
    reuses: int
    at_once_per_use: float
    at_once_per_instance: float
    reschedules: int
    enlargements: int
    refused: int
    interrupted: int
    unfinished: int
    cold_starts: int
    refused_work: float = 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Dollars of a run. The reserve is amortised over the ``ideal_hours`` that the jobs would have taken without
    waiting, or over the window of the trace that counts, as what is rented is; ``hours`` are those and what the run
    took longer. ``unused`` is the part of the reserve that no job used, ``upfront`` what it costs for a whole term, 0
    where nothing is prepaid."""

    hours: float
    ideal_hours: float
    reserved: Decimal
    unused: Decimal
    rented: Decimal
    upfront: Decimal
    charges: tuple[CapacityCost, ...]

    @property
    def total(self) -> Decimal:
        """All dollars of the run."""
        return self.reserved + self.rented

    @property
    def per_ideal_hour(self) -> Decimal:
        """Dollars an hour of work: a slow strategy is not rewarded for spreading its cost."""
        return self.total / exact(self.ideal_hours) if self.ideal_hours else Decimal(0)

    @property
    def per_hour(self) -> Decimal:
        """Dollars an hour of the strategy's own run: the reserve is paid for as long as it lasted."""
        if not self.hours:
            return Decimal(0)
        hours, ideal = exact(self.hours), exact(self.ideal_hours)
        reserved = self.reserved * hours / ideal if ideal else Decimal(0)
        return (reserved + self.rented) / hours

    def over_weeks(self, weeks: int) -> Decimal:
        """Dollars when the run is repeated for so many weeks: terms are prepaid and begin anew after 52 weeks."""
        running = self.rented if self.upfront else self.total
        hourly = running / exact(self.ideal_hours) if self.ideal_hours else Decimal(0)
        return self.upfront * -(-weeks // WEEKS_A_TERM) + hourly * WEEK_HOURS * weeks


@dataclass(frozen=True, slots=True)
class Measures:
    """A run in figures; where batch asks for idle hours first, ``idle`` is what became of it, and all else is of the
    jobs on machines. ``covered`` are dollars a month of what is rented that commitments cover while their own machines
    are idle; ``apart`` is the share of the reserve that is idle beside as much that is rented, where jobs are kept
    apart."""

    strategy: str
    seed: int
    jobs: int
    pool: int
    service: ServiceQuality
    use: CapacityMeasures
    cost: Cost
    faults: RunFaults = RunFaults()
    placed: PlacementMeasures | None = None
    sized: SizingMeasures | None = None
    admitted: AdmissionMeasures | None = None
    watching: WatchMeasures | None = None
    idle: PlayedBatch | None = None
    workflows: WorkflowMeasures | None = None
    covered: Decimal = Decimal(0)
    apart: float = 0.0

    @property
    def still_queued(self) -> int:
        """Jobs that never began though nothing that they wait for failed."""
        return self.use.unfinished - (self.workflows.never if self.workflows else 0)


def exact(value: float) -> Decimal:
    """The shortest decimal that reads as this real number."""
    return Decimal(repr(float(value)))


def last_end(tasks: Tasks) -> float:
    """The second at which the last job would end if none waited."""
    return float((tasks.submit + tasks.work).max(initial=0.0))


def measure(outcome: RunOutcome, last: float | None = None) -> Measures:
    """The figures of a run; ``last`` is that of all jobs, where some of them are not in it."""
    setting, tally = outcome.setting, outcome.world.tally
    performance = performance_by_task(outcome)
    return Measures(
        setting.strategy.name,
        setting.seed,
        len(outcome.tasks),
        setting.servers,
        _service(outcome),
        _use(outcome),
        cost_of(outcome, last),
        RunFaults(*(int(n) for n in (tally.failed, tally.lost, tally.ended, tally.cancelled))),
        placement_measures(outcome, performance),
        sizing_measures(outcome, performance),
        admission_measures(outcome, performance),
        watch_measures(outcome, performance),
        workflows=workflow_measures(outcome),
        covered=covered_beside(outcome),
        apart=apart_beside(outcome),
    )


def performance_by_task(outcome: RunOutcome) -> Reals:
    """Of each job in its row its performance relative to isolation; a service's is one over its tail; NaN where it did
    not end."""
    tasks, ended = outcome.tasks, outcome.of_tasks("ended")
    performance: Reals = 1 / tails_by_task(outcome)
    batch = (ended >= 0) & (tasks.service == 0)
    performance[batch] = tasks.work[batch] / (ended - outcome.submit)[batch]
    return performance


def batch_performance(outcome: RunOutcome) -> Reals:
    """Of each finished batch job: seconds in isolation over seconds from submission to end."""
    chosen = (outcome.of_tasks("ended") >= 0) & (outcome.tasks.service == 0)
    taken: Reals = outcome.of_tasks("ended")[chosen] - outcome.submit[chosen]
    performance: Reals = outcome.tasks.work[chosen] / taken
    return performance


def service_tails(outcome: RunOutcome) -> Reals:
    """Of each finished service: its tail latency relative to isolation; seconds it waited for a server or in the queue
    since it was decided on count as the cloud model's ``waiting_tail``."""
    chosen = (outcome.of_tasks("ended") >= 0) & (outcome.tasks.service == 1)
    tails: Reals = tails_by_task(outcome)[chosen]
    return tails


def tails_by_task(outcome: RunOutcome) -> Reals:
    """The same of every task in its row; NaN where it is no service, or none that ended."""
    chosen = (outcome.of_tasks("ended") >= 0) & (outcome.tasks.service == 1)
    ran, tail = outcome.of_tasks("ran")[chosen], outcome.of_tasks("tail")[chosen]
    waited = outcome.of_tasks("ended")[chosen] - outcome.decide[chosen] - ran
    waiting = outcome.setting.cloud.number("service", "waiting_tail")
    tails = np.full(len(outcome.tasks), np.nan)
    tails[chosen] = (tail + waited * waiting) / (ran + waited)
    return tails


def _service(outcome: RunOutcome) -> ServiceQuality:
    ended, began = outcome.of_tasks("ended"), outcome.of_tasks("began")
    batch, tails = batch_performance(outcome), service_tails(outcome)
    waits = (began - outcome.submit)[began >= 0]
    done = (ended >= 0) & (outcome.tasks.service == 0)
    queued = (outcome.of_tasks("queued") >= 0) & (began >= 0)
    kept = int((batch >= QOS).sum()) + int((tails <= 1 / QOS).sum())
    return ServiceQuality(
        Distribution.of(batch),
        Distribution.of(tails),
        Distribution.of((ended - outcome.submit)[done]),
        Distribution.of(waits),
        Distribution.of(np.asarray(outcome.of_tasks("queued")[queued], np.float64)),
        kept / max(len(outcome.tasks) - int(outcome.world.tally.cancelled), 1),
        *_longest_waits(outcome),
    )


def _longest_waits(outcome: RunOutcome) -> tuple[float, float]:
    """The seconds within which all but 1% of the services begin, and all but 5% of all jobs; NaN of none."""
    began, cancelled, over = outcome.of_tasks("began"), outcome.of_tasks("cancelled"), float(outcome.world.tally.now)
    ends = np.where(began >= 0, began, np.where(cancelled >= 0, np.minimum(cancelled, over), over))
    waits = ends - outcome.submit

    def all_but(share: float, some: Reals) -> float:  # a wait that one had: between two, one of 14 would be hidden
        return float(np.quantile(some, 1 - share, method="inverted_cdf")) if len(some) else float("nan")

    return all_but(0.01, waits[outcome.tasks.service == 1]), all_but(0.05, waits)


def _use(outcome: RunOutcome) -> CapacityMeasures:
    world = outcome.world
    tally, desk, tasks = world.tally, world.control.desk, outcome.tasks
    launched = int((outcome.of_rentals("paid") != OWN).sum())
    since, until = outcome.setting.window or (0.0, float(tally.now))
    capacity = outcome.setting.reserved_cores * (until - since)
    return CapacityMeasures(
        utilisation=float(tally.used_seconds / capacity) if capacity else float("nan"),
        spin_ups=launched,
        reuses=int(tally.reused),
        at_once_per_use=float(tally.at_once / tally.emptied) if tally.emptied else 0.0,
        at_once_per_instance=float(tally.at_once / launched) if launched else 0.0,
        reschedules=int(tally.moved),
        enlargements=int(tally.enlarged),
        refused=int(tally.refused),
        interrupted=int(tally.stopped),
        unfinished=int((outcome.of_tasks("ended") < 0).sum()) - int(tally.refused + tally.cancelled + tally.ended),
        cold_starts=int(desk.cold_starts),
        refused_work=work_share(tasks.need, tasks.work, unplaceable(outcome.setting, tasks)),
    )


def cost_of(outcome: RunOutcome, last: float | None = None) -> Cost:
    """The dollars of a run; where all jobs would end at ``last``, the reserve is paid for until then."""
    last = last_end(outcome.tasks) if last is None else last
    since, until = outcome.setting.window or (0.0, last)
    ideal = until - since
    rented = charges(outcome)
    reserved = reserved_cost(outcome, ideal)
    pool = outcome.setting.reserved_cores / 1000 * ideal / SECONDS_PER_HOUR
    used = outcome.world.tally.used_seconds / 1000 / SECONDS_PER_HOUR
    idle = max(1 - used / pool, 0.0) if pool else 0.0
    return Cost(
        (ideal + outcome.seconds - last) / SECONDS_PER_HOUR,
        ideal / SECONDS_PER_HOUR,
        reserved,
        reserved * exact(idle),
        sum((c.dollars for c in rented), Decimal(0)),
        sum((lot.offer.term_cost * lot.servers for lot in outcome.setting.lots), Decimal(0)),
        rented,
    )
