"""The figures that studies look at: each a name and what it reads off a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hcloud.research.studies.bench import Case, Figure, RunFigures, StudyBench
from hcloud.research.studies.report import PictureMark, StudyTable


def batch_mean(run: RunFigures) -> float:
    """Mean performance of batch jobs, % of isolation."""
    return run.measures.service.batch.mean * 100


def batch_worst(run: RunFigures) -> float:
    """What 95 % of batch jobs reach, % of isolation."""
    return run.measures.service.batch.p5 * 100


def service_mean(run: RunFigures) -> float:
    """Mean performance of services, % of isolation: one over the tail, at most 100."""
    return run.served * 100


def tail_mean(run: RunFigures) -> float:
    """Mean tail of services, times isolation."""
    return run.measures.service.tail.mean


def tail_worst(run: RunFigures) -> float:
    """The tail that 95 % of services stay below, times isolation."""
    return run.measures.service.tail.p95


def per_hour(run: RunFigures) -> float:
    """Dollars an hour of work."""
    return float(run.measures.cost.per_ideal_hour)


def per_own_hour(run: RunFigures) -> float:
    """Dollars an hour of the strategy's own makespan."""
    return float(run.measures.cost.per_hour)


def completion(run: RunFigures) -> float:
    """Real over isolated completion time, mean over batch jobs."""
    return run.completion


def moved(run: RunFigures) -> float:
    """Jobs moved, % of jobs."""
    return run.measures.use.reschedules / run.measures.jobs * 100


def utilisation(run: RunFigures) -> float:
    """Use of the reserve, %."""
    return run.measures.use.utilisation * 100


def at_once_per_use(run: RunFigures) -> float:
    """Instances released as soon as they were empty, % of the times one became empty."""
    return run.measures.use.at_once_per_use * 100


def at_once_per_instance(run: RunFigures) -> float:
    """The same, % of the instances ever obtained."""
    return run.measures.use.at_once_per_instance * 100


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
