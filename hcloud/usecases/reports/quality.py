"""``hcloud report quality``: what the jobs of a journal got and the course of its machines, or what a plan predicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from hcloud.errors import EvidenceError
from hcloud.model.plans.operation import Band, OperatingPoint
from hcloud.model.plans.plan import Prediction
from hcloud.model.running.job import JobOrder
from hcloud.model.running.note import Ended, Launched, Launching
from hcloud.model.workload import JobKind
from hcloud.planning.changes.slots import RESERVED
from hcloud.planning.reports.course import MachineSpan, WorkCourse, course_of
from hcloud.planning.reports.journeys import SERVICE, Journey, journeys_of
from hcloud.planning.reports.quality import QualityReport, qualities
from hcloud.store.journals.journal import JournalContents, refusing_impossible
from hcloud.store.journals.live import read_whole
from hcloud.store.plan_file import load_plan
from hcloud.units import HOURS_PER_MONTH, counted, rate
from hcloud.usecases.reports.rented import rented_in
from hcloud.usecases.reports.report import is_journal

_ONE_SEED = "predicted by simulation at one seed"


def report_quality(path: Path) -> QualityReport:
    """Raises EvidenceError for a plan that predicts nothing, or a journal without a job."""
    return _of_journal(path) if is_journal(path) else _of_plan(path)


def _of_plan(path: Path) -> QualityReport:
    plan = load_plan(path)
    if (operation := plan.operation) is not None:
        seeds = len(operation.seeds)
        said = f"predicted by simulation at {seeds} seeds" if seeds > 1 else _ONE_SEED
        points = (operation.chosen, operation.baseline)[: 1 if operation.is_baseline else 2]
        return QualityReport(path.name, operation.strategy, points=points, asked=operation.qos_target, notes=(said,))
    if plan.prediction is None or (own := _own_fleet(plan.prediction)) is None:
        why = "no strategy was simulated for it" if plan.prediction is None else plan.prediction.why_not
        hint = "plan with --strategy auto, or report on a journal"
        raise EvidenceError(f"{path}: the plan predicts no quality: {why}", hint=hint)
    return QualityReport(path.name, own.strategy, points=(own,), notes=(_ONE_SEED,))


def _own_fleet(found: Prediction) -> OperatingPoint | None:
    """A plan's own fleet as the point that was simulated; None where it was not."""
    if found.kept_qos is None or found.monthly is None:
        return None
    wait, hourly = found.wait_p95, rate(found.monthly / HOURS_PER_MONTH)
    bands = Band(found.kept_qos, None), None, None, None if wait is None else Band(wait, None), None
    return OperatingPoint(found.strategy, sum(found.reserved.values()), "", hourly, None, found.monthly, *bands)


def _of_journal(path: Path) -> QualityReport:
    journal = read_whole(path)
    with refusing_impossible(path):
        journeys = journeys_of(journal.lines)
    if not journeys:
        raise EvidenceError(f"{path}: the journal has no jobs", hint="it has no event of kind arrival")
    spot = journal.setup.rules.spot
    said = _of_work(journeys) if journal.live is not None else _of_run(journeys, without_spot=spot == 0)
    notes = list(said)
    failed, cancelled, lost = (sum(getattr(j, how) for j in journeys) for how in ("failed", "cancelled", "lost"))
    if failed or cancelled or lost:
        ended = f"{counted(failed, 'job')} failed, {cancelled:,} cancelled, {lost:,} lost with their machine"
        notes.append(f"{ended}; jobs that failed by themselves or were cancelled are not counted as misses")
    return QualityReport(path.name, journal.setup.strategy, qualities(journeys), notes=tuple(notes))


def _of_run(journeys: Sequence[Journey], *, without_spot: bool) -> Iterator[str]:
    yield from _of_pieces(journeys)
    if without_spot:
        yield "a job that may not be interrupted is treated as a service"
    if any(j.kind == SERVICE and j.ended is not None and j.tail is None for j in journeys):
        yield "services without reported tail latency count by their performance, without their wait"


def _of_pieces(journeys: Sequence[Journey]) -> Iterator[str]:
    """That pieces count as jobs: simulations name those of a job that was divided JOB.1, JOB.2 and so on."""
    names = [j.job.rpartition(".") for j in journeys]
    numbered = Counter(job for job, _, number in names if job and number.isdigit())
    divided = {job for job, _, number in names if job and number == "2"}
    if pieces := sum(numbered[job] for job in divided):
        yield (
            f"{pieces:,} of these are pieces of {counted(len(divided), 'divided job')} (named JOB.1, JOB.2 and so on): "
            "each counts"
        )


def _of_work(journeys: Sequence[Journey]) -> Iterator[str]:
    """What the quality of live work rests on."""
    orders = [j.order for j in journeys if j.order is not None]
    batch = [o for o in orders if o.kind is JobKind.BATCH]
    if any(o.expect is not None for o in batch):
        yield "batch: expected seconds divided by actual seconds including the wait, at most 1"
    if any(o.target is not None for o in orders):
        yield "services: target latency divided by measured latency, at most 1, mean of all measurements"
    silent = sum(_says_nothing(j, j.order) for j in journeys if j.order is not None)
    if silent:
        yield f"{counted(silent, 'job')} not judged: no 'expect' was stated, or no latency measured"


def _says_nothing(journey: Journey, order: JobOrder) -> bool:
    """Whether a job cannot be judged by what is known of it; one that was lost or refused is."""
    silent = order.expect is None if order.kind is JobKind.BATCH else not journey.kept_target
    return silent and not journey.is_judged


def course_of_journal(path: Path) -> WorkCourse:
    """Demand, machines, queue and decisions over the time of a journal."""
    journal = read_whole(path)
    machines = _simulated(journal) if journal.live is None else _lived(journal)
    return course_of(journal.lines, tuple(machines))


def _lived(journal: JournalContents) -> Iterator[MachineSpan]:
    vcpus = {t.name: t.cores / 1000 for t in journal.setup.types}
    orders: dict[int, Launching] = {}
    begun: dict[int, float] = {}
    for line in journal.lines:
        if isinstance(line, Launching):
            orders[line.instance] = line
        elif isinstance(line, Launched):
            begun[line.instance] = line.launched
        elif isinstance(line, Ended) and line.instance in begun:
            order, end = orders[line.instance], line.at if line.ended is None else line.ended
            yield MachineSpan(begun.pop(line.instance), end, vcpus[order.type_name], order.reserved)
    last = journal.lines[-1].at if journal.lines else 0.0
    for number, start in begun.items():
        yield MachineSpan(start, last, vcpus[orders[number].type_name], orders[number].reserved)


def _simulated(journal: JournalContents) -> Iterator[MachineSpan]:
    vcpus = {t.name: t.cores / 1000 for t in journal.setup.types}
    told = rented_in(journal.setup, journal.entries, 0)
    for one in told.rented:
        end = told.period.end if one.end is None else one.end
        yield MachineSpan(one.start, end, vcpus[one.instance_type], one.address == RESERVED)
