"""The figures that studies look at: each a name and what it reads off a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from hcloud.research.studies.bench import Case, Figure, RunFigures, StudyBench
from hcloud.research.studies.report import PictureMark, StudyTable


def _read(what: str, factor: float = 1.0) -> Figure:
    """A figure of a run by where it stands there."""
    of = attrgetter(what)
    return lambda run: float(of(run)) * factor


PERCENT = 100
batch_mean = _read("measures.service.batch.mean", PERCENT)
"""Mean performance of batch jobs, % of isolation."""
batch_worst = _read("measures.service.batch.p5", PERCENT)
"""What 95 % of batch jobs reach, % of isolation."""
service_mean = _read("served", PERCENT)
"""Mean performance of services, % of isolation: one over the tail, at most 100."""
tail_mean, tail_worst = _read("measures.service.tail.mean"), _read("measures.service.tail.p95")
"""Mean tail of services, times isolation, and the tail that 95 % of services stay below."""
per_hour, per_own_hour = _read("measures.cost.per_ideal_hour"), _read("measures.cost.per_hour")
"""Dollars an hour of work, and of the strategy's own makespan."""
completion = _read("completion")
"""Real over isolated completion time, mean over batch jobs."""
utilisation = _read("measures.use.utilisation", PERCENT)
"""Use of the reserve, %."""
at_once_per_use = _read("measures.use.at_once_per_use", PERCENT)
"""Instances released as soon as they were empty, % of the times one became empty."""
at_once_per_instance = _read("measures.use.at_once_per_instance", PERCENT)
"""The same, % of the instances ever obtained."""
launched, reused = _read("measures.use.spin_ups"), _read("measures.use.reuses")
own_batch, rented_batch = _read("own.batch", PERCENT), _read("rented.batch", PERCENT)
own_tail, rented_tail = _read("own.tail"), _read("rented.tail")
"""The same of jobs that ended on the reserve, and of those on demand."""


def moved(run: RunFigures) -> float:
    """Jobs moved, % of jobs."""
    return run.measures.use.reschedules / run.measures.jobs * PERCENT


def rented_share(run: RunFigures) -> float:
    """Jobs that ended on demand, % of those that ended."""
    return run.rented.jobs / max(run.rented.jobs + run.own.jobs, 1) * PERCENT


QUALITY: Mapping[str, Figure] = {
    "batch, mean (% of isolation)": batch_mean,
    "batch, 95 % reach (%)": batch_worst,
    "tail, mean (x)": tail_mean,
    "tail, p95 (x)": tail_worst,
}
"""The 95th percentile of batch jobs is what 95 % of them reach or exceed."""
SWEPT: Mapping[str, Figure] = {
    "batch, mean (% of isolation)": batch_mean,
    "batch, 95 % reach (%)": batch_worst,
    "services: tail, p95 (x)": tail_worst,
    "cost ($ an hour)": per_hour,
}
"""What every sensitivity study reports: 95th-percentile performance and cost. What 95 % of batch jobs reach lies at the
model's worst slowdown where more than one job in twenty meets it (OdM), and cannot move there; the mean can."""


def table(bench: StudyBench, title: str, cases: Mapping[str, Case], figures: Mapping[str, Figure]) -> StudyTable:
    """A row for each case, a column for each figure."""
    rows = tuple((name, *(str(bench.interval(case, f)) for f in figures.values())) for name, case in cases.items())
    return StudyTable(title, ("", *figures), rows)


def grid(
    bench: StudyBench, title: str, cases: Mapping[tuple[str, str], Case], figure: Figure, corner: str = ""
) -> StudyTable:
    """A row for each first name, a column for each second."""
    rows, columns = list(dict.fromkeys(r for r, _ in cases)), list(dict.fromkeys(c for _, c in cases))
    cells = tuple((r, *(str(bench.interval(cases[r, c], figure)) for c in columns)) for r in rows)
    return StudyTable(title, (corner, *columns), cells)


def curves(bench: StudyBench, cases: Mapping[tuple[float, str], Case]) -> tuple[PictureMark, ...]:
    """A panel for each swept figure, a curve for each strategy over the swept value."""
    marks = []
    for panel, figure in SWEPT.items():
        for (x, series), case in cases.items():
            made = bench.interval(case, figure)
            marks.append(PictureMark(panel, series, x, (made.mean, made.low, made.high)))
    return tuple(marks)


def swept(
    bench: StudyBench, cases: Mapping[tuple[float, str], Case], corner: str, names: Sequence[str]
) -> tuple[StudyTable, ...]:
    """One table a figure: a row for each swept value (``names`` as written), a column for each strategy."""
    values = list(dict.fromkeys(x for x, _ in cases))
    said = dict(zip(values, names, strict=True))
    told = {(said[x], series): case for (x, series), case in cases.items()}
    return tuple(grid(bench, title, told, figure, corner) for title, figure in SWEPT.items())
