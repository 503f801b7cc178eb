"""Our own schema of jobs: how a checked table becomes Jobs with everything else modelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hcloud.errors import InputError
from hcloud.model.measured.profile import RESOURCES
from hcloud.model.target import GoalKind, TargetedSize
from hcloud.model.workload import JOB_COLUMNS, SPARSE_COLUMNS, JobKind, Jobs, Modelled, Provenance
from hcloud.planning.forecasting.following import earliest
from hcloud.readers.applications.targets import read_targets
from hcloud.readers.workloads import limits
from hcloud.readers.workloads.findings import Findings, shown
from hcloud.readers.workloads.formats.jobs.stated_units import in_gib, in_vcpus, units_read
from hcloud.readers.workloads.meanings import JOBS, kind_of, meant
from hcloud.readers.workloads.options import WorkloadOptions
from hcloud.readers.workloads.quantities import points_of
from hcloud.readers.workloads.tables.columns import MOST_NAMED, TICKS, Sink
from hcloud.readers.workloads.tables.waits import NO_IDS, read_waits
from hcloud.units import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hcloud.model.workload import Codes, Floats, Ids, Ints, Kinds

    Named = Callable[[list[int]], Sequence[str]]

START_KEY = "columns"
AT_ONCE = "jobs count from submission; recorded starts are not used"
STILL_RUNS = "without an end: counted up to the newest time in the file (open_ends=run)"
NO_WAIT = "without a start: counted from its submission"
NO_START = f"{NO_WAIT} (if they never ran: open_ends=leave-out)"
NO_SUBMIT = "without a submission: submitted when it began (open_ends)"
NEVER_RAN = "without a start, an end or a duration: never ran (open_ends)"
LENGTH = f"an end after the begin, by at most {limits.DURATION_SECONDS:g} s"


@dataclass(slots=True)
class Draft:
    """Job columns on their way to Jobs: what is still missing is None, what was done is counted."""

    name: str
    format: str
    digest: str
    submit: Floats
    duration: Floats
    cores: Floats | None = None
    memory: Floats | None = None
    gpus: Floats | None = None
    kind: Kinds | None = None
    app: Codes | None = None
    apps: tuple[str, ...] = ()
    qos: Codes | None = None
    qos_classes: tuple[str, ...] = ()
    ids: Ids | None = None
    divisible: Kinds | None = None
    causes: Kinds | None = None
    bears: Kinds | None = None
    requires: Codes | None = None
    requirements: tuple[str, ...] = ()
    servers: Codes | None = None
    urgent: Kinds | None = None
    start: Floats | None = None
    target: Codes | None = None
    targets: tuple[TargetedSize, ...] = ()
    serial: Codes | None = None
    after: Ints | None = None
    think: Floats | None = None
    soonest: Floats | None = None
    rows: int = 0
    repaired: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    modelled: list[Modelled] = field(default_factory=list)

    def repair(self, reason: str, count: int = 1) -> None:
        """Count rows a documented rule changed."""
        if count:
            self.repaired[reason] = self.repaired.get(reason, 0) + int(count)

    def keep(self, mask: NDArray[np.bool_], reason: str) -> None:
        """Leave out, and count, the rows that are not in the mask."""
        gone = len(mask) - int(np.count_nonzero(mask))
        if not gone:
            return
        self.left_out[reason] = self.left_out.get(reason, 0) + gone
        self.select(np.flatnonzero(mask))

    def select(self, rows: NDArray[np.int64]) -> None:
        """Keep these rows in this order, a column at a time so that only one copy exists at once."""
        for name in (*JOB_COLUMNS, *SPARSE_COLUMNS, "soonest"):
            values = getattr(self, name)
            if values is not None:
                setattr(self, name, values[rows])


def from_sink(sink: Sink, draft: Draft, options: WorkloadOptions, named: Named) -> Jobs:
    """Jobs of a checked table in our own schema; ``named`` says where rows stand."""
    draft.ids = sink.ids()
    if sink.has("after"):
        think = sink.numbers("think") if sink.has("think") else None
        _waiting(sink.texts("after"), draft, named, think)
    draft.modelled += times_read(sink)
    draft.start = sink.numbers("start") if sink.has("start") else None
    draft.modelled += _begun_when_submitted(sink)
    _never_ran(sink, draft, options)
    for name in ("cores", "memory", "gpus"):
        if sink.has(name):
            setattr(draft, name, sink.numbers(name))
    if draft.cores is not None:
        draft.cores = in_vcpus(draft.cores, draft.duration, options, draft.name)
    if draft.memory is not None:
        draft.memory = in_gib(draft.memory, draft.cores, options, draft.name)
    draft.modelled += units_read(sink, options)
    if sink.has("kind"):
        draft.kind = _kinds(sink, draft, options)
    if sink.has("app"):
        draft.app, draft.apps = sink.codes("app"), sink.labels("app")
    if sink.has("qos"):
        draft.qos, draft.qos_classes = sink.codes("qos"), sink.labels("qos")
    _more_stated(sink, draft)
    return finish(draft, options)


def _begun_when_submitted(sink: Sink) -> Iterator[Modelled]:
    """What is said of a table that is not of our own ``submit`` and ``duration``, and does not tell when jobs began."""
    name = next(column.in_file for column in sink.columns if column.name == "submit")
    is_own = name == "submit" and not sink.has("end")
    if not sink.has("start") and not is_own and "submit" in meant([name], JOBS):
        count = f"run from {name} on, waits included" if sink.has("end") else f"begin at {name}, as if none waited"
        yield Modelled("start", f"jobs {count} (else say start=NAME)", START_KEY)


def _never_ran(sink: Sink, draft: Draft, options: WorkloadOptions) -> None:
    """Jobs without a start have no duration, where that is said and none states it; those with one were submitted."""
    if draft.start is None or options.open_ends == "refuse":
        return
    if options.open_ends == "leave-out" or sink.has("end"):
        draft.duration = np.where(np.isnan(draft.start), np.nan, draft.duration)
    draft.repair(NO_SUBMIT, int(np.count_nonzero(np.isnan(draft.submit) & ~np.isnan(draft.start))))
    draft.submit = np.where(np.isnan(draft.submit), draft.start, draft.submit)


def _more_stated(sink: Sink, draft: Draft) -> None:
    """What jobs state beside their size and time."""
    if sink.has("divisible"):
        said = [int(label == "yes") for label in sink.labels("divisible")]
        draft.divisible = np.array([*said, -1], np.int8)[sink.codes("divisible")]
    if sink.has("target"):
        draft.target = sink.codes("target")
        draft.targets = read_targets(sink.labels("target"), draft.name, _beside(sink, draft, draft.target >= 0))
        _instead_of_sizes(draft, draft.target >= 0)
    draft.causes, draft.bears = _points(sink, "causes"), _points(sink, "tolerates")
    if sink.has("requires"):
        draft.requires, draft.requirements = sink.codes("requires"), sink.labels("requires")
    if sink.has("urgent"):
        hurry = [int(label == "yes") for label in sink.labels("urgent")]
        draft.urgent = np.array([*hurry, 0], np.int8)[sink.codes("urgent")]
    if sink.has("servers"):
        _several_servers(sink, draft)
    if draft.causes is not None and draft.bears is None:
        draft.modelled.append(Modelled("tolerates", "99 points less than what each job causes", "fixed"))


def _waiting(cells: list[str], draft: Draft, named: Named, think: Floats | None) -> None:
    """Which jobs wait for the end of others, and when each comes at the soonest."""
    if not any(cells):
        return
    if draft.ids is None:
        many = len(cells) > MOST_NAMED
        allowed = f"at most {MOST_NAMED:,} rows where jobs wait for others" if many else NO_IDS
        raise InputError(f"{draft.name}: column after: needs {allowed}")
    edges, wrong = read_waits([name.decode() for name in draft.ids], cells)
    if wrong:
        findings = Findings(draft.name)
        for where, (_, value, allowed) in zip(named([one.row for one in wrong]), wrong, strict=True):
            findings.add(f"{where}, column after", shown(value), allowed)
        raise findings.error()
    follow(draft, np.array(edges, np.int64), None if think is None else np.nan_to_num(think))


def follow(draft: Draft, after: Ints, think: Floats | None) -> None:
    """Let jobs wait for the end of others (rows of both), and each so many seconds more."""
    draft.after, draft.serial = after, np.arange(len(draft.submit), dtype=np.int32)
    draft.think = think if think is not None and think.any() else None
    draft.soonest = earliest(np.nan_to_num(draft.submit), np.fmax(draft.duration, 0.0), after, draft.think)


def _put_off(draft: Draft) -> None:
    """Jobs that wait for others come when those would have ended, if nobody waited for a server."""
    if draft.soonest is None:
        return
    if later := int((draft.soonest > draft.submit).sum()):
        ends = "the end of those" if draft.think is None else "the end of those and their think time"
        rule = f"of {counted(later, 'job')} that wait for others: {ends}, as if nobody waited for a server"
        draft.modelled.append(Modelled("submit", rule, "after"))
    # What a trace says of when a job began stands: it was submitted by then
    begun = draft.soonest if draft.start is None else np.fmin(draft.soonest, draft.start)
    draft.submit = np.maximum(begun, draft.submit)
    draft.select(np.argsort(draft.submit, kind="stable"))


def _several_servers(sink: Sink, draft: Draft) -> None:
    """On how many servers jobs run at once, one where nothing is said; such a job may be split. InputError where a job
    that may not be split states it."""
    stated = sink.numbers("servers")
    servers = np.where(np.isnan(stated), 1.0, stated)
    several = servers > 1
    if draft.divisible is not None and (several & (draft.divisible == 0)).any():
        many = counted(int((several & (draft.divisible == 0)).sum()), "row")
        raise InputError(f"{draft.name}: {many} that run on several servers and may not be split (divisible: no)",
                         hint="leave the cell of divisible empty where servers is above 1")  # fmt: skip
    if several.any():
        draft.servers = servers.astype(np.int32)
        before = np.full(len(servers), -1, np.int8) if draft.divisible is None else draft.divisible
        draft.divisible = np.where(several, np.int8(1), before).astype(np.int8)


def _beside(sink: Sink, draft: Draft, stated: NDArray[np.bool_]) -> dict[str, int]:
    """How many rows with a target state a size or a number of servers too, by column."""
    columns = {"cores": draft.cores, "memory": draft.memory}
    both = {name: 0 if values is None else int((stated & ~np.isnan(values)).sum()) for name, values in columns.items()}
    servers = int((stated & (sink.numbers("servers") > 1)).sum()) if sink.has("servers") else 0
    return {**both, "servers": servers}


def _instead_of_sizes(draft: Draft, stated: NDArray[np.bool_]) -> None:
    """Jobs with a target have no size, and those with a deadline take until then."""
    if draft.cores is not None:
        draft.cores = np.where(stated, 1.0, draft.cores)
    limits_by_code = np.array([*(t.target.limit if t.target.kind is GoalKind.DEADLINE else np.nan
                                 for t in draft.targets), np.nan])  # fmt: skip
    until = limits_by_code[draft.target]
    draft.duration = np.where(np.isnan(until), draft.duration, until)
    if stated.any():
        draft.modelled.append(Modelled("cores", "of jobs with a target: 1, until profiles say what it takes", "target"))
    if (~np.isnan(until)).any():
        draft.modelled.append(Modelled("duration", "the deadline of jobs that state one", "target"))


def times_read(sink: Sink) -> list[Modelled]:
    """What is said of times that do not stand there in seconds."""
    ticks = {column.ticks for column in sink.columns if column.ticks != 1.0}
    zone = [Modelled("times", sink.local_zone, "zone")] if sink.local_zone else []
    return [*(Modelled("times", f"{TICKS[one]}, by the size of the first", "fixed") for one in sorted(ticks)), *zone]


def finish(draft: Draft, options: WorkloadOptions) -> Jobs:
    """Jobs sorted by submit time, without zero durations, missing columns filled by their stated rules."""
    draft.keep(~(np.isnan(draft.duration) | np.isnan(draft.submit)), NEVER_RAN)
    latest = draft.submit if draft.start is None else np.fmax(draft.submit, draft.start)
    draft.keep(latest + draft.duration > latest, "zero duration (uses no capacity)")  # or too short for a clock
    count = len(draft.submit)
    if count == 0:
        raise _no_job(draft)
    _sort(draft)
    _put_off(draft)
    cores = _filled(draft, "cores", np.float64(options.default_cores), "default_cores", f"{options.default_cores:g}")
    rule = f"{options.memory_per_core:g} GiB per vCPU"
    if options.vcpus_per_core != 1:
        cores = cores * options.vcpus_per_core
        per_cpu = f"{options.vcpus_per_core:g} vCPUs for each CPU of the trace"
        draft.modelled.append(Modelled("cores", per_cpu, "vcpus_per_core"))
    memory = _filled(draft, "memory", cores * options.memory_per_core, "memory_per_core", rule)
    gpus = _filled(draft, "gpus", np.float64(0.0), "", "0")
    kind = draft.kind if draft.kind is not None else _default_kind(draft, count, options)
    none = np.full(count, -1, np.int32)
    start = _started(draft, options)
    provenance = Provenance(
        draft.name, draft.format, draft.digest, draft.rows, draft.repaired, draft.left_out, tuple(draft.modelled)
    )
    return Jobs(
        draft.submit, draft.duration, cores, memory, gpus, kind,
        none if draft.app is None else draft.app, draft.apps,
        none if draft.qos is None else draft.qos, draft.qos_classes, provenance, ids=draft.ids,
        divisible=draft.divisible, start=start, causes=draft.causes, bears=draft.bears, target=draft.target,
        targets=draft.targets,
        requires=draft.requires, requirements=draft.requirements, servers=draft.servers,
        urgent=draft.urgent, serial=draft.serial, after=draft.after, think=draft.think,
    )  # fmt: skip


def _started(draft: Draft, options: WorkloadOptions) -> Floats | None:
    """When jobs started, where the trace says so and some of them waited; a job without a start did at once."""
    if draft.start is None:
        return None
    start = np.where(np.isnan(draft.start), draft.submit, draft.start)
    waited = (start != draft.submit).any()
    if waited and options.begin == "submit":
        draft.modelled.append(Modelled("start", AT_ONCE, "begin"))
        return None
    no_start = NO_START if draft.format.startswith("jobs-") else NO_WAIT  # other logs tell what never ran
    draft.repair(no_start, int(np.count_nonzero(np.isnan(draft.start))))
    return start if waited else None


def _sort(draft: Draft) -> None:
    later = draft.submit[1:] < draft.submit[:-1]
    if later.any():
        draft.repair("unsorted: rows earlier than the row before; sorted by submit time", int(np.count_nonzero(later)))
        draft.select(np.argsort(draft.submit, kind="stable"))


def _filled(draft: Draft, name: str, default: Floats | np.float64, key: str, rule: str) -> Floats:
    """The column with missing cells (or all of them) filled and the rule stated."""
    values: Floats | None = getattr(draft, name)
    if values is None:
        if key:
            draft.modelled.append(Modelled(name, rule, key))
        return np.broadcast_to(default, draft.submit.shape).copy()
    missing = np.isnan(values)
    holes = int(np.count_nonzero(missing))
    if holes:
        draft.repair(f"empty {name}: {rule}" + (f" ({key})" if key else ""), holes)
        values = np.where(missing, default, values)
    return values


def _points(sink: Sink, name: str) -> Kinds | None:
    """The vectors of a column, -1 where a cell is empty."""
    if not sink.has(name):
        return None
    vectors = [points_of(label) or () for label in sink.labels(name)]
    return np.array([*vectors, (-1,) * len(RESOURCES)], np.int8)[sink.codes(name)]


def _kinds(sink: Sink, draft: Draft, options: WorkloadOptions) -> Kinds:
    kinds = {label: kind_of(label) or "" for label in sink.labels("kind")}
    told = ", ".join(f"{label} is {kind}" for label, kind in kinds.items() if label != kind)
    draft.modelled += [Modelled("kind", told, "fixed")] if told else []
    by_code = [int(JobKind[kind.upper()]) for kind in kinds.values()]
    by_code.append(int(JobKind[options.default_kind.upper()]))
    codes = sink.codes("kind")
    draft.repair(f"empty kind: {options.default_kind} (default_kind)", int(np.count_nonzero(codes < 0)))
    return np.array(by_code, np.int8)[codes]


def _default_kind(draft: Draft, count: int, options: WorkloadOptions) -> Kinds:
    draft.modelled.append(Modelled("kind", options.default_kind, "default_kind"))
    return np.full(count, int(JobKind[options.default_kind.upper()]), np.int8)


def _no_job(draft: Draft) -> InputError:
    if not draft.rows:
        return InputError(
            f"{draft.name}: holds no job: nothing follows its header",
            hint="look at the program that should have written it",
        )
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in draft.left_out.items())
    return InputError(f"{draft.name}: no usable job in {counted(draft.rows, 'row')}: {reasons}")
