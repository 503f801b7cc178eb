"""Which part of a trace is evidence of demand: filling at its beginning and draining at its end are not."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hcloud.errors import UsageError
from hcloud.model.workload import DATES_FROM, Demand, Jobs, Window, WindowRule, Workload
from hcloud.planning.forecasting.demand import demand_of
from hcloud.units import SECONDS_PER_HOUR, counted_vcpus, format_span

if TYPE_CHECKING:
    from hcloud.model.workload import Floats

DAY = 86_400
WEEK = 7 * DAY
FINE = 300
TURNED_OVER = 0.5  # ours: jobs come and go where more than half of the vCPUs do so within the trace
MAJOR = 0.5  # ours: what runs on outside a window is a major part where it is half of the window's mean demand
STILL_RUNNING = 0.1  # ours: standing jobs count for as long as this share of them runs,
LEAST_PART = 0.5  # ours: and for all of the trace where that is less than half of it
NEGLIGIBLE = 0.01  # ours: less of a trace than this, or an hour, is neither cut off nor missing to a whole day
THINNED = 0.9  # ours: a mean that is less than this part of another is worth a word
LOST = 0.1  # ours: of the use in steps that the window touches, this part is not lost to rounding it to whole steps
OUTSIDE = "outside the window"
RAN_IN = "began before the window: counted from its start"


@dataclass(frozen=True, slots=True)
class AskedWindow:
    """What the user says: from ``start`` to ``end`` (None: as the trace has it), or the ``last`` seconds of it."""

    text: str
    start: float | None = None
    end: float | None = None
    last: float | None = None


def window_of(workload: Workload) -> Window:
    """The part of a workload that counts: what is stated, else what its jobs show.

    Jobs begin when they started, where that is known, else when they were submitted. Before the first job ends the
    trace only fills, after the last one began it only drains: neither says what is in use. So the window begins a
    typical gap between begins before the first end (or when half of the services are there that outlast it, where they
    are a major part), and ends that gap after the last begin, within the trace. Where most jobs outlast the begins, or
    what runs on outside is a major part of the demand for longer than a window of under a week, or than any window both
    before and after it, the jobs are a list of what stands: then all of the trace counts but for ends in which less
    than a tenth of it runs.
    """
    if workload.window is not None:
        return workload.window
    if isinstance(workload, Demand):
        end = workload.start + workload.step_seconds * len(workload)
        return Window(workload.start, end, workload.start, end, WindowRule.WHOLE)
    if not len(workload):
        return Window(0.0, 0.0, 0.0, 0.0, WindowRule.WHOLE)
    window = replace(window_shown(Course.of(workload)), waited=_waited(workload))
    recorded = workload.recorded_until
    if recorded is None or recorded <= window.start:
        return window
    return replace(window, end=recorded, rule=WindowRule.TRACE)


def _waited(jobs: Jobs) -> float:
    return 0.0 if jobs.start is None else float((jobs.start - jobs.submit).mean())


class Course(NamedTuple):
    """When jobs began (in this order) and ended, in seconds, and the vCPUs that each took; one job at the least."""

    begins: Floats
    ends: Floats
    cores: Floats

    @classmethod
    def of(cls, jobs: Jobs) -> Course:
        """Those of jobs."""
        if jobs.start is None:
            return cls(jobs.submit, jobs.ends, jobs.cores)
        order = np.argsort(jobs.start, kind="stable")
        return cls(jobs.start[order], jobs.ends[order], jobs.cores[order])


def window_shown(course: Course) -> Window:
    """From when to when jobs show what is in use, as :func:`window_of` says."""
    first, last = float(course.begins[0]), float(course.ends.max())
    turning = _turning(course)
    if turning is not None and not _outlasted(course, *turning):
        return Window(*turning, first, last, WindowRule.ARRIVALS)
    return Window(*_standing(course, last), first, last, WindowRule.STANDING)


def _turning(course: Course) -> tuple[float, float] | None:
    """From when to when jobs come and go, filled; None where most outlast the begins."""
    if not _turns_over(course):
        return None
    first, last, gap = float(course.begins[0]), float(course.ends.max()), _typical_gap(course)
    end = min(float(course.begins[-1]) + gap, last)
    start = _begin(first, float(course.ends.min()) - gap, end)
    start = max(start, _late(course, start, end))
    return start, _to_whole_days(start, end)


def thinned(workload: Workload, window: Window) -> str:
    """What to say where jobs come and go for a part of a window that lasts longer for what runs on beside them, and the
    mean is much less than in that part; nothing where it is not."""
    turning = None
    if window.rule is WindowRule.STANDING and isinstance(workload, Jobs):
        course = Course.of(workload)
        turning = _turning(course)
    if turning is None:
        return ""
    whole, part = (_mean_in(course, *each) for each in ((window.start, window.end), turning))
    if whole >= THINNED * part:
        return ""
    start, end = turning
    return (
        f"jobs come and go in {format_span(end - start)} of the {format_span(window.seconds)} alone, with"
        f" {counted_vcpus(round(part, 1))} in use on average, {counted_vcpus(round(whole, 1))} in all of it: --window"
        f" {_written(start)}..{_written(end)} plans as if they came all the time"
    )


def stopped(workload: Workload, window: Window) -> str:
    """What to say where no job comes after a window for longer than it lasts, while others run on: jobs may have
    stopped, and the plan assumes that they keep coming."""
    if window.rule is not WindowRule.ARRIVALS or not isinstance(workload, Jobs):
        return ""
    course = Course.of(workload)
    if _running_on(course, window.end, window.seconds) < STILL_RUNNING * _mean_in(course, window.start, window.end):
        return ""
    until = _standing(course, window.last)[1]
    return (
        f"no job begins in the {format_span(until - window.end)} after the window, in which"
        f" {counted_vcpus(round(_mean_in(course, window.end, until), 1))} run on: the plan assumes that jobs keep"
        f" coming; if they stopped, --window {_written(window.end)}..{_written(until)} plans for what runs on"
    )


def demand_within(workload: Workload, step_seconds: int, window: Window) -> Demand:
    """The demand of the window's steps: those that lie at least half in it, or any part of it where a tenth of the use
    would be lost otherwise; a step outside the trace counts as no demand."""
    demand = demand_of(workload, step_seconds)
    begin, end = ((at - demand.start) / step_seconds for at in (window.start, window.end))
    first, last = round(begin), round(end)
    touched = math.floor(begin), max(math.ceil(end), math.floor(begin) + 1)
    if last <= first or _in_use(demand, first, last) <= (1 - LOST) * _in_use(demand, *touched):
        first, last = touched
    ahead, behind = max(-first, 0), max(last - len(demand), 0)

    def part(column: Floats) -> Floats:
        inside = column[max(first, 0) : max(last, 0)]
        return np.pad(inside, (ahead, behind)) if ahead or behind else inside

    return replace(
        demand,
        start=demand.start + first * step_seconds,
        cores=part(demand.cores),
        memory=part(demand.memory),
        batch_cores=part(demand.batch_cores),
        window=window,
    )


def _in_use(demand: Demand, first: int, last: int) -> float:
    return float(demand.cores[max(first, 0) : max(last, 0)].sum())


def restricted(workload: Workload, asked: AskedWindow) -> Workload:
    """The workload as it is in the window that is asked for; what began before it counts from its start on.

    Raises UsageError where the trace has nothing in it.
    """
    known = window_of(workload)
    end = known.end if asked.end is None else asked.end
    start = known.start if asked.start is None else asked.start
    rule = WindowRule.ASKED
    if asked.last is not None:
        start, missing = max(end - asked.last, known.first), known.first - (end - asked.last)
        rule = WindowRule.SHORTER if missing > _negligible(asked.last) else rule
    window = replace(known, start=start, end=end, rule=rule)
    if not (start < end and start < known.last and end > known.first):
        raise UsageError(
            f"the window {asked.text} is empty: the trace runs from {_said(known.first)} to {_said(known.last)}, over"
            f" {format_span(known.last - known.first)}",
            hint="write START..END in the trace's seconds or as ISO 8601 times, or a duration, for example 14d",
        )
    if isinstance(workload, Jobs):
        return _jobs_within(workload, window)
    return demand_within(workload, workload.step_seconds, window)


def _said(at: float) -> str:
    """A moment of a trace as it is written there: a time where it has dates, else seconds."""
    return _written(at) + " s" * (at < DATES_FROM)


def _written(at: float) -> str:
    return f"{at:.0f}" if at < DATES_FROM else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _jobs_within(jobs: Jobs, window: Window) -> Jobs:
    ends = jobs.ends
    kept = np.flatnonzero((jobs.begins < window.end) & (ends > window.start))
    if not len(kept):
        raise UsageError(
            f"no job runs in the window from {_said(window.start)} to {_said(window.end)}",
            hint="--window names another: START..END, or a duration up to the end of the trace",
        )
    chosen = jobs.at(kept)
    before = chosen.begins < window.start
    ran_in = int(np.count_nonzero(before))
    gone = len(jobs) - len(kept)
    origin = jobs.provenance
    return replace(
        chosen,
        submit=np.maximum(chosen.submit, window.start),
        start=None if chosen.start is None else np.maximum(chosen.start, window.start),
        duration=np.where(before, ends[kept] - window.start, chosen.duration),
        provenance=replace(
            origin,
            left_out={**origin.left_out, OUTSIDE: gone} if gone else origin.left_out,
            repaired={**origin.repaired, RAN_IN: ran_in} if ran_in else origin.repaired,
        ),
        window=window,
    )


def _turns_over(course: Course) -> bool:
    """Whether jobs come and go within the trace: most vCPUs are free again at the last begin, and most are asked
    for after the first end."""
    begins, ends, cores = course
    freed, came = float(cores[ends <= begins[-1]].sum()), float(cores[begins >= ends.min()].sum())
    return min(freed, came) > TURNED_OVER * float(cores.sum())


def _typical_gap(course: Course) -> float:
    """The time between submissions that a random moment lies in: half of the time from the first end to the last
    begin is in longer gaps. Jobs that come by the hour in bursts have an hour, not the seconds within a burst; a
    day at the most."""
    later = course.begins[course.begins >= course.ends.min()]
    gaps = np.sort(np.diff(later if len(later) > 1 else course.begins))
    past = np.cumsum(gaps)
    return min(float(gaps[int(np.searchsorted(past, past[-1] / 2))]), float(DAY)) if len(gaps) else 0.0


def _begin(first: float, filled: float, end: float) -> float:
    """When the trace is filled, or its first submission where hardly anything lies between."""
    return filled if filled - first > _negligible(end - first) else first


def _negligible(span: float) -> float:
    return max(SECONDS_PER_HOUR if span >= DAY else FINE, NEGLIGIBLE * span)


def _to_whole_days(begin: float, end: float) -> float:
    """The end of the last day where hardly anything is missing to it, whether or not something still runs: only whole
    weeks are planned for."""
    whole = begin + math.ceil((end - begin) / DAY) * DAY
    return whole if whole <= end + _negligible(end - begin) else end


def _outlasted(course: Course, start: float, end: float) -> bool:
    """Whether a major part of the demand of a window of under a week runs on after it, or ran before it, for longer
    than it lasts; of a longer window both: jobs that neither came before nor after it were done once."""
    least, longest = MAJOR * _mean_in(course, start, end), end - start
    major = [part >= least for part in (_running_on(course, end, longest), _running_before(course, start, longest))]
    return all(major) if longest >= WEEK else any(major)


def _running_on(course: Course, end: float, longest: float) -> float:
    """The vCPUs of what runs on after a window for longer than it lasts."""
    begins, ends, cores = course
    return _several(cores[(ends > end + longest) & (begins <= end)], longest)


def _running_before(course: Course, start: float, longest: float) -> float:
    begins, ends, cores = course
    return _several(cores[(begins <= start - longest) & (ends > start)], longest)


def _late(course: Course, start: float, end: float) -> float:
    """When half of what outlasts a window is there, where that is a major part: before, the trace fills."""
    begins, ends, cores = course
    if _running_on(course, end, end - start) < MAJOR * _mean_in(course, start, end):
        return start
    on = np.flatnonzero((ends > end + (end - start)) & (begins <= end))
    there = np.cumsum(cores[on])
    return float(begins[on[int(np.argmax(there >= LEAST_PART * there[-1]))]])


def _several(cores: Floats, longest: float) -> float:
    """Their vCPUs. In a window of a day or more one job alone is one that never ends, not a list of what stands."""
    return float(cores.sum() - (longest >= DAY) * cores.max(initial=0.0))


def _mean_in(course: Course, start: float, end: float) -> float:
    """The mean vCPUs in use from one moment to another."""
    inside = np.clip(np.minimum(course.ends, end) - np.maximum(course.begins, start), 0.0, None)
    return float((inside * course.cores).sum()) / (end - start)


def _standing(course: Course, last: float) -> tuple[float, float]:
    """From when and until when at least a tenth of the jobs run that run together: before the first end, and at the
    last submission; from the first submission to the last end where that is too little of the trace."""
    begins, ends, cores = course
    begun = np.cumsum(cores[begins < ends.min()])
    start = float(begins[int(np.argmax(begun >= STILL_RUNNING * begun[-1]))])
    running = np.flatnonzero(ends > begins[-1])
    order = running[np.argsort(ends[running], kind="stable")]
    left = np.cumsum(cores[order][::-1])[::-1]
    end = float(ends[order[int(np.flatnonzero(left >= STILL_RUNNING * left[0])[-1])]])
    first = float(begins[0])
    return (start, end) if end - start >= LEAST_PART * (last - first) else (first, last)
