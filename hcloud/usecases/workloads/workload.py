"""``hcloud workload``: open a trace or a scenario, sum it up, check files, and write our own schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError, UsageError, writing
from hcloud.model.workload import (
    Demand,
    JobKind,
    Jobs,
    Summary,
    Window,
    Workload,
    WorkloadVerdict,
)
from hcloud.planning.forecasting.demand import demand_of, peak_cores
from hcloud.planning.forecasting.following import waits_of
from hcloud.planning.forecasting.forecast import choose_step
from hcloud.planning.forecasting.outliers import outlier
from hcloud.planning.forecasting.window import demand_within, window_of
from hcloud.planning.settings import Outlook
from hcloud.readers.typed import typed, words_for
from hcloud.store.files.looked_at import check_place
from hcloud.units import SECONDS_PER_HOUR
from hcloud.usecases.workloads.sources import SCENARIO_PREFIX, trace_options, within
from hcloud.whole_files import whole_file

if TYPE_CHECKING:
    import pyarrow as pa

    from hcloud.model.workload import Codes, Kinds

DAY = 86_400
_MOST_STEPS = 20_000
"""A longer series is shown in coarser steps; a shorter one as it is, without part-filled steps at its ends."""
_STEPS = ((DAY, 60), (7 * DAY, 300), (60 * DAY, 3600), (float("inf"), DAY))


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """What to open and how: a path or ``scenario:NAME``, a format (or ``auto``), keys as given, the scenario's seed,
    and what of it counts."""

    name: str
    format: str = "auto"
    keys: Mapping[str, str] | None = None
    seed: int = 42
    window: str | None = None


def open_request(request: WorkloadRequest, progress: Callable[[float], None] | None = None) -> Workload:
    """The workload that is asked for; InputError where a file cannot be used, UsageError for unknown names."""
    return within(_read(request, progress), request.window)


def _read(request: WorkloadRequest, progress: Callable[[float], None] | None) -> Workload:
    if request.name.startswith(SCENARIO_PREFIX):
        from hcloud.readers.workloads.requiring import part_of
        from hcloud.usecases.workloads.scenarios import scenario_jobs

        parts = ((request.keys or {}).get(key, "") for key in ("requires", "gib_per_vcpu"))
        return part_of(scenario_jobs(request.name.removeprefix(SCENARIO_PREFIX), request.seed), *parts)
    from hcloud.usecases.workloads.journals import read_trace

    return read_trace(Path(request.name), request.format, trace_options(request.keys or {}), progress)


def validate(
    names: Sequence[str], request: WorkloadRequest, progress: Callable[[float], None] | None = None
) -> tuple[WorkloadVerdict, ...]:
    """Read every file and say whether it can be used; no file hides another's problems."""
    verdicts: list[WorkloadVerdict] = []
    for name in names:
        with typed(words_for(name, names)):
            one = WorkloadRequest(name, request.format, request.keys, request.seed)
            try:
                verdicts.append(WorkloadVerdict(name, open_request(one), None))
            except InputError as error:
                verdicts.append(WorkloadVerdict(name, None, error))
        if progress is not None:
            progress(len(verdicts))
    return tuple(verdicts)


def summarise(workload: Workload, step_seconds: int | None = None) -> Summary:
    """Figures and demand; the step that is drawn is chosen from the span unless given."""
    window = window_of(workload)
    if isinstance(workload, Demand):
        return _series_summary(workload, window, step_seconds)
    first, last = float(workload.begins.min()), float(workload.ends.max())
    return Summary(
        provenance=workload.provenance,
        entries=len(workload),
        kinds={kind.name.lower(): int(np.count_nonzero(workload.kind == kind)) for kind in JobKind},
        span_seconds=last - first,
        mean_duration_seconds=float(workload.duration.mean()),
        counted=demand_within(workload, choose_step(workload, window, Outlook()), window),
        window=window,
        peak_at_once=peak_cores(workload),
        core_hours=float((workload.cores * workload.duration).sum()) / SECONDS_PER_HOUR,
        gpus=float(workload.gpus.sum()),
        demand=demand_of(workload, step_seconds or fitting_step(last - first)),
        outlier=outlier(workload, window),
    )


def _series_summary(series: Demand, window: Window, step_seconds: int | None) -> Summary:
    span = len(series) * series.step_seconds
    fit = series.step_seconds if len(series) <= _MOST_STEPS else fitting_step(span)
    planned = max(choose_step(series, window, Outlook()), series.step_seconds)
    return Summary(
        provenance=series.provenance,
        entries=len(series),
        kinds={},
        span_seconds=span,
        mean_duration_seconds=0.0,
        counted=demand_within(series, planned, window),
        window=window,
        peak_at_once=peak_cores(series),
        core_hours=float(series.cores.sum()) * series.step_seconds / SECONDS_PER_HOUR,
        gpus=0.0,
        demand=demand_of(series, max(step_seconds or fit, series.step_seconds)),
    )


def fitting_step(span_seconds: float) -> int:
    """A step that leaves some hundreds of points over the span."""
    return next(step for longest, step in _STEPS if span_seconds <= longest)


def convert(workload: Workload, target: Path, *, force: bool = False) -> int:
    """Write the workload in our own schema and return the rows written; CSV or Parquet by the target's suffix.

    The file appears under its name only when complete. A symbolic link, and without ``force`` any file that is there
    already, is refused.
    """
    suffix = target.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise UsageError(f"{target}: the file name must end in .csv or .parquet")
    check_place(target, "a workload")
    if target.exists() and not force:
        raise InputError(f"{target} already exists", hint="choose another name, or overwrite it with --force")
    if isinstance(workload, Demand) and suffix != ".csv":
        raise UsageError("a demand series is written as CSV; choose a name that ends in .csv")
    table = workload_table(workload)
    _write(table, target, suffix)
    return int(table.num_rows)


def not_in_a_file(workload: Workload) -> str:
    """What a file in our own schema has no column for, said to who converts; "" where nothing is lost."""
    if isinstance(workload, Demand) or not (workload.vectors or workload.performance or workload.courses):
        return ""
    return "what is known of applications is not in the file: a simulation of it draws their interference by chance"


def workload_table(workload: Workload) -> pa.Table:
    """The workload in our own schema."""
    return _series_table(workload) if isinstance(workload, Demand) else _jobs_table(workload)


def _jobs_table(jobs: Jobs) -> pa.Table:
    import pyarrow as pa

    columns = {
        **_waits(jobs),
        "submit": pa.array(jobs.submit),
        **({} if jobs.start is None else {"start": pa.array(jobs.start)}),
        "duration": pa.array(jobs.duration),
        "cores": pa.array(jobs.cores),
        "memory": pa.array(jobs.memory),
        "kind": _labels(jobs.kind, ("batch", "service")),
        "gpus": pa.array(jobs.gpus),
    }
    named = [("app", jobs.app, jobs.apps), ("qos", jobs.qos, jobs.qos_classes)]
    if jobs.target is not None:
        columns |= {name: pa.array(getattr(jobs, name), mask=jobs.target >= 0) for name in ("cores", "memory")}
        named.append(("target", jobs.target, tuple(str(one.target) for one in jobs.targets)))
    columns |= {name: _labels(codes, labels) for name, codes, labels in named if labels}
    return pa.table(columns | _stated(jobs))


def _labels(codes: Codes | Kinds, labels: Sequence[str]) -> pa.Array:
    """The label of each row; null below zero."""
    import pyarrow as pa

    places = pa.array(codes, pa.int32(), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(places, pa.array(labels, pa.string())).cast(pa.string())


def _stated(jobs: Jobs) -> dict[str, pa.Array]:
    """What jobs say of the servers that they run on, where some do."""
    import pyarrow as pa

    found = {} if jobs.divisible is None else {"divisible": _labels(jobs.divisible, ("no", "yes"))}
    for name, points in (("causes", jobs.causes), ("tolerates", jobs.bears)):
        if points is not None:
            known = [" ".join(map(str, row)) if row[0] >= 0 else None for row in points.tolist()]
            found[name] = pa.array(known, pa.string())
    if jobs.requires is not None:
        found["requires"] = _labels(jobs.requires, jobs.requirements)
    if jobs.servers is not None:
        found["servers"] = pa.array(jobs.servers)
    if jobs.urgent is not None:
        found["urgent"] = _labels(jobs.urgent, ("no", "yes"))
    return found


def _waits(jobs: Jobs) -> dict[str, pa.Array]:
    """The names of jobs, where they have such, and those whose end each waits for, with
    the seconds from there on, where some do."""
    if jobs.ids is None:
        return {}
    import pyarrow as pa

    names = [name.decode() for name in jobs.ids.tolist()]
    found = {"id": pa.array(names, pa.string())}
    if jobs.after is None:
        return found
    before: list[list[str]] = [[] for _ in names]
    for job, one in waits_of(jobs).tolist():
        before[job].append(names[one])
    found["after"] = pa.array([" ".join(others) or None for others in before], pa.string())
    return found if jobs.think is None else found | {"think": pa.array(jobs.think)}


def _series_table(series: Demand) -> pa.Table:
    import pyarrow as pa

    times = series.start + series.step_seconds * np.arange(len(series))
    return pa.table(
        {
            "timestamp": times, "cores": series.cores, "memory": series.memory, "batch_cores": series.batch_cores,
        }
    )  # fmt: skip


def _quoting(table: pa.Table) -> str:
    """No quotes at all where no label asks for them: such files are read fastest and look plainest."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [column for column in table.columns if pa.types.is_string(column.type)]
    special = any(pc.any(pc.match_substring_regex(column, '[",\\r\\n]')).as_py() for column in texts)
    return "needed" if special else "none"


def _write(table: pa.Table, target: Path, suffix: str) -> None:
    from pyarrow import csv, parquet

    with writing(target), whole_file(target, lasts=False) as file:
        if suffix == ".parquet":
            parquet.write_table(table, file)
        else:
            csv.write_csv(table, file, csv.WriteOptions(quoting_style=_quoting(table)))
