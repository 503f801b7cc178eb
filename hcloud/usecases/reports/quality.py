"""``hcloud report quality``: what the jobs of a journal got, or what a plan predicts that they will."""

from __future__ import annotations

from pathlib import Path

from hcloud.errors import EvidenceError
from hcloud.planning.reports.quality import QualityReport, journeys_of, qualities
from hcloud.store.journal import read_journal
from hcloud.store.plan_file import load_plan
from hcloud.units import counted
from hcloud.usecases.reports.report import is_journal


def report_quality(path: Path) -> QualityReport:
    """Raises EvidenceError for a plan that predicts nothing, or a journal without a job."""
    return _of_journal(path) if is_journal(path) else _of_plan(path)


def _of_plan(path: Path) -> QualityReport:
    operation = load_plan(path).operation
    if operation is None:
        raise EvidenceError(
            f"{path}: the plan predicts no quality: no strategy was simulated for it",
            hint="plan with --strategy auto, or report on a journal",
        )
    seeds = len(operation.seeds)
    said = f"predicted by simulation at {seeds} seeds" if seeds > 1 else "predicted by simulation at one seed"
    return QualityReport(path.name, operation.strategy, operation=operation, notes=(said,))


def _of_journal(path: Path) -> QualityReport:
    journal = read_journal(path)
    journeys = journeys_of(journal.entries)
    if not journeys:
        raise EvidenceError(f"{path}: no job came in this journal", hint="events of kind arrival say what came")
    notes = ["a job that may not be interrupted is treated as a service"] if journal.setup.rules.spot == 0 else []
    if any(j.kind == "service" and j.ended is not None and j.tail is None for j in journeys):
        notes.append("services without reported tail latency count by their performance, without their wait")
    failed, cancelled, lost = (sum(getattr(j, how) for j in journeys) for how in ("failed", "cancelled", "lost"))
    if failed or cancelled or lost:
        ended = f"{counted(failed, 'job')} failed, {cancelled:,} cancelled, {lost:,} lost with their machine"
        notes.append(f"{ended}; what failed by itself or was cancelled does not count against the quality kept")
    return QualityReport(path.name, journal.setup.strategy, qualities(journeys), notes=tuple(notes))
