"""``hcloud report accuracy``: a plan's predictions, with the figures of its forecast and simulation, beside what a
journal, or the live machines, say happened."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import takewhile
from pathlib import Path
from statistics import fmean

from hcloud.control.sessions.session import ControlSession
from hcloud.errors import EvidenceError, UsageError
from hcloud.model.catalog import PurchaseOption
from hcloud.model.plans.operation import Band
from hcloud.model.plans.plan import OWNED, Plan
from hcloud.model.running.decision import Decision, DecisionAction
from hcloud.model.running.event import Arrival, Quality
from hcloud.model.workload import Window, WindowRule
from hcloud.planning.reports.accuracy import Accuracy, ComparedFigure, effects, items_of
from hcloud.planning.reports.journeys import Journey, JourneyBuilder, journeys_of
from hcloud.planning.reports.of_plan import WHOLE
from hcloud.planning.reports.quality import AskedCapacity, GroupQuality, quality_of, span_of
from hcloud.planning.reports.report import Report
from hcloud.planning.reports.savings import coverage
from hcloud.policy.codes import SCALE
from hcloud.policy.mapping import Situation
from hcloud.sim.machine_code.compiled import kernels
from hcloud.store.journals.journal import JournalContents, refusing_impossible
from hcloud.store.journals.live import read_whole
from hcloud.store.plan_file import load_plan
from hcloud.units import HOURS_PER_MONTH, SECONDS_PER_HOUR, cents, counted, rate
from hcloud.usecases.live.decide import Kernels
from hcloud.usecases.reports.of_journal import JournalPricing, report_of_journal
from hcloud.usecases.reports.rented import is_dated
from hcloud.usecases.reports.report import ReportRequest, report_of_plan
from hcloud.usecases.workloads.sources import open_prices

_DIGITS = 9  # so many more than a screen shows that rounding again there gives what rounding once would
_CUT_OUT = WindowRule.ASKED, WindowRule.SHORTER, WindowRule.FALLEN  # before a run begins
_QUEUED, _LAUNCHED, _TOOK = "that were queued", "for which a machine was launched", "with expected seconds"


@dataclass(slots=True)
class _Pairs:
    """Expected and actual values of one kind."""

    unit: str
    values: list[tuple[float, float]] = field(default_factory=list)

    def figure(self, name: str) -> ComparedFigure:
        expected, actual = (fmean(column) for column in zip(*self.values, strict=True))
        return ComparedFigure(name, self.unit, _exactly(expected), _exactly(actual))

    @property
    def error(self) -> float:
        """The mean of the absolute errors."""
        return fmean(abs(actual - expected) for expected, actual in self.values)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Means of what was expected beside means of what came, and how far single ones were off."""

    figures: tuple[ComparedFigure, ...]
    notes: tuple[str, ...]


def estimates_of(journal: JournalContents, kernels: Kernels) -> Estimates:
    """Replay the whole of a live journal, and ask the controller at each arrival what it expects."""
    waits = {_QUEUED: _Pairs("s"), _LAUNCHED: _Pairs("s")}
    offered: dict[int, float] = {}
    journeys = journeys_of(journal.lines)
    for (arrival, situation, made), journey in zip(_arrivals(journal, kernels), journeys, strict=True):
        decision = next((d for d in made if d.job == arrival.job), None)
        if decision is None:
            continue
        if decision.action is DecisionAction.LAUNCH and decision.instance is not None:
            if PurchaseOption.SPOT not in decision.place:
                offered[decision.instance] = situation.offered / SCALE
            kind = decision.place.rpartition(" ")[2]
            starts = next((t.spin_up for t in journal.setup.types if t.name == kind), math.inf)
            _add(waits[_LAUNCHED], starts, arrival, journey)
        elif decision.action is DecisionAction.QUEUE:
            _add(waits[_QUEUED], situation.wait, arrival, journey)
    told = {f"wait of {counted(len(p.values), 'job')} {kind}": p for kind, p in waits.items() if p.values}
    told |= {f"run of {counted(len(p.values), 'job')} {_TOOK}": p for p in (_took(journeys),) if p.values}
    if (machines := _machines(journal, offered)).values:
        told[f"quality of {counted(len(machines.values), 'launched machine')}"] = machines
    errors = {n: f"{p.error:,.1f} s" if p.unit == "s" else f"{100 * p.error:.1f} points" for n, p in told.items()}
    notes = tuple(f"{name}: mean absolute error {error}" for name, error in errors.items())
    return Estimates(tuple(p.figure(name) for name, p in told.items()), notes)


def _arrivals(journal: JournalContents, kernels: Kernels) -> Iterator[tuple[Arrival, Situation, Sequence[Decision]]]:
    """Each arrival with what the controller saw before it decided, and what it decided."""
    session, seen = ControlSession(journal.setup, kernels), list[Situation]()
    session.watch = lambda row, now: seen.append(session.situation(row, now))
    for event in journal.events:
        seen.clear()
        made = session.handle(event)
        if isinstance(event, Arrival):
            yield event, seen[0], made


def in_use_of(journal: JournalContents, window: tuple[float, float] | None) -> float | None:
    """The share of the reserve's vCPUs in use, within a window or up to the last line, None without a reserve. The
    controller is asked: a journal does not say how much more a job got."""
    events = journal.events
    if not journal.setup.reserved_cores or not events:
        return None
    session = ControlSession(journal.setup, kernels(len(events)))
    first = events[0].at if journal.setup.start is None else journal.setup.start
    since, until = window or (first, max(line.at for line in journal.lines))
    now, used = since, 0.0
    for event in takewhile(lambda e: e.at < until, events):
        used += session.tables.utilisation() * max(event.at - now, 0.0)
        now = max(now, event.at)
        session.handle(event)
    return (used + session.tables.utilisation() * (until - now)) / (until - since) if until > since else None


def _add(pairs: _Pairs, expected: float, arrival: Arrival, journey: Journey) -> None:
    """Only where there was an estimate, and where the job has begun."""
    if journey.began is not None and math.isfinite(expected):
        pairs.values.append((expected, max(journey.began - arrival.at, 0.0)))


def _took(journeys: Sequence[Journey]) -> _Pairs:
    done = (j for j in journeys if j.performance is not None and j.order is not None)
    return _Pairs("s", [(j.order.expect, j.ran) for j in done if j.order is not None and j.order.expect is not None])


def _machines(journal: JournalContents, offered: dict[int, float]) -> _Pairs:
    """The first probe of each machine that was launched for a job beside the quality that was expected of its type."""
    probes = [e for e in journal.events if isinstance(e, Quality)]
    first = {p.instance: p.score for p in reversed(probes)}
    return _Pairs("share", [(offered[number], score) for number, score in sorted(first.items()) if number in offered])


def _exactly(value: float) -> Decimal:
    return Decimal(repr(round(value, _DIGITS)))


LEAST_STEP = 60
SHARES = 6  # ours: digits of a share


@dataclass(frozen=True, slots=True)
class _Ran:
    """What a journal says of its jobs."""

    quality: GroupQuality
    span: AskedCapacity
    in_use: float | None


def accuracy_of_journal(plan_file: Path, journal: Path, asked: ReportRequest) -> Accuracy:
    """A plan beside a run, priced where the plan is and with its commitment. Raises EvidenceError where a price is
    missing, UsageError for a plan of several places."""
    plan = load_plan(plan_file)
    told = read_whole(journal)
    with refusing_impossible(journal):
        follower = JourneyBuilder().follow(told.lines)
    journeys = tuple(follower.journeys.values())
    step = max(plan.step_seconds, LEAST_STEP)
    # what is dated, as live work, is no simulation of the plan's trace: it counts as a whole
    counted = None if is_dated(told.setup, told.entries) else plan.workload.window
    window = None if counted is None else _in_seconds_of(journeys, counted, told.setup.window)
    steps = None if window is None or counted is None else _steps_of(plan, counted, window)
    span = span_of(journeys, follower.last, step, steps)
    if window is not None and counted is not None and _is_all(counted, window, told.setup.window, journeys):
        window = None  # its simulation counted what ran on, too
    with refusing_impossible(journal):
        ran = _Ran(quality_of("all jobs", journeys), span, in_use_of(told, window))
    actual = report_of_journal(journal, asked, _place(plan, plan_file), window)
    found = _accuracy((plan, plan_file), actual, asked, ran)
    if told.live is None:
        return found
    own = estimates_of(told, kernels(len(told.events)))
    return replace(found, figures=(*found.figures, *own.figures), notes=(*found.notes, *own.notes))


def _steps_of(plan: Plan, counted: Window, window: tuple[float, float]) -> tuple[float, float]:
    """The whole steps that a plan's demand is of, in the seconds of a run: a short window lies within longer ones."""
    step, origin = plan.step_seconds, window[0] - counted.start
    steps = round(plan.workload.hours * SECONDS_PER_HOUR / step)
    begin, end = counted.start / step, counted.end / step
    for first, last in ((round(begin), round(end)), (math.floor(begin), math.ceil(end))):
        if last - first == steps:
            return origin + first * step, origin + last * step
    return window


def _is_all(
    counted: Window, window: tuple[float, float], said: tuple[float, float] | None, journeys: Sequence[Journey]
) -> bool:
    """Whether a plan's window is the whole of a run, which is simulated to its end then."""
    last = max((j.arrived for j in journeys), default=0.0)
    return counted.is_whole and said is None and last < window[1] + LEAST_STEP


def _in_seconds_of(
    journeys: Sequence[Journey], counted: Window, said: tuple[float, float] | None
) -> tuple[float, float]:
    """A plan's window in the seconds of a run: what the journal says, where that is as long. Else a run of a plan has
    only the jobs of a window that was cut out, so that none came later than that lasts, and begins with it; others
    begin with the trace."""
    if said is not None and abs(said[1] - said[0] - counted.seconds) < 1:
        return said
    alone = counted.rule in _CUT_OUT and max((j.arrived for j in journeys), default=0.0) < counted.seconds + LEAST_STEP
    first = counted.start if alone else counted.first
    return counted.start - first, counted.end - first


def accuracy_of_decisions(journal: Path) -> Accuracy:
    """What the controller of live work expected at each decision beside what happened. Raises UsageError for a journal
    of a simulation, EvidenceError where nothing was estimated."""
    told = read_whole(journal)
    if told.live is None:
        raise UsageError(f"{journal}: is not a journal of live work", hint="--plan PLAN compares it with a plan")
    own = estimates_of(told, kernels(len(told.events)))
    if not own.figures:
        raise EvidenceError(f"{journal}: no job waited, and no machine was probed: nothing to compare")
    hours = Decimal(repr(round(max(e.at for e in told.events) - told.events[0].at, 3))) / SECONDS_PER_HOUR
    return Accuracy("", journal.name, max(hours, Decimal("0.0003")), own.figures, None, own.notes)


def accuracy_of_live(plan_file: Path, rented: Callable[[], Report], asked: ReportRequest) -> Accuracy:
    """A plan beside what was ``rented``, as its report says, which is made only where the file is a plan."""
    plan = load_plan(plan_file)
    return _accuracy((plan, plan_file), rented(), asked, None)


def _place(plan: Plan, path: Path) -> JournalPricing:
    places = {(str(m.provider), m.region) for m in plan.mix}
    if len(places) != 1:
        raise UsageError(f"{path}: a plan of {len(places)} places; a journal is of one")
    provider, region = next(iter(places))
    held = sorted((m for m in plan.mix if m.option.is_commitment), key=lambda m: m.is_owned)
    ways = [(m, m.address.removeprefix(OWNED).split("/")[3]) for m in held]
    bought: dict[str, list[str]] = {}
    for line, terms in ways:
        bought.setdefault(line.instance_type, []).extend([terms] * math.ceil(line.count))
    return JournalPricing(provider, region, ways[0][1] if ways else None, bought)


def _accuracy(planned: tuple[Plan, Path], actual: Report, asked: ReportRequest, ran: _Ran | None) -> Accuracy:
    plan, path = planned
    predicted = report_of_plan(path, asked, WHOLE)  # machines of a reserve run all the time, as those that are counted
    hours, month = _hours(actual), _hours(predicted)
    size = _sizes(plan, asked)
    return Accuracy(
        path.name,
        actual.name,
        hours,
        (*_costs(plan, actual.costs.effective / hours), *_of_commitments(predicted, actual), *_of_run(plan, ran)),
        effects(items_of(predicted.charges, month, size), items_of(actual.charges, hours, size), _grown(plan, ran)),
        (*actual.notes, "intervals are of the mean over seeds, or of futures drawn from the trace"),
    )


def _grown(plan: Plan, ran: _Ran | None) -> Decimal | None:
    if ran is None or not plan.workload.mean_cores:
        return None
    return Decimal(repr(ran.span.mean_cores)) / Decimal(repr(plan.workload.mean_cores)) - 1


def _hours(report: Report) -> Decimal:
    return Decimal(max(report.period.end - report.period.start, 1)) / SECONDS_PER_HOUR


def _sizes(plan: Plan, asked: ReportRequest) -> Callable[[str], Decimal]:
    """vCPUs of a type, by the plan or the price book."""
    known = {m.instance_type: m.vcpus / m.count for m in plan.mix if m.count}
    book, _ = open_prices(asked.loaded, asked.at.date())
    sold = {name: shape.vcpus for (_, name), shape in book.types.items()}
    return lambda name: known.get(name) or sold.get(name, Decimal(1))


def _costs(plan: Plan, hourly: Decimal) -> Iterator[ComparedFigure]:
    """Dollars an hour and a month: as simulated where strategies were, and by the plan's arithmetic."""
    operation, risk = plan.operation, plan.risk
    if operation is not None:
        chosen, half = operation.chosen, operation.chosen.hourly_half
        ends = (None, None) if half is None else (chosen.hourly - half, chosen.hourly + half)
        yield from _two("cost simulated", chosen.hourly, hourly, ends)
    spread = (None, None) if risk is None else (risk.cost_p10 / plan.horizon_hours, risk.cost_p90 / plan.horizon_hours)
    yield from _two("cost of the mix", plan.after.hourly, hourly, spread)


Ends = tuple[Decimal | None, Decimal | None]


def _two(name: str, predicted: Decimal, actual: Decimal, ends: Ends) -> Iterator[ComparedFigure]:
    low, high = (None if end is None else rate(end) for end in ends)
    yield ComparedFigure(name, "$/h", rate(predicted), rate(actual), low, high)
    low, high = (None if end is None else cents(end * HOURS_PER_MONTH) for end in ends)
    yield ComparedFigure(
        name, "$/month", cents(predicted * HOURS_PER_MONTH), cents(actual * HOURS_PER_MONTH), low, high
    )


def _of_commitments(predicted: Report, actual: Report) -> Iterator[ComparedFigure]:
    planned, came = coverage(predicted.charges), coverage(actual.charges)
    yield ComparedFigure("coverage", "share", _share(planned.coverage), _share(came.coverage))
    yield ComparedFigure("commitments rented", "share", _share(planned.utilisation), _share(came.utilisation))


def _of_run(plan: Plan, ran: _Ran | None) -> Iterator[ComparedFigure]:
    """What jobs say: use of the reserve, kept performance, waits and demand."""
    point = plan.operation.chosen if plan.operation is not None else None
    if ran is None:
        return
    yield _band("reserve in use", "share", point.utilisation if point else None, ran.in_use)
    yield _band("jobs that kept QoS", "share", point.kept_qos if point else None, ran.quality.kept)
    yield _band("wait p95", "s", point.wait_p95 if point else None, ran.quality.wait_p95)
    work = plan.workload
    yield ComparedFigure("mean demand", "vCPU", _exact(work.mean_cores), _exact(ran.span.mean_cores))
    yield ComparedFigure("peak demand", "vCPU", _exact(work.peak_cores), _exact(ran.span.peak_cores))


def _band(name: str, unit: str, predicted: Band | None, actual: float | None) -> ComparedFigure:
    if predicted is None:
        return ComparedFigure(name, unit, None, _exact(actual))
    half, most = predicted.half, 1.0 if unit == "share" else float("inf")
    ends: Ends = (None, None)
    if half is not None:
        ends = (_exact(max(predicted.mean - half, 0.0)), _exact(min(predicted.mean + half, most)))
    return ComparedFigure(name, unit, _exact(predicted.mean), _exact(actual), *ends)


def _exact(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(repr(round(value, SHARES)))


def _share(value: Decimal | None) -> Decimal | None:
    return None if value is None else round(value, SHARES)
