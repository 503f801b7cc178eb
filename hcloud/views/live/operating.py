"""Live work as people watch it: one screen, one line a decision, and what it came to at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from shlex import quote

from rich.text import Text

from hcloud.control.operating.fold import Fold
from hcloud.control.operating.happened import NO_CODE
from hcloud.control.operating.reached import unreachable
from hcloud.control.operating.records import RESULTS, JobRecord, MachinePhase, MachineRecord
from hcloud.control.operating.results import UNLUCKY, jobs_in
from hcloud.model.catalog import PurchaseOption
from hcloud.model.holdings.live import PROTECTED_TAG
from hcloud.model.holdings.state import LockInfo
from hcloud.model.running.alternatives import DOLLARS, VCPU_HOURS, CostComparison
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import Failed
from hcloud.model.running.job import KEPT
from hcloud.model.running.note import CommitmentsAdvised
from hcloud.model.workload import JobKind
from hcloud.units import SECONDS_PER_HOUR, counted, format_figure, format_money, format_span, some_of
from hcloud.views.lines import Shown
from hcloud.views.live.harvested import harvested_lines
from hcloud.views.tables import Figures

SHOWN_MACHINES, SHOWN_QUEUE, SHOWN_SERVICES, SHOWN_DECISIONS = 12, 5, 5, 6
SHOWN_JOBS, NAME = 2, 10
"""Jobs of a machine by name, and letters of a name: they have to fit into 60 columns."""
CENTS, FINE = 2, 4
_UNITS = {DOLLARS: "dollars", VCPU_HOURS: "vCPU-hours"}
_COLUMNS = ("#", "machine", "state", "jobs", "quality", "$/h")
_UNLUCKY_LINES = '"event":"failed"|"decision":"(end|refuse)"'
_FULL = ("no space left", "the disk took only a part")
_WHEN_FULL = "; the disk is full: no new job starts until there is space, running jobs continue"
_TO = {
    DecisionAction.PLACE: "to",
    DecisionAction.LAUNCH: "to a new",
    DecisionAction.QUEUE: "to the",
    DecisionAction.MOVE: "away from",
    DecisionAction.ENLARGE: "more of",
    DecisionAction.SHRINK: "less of",
    DecisionAction.ADD: "another server beside",
    DecisionAction.DROP: "without",
}


def clock_time(at: float) -> str:
    """A moment as people read it on the day itself (UTC)."""
    return f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"


def failure_line(event: Failed, job: JobRecord | None = None) -> str:
    """A job that failed in one line: when, who, and with what."""
    how = "nobody saw its end" if event.code == NO_CODE else _code(event.code)
    how = _memory_used_up(job) if job is not None and job.out_of_memory else how
    return f"{clock_time(event.at)}  job {event.job} failed: {how}"


def held_line(machine: MachineRecord, now: float) -> str:
    """A machine that jobs wait for and that is not launched, or takes none, in one line."""
    how = "is not launched yet: " if machine.phase is MachinePhase.WANTED else "is "
    return f"{clock_time(now)}  machine {machine.instance} ({machine.type_name}) {how}{machine.why}"


def trouble_line(what: str, why: str) -> str:
    """What cannot be done at the moment in one line, and what follows where that is not plain."""
    is_full = any(words in why.lower() for words in _FULL)
    return f"{what}: {why}{_WHEN_FULL if is_full else ''}"


def decision_line(decision: Decision) -> str:
    """A decision in one line: when, what, about whom, and why."""
    number = "" if decision.instance is None or "server" in decision.place else f" {decision.instance}"
    if decision.job is None or decision.action is DecisionAction.RETAIN:
        what = f"{decision.action} {decision.place}{number}"
    elif decision.action is DecisionAction.END:
        what = f"job {decision.job} ended"
    elif decision.action is DecisionAction.REFUSE:
        what = f"job {decision.job} refused"
    else:
        what = f"job {decision.job} {_TO.get(decision.action, decision.action)} {decision.place}{number}"
    return f"{clock_time(decision.at)}  {what}: {decision.why}"


@dataclass(frozen=True, slots=True)
class Moment:
    """What a screen shows beside the journal: what cannot be done now, by what it is about; the jobs that the engine
    places by itself; and how many lines the screen has (None: as many as it takes)."""

    now: float
    troubles: Mapping[str, str] = field(default_factory=dict)
    passed_by: Sequence[str] = ()
    lines: int | None = None

    @property
    def machines(self) -> int:
        """How many machines are shown."""
        return SHOWN_MACHINES if self.lines is None else max(min(SHOWN_MACHINES, self.lines // 4), 3)

    @property
    def decisions(self) -> int:
        """How many decisions are shown."""
        return SHOWN_DECISIONS if self.lines is None else max(min(SHOWN_DECISIONS, self.lines // 12), 2)


def operating_screen(fold: Fold, moment: Moment) -> list[Shown | Figures]:
    """All that somebody who watches wants to know, the most important first."""
    now, passed_by = max(moment.now, fold.last), moment.passed_by
    shown: list[Shown | Figures] = [*_head(fold, now)]
    shown += [Text(f"problem with {trouble_line(*told)}", style="yellow") for told in moment.troubles.items()]
    if passed_by:
        named = ", ".join(passed_by[:SHOWN_QUEUE]) + (", ..." if len(passed_by) > SHOWN_QUEUE else "")
        shown.append(f"{counted(len(passed_by), 'job')} passed by, the engine places them by itself: {named}")
    wanted = not fold.is_finished
    machines = [m for m in fold.standing.values() if m.phase is not MachinePhase.GONE and (m.stands or wanted)]
    if machines:
        chosen = sorted(machines, key=lambda m: (not m.jobs, m.instance))[: moment.machines]
        shown.append(_without_empty(Figures(_COLUMNS, [_machine(m, now) for m in chosen], frozenset({0, 4, 5}))))
        if len(machines) > len(chosen):
            shown.append(f"and {counted(len(machines) - len(chosen), 'machine')} more")
        shown += _cut(chosen) if moment.lines is None else ()
        shown += _whys(machines)
    shown += _ending(fold)
    shown += _targets(fold)
    shown += _queue(fold, now)
    if fold.advised is not None:
        shown.append(next(advice_lines(fold.advised)))
    if fold.decisions:
        shown.append(Text("last decisions", style="bold"))
        shown += [decision_line(d) for d in fold.decisions[-moment.decisions :]]
    return shown


def advice_lines(advice: CommitmentsAdvised) -> Iterator[str]:
    """What a plan of the demand so far would buy, for people."""
    window = f"the last {format_span(advice.seconds)} of demand"
    if advice.why_not or advice.after is None or advice.on_demand is None:
        yield f"no recommendation from {window}: {advice.why_not}"
        return
    seen = f"{window} ({counted(advice.jobs, 'job')}, {advice.vcpus:,.1f} vCPU in the mean)"
    costs = (
        f"all machines then cost {format_money(advice.after, 2)} a month, all on demand"
        f" {format_money(advice.on_demand, 2)}"
    )
    more = (
        f"{counted(len(advice.purchases), 'more commitment')} for {format_money(advice.added or Decimal(0), 2)} a month"
    )
    if advice.too_short:
        yield f"no recommendation yet: {advice.too_short}"
        yield f"preliminary: {more}, from {seen}; {costs}"
    elif advice.purchases:
        yield f"recommended from {seen}: {more}; {costs}. hcloud operate buys nothing: see 'hcloud commit'"
    else:
        yield f"no further commitment recommended, from {seen}: {costs}"
    yield from (f"  + {purchase}" for purchase in advice.purchases)
    yield from (f"  {note}" for note in advice.notes)


def _whys(machines: Sequence[MachineRecord]) -> Iterator[str]:
    """What machines wait for, or why they end; those of one reason together."""
    alike: dict[str, list[str]] = {}
    for machine in machines:
        alike.setdefault(machine.why, []).append(str(machine.instance))
    for why, numbers in alike.items():
        if why:
            named = ", ".join(numbers[:SHOWN_QUEUE]) + (", ..." if len(numbers) > SHOWN_QUEUE else "")
            yield f"{'machine' if len(numbers) == 1 else 'machines'} {named}: {why}"


def _head(fold: Fold, now: float) -> Iterator[Shown]:
    phases = Counter((m.reserved, m.phase is MachinePhase.READY) for m in fold.standing.values())
    running = sum(job.on is not None for job in fold.active.values())
    placed = sum(job.on is None and job.instance is not None for job in fold.active.values())
    waits = f", {placed} waiting for a machine" if placed else ""
    reserved = f"{phases[True, True]} of {counted(phases[True, True] + phases[True, False], 'reserved machine')} up"
    rented = f"{sum(m.stands for m in fold.standing.values() if not m.reserved)} rented"
    asked = f"  ({fold.asked} asked for)" if fold.asked else ""
    yield Text.assemble((fold.setup.strategy, "bold"), f"  {reserved}, {rented}  {_cost(fold, now)}{asked}")
    yield f"jobs: {running} running{waits}, {len(fold.queue)} queued{_results(fold)}"
    if quality := _kept(fold):
        yield quality
    yield from harvested_lines(fold.harvested)


def _cost(fold: Fold, now: float) -> str:
    """Dollars an hour and so far; where machines have no price, hours of their vCPUs."""
    if fold.hourly() or fold.spent(now):
        return f"{format_money(fold.hourly(), CENTS)}/h, {format_money(fold.spent(now), CENTS)} so far"
    hours = fold.core_seconds(now) / SECONDS_PER_HOUR
    return f"{hours:,.3f} vCPU-hours so far" if hours else "no cost so far"


def _kept(fold: Fold) -> str:
    kept, judged = fold.kept_so_far()
    return (
        f"quality of service: {kept} of {counted(judged, 'job')} kept {KEPT:.0%} of their performance, waits counted"
        if judged
        else ""
    )


def _results(fold: Fold) -> str:
    told = [f"{fold.results.counted[r]} {r}" for r in RESULTS if fold.results.counted.get(r)]
    return f"; {', '.join(told)}" if told else ""


def _machine(m: MachineRecord, now: float) -> tuple[str, ...]:
    paid = "reserved" if m.reserved else "spot" if m.option is PurchaseOption.SPOT else "on demand"
    state = "idle" if m.phase is MachinePhase.READY and not m.jobs else str(m.phase)
    if m.idle_until is not None:
        state = f"kept {max(m.idle_until - now, 0):.0f} s"
    quality = "" if m.quality is None else f"{m.quality:.2f}"
    price = f"{m.hourly:,.4f}" if m.hourly else ""
    return (str(m.instance), f"{m.type_name} {paid}", state, _jobs(list(m.jobs)), quality, price)


def _jobs(names: list[str]) -> str:
    """So many jobs by name that a narrow screen holds them."""
    told = ", ".join(f"{name[: NAME - 1]}…" if len(name) > NAME else name for name in names[:SHOWN_JOBS])
    return f"{told} +{len(names) - SHOWN_JOBS}" if len(names) > SHOWN_JOBS else told


def _cut(machines: Sequence[MachineRecord]) -> Iterator[str]:
    """The jobs whose names the table cuts, to be copied."""
    for machine in machines:
        if any(len(name) > NAME for name in list(machine.jobs)[:SHOWN_JOBS]):
            yield f"jobs of machine {machine.instance}: {some_of(machine.jobs, SHOWN_QUEUE)}"


def _without_empty(figures: Figures) -> Figures:
    """Without the columns in which nothing stands."""
    kept = [c for c, _ in enumerate(figures.names) if any(row[c] for row in figures.rows)]
    rows = [[row[c] for c in kept] for row in figures.rows]
    numbers = frozenset(at for at, c in enumerate(kept) if c in figures.numbers)
    return Figures(tuple(figures.names[c] for c in kept), rows, numbers)


def _ending(fold: Fold) -> Iterator[str]:
    """Jobs that are to end and have not yet: they keep their place."""
    ending = [job for job in fold.active.values() if job.on is not None and (job.is_over or job.leaving)]
    for job in ending[:SHOWN_QUEUE]:
        why = f"is {job.result}" if job.is_over else "is to start again elsewhere"
        yield f"job {job.order.id} {why}, but has not stopped on machine {job.on} yet: it keeps its place"
    if len(ending) > SHOWN_QUEUE:
        yield f"and {counted(len(ending) - SHOWN_QUEUE, 'more job')} that did not stop yet"


def _targets(fold: Fold) -> Iterator[Shown | Figures]:
    """Services that are measured: their latency and what they have, and why that is not what they ask for."""
    measured = [(j, j.order.target, j.p99) for j in fold.active.values() if j.order.target and j.p99 is not None]
    if not measured:
        return
    off = sorted(measured, key=lambda of: (of[1].kept_at(of[2]), of[0].sized is None))[:SHOWN_SERVICES]
    rows = [
        (
            job.order.id,
            f"{p99:,.1f} of {target.milliseconds:,.10g} ms",
            f"{job.cores / 1000:g} for {job.order.cores / 1000:g}",
        )
        for job, target, p99 in off
    ]
    yield Figures(("service", "99th percentile", "vCPUs it has, and asks for"), rows, frozenset({1, 2}))
    if len(measured) > len(off):
        yield f"and {counted(len(measured) - len(off), 'service')} more"
    yield from (decision_line(job.decision) for job, *_ in off if job.sized is not None and job.decision is not None)
    yield from (Text(f"{told}.", style="yellow") for job, *_ in off if (told := unreachable(job)))


def _queue(fold: Fold, now: float) -> Iterator[Shown | Figures]:
    if not fold.queue:
        return
    yield Text(f"queue: {counted(jobs_in(fold.jobs[name] for name in fold.queue), 'job')}", style="bold")
    for name in list(fold.queue)[:SHOWN_QUEUE]:
        job = fold.jobs[name]
        why = job.decision.why if job.decision is not None else ""
        yield f"{name}  waits {now - job.came:,.0f} s{_cost_of_wait(job, now)}: {why}"


def _cost_of_wait(job: JobRecord, now: float) -> str:
    """What a wait costs a batch job that promised a time: the share of its performance that it can still reach."""
    left = job.performance_left(now)
    return "" if left is None else f", {left:.0%} of its performance is left"


def who_works(fold: Fold, holder: LockInfo | None) -> str:
    """Whether a controller works now, or has done all there was."""
    if holder is not None:
        return f"controller: {holder}"
    if fold.is_finished:
        return f"finished {clock_time(fold.last)} UTC; 'hcloud operate run JOBS' starts new work"
    if not any(machine.stands for machine in fold.standing.values()):
        return "no controller works now: 'hcloud operate run' goes on"
    return f"no controller works now; left as they are: {machines_left(fold)}; {ways_on(fold)}"


def ways_on(fold: Fold) -> str:
    """What goes on with machines that were left, and what ends them: one that is protected, only without its tag."""
    kept = [str(m.instance) for m in fold.standing.values() if m.stands and PROTECTED_TAG in m.why]
    but = f", but no machine with the tag {PROTECTED_TAG} ({', '.join(kept)})" if kept else ""
    return f"'hcloud operate run' continues, 'hcloud operate stop' ends them{but}"


def machines_left(fold: Fold) -> str:
    """The machines that stand, with the jobs there and what they cost an hour."""
    machines = counted(sum(m.stands for m in fold.standing.values()), "machine")
    jobs = counted(jobs_in(fold.active.values()), "job")
    if beside := len(fold.harvested.running):
        jobs += f", {beside} on idle capacity that nobody makes give way now"
    return f"{machines} ({jobs}" + (f", {format_money(fold.hourly(), 2)}/h)" if fold.hourly() else ")")


def outcome_lines(fold: Fold, now: float) -> Iterator[Shown | Figures]:
    """What it came to: jobs by how they ended, the last that did not complete by name, machines and dollars."""
    told = ", ".join(f"{fold.results.counted[r]} {r}" for r in RESULTS if fold.results.counted.get(r)) or "none"
    left = jobs_in(fold.active.values())
    yield f"jobs: {told}" + (f"; {left} not over" if left else "")
    if bad := fold.results.unlucky:
        yield Figures(("job", "result", "why"), [(j.order.id, j.result, _why(j)) for j in bad])
    standing = sum(m.stands for m in fold.standing.values())
    machines = counted(fold.launched, "machine")
    after = "none still running" if not standing else f"{counted(standing, 'machine')} still running"
    cost = f"{format_money(fold.spent(now), CENTS)} at list price" if fold.spent(now) else _cost(fold, now)
    yield f"{machines} launched, {after}; {cost.removesuffix(' so far')}"
    if quality := _kept(fold):
        yield quality
    yield from harvested_lines(fold.harvested)


def unlucky_beyond(fold: Fold, directory: Path) -> Iterator[str]:
    """How many jobs did not complete where not all are named, and a command to be copied that lists all."""
    every, named = sum(fold.results.counted.get(result, 0) for result in UNLUCKY), jobs_in(fold.results.unlucky)
    if every > named:
        yield f"{named} of {every:,} jobs that failed, were lost or refused are named above; to list all of them:"
        yield f"  grep -hE '{_UNLUCKY_LINES}' {quote(str(directory))}/journal*.jsonl"


def waits_for_end(fold: Fold, *, services_end: bool, keeps: bool) -> str:
    """What somebody waits for who asked for an end of the work, and which jobs do not end by themselves."""
    machines = "; the machines stay and keep costing money" if keeps else " and all machines are terminated"
    waits = f"waiting until all jobs have ended{machines}; Ctrl-C ends the wait, not the work"
    services = [job.order.id for job in fold.active.values() if job.order.kind is JobKind.SERVICE]
    if services_end or not services:
        return waits
    named = ", ".join(services[:SHOWN_SERVICES]) + (", ..." if len(services) > SHOWN_SERVICES else "")
    return f"{waits}. Services do not end by themselves ({named}): 'hcloud operate cancel JOB' or 'stop' ends them"


def compared_lines(found: CostComparison) -> Iterator[Shown | Figures]:
    """What the work cost beside what others would have cost for the same jobs."""
    if found.costs:
        large = found.unit == DOLLARS and max(c.total for c in found.costs) >= 1
        places = CENTS if large else FINE
        rows = [
            (
                f"{c.strategy}, {'simulated' if c.simulated else 'as it ran'}",
                *(format_figure(amount, places) for amount in (c.reserved, c.rented, c.total)),
                str(c.servers),
            )
            for c in found.costs
        ]
        names = ("strategy", "reserve", "rented", "cost", "reserved machines")
        yield Figures(names, rows, frozenset((1, 2, 3, 4)), title=f"cost of these jobs, {_UNITS[found.unit]}")
    yield from (Text(note, style="dim") for note in found.notes)


def _code(code: int | None) -> str:
    return f"exit code {code}" + (": there is no such command" if code == 127 else "")


def _memory_used_up(job: JobRecord) -> str:
    return f"used up its memory of {job.order.memory:,} MiB"


def _why(job: JobRecord) -> str:
    if job.out_of_memory:
        return _memory_used_up(job)
    if job.result == "failed":
        return _code(job.code)
    return job.decision.why if job.decision is not None else ""
