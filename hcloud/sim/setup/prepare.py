"""From a workload to the jobs of a run: what they need and what is asked for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hcloud.model import workload
from hcloud.model.measured.profile import UNKNOWN_SCORE
from hcloud.model.running import cloud, strategy
from hcloud.model.target import GoalKind
from hcloud.planning.forecasting.following import among, matches, waits_of
from hcloud.policy.placing.placements import Centralised, Ideal, Sampled, Sparrow
from hcloud.policy.placing.searching import MultiClass
from hcloud.policy.placing.turns import turn
from hcloud.policy.records import Bytes, Ints, Reals
from hcloud.policy.registry import rule_of, sizing_of
from hcloud.policy.repair import Reclassify
from hcloud.policy.sizes.information import Information, Profiled, RequestedSizes, TargetSizes
from hcloud.sim.setup.fitting import Room, pieces
from hcloud.sim.setup.phases import PhaseRows, drawn_phases, with_courses
from hcloud.sim.setup.streams import stream
from hcloud.sim.setup.vectors import MOST, borne, drawn, estimated, put_profiled, put_stated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Codes

    Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Tasks:
    """The jobs in the order of their decisions, those that may be split and fit no type in pieces.

    Times in seconds from the first submission, ``need`` and ``ask`` in thousandths of a vCPU, ``memory`` in MiB,
    interference vectors [task, resource] 0..99 as they are known (``vector``, what is decided on) and as they are
    (``truth``, what acts), ``borne`` what is tolerated, known and true (None: 99 less those), ``job`` the row of the
    workload and ``ids`` the trace's own name of it; ``left_out`` counts jobs by reason; ``platform`` is the row of each
    in the speeds of types, where these differ by job; ``expected`` is how many seconds each is thought to run, and
    ``slack`` how long it may wait without missing its promise, where something is decided by that; ``pieces`` is on
    how many servers the job of each runs at once (None: all on one); ``phases`` is how some change while they run, and
    ``spare`` which are best effort (None: none); ``urgent`` ones go before others that wait (None: none). ``app`` is
    the application of each, one more than its code (0: none), and ``out`` the row by which it scales out, each with the
    share that so many more servers do of their sum (``together``; None: all of it). ``bound`` is whether each goes
    where the run says that it is compared with (None: none does). ``reached`` is how much of its target each reaches by
    the rows of its application (None: just it): no server of a type gives just what a target takes. ``after`` [pair]
    are a task that waits and one that has to end before (None: none waits), ``think`` so many seconds before it comes.
    """

    submit: Reals
    decide: Reals
    work: Reals
    service: Ints
    need: Ints
    ask: Ints
    memory: Ints
    vector: Bytes
    truth: Bytes
    coin: Reals
    job: Ints
    left_out: dict[str, int]
    ids: workload.Ids | None = None
    platform: Ints | None = None
    borne: tuple[Bytes, Bytes] | None = None
    expected: Reals | None = None
    slack: Reals | None = None
    pieces: Ints | None = None
    phases: PhaseRows | None = None
    spare: Ints | None = None
    urgent: Ints | None = None
    app: Ints | None = None
    out: Ints | None = None
    together: Reals | None = None
    bound: Bytes | None = None
    reached: Reals | None = None
    after: Ints | None = None
    think: Reals | None = None

    @property
    def tolerates(self) -> Bytes:
        """What tasks tolerate, as it is known."""
        return MOST - self.vector if self.borne is None else self.borne[0]

    @property
    def true_tolerates(self) -> Bytes:
        """What tasks tolerate."""
        return MOST - self.truth if self.borne is None else self.borne[1]

    def fully_known(self) -> Tasks:
        """The same tasks, of which all is known as it is."""
        return replace(self, vector=self.truth, borne=self.borne and (self.borne[1], self.borne[1]))

    def name(self, task: int) -> str:
        """The trace's own name of a task's job, or its row where it has none."""
        return workload.job_name(None if self.ids is None else self.ids[task], int(self.job[task]))

    def __len__(self) -> int:
        return len(self.submit)


def tasks_of(jobs: workload.Jobs, model: cloud.CloudModel, plan: strategy.Strategy, largest: Room, seed: int) -> Tasks:
    """The tasks of a workload under a strategy's information rule; ``largest`` is the room of the largest type.

    Jobs of no length or size are left out and counted. Rows that come at the same time are put in an order of their own
    content, so that the order of the file does not matter. What a scenario begins with came one by one before it, as in
    the published runs, so that its services have no turn by size.
    """
    keep, left_out = _usable(jobs)
    rank = _ranks(jobs)
    ordered = keep[_canonical(jobs, keep, rank)]
    rows, given, memory = divided(jobs, ordered, largest)
    need = np.maximum(np.rint(given / reached_of(jobs)[rows]), 1).astype(np.int64)
    service = (jobs.kind[rows] == workload.JobKind.SERVICE).astype(np.int64)
    submit, work = jobs.submit[rows] - (jobs.submit[rows].min() if len(rows) else 0.0), jobs.duration[rows]
    information = rule_of(plan, "information")
    assert isinstance(information, Information)
    expected = expected_seconds(jobs.app[rows], submit, work)
    brief = expected < getattr(rule_of(plan, "placement"), "profile_above", 0.0)
    decide = submit + _delays(jobs, rows, information, _deciding(plan, need), brief)
    if jobs.servers is not None:
        decide = _decided_together(decide, rows, jobs.servers[rows] > 1)
    waiting = rule_of(plan, "queueing")
    slack = (1 - waiting.promise) * expected - (decide - submit) if isinstance(waiting, MultiClass) else None
    known_together = service * (jobs.provenance.format != workload.SCENARIO)
    first = turn(known_together, (need, memory), largest)
    order = np.lexsort((rank[rows], memory, need, service, work, *reversed(first), submit, decide))
    chosen = rows[order]
    truth = drawn(service[order], model, seed)
    vector = estimated(truth, information, seed)
    vector[_unprofiled(jobs.app[rows], brief)[order]] = UNKNOWN_SCORE
    told = (jobs.vectors, stream(seed, "truth of applications"))
    put_profiled((truth, vector), jobs, chosen, told, information)
    put_stated((truth, vector), jobs.causes, chosen, informed=isinstance(information, Profiled))
    ask = _asked(plan, (need[order], given[order]), rank[chosen], largest.cores, seed)
    coin = stream(seed, "coin").random(len(chosen))
    made = Tasks(
        submit[order], decide[order], work[order], service[order], need[order], ask, memory[order],
        vector, truth, coin, chosen.astype(np.int64), left_out, None if jobs.ids is None else jobs.ids[chosen],
        borne=borne((truth, vector), jobs, chosen, seed, information),
        expected=expected[order] if brief.any() or slack is not None or _is_watched(plan) else None,
        slack=None if slack is None else slack[order],
        pieces=None if jobs.servers is None else jobs.servers[chosen].astype(np.int64),
        spare=spare_jobs(jobs)[chosen] if jobs.target is not None else None,
        urgent=None if jobs.urgent is None else jobs.urgent[chosen].astype(np.int64),
        app=jobs.app[chosen].astype(np.int64) + 1,
        reached=None if jobs.target is None else reached_of(jobs)[chosen],
        think=None if jobs.think is None else jobs.think[chosen],
    )  # fmt: skip
    made = _following(_scaling_out(made, jobs), jobs, keep)
    drawn_ones = drawn_phases(len(made), made.pieces, model, seed)
    return _alike(replace(made, phases=with_courses(drawn_ones, jobs, made.job)))


def _following(tasks: Tasks, jobs: workload.Jobs, keep: Ints) -> Tasks:
    """Each task of a job that waits for others waits for all of theirs."""
    if jobs.after is None:
        return tasks
    place = np.full(len(jobs), -1, np.int64)
    place[keep] = keep
    pairs = among(waits_of(jobs), place)
    order = np.argsort(tasks.job, kind="stable")
    by_job = tasks.job[order]
    at, mine = matches(pairs[:, 0], by_job)
    pairs = np.column_stack([order[mine], pairs[at, 1]])
    at, theirs = matches(pairs[:, 1], by_job)
    return replace(tasks, after=np.column_stack([pairs[at, 0], order[theirs]]))


def _scaling_out(tasks: Tasks, jobs: workload.Jobs) -> Tasks:
    """Tasks of targets whose applications were measured on several servers scale out as these do."""
    shares = [one.beside for one in jobs.targets] if jobs.target is not None else []
    if jobs.target is None or not any(shares):
        return tasks
    table = np.ones((len(shares) + 1, max(map(len, shares))))
    for row, share in enumerate(shares, 1):
        table[row, : len(share)] = share
    return replace(tasks, out=jobs.target[tasks.job].astype(np.int64) + 1, together=table)


def _is_watched(plan: strategy.Strategy) -> bool:
    return isinstance(rule_of(plan, "monitoring"), Reclassify)


def spare_jobs(jobs: workload.Jobs) -> Ints:
    """Which jobs state that they are best effort (1), which yields to others."""
    if jobs.target is None:
        return np.zeros(len(jobs), np.int64)
    of_kind = np.array([*(int(one.target.kind is GoalKind.NONE) for one in jobs.targets), 0], np.int64)
    made: Ints = of_kind[jobs.target]
    return made


def _alike(tasks: Tasks) -> Tasks:
    """Pieces of a job on several servers ask for as much each, and cause and tolerate the same."""
    if tasks.pieces is None:
        return tasks
    rows = np.arange(len(tasks))
    begins = np.r_[True, tasks.job[1:] != tasks.job[:-1]]
    like = np.where(tasks.pieces > 1, np.maximum.accumulate(np.where(begins, rows, 0)), rows)
    borne_alike = None if tasks.borne is None else (tasks.borne[0][like], tasks.borne[1][like])
    ask, vector, truth = tasks.ask[like], tasks.vector[like], tasks.truth[like]
    return replace(tasks, borne=borne_alike, ask=ask, vector=vector, truth=truth)


def _decided_together(decide: Reals, rows: Ints, several: Flags) -> Reals:
    """All pieces of a job of several servers are decided on with the last of them."""
    last = np.zeros(int(rows.max(initial=-1)) + 1)
    np.maximum.at(last, rows, decide)
    return np.where(several, last[rows], decide)


def _unprofiled(app: Codes, brief: Flags) -> Flags:
    """Which jobs nothing is known of, since no job of their application runs long enough to be profiled."""
    return brief & ((app < 0) | ~np.isin(app, app[~brief]))


def expected_seconds(app: Codes, submit: Reals, work: Reals) -> Reals:
    """How long jobs are thought to run when they come: as long as the run of the same application that ended last, else
    as long as their users say, who are taken to know (Paragon §3.5)."""
    made = work.copy()
    for code in np.unique(app[app >= 0]):
        mine = np.flatnonzero(app == code)
        by_end = mine[np.argsort(submit[mine] + work[mine], kind="stable")]
        last = np.searchsorted((submit + work)[by_end], submit[mine], side="right") - 1
        made[mine[last >= 0]] = work[by_end[last[last >= 0]]]
    return made


def origin(jobs: workload.Jobs) -> float:
    """The second of the trace that tasks count from: the first submission of a job that is run."""
    keep, _ = _usable(jobs)
    return float(jobs.submit[keep].min()) if len(keep) else 0.0


def _usable(jobs: workload.Jobs) -> tuple[Ints, dict[str, int]]:
    empty = (jobs.duration <= 0) | (jobs.cores <= 0)
    return np.flatnonzero(~empty), {"no duration or no vCPUs": int(empty.sum())} if empty.any() else {}


def _ranks(jobs: workload.Jobs) -> Ints:
    """Each job's application as its place by name (-1: none): codes follow the file, names do not."""
    places = np.argsort(np.argsort(np.array(jobs.apps, np.str_), kind="stable"), kind="stable")
    return np.where(jobs.app >= 0, np.append(places, -1)[jobs.app], -1)


def _canonical(jobs: workload.Jobs, keep: Ints, rank: Ints) -> Ints:
    """The order of rows by their own content, so that the first of an application is the same in any file."""
    columns = (rank, jobs.memory, jobs.cores, jobs.kind, jobs.duration, jobs.submit)
    return np.lexsort(tuple(c[keep] for c in columns))


def _deciding(plan: strategy.Strategy, need: Ints) -> Reals | None:
    """None where a placement decides in the time that the information rule states; else no time: agents take theirs
    while the run goes on, and the ideal one takes none."""
    rule = rule_of(plan, "placement")
    return np.zeros(len(need)) if isinstance(rule, Ideal | Centralised | Sparrow | Sampled) else None


def _delays(jobs: workload.Jobs, rows: Ints, information: Information, deciding: Reals | None, brief: Flags) -> Reals:
    """Seconds between submission and decision: profiling once an application, classification and decision always.

    What is ``brief`` is not profiled. Where the placement states how long it decides, an application that is known is
    not classified again: it is for jobs that take less than that (Tarcil §7.5).
    """
    if deciding is None:
        delays = np.full(len(rows), float(information.decision_seconds + information.classification_seconds))
    else:
        delays = deciding + np.where(jobs.app[rows] < 0, information.classification_seconds, 0.0)
    if not isinstance(information, Profiled):
        return delays if deciding is not None else np.full(len(rows), float(information.decision_seconds))
    by_time = np.flatnonzero(~brief)[np.argsort(jobs.submit[rows[~brief]], kind="stable")]
    apps = jobs.app[rows][by_time]
    known, first = np.unique(apps, return_index=True)
    first_time = information.profiling_seconds + (0.0 if deciding is None else information.classification_seconds)
    delays[by_time[first[known >= 0]]] += first_time
    return delays


def _asked(plan: strategy.Strategy, known: tuple[Ints, Ints], app: Ints, largest: int, seed: int) -> Ints:
    """What is asked for tasks: what their users ask, who miss the need, or what the jobs take; ``known`` are their need
    and what the rows of their applications say that they take. Nobody asks for more than the ``largest`` type, but for
    what takes more than that."""
    information, sizing, (need, given) = rule_of(plan, "information"), sizing_of(plan), known
    most = np.maximum(given, largest)
    if isinstance(sizing, TargetSizes):
        return sized(given, app, sizing, most, seed)
    users = information if sizing is None and not isinstance(information, Profiled) else sizing
    if isinstance(users, Information | RequestedSizes):
        return requested(need, users, most, stream(seed, "user requests"))
    return given


def divided(jobs: workload.Jobs, ordered: Ints, largest: Room) -> tuple[Ints, Ints, Ints]:
    """The rows of the tasks, what each is given (thousandths of a vCPU) and its MiB: a job with a target has a task for
    each server that this takes, one that states how many servers it runs on a task for each, another one as many as it
    takes to fit the largest type."""
    copies = pieces(jobs, ordered, largest)
    if jobs.servers is not None:
        copies = np.where(jobs.servers[ordered] > 1, jobs.servers[ordered], copies)
    if jobs.target is not None:
        parts = np.array([*(len(one.parts) for one in jobs.targets), 0])[jobs.target[ordered]]
        copies = np.where(parts > 0, parts, copies)
    rows, copies = np.repeat(ordered, copies), np.repeat(copies, copies)
    given = np.maximum(np.rint(jobs.cores[rows] * 1000 / copies), 1).astype(np.int64)
    memory = np.ceil(jobs.memory[rows] * 1024 / copies - 1e-9).astype(np.int64)
    for code, one in enumerate(jobs.targets if jobs.target is not None else ()):
        at = np.flatnonzero(jobs.target[rows] == code) if jobs.target is not None else rows[:0]
        if one.parts and len(at):
            vcpus, gib = (np.tile([part[i] for part in one.parts], len(at) // len(one.parts)) for i in (0, 1))
            given[at], memory[at] = np.rint(vcpus * 1000), np.ceil(gib * 1024 - 1e-9)
    return rows, given, memory


def reached_of(jobs: workload.Jobs) -> Reals:
    """How much of what each job needs it would reach as the rows of its application have it; 1 without a target."""
    if jobs.target is None:
        return np.ones(len(jobs))
    reached: Reals = np.array([*(one.reached for one in jobs.targets), 1.0])[jobs.target]
    return reached


def sized(given: Ints, app: Ints, sizing: TargetSizes, most: Ints, seed: int) -> Ints:
    """What jobs are given by classified rows, which err alike for all jobs of an application (``app``: its place by
    name, -1: none, each of them its own)."""
    errors = stream(seed, "errors of rows").standard_normal(int(app.max(initial=-1)) + 1)
    alone = stream(seed, "errors of rows of jobs").standard_normal(len(given))
    error = np.where(app >= 0, np.append(errors, 0.0)[app], alone)
    told = given * np.exp(sizing.row_error * error) * (1 + sizing.headroom)
    whole: Ints = np.clip(np.rint(told), 1, most).astype(np.int64)
    return whole


def requested(need: Ints, information: Information | RequestedSizes, most: Ints, chance: np.random.Generator) -> Ints:
    """What users ask for instead of what they need: most too much, some too little, factors spread evenly by ratio.

    Shares and largest factors: Quasar (ASPLOS 2014) §1; the spread below the largest factor is ours.
    """
    draw, spread = chance.random(len(need)), chance.random(len(need))
    over, under = information.oversized_share, information.undersized_share
    up, down = information.oversized_factor, information.undersized_factor
    factor = np.where(draw < over, up**spread, np.where(draw < over + under, down**-spread, 1.0))
    return np.clip(np.rint(need * factor), 1, most).astype(np.int64)
